"""Products over the entries of a sparse matrix on a GPU, in Triton: what `pair_products.py` uses for tensors there.

A program works on one *piece*: up to `PIECE` entries of one row, so that rows with many entries keep many
multiprocessors busy and rows with few keep one. It reads the rows of Q that its entries point to once, and builds the
row's sum in registers. A row that is one piece is finished then. Longer rows add up the sums of their pieces in a
second step, always in the same order, so that results do not change from run to run.

Pieces are started in the order of where their entries point to: the rows of Q that are read at about the same time fit
into the cache of the card, even if Q does not.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

#: the most entries per piece
PIECE = 256
#: numbers of a matrix that a program reads at once, one warp each: the fastest of those tried with 128 columns
_TILE_NUMBERS, _WARPS = 1024, 1
#: bytes of rows of Q that pieces started one after the other may point to: well below the cache of a large card
_NEAR_BYTES = 24 * 2**20


@dataclass(frozen=True)
class Pieces:
    """How the rows of a sparse matrix are cut.

    Attributes
    ----------
    rows, firsts, stops : Tensor (n_pieces,)
        The row of each piece, its first entry, and the end of its last.
    slots : Tensor (n_pieces,)
        Where the piece's sum waits for the second step; -1 for the only piece of a row.
    long_rows, long_starts : Tensor
        The rows of several pieces, and where the slots of each start.
    """

    rows: Tensor
    firsts: Tensor
    stops: Tensor
    slots: Tensor
    long_rows: Tensor
    long_starts: Tensor

    @classmethod
    def of(cls, starts: Tensor, columns: Tensor, row_bytes: int) -> Pieces:
        """Return the pieces of a matrix in compressed rows; `row_bytes` is the size of a row of Q.

        >>> pieces = Pieces.of(torch.tensor([0, 2, 2, 302]), torch.zeros(302, dtype=torch.int32), 512)
        >>> pieces.rows, pieces.firsts, pieces.stops
        (tensor([0, 2, 2]), tensor([  0,   2, 258]), tensor([  2, 258, 302]))
        >>> pieces.slots, pieces.long_rows, pieces.long_starts
        (tensor([-1,  0,  1]), tensor([2]), tensor([0, 2]))
        """
        counts = -(-starts.diff() // PIECE)

        def numbers(count: int) -> Tensor:
            return torch.arange(count, dtype=starts.dtype, device=starts.device)

        rows = torch.repeat_interleave(numbers(len(counts)), counts)
        before = counts.cumsum(0, dtype=starts.dtype) - counts
        firsts = starts[rows] + PIECE * (numbers(len(rows)) - before[rows])
        stops = torch.minimum(firsts + PIECE, starts[rows + 1])
        several = counts > 1
        slots = torch.where(several[rows], several[rows].cumsum(0, dtype=starts.dtype) - 1, -1)
        long_rows = several.nonzero()[:, 0]
        long_starts = torch.cat([counts.new_zeros(1), counts[long_rows].cumsum(0)])
        order = torch.argsort(columns[firsts] // max(_NEAR_BYTES // row_bytes, 1), stable=True)
        return cls(rows[order], firsts[order], stops[order], slots[order], long_rows, long_starts)


@triton.jit
def _embedding(M, row, within, k: tl.constexpr):
    """Return one row of a matrix, with zeros beyond its k columns."""
    return tl.load(M + row.to(tl.int64) * k + within, mask=within < k, other=0.0)


@triton.jit
def _embeddings(M, rows, there, within, k: tl.constexpr):
    """Return some rows of a matrix, with zeros where there are none."""
    at = rows.to(tl.int64)[:, None] * k + within[None, :]
    return tl.load(M + at, mask=there[:, None] & (within[None, :] < k), other=0.0)


@triton.jit
def _keep(total, out, waiting, row, slot, within, stride, k: tl.constexpr):
    """Add the sum of a piece to its row, or let it wait for the others of its row."""
    if slot < 0:
        at = out + row.to(tl.int64) * stride + within
        tl.store(at, tl.load(at, mask=within < k, other=0.0) + total, mask=within < k)
    else:
        tl.store(waiting + slot.to(tl.int64) * k + within, total, mask=within < k)


@triton.jit
def _scores(
    rows, firsts, stops, columns, P, Q, out, k: tl.constexpr, width: tl.constexpr, tile: tl.constexpr
):
    piece = tl.program_id(0)
    within = tl.arange(0, width)
    p = _embedding(P, tl.load(rows + piece), within, k)
    stop = tl.load(stops + piece)
    for first in range(tl.load(firsts + piece), stop, tile):
        t = first + tl.arange(0, tile)
        there = t < stop
        q = _embeddings(Q, tl.load(columns + t, mask=there, other=0), there, within, k)
        tl.store(out + t, tl.sum(q * p[None, :], axis=1), mask=there)


@triton.jit
def _sums(
    rows,
    firsts,
    stops,
    slots,
    columns,
    order,
    values,
    Q,
    out,
    waiting,
    stride,
    k: tl.constexpr,
    width: tl.constexpr,
    tile: tl.constexpr,
    ordered: tl.constexpr,
):
    piece = tl.program_id(0)
    within = tl.arange(0, width)
    total = tl.zeros([tile, width], dtype=Q.dtype.element_ty)
    stop = tl.load(stops + piece)
    for first in range(tl.load(firsts + piece), stop, tile):
        t = first + tl.arange(0, tile)
        there = t < stop
        q = _embeddings(Q, tl.load(columns + t, mask=there, other=0), there, within, k)
        at = t
        if ordered:
            at = tl.load(order + t, mask=there, other=0)
        total += tl.load(values + at, mask=there, other=0.0)[:, None] * q
    row, slot = tl.load(rows + piece), tl.load(slots + piece)
    _keep(tl.sum(total, axis=0), out, waiting, row, slot, within, stride, k)


@triton.jit
def _moves(
    rows,
    firsts,
    stops,
    slots,
    columns,
    factors,
    P,
    Q,
    W,
    H,
    moved,
    out,
    waiting,
    stride,
    k: tl.constexpr,
    width: tl.constexpr,
    tile: tl.constexpr,
):
    piece = tl.program_id(0)
    within = tl.arange(0, width)
    row = tl.load(rows + piece)
    p, w = _embedding(P, row, within, k), _embedding(W, row, within, k)
    total = tl.zeros([tile, width], dtype=Q.dtype.element_ty)
    stop = tl.load(stops + piece)
    for first in range(tl.load(firsts + piece), stop, tile):
        t = first + tl.arange(0, tile)
        there = t < stop
        column = tl.load(columns + t, mask=there, other=0)
        q, h = _embeddings(Q, column, there, within, k), _embeddings(H, column, there, within, k)
        move = tl.sum(q * w[None, :] + h * p[None, :], axis=1) * tl.load(factors + t, mask=there, other=0.0)
        tl.store(moved + t, move, mask=there)
        total += move[:, None] * q
    _keep(tl.sum(total, axis=0), out, waiting, row, tl.load(slots + piece), within, stride, k)


@triton.jit
def _join(
    long_rows, long_starts, waiting, out, stride, k: tl.constexpr, width: tl.constexpr, tile: tl.constexpr
):
    """Add the sums of the pieces of a long row to it."""
    number = tl.program_id(0)
    within = tl.arange(0, width)
    total = tl.zeros([tile, width], dtype=out.dtype.element_ty)
    stop = tl.load(long_starts + number + 1)
    for first in range(tl.load(long_starts + number), stop, tile):
        slot = first + tl.arange(0, tile)
        total += _embeddings(waiting, slot, slot < stop, within, k)
    at = out + tl.load(long_rows + number).to(tl.int64) * stride + within
    tl.store(at, tl.load(at, mask=within < k, other=0.0) + tl.sum(total, axis=0), mask=within < k)


def scores(pieces: Pieces, columns: Tensor, P: Tensor, Q: Tensor) -> Tensor:
    """Return the inner product of a row of P and a row of Q for each entry."""
    out = P.new_empty(len(columns))
    _start(_scores, len(pieces.rows), Q, pieces.rows, pieces.firsts, pieces.stops, columns, P, Q, out)
    return out


def add_sums(
    pieces: Pieces, columns: Tensor, order: Tensor | None, values: Tensor, Q: Tensor, into: Tensor
) -> None:
    """Add to each row of a matrix the sum over the row's entries of their number times a row of Q."""
    given = (columns, columns if order is None else order, values, Q)
    _add(_sums, pieces, Q, into, given, ordered=order is not None)


def add_moves(
    pieces: Pieces,
    columns: Tensor,
    factors: Tensor,
    at: tuple[Tensor, Tensor],
    moves: tuple[Tensor, Tensor],
    into: Tensor,
) -> Tensor:
    """Return the first-order change of each score times a factor, and add its sums with Q to `into`."""
    moved = torch.empty_like(factors)
    _add(_moves, pieces, at[1], into, (columns, factors, *at, *moves, moved))
    return moved


def _add(
    kernel: Any, pieces: Pieces, Q: Tensor, into: Tensor, given: tuple[Tensor, ...], **settings: Any
) -> None:
    """Call a kernel that builds sums of rows of Q, and join those of the pieces of long rows."""
    several, stride = len(pieces.long_rows), into.stride(0)
    waiting = Q.new_empty(int(pieces.long_starts[-1]), Q.shape[1])
    cut = (pieces.rows, pieces.firsts, pieces.stops, pieces.slots)
    _start(kernel, len(pieces.rows), Q, *cut, *given, into, waiting, stride, **settings)
    _start(_join, several, Q, pieces.long_rows, pieces.long_starts, waiting, into, stride)


def _start(kernel: Any, count: int, like: Tensor, *arguments: Any, **settings: Any) -> None:
    """Start as many programs of a kernel, for matrices with the columns of one, on its card."""
    if not count:
        return
    k = like.shape[1]
    width = triton.next_power_of_2(k)
    tile = max(_TILE_NUMBERS // width, 1)
    with on_its_card(like):
        kernel[(count,)](*arguments, k=k, width=width, tile=tile, num_warps=_WARPS, **settings)


def on_its_card(tensor: Tensor) -> AbstractContextManager[Any]:
    """Return a context in which kernels start on the card of a tensor."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else nullcontext()
