"""Products over the entries of a sparse matrix, and the one place that chooses how they are computed.

Tensors in main memory go through compiled loops, which work on them without a copy, on torch's number of threads. Those
on a GPU go through the kernels in `pair_kernels.py` if Triton is installed. All others, and other precisions, go
through torch. In main memory, rows are cut into blocks by their number of entries alone, and each
block writes its own rows, so results do not depend on the number of threads.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nearer._utils.runtime import in_threads, one_thread
from nearer._utils.text import warn

with (
    warnings.catch_warnings()
):  # torch says once per process that compressed rows may change; users cannot act on it
    warnings.simplefilter("ignore")
    torch.zeros(1, 1).to_sparse_csr()

#: products of two numbers per block of rows, and the most blocks: enough to balance threads
_BLOCK_PRODUCTS, _MAX_BLOCKS = 2_000_000, 64
_TINY = 1e-30


@dataclass(frozen=True)
class Pattern:
    """Where a sparse matrix has entries, in compressed rows.

    Attributes
    ----------
    starts, columns : Tensor of whole numbers
        Where the entries of each row start and the end of the last, and the column of each entry.
    n_columns : int
        Columns of the matrix.
    order : Tensor, optional
        Where the number of each entry stands in a vector of numbers; in the order of entries by default.

    Examples
    --------
    >>> pattern = Pattern(torch.tensor([0, 1, 3]), torch.tensor([1, 0, 1]), 2)
    >>> scores(pattern, torch.eye(2), torch.eye(2))
    tensor([0., 0., 1.])
    >>> turned = pattern.transposed
    >>> turned.starts, turned.columns, turned.order
    (tensor([0, 1, 3]), tensor([1, 0, 1]), tensor([1, 0, 2]))
    """

    starts: Tensor
    columns: Tensor
    n_columns: int
    order: Tensor | None = None

    @property
    def n_rows(self) -> int:
        """The rows of the matrix."""
        return len(self.starts) - 1

    def row_of_entries(self) -> Tensor:
        """Return the row of each entry."""
        rows = torch.arange(self.n_rows, dtype=self.columns.dtype, device=self.columns.device)
        return torch.repeat_interleave(rows, self.starts.diff())

    @cached_property
    def transposed(self) -> Pattern:
        """The pattern of the transpose: it finds its numbers in the order of this matrix."""
        counts = torch.bincount(self.columns, minlength=self.n_columns)
        starts = torch.cat([counts.new_zeros(1), counts.cumsum(0)]).to(self.starts.dtype)
        del counts
        if not _in_main_memory(self.columns):
            order = torch.argsort(self.columns, stable=True).to(self.columns.dtype)
            return Pattern(starts, self.row_of_entries()[order], self.n_rows, order)
        from nearer._compiled import pair_products as loops

        order, rows = torch.empty_like(self.columns), torch.empty_like(self.columns)
        loops.transpose(*_arrays(self.starts, self.columns, starts[:-1].clone(), order, rows))
        return Pattern(starts, rows, self.n_rows, order)

    @cached_property
    def plain(self) -> Pattern:
        """The same pattern, with numbers in the order of its entries."""
        return self if self.order is None else Pattern(self.starts, self.columns, self.n_columns)

    @cached_property
    def pieces(self) -> dict[int, Any]:
        """How kernels on a GPU cut the rows, by the bytes of a row of the other matrix; filled when first asked."""
        return {}

    def to(self, device: torch.device) -> Pattern:
        """Return a copy on a card, which may still be on its way; it is cut into pieces where this pattern was."""
        order = None if self.order is None else self.order.to(device, non_blocking=True)
        starts, columns = (part.to(device, non_blocking=True) for part in (self.starts, self.columns))
        copy = Pattern(starts, columns, self.n_columns, order)
        copy.__dict__["pieces"] = self.pieces
        return copy

    def tensors(self) -> list[Tensor]:
        """Return what it is made of."""
        return [part for part in (self.starts, self.columns, self.order) if part is not None]

    def matrix(self, values: Tensor) -> Tensor:
        """Return a sparse tensor with these numbers, without a second check of its indices."""
        if self.order is not None:
            values = values[self.order]
        size = (self.n_rows, self.n_columns)
        return torch.sparse_csr_tensor(self.starts, self.columns, values, size=size, check_invariants=False)


class RowMatrices(NamedTuple):
    """One k x k matrix per row: scale * gram, plus the sum over its entries of factor * q q', where q is a row of Q."""

    pattern: Pattern
    factors: Tensor
    Q: Tensor
    gram: Tensor
    scales: Tensor

    def times(self, X: Tensor) -> Tensor:
        """Return the product of each matrix with a row of X."""
        return self._add_pairs(X, self.times_gram(X))

    def times_gram(self, X: Tensor) -> Tensor:
        """Return the product without the entries."""
        return (X @ self.gram).mul_(self.scales[:, None])

    def times_pairs(self, X: Tensor) -> Tensor:
        """Return the product of the entries alone."""
        return self._add_pairs(X, torch.zeros_like(X))

    def _add_pairs(self, X: Tensor, into: Tensor) -> Tensor:
        plain = self.pattern.plain
        factors = self.factors if self.pattern.order is None else self.factors[self.pattern.order]
        return add_sums(plain, scores(plain, X, self.Q).mul_(factors), self.Q, into)


def scores(pattern: Pattern, P: Tensor, Q: Tensor) -> Tensor:
    """Return the inner product of a row of P and a row of Q for each entry of a pattern without an order."""
    count = len(pattern.columns)
    _check(pattern, Q, P)
    if on_card(P, Q):
        return kernels().scores(_pieces(pattern, Q), pattern.columns, P.contiguous(), Q.contiguous())
    if not _compiled(P, Q):
        return torch.sparse.sampled_addmm(pattern.matrix(P.new_zeros(count)), P, Q.T, beta=0.0).values()
    from nearer._compiled import pair_products as loops

    out = P.new_empty(count)
    _in_blocks(loops.scores, pattern, P.shape[1], *_arrays(P, Q), out.numpy())
    return out


def add_sums(pattern: Pattern, values: Tensor, Q: Tensor, into: Tensor) -> Tensor:
    """Add to each row of a matrix the sum over the row's entries of their number times a row of Q."""
    _check(pattern, Q, into)
    if on_card(values, Q, into) and into.stride(1) == 1:
        given = pattern.columns, pattern.order, values.contiguous(), Q.contiguous(), into
        kernels().add_sums(_pieces(pattern, Q), *given)
        return into
    if not (_compiled(values, Q, into) and into.is_contiguous()):
        into += pattern.matrix(values) @ Q
        return into
    from nearer._compiled import pair_products as loops

    order = _order(pattern)
    _in_blocks(loops.add_sums, pattern, Q.shape[1], *_arrays(order, values, Q, into))
    return into


def sums(pattern: Pattern, values: Tensor, Q: Tensor) -> Tensor:
    """Return, for each row, the sum over its entries of their number times a row of Q."""
    if not (_compiled(values, Q) or on_card(values, Q)):
        return pattern.matrix(values) @ Q
    return add_sums(pattern, values, Q, Q.new_zeros(pattern.n_rows, Q.shape[1]))


def add_moves(
    pattern: Pattern, factors: Tensor, at: tuple[Tensor, Tensor], moves: tuple[Tensor, Tensor], into: Tensor
) -> Tensor:
    """Return the first-order change of each score times a factor, and add its sums with Q to `into`."""
    (P, Q), (W, H) = at, moves
    if on_card(P, Q, W, H, factors, into) and into.stride(1) == 1:
        ends = tuple(tuple(matrix.contiguous() for matrix in both) for both in (at, moves))
        return kernels().add_moves(_pieces(pattern, Q), pattern.columns, factors.contiguous(), *ends, into)
    if not (_compiled(P, Q, W, H, into) and into.is_contiguous()):
        moved = scores(pattern, W, Q).add_(scores(pattern, P, H)).mul_(factors)
        add_sums(pattern, moved, Q, into)
        return moved
    from nearer._compiled import pair_products as loops

    moved = torch.empty_like(factors)
    _in_blocks(loops.add_moves, pattern, 3 * P.shape[1], *_arrays(factors, P, Q, W, H, moved, into))
    return moved


def solve(matrices: RowMatrices, strengths: Tensor, residuals: Tensor, x: Tensor, products: int) -> Tensor:
    """Return x after this many steps of conjugate gradients in each row, with `strengths` added to the diagonals.

    `residuals` are those of x; both are overwritten.
    """
    _, factors, Q, gram, scales = matrices
    given = (factors, Q, gram, scales, strengths, residuals, x)
    if not (_compiled(*given) and x.is_contiguous() and residuals.is_contiguous()):
        return solve_by(lambda rows: matrices.times(rows) + strengths[:, None] * rows, residuals, x, products)
    from nearer._compiled import pair_products as loops

    pattern, k = matrices.pattern, Q.shape[1]
    with one_thread():  # BLAS; the blocks have their own threads
        arrays = _arrays(_order(pattern), *given)
        _in_blocks(loops.solve, pattern, 2 * products * k, *arrays, products, per_row=k // 2)
    return x


def solve_by(product: Callable[[Tensor], Tensor], residuals: Tensor, x: Tensor, products: int) -> Tensor:
    """Return what conjugate gradients in all rows at once find, from products with all of their matrices."""
    direction = residuals
    length = (residuals * residuals).sum(dim=1, keepdim=True)
    for _ in range(products):
        image = product(direction)
        step = length / ((direction * image).sum(dim=1, keepdim=True) + _TINY)
        x = x + step * direction
        residuals = residuals - step * image
        length, before = (residuals * residuals).sum(dim=1, keepdim=True), length
        direction = residuals + length / (before + _TINY) * direction
    return x


def _check(pattern: Pattern, of_columns: Tensor, of_rows: Tensor) -> None:
    """Refuse other numbers of rows than the pattern has: the compiled loops do not check indices."""
    if len(of_columns) != pattern.n_columns or len(of_rows) != pattern.n_rows:
        found = f"{len(of_rows)} and {len(of_columns)}"
        raise ValueError(f"a {pattern.n_rows} x {pattern.n_columns} pattern got {found} rows")


def kernels(name: str = "pair_kernels") -> Any:
    """Return a module of kernels for GPUs, which `on_card` found to work."""
    return import_module(f"nearer.objectives.{name}")


def on_card(*tensors: Tensor) -> bool:
    """Return whether kernels for GPUs can work on these tensors."""
    dtype = tensors[0].dtype
    return (
        dtype in (torch.float32, torch.float64)
        and all(tensor.dtype == dtype and tensor.is_cuda for tensor in tensors)
        and _kernels_work(tensors[0].device)
    )


@lru_cache
def _kernels_work(device: torch.device) -> bool:
    """Return whether a card runs a first kernel; if not, say why once."""
    try:
        import triton  # noqa: F401  it comes with torch for cards, on Linux
    except ImportError:
        return False
    pattern = Pattern(torch.tensor([0, 1], device=device), torch.tensor([0], device=device), 1)
    one = torch.ones(1, 1, device=device)
    try:
        module = kernels()
        found = float(
            module.scores(module.Pieces.of(pattern.starts, pattern.columns, 4), pattern.columns, one, one)
        )
    except Exception as error:  # no C compiler, a driver too old: Triton raises errors of all kinds
        warn(f"the kernels for GPUs do not work on {device} ({error}): torch computes, which takes longer")
        return False
    return found == 1.0


def _pieces(pattern: Pattern, Q: Tensor) -> Any:
    """Return how kernels cut the rows of a pattern; made once per pattern."""
    row_bytes = Q.shape[1] * Q.element_size()
    if row_bytes not in pattern.pieces:
        pattern.pieces[row_bytes] = kernels().Pieces.of(pattern.starts, pattern.columns, row_bytes)
    return pattern.pieces[row_bytes]


def _compiled(*tensors: Tensor) -> bool:
    """Return whether compiled loops can work on these tensors."""
    dtype = tensors[0].dtype
    return dtype in (torch.float32, torch.float64) and all(
        tensor.dtype == dtype and _in_main_memory(tensor) for tensor in tensors
    )


def _in_main_memory(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu"


def _arrays(*tensors: Tensor) -> tuple[np.ndarray, ...]:
    """Return views of tensors, or copies of those that are not contiguous."""
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)


def _order(pattern: Pattern) -> Tensor:
    return pattern.columns[:0] if pattern.order is None else pattern.order


def _in_blocks(
    loop: Callable[..., Any], pattern: Pattern, work: int, *arguments: Any, per_row: int = 1
) -> None:
    """Call a loop for blocks of rows on torch's threads; `work` products per entry, and `per_row` entries' per row."""
    starts, columns = _arrays(pattern.starts, pattern.columns)
    count = (len(columns) + per_row * pattern.n_rows) * work // _BLOCK_PRODUCTS
    bounds = _bounds(starts, max(1, min(count, _MAX_BLOCKS)), per_row)
    jobs = [
        partial(loop, int(first), int(stop), starts, columns, *arguments) for first, stop in pairwise(bounds)
    ]
    n_threads = torch.get_num_threads()
    if n_threads == 1:
        for job in jobs:
            job()
    else:
        in_threads(jobs, n_threads)


def _bounds(starts: np.ndarray, count: int, per_row: int) -> np.ndarray:
    """Return where blocks of rows with about equally many entries begin, and the end of the last.

    >>> _bounds(np.array([0, 3, 6, 7, 8]), 2, per_row=1).tolist()
    [0, 2, 4]
    """
    n_rows = len(starts) - 1
    if count == 1:
        return np.array([0, n_rows])
    before = starts + per_row * np.arange(n_rows + 1)
    inner = np.searchsorted(before, before[-1] * np.arange(1, count) // count)
    return np.concatenate([[0], inner, [n_rows]])
