"""What a gradient and a Gauss-Newton product of two large towers consist of, and what each part must move and compute.

Bytes are the fewest that the memory of the card must read and write: every matrix once. *Gathered* bytes are those
of the rows of embeddings that pairs point to, one row per pair; most of them come from the cache of the card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from benchmarks._card import milliseconds
from nearer.objectives.observed import PairBlock
from nearer.objectives.pair_losses import ExcessLoss, Unobserved
from nearer.objectives.pair_products import add_moves, add_sums
from nearer.objectives.similarity_sums import grams
from nearer.objectives.towers import TowerObjective


class Part(NamedTuple):
    """A part of a gradient or product: what it calls, the bytes moved and gathered, and operations by precision."""

    call: Callable[[], object]
    moved: float
    gathered: float = 0.0
    operations: float = 0.0
    precision: str = "float32"


def measured(
    f: TowerObjective, x: Tensor, settings: dict[str, Any], *, in_parts: bool, precision: str
) -> dict[str, Any]:
    """Return times of a value, a gradient and a Gauss-Newton product, the memory they take, and their parts."""
    torch.cuda.reset_peak_memory_stats()
    turns = settings["turns"]

    def fresh(method: Callable[[Tensor], object]) -> Callable[[], object]:
        def call() -> object:
            f.refresh(None)  # or else it would know what it computed at these parameters
            return method(x)

        return call

    found: dict[str, Any] = {
        "objective": f.value(x),
        "value": milliseconds(fresh(f.value), turns),
        "gradient": milliseconds(fresh(f.value_and_gradient), turns),
        "chunk_rows": f.chunk_rows,
    }
    direction = f.value_and_gradient(x)[1]
    product = f.curvature(x)
    found["product"] = milliseconds(lambda: product(direction), turns)
    found["peak GB"] = round(torch.cuda.max_memory_allocated() / 1e9, 2)
    if in_parts:
        for name, parts in (
            ("of gradient", gradient_parts(f, x)),
            ("of product", product_parts(f, x, direction)),
        ):
            found[name] = {part: _of(there, turns, precision) for part, there in parts}
    return found


def _of(part: Part, turns: int, precision: str) -> dict[str, Any]:
    return {
        **milliseconds(part.call, turns),
        "moved": part.moved,
        "gathered": part.gathered,
        "operations": part.operations,
        "precision": part.precision if part.precision == "float64" else precision,
    }


class _Sizes(NamedTuple):
    """Numbers of entities, pairs and parameters, and the columns of the layers."""

    entities: int
    pairs: int
    parameters: int
    hidden: int
    k: int


def _sizes(f: TowerObjective) -> _Sizes:
    return _Sizes(
        f.left.n_rows + f.right.n_rows, f.sums.pairs.count, f.n_parameters, f.left.width, f.n_components
    )


def gradient_parts(f: TowerObjective, x: Tensor) -> Iterator[tuple[str, Part]]:
    """Yield the parts of a gradient; the towers must fit into memory in one chunk."""
    n, pairs, parameters, h, k = _sizes(f)
    towers, thetas = (f.left, f.right), f.split(x)
    passes = [
        tower.forward(theta, slice(0, tower.n_rows)) for tower, theta in zip(towers, thetas, strict=True)
    ]
    P, Q = (passed.output.detach() for passed in passes)
    block, excess = _block(f), _excess(f)
    scored = f.sums.at(P, Q)
    slopes, into = excess.slopes(scored.scores), torch.zeros_like(x)
    by_left, by_right = torch.zeros_like(P), torch.zeros_like(Q)
    w = f.sums.weights

    def forward() -> None:
        for tower, theta in zip(towers, thetas, strict=True):
            tower.forward(theta, slice(0, tower.n_rows))

    def backward() -> None:
        for tower, part, passed, slope in zip(
            towers, f.split(into), passes, (by_left, by_right), strict=True
        ):
            tower.add_gradient(part, passed, slope)

    def others() -> None:
        from_right, from_left = f.sums.from_all(scored.gramians)
        from_right(P, w.imputed_left)
        from_left(Q, w.imputed_right)

    def l2_term() -> None:
        f.parameters.inner(x, x)
        torch.mul(x, f.l2)

    row = 4.0 * k * n
    yield "towers, forward", Part(forward, 4 * n * (9 * h + k), 0, 2 * n * (h * h + h * k))
    yield (
        "Gramians",
        Part(
            lambda: (grams(P, w.imputed_left, w.left), grams(Q, w.imputed_right, w.right)),
            row,
            0,
            1.5 * n * k * k,
            "float64",
        ),
    )
    yield "scores", Part(lambda: f.sums.pairs.scores(P, Q), row + 8 * pairs, 4 * k * pairs, 2 * k * pairs)
    yield "losses and their slopes", Part(lambda: _both(excess, scored.scores), 12 * pairs)
    yield (
        "sums of left entities",
        Part(
            lambda: add_sums(block.by_left, slopes, Q, by_left),
            2 * row + 8 * pairs,
            4 * k * pairs,
            2 * k * pairs,
        ),
    )
    yield "sums of right entities", _sums_of_right(f, slopes, P, by_right)
    yield "all other pairs", Part(others, 2 * row, 0, 2 * n * k * k)
    yield "towers, backward", Part(backward, 4 * n * (19 * h + 2 * k), 0, 4 * n * (h * h + h * k))
    yield "L2 term", Part(l2_term, 12 * parameters)


def product_parts(f: TowerObjective, x: Tensor, direction: Tensor) -> Iterator[tuple[str, Part]]:
    """Yield the parts of a Gauss-Newton product that a gradient does not have."""
    n, pairs, _, h, k = _sizes(f)
    moves, thetas = f.split(direction), f.split(x)

    def push() -> list[Tensor]:
        given = zip((f.left, f.right), thetas, moves, strict=True)
        return [tower.push(theta, move, slice(0, tower.n_rows)) for tower, theta, move in given]

    P, Q = f.embeddings(x)
    W, H = push()
    block, factors = _block(f), _excess(f).curvatures(f.sums.pairs.scores(P, Q))
    by_left, by_right = torch.zeros_like(P), torch.zeros_like(Q)
    turned = f.sums.turned(f.sums.at(P, Q))
    row = 4.0 * k * n
    # forward, and the same for the moves: products with moved weights and with moved rows
    yield "towers, moved", Part(push, 4 * n * (20 * h + 3 * k), 0, 6 * n * (h * h + h * k))
    yield (
        "moves of scores, sums of left entities",
        Part(
            lambda: add_moves(block.by_left, factors, (P, Q), (W, H), by_left),
            4 * row + 12 * pairs,
            8 * k * pairs,
            6 * k * pairs,
        ),
    )
    yield "sums of right entities", _sums_of_right(f, factors, P, by_right)
    yield (
        "all pairs, from moves to slopes",
        Part(lambda: turned(W, H), 9 * row + 24 * pairs, 12 * k * pairs, 8 * k * pairs + 8 * n * k * k),
    )


def _sums_of_right(f: TowerObjective, values: Tensor, P: Tensor, into: Tensor) -> Part:
    n, pairs, _, _, k = _sizes(f)
    by_right = _block(f).by_right
    return Part(
        lambda: add_sums(by_right, values, P, into), 4 * k * n + 12 * pairs, 4 * k * pairs, 2 * k * pairs
    )


def _block(f: TowerObjective) -> PairBlock:
    return next(iter(f.sums.pairs.blocks()))


def _excess(f: TowerObjective) -> ExcessLoss:
    """Return what observed pairs cost beyond what they would if they were unobserved, with -1 imputed to all."""
    w = f.sums.weights
    return ExcessLoss(
        f.sums.pairs.labelled(f.sums.loss, w.left.dtype), Unobserved(w.omega, imputed=-1.0, counts=1.0)
    )


def _both(excess: ExcessLoss, scores: Tensor) -> tuple[float, Tensor]:
    return excess.value(scores), excess.slopes(scores)


def compared(here: tuple[TowerObjective, Tensor], exact: tuple[float, Tensor, Tensor]) -> dict[str, float]:
    """Return relative differences of objective, gradient and the product with the exact gradient."""
    f, x = here
    value, gradient = f.value_and_gradient(x)
    product = f.curvature(x)(exact[1].to(x))
    return {
        "objective": abs(value / exact[0] - 1),
        "gradient": apart(gradient, exact[1]),
        "product": apart(product, exact[2]),
    }


def apart(found: Tensor, exact: Tensor) -> float:
    """Return the length of a difference, relative to the exact vector."""
    exact = exact.double()
    return float((found.to(exact) - exact).norm() / exact.norm())
