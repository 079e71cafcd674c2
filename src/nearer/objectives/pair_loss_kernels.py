"""Losses of observed pairs on a GPU, in Triton: what `pair_losses.py` uses for scores there.

In torch, a loss and what the pair would count if it were unobserved take a dozen passes over the scores, and each
needs a vector of its own. Here they take one.
"""

from __future__ import annotations

from typing import NamedTuple

import triton
import triton.language as tl
from torch import Tensor

from nearer.objectives.pair_kernels import on_its_card

#: pairs per program
_BLOCK = 2048
#: what a kernel computes
VALUES, SLOPES, CURVATURES = range(3)


class PerPair(NamedTuple):
    """What there is to know of each pair, None if nothing; see `PairLoss` and `Unobserved`."""

    factors: Tensor | None
    offsets: Tensor | None
    weights: Tensor | None
    imputed: Tensor | None
    counts: Tensor | None


@triton.jit
def _logistic(margin, part: tl.constexpr):
    """Return log(1 + exp(-margin)), or one of its derivatives, without overflow."""
    small = tl.exp(-tl.abs(margin))
    grown = 1 + small
    if part == 0:
        # the last term is what the sum 1 + small lost
        found = tl.maximum(-margin, 0.0) + tl.log(grown) - ((grown - 1) - small) / grown
    elif part == 1:
        found = -tl.where(margin < 0, 1.0, small) / grown
    else:
        found = small / (grown * grown)
    return found


@triton.jit
def _square(margin, part: tl.constexpr):
    """Return (1 - margin)², or one of its derivatives."""
    apart = margin - 1
    if part == 0:
        found = apart * apart
    elif part == 1:
        found = 2 * apart
    else:
        found = tl.full(margin.shape, 2, margin.dtype)
    return found


@triton.jit
def _excess(
    scores,
    count,
    factors,
    offsets,
    weights,
    imputed,
    counts,
    numbers,
    out,
    part: tl.constexpr,
    square: tl.constexpr,
    has_factors: tl.constexpr,
    has_offsets: tl.constexpr,
    has_weights: tl.constexpr,
    has_imputed: tl.constexpr,
    has_counts: tl.constexpr,
    block: tl.constexpr,
):
    program = tl.program_id(0)
    t = program.to(tl.int64) * block + tl.arange(0, block)
    there = t < count
    score = tl.load(scores + t, mask=there, other=0.0)
    margin = score
    if has_factors:
        factor = tl.load(factors + t, mask=there, other=0.0)
        margin = margin * factor
    if has_offsets:
        margin += tl.load(offsets + t, mask=there, other=0.0)
    found = _square(margin, part) if square else _logistic(margin, part)
    if has_factors and part == 1:
        found *= factor
    if has_weights:
        found *= tl.load(weights + t, mask=there, other=0.0)
    omega, other = tl.load(numbers), tl.load(numbers + 1)
    strength = omega * tl.load(numbers + 2)
    if has_counts:
        strength = omega * tl.load(counts + t, mask=there, other=0.0)
    if has_imputed:
        other = tl.load(imputed + t, mask=there, other=0.0)
    if part == 0:
        apart = score - other
        found -= 0.5 * strength * apart * apart
        tl.store(out + program, tl.sum(tl.where(there, found, 0.0), axis=0))
    elif part == 1:
        tl.store(out + t, found - strength * (score - other), mask=there)
    else:
        tl.store(out + t, found - strength, mask=there)


def excess(scores: Tensor, part: int, square: bool, known: PerPair, numbers: Tensor) -> Tensor:
    """Return the sum of values of each block of pairs, or a derivative of each pair.

    `numbers` has omega, and the imputed score and the count that pairs have of which `known` has none.
    """
    blocks = triton.cdiv(len(scores), _BLOCK)
    out = scores.new_empty(blocks if part == VALUES else len(scores))
    there = {f"has_{name}": values is not None for name, values in known._asdict().items()}
    given = (scores if values is None else values for values in known)
    if blocks:
        with on_its_card(scores):
            _excess[(blocks,)](
                scores, len(scores), *given, numbers, out, part=part, square=square, block=_BLOCK, **there
            )
    return out
