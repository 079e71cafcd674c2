"""What the towers see: ids, features and histories; checked, scaled, and turned into blocks of a first layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import sparse

from nearer._utils.namespaces import as_like
from nearer._utils.schema import Array, Fields, Flag
from nearer._utils.tables import finite_rows, naming_cells, well_formed
from nearer.errors import InputError
from nearer.objectives.tower_inputs import Block, Dense, Ids, Sparse
from nearer.towers.spreading import Within

KINDS = ("ids", "features", "history")
#: share of histories that a step of training leaves out whole
_WHOLE_ROWS = 0.05


@dataclass(frozen=True)
class Scaling:
    """Offset and size of feature columns, so that no result depends on their units.

    Attributes
    ----------
    offset : array of shape (d,)
        Subtracted from dense columns; zero for sparse ones.
    size : array of shape (d,)
        What columns are divided by: the root of the mean square around the offset, or 1 for a constant column.
    sparse : bool
        Whether the features were sparse.
    """

    offset: np.ndarray
    size: np.ndarray
    sparse: bool
    _schema = Fields(offset=Array("d"), size=Array("d"), sparse=Flag())

    @classmethod
    def of(cls, X: Any) -> Scaling:
        """Return the scaling of checked features."""
        if sparse.issparse(X):
            offset = np.zeros(X.shape[1])
            square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        else:
            offset = X.mean(axis=0)
            square = ((X - offset) ** 2).mean(axis=0)
        size = np.sqrt(square)
        size[~(size > 1e-12 * np.maximum(np.abs(offset), 1e-300))] = 1.0
        return cls(offset, size, bool(sparse.issparse(X)))

    def scaled(self, X: Any) -> Any:
        """Return features in units of their columns; rows have a length of about one."""
        size = self.size * np.sqrt(max(len(self.size), 1))
        if sparse.issparse(X):
            return sparse.csr_matrix(X @ sparse.diags(1 / size)) if self.sparse else self.scaled(X.toarray())
        return (X - self.offset) / size


def checked_features(X: Any, n_rows: int | None, name: str, scaling: Scaling | None = None) -> Any:
    """Return features as a finite float64 array or compressed rows, or raise one sentence.

    Parameters
    ----------
    X : array, data frame or sparse matrix
        One row per entity.
    n_rows : int, optional
        The rows that there must be.
    name : str
        The parameter, for the error.
    scaling : Scaling, optional
        Of the features of the fit: the columns must be as many.
    """
    if sparse.issparse(X):
        X = sparse.csr_matrix(well_formed(X), dtype=np.float64)
    else:
        with naming_cells(X):
            X = np.asarray(X, dtype=np.float64)
    X = finite_rows(X)
    if X.ndim != 2:
        raise InputError(
            f"must have one row per entity and one column per feature, not shape {X.shape}", parameter=name
        )
    if n_rows is not None and X.shape[0] != n_rows:
        turned = ": transpose it" if X.shape[1] == n_rows else ""
        raise InputError(
            f"has {X.shape[0]} rows, but there are {n_rows} {name} entities{turned}", parameter=name
        )
    if scaling is not None and X.shape[1] != len(scaling.size):
        raise InputError(f"has {X.shape[1]} columns, but the fit saw {len(scaling.size)}", parameter=name)
    return X


def kinds_of(inputs: Any, has_features: tuple[bool, bool]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the kinds of inputs of both towers from the parameter `inputs`.

    >>> kinds_of("auto", (False, True))
    (('history',), ('ids', 'features'))
    >>> kinds_of(("ids", "ids+features"), (False, True))
    (('ids',), ('ids', 'features'))
    """
    if isinstance(inputs, str):
        if inputs == "auto":
            left, right = ("history", "ids")
            sides = [left, right]
            for k, has in enumerate(has_features):
                sides[k] += "+features" if has else ""
            inputs = tuple(sides)
        else:
            inputs = (inputs, inputs)
    if not (
        isinstance(inputs, tuple | list) and len(inputs) == 2 and all(isinstance(s, str) for s in inputs)
    ):
        raise InputError(
            f'must be "auto", a text such as "ids", or a pair of texts, not {inputs!r}', parameter="inputs"
        )
    found = tuple(
        _kinds(side, has, name)
        for side, has, name in zip(inputs, has_features, ("left", "right"), strict=True)
    )
    return found[0], found[1]


def _kinds(side: str, has_features: bool, name: str) -> tuple[str, ...]:
    kinds = tuple(part.strip() for part in side.split("+"))
    if not set(kinds) <= set(KINDS) or len(set(kinds)) < len(kinds):
        raise InputError(f"must join some of {', '.join(KINDS)} with +, not {side!r}", parameter="inputs")
    if "features" in kinds and not has_features:
        raise InputError(f"asks for features of the {name} side: pass {name}=... to fit", parameter="inputs")
    if has_features and "features" not in kinds:
        raise InputError(
            f"leaves the features of the {name} side unused: write {side}+features, or leave {name} out",
            parameter="inputs",
        )
    return tuple(kind for kind in KINDS if kind in kinds)


class History(Sparse):
    """Which entities of the other side an entity was seen with; rows have the length one.

    In training, entries are left out at random and the others grow in return: otherwise a tower would learn to give
    back its own input. Some rows are left out whole, so that the other inputs learn to answer for entities without
    a history.
    """

    def __init__(
        self,
        starts: torch.Tensor,
        columns: torch.Tensor,
        n_columns: int,
        dtype: torch.dtype,
        within: Within | None = None,
    ):
        counts = starts.diff()
        values = counts.clamp(min=1).to(dtype).rsqrt().repeat_interleave(counts)
        super().__init__(starts, columns, values, n_columns)
        self._whole = values
        self._within = within or Within(self.n_rows, len(values), 0, 0)

    def redraw(self, dropout: float, rng: np.random.Generator | None) -> None:
        """Leave out this share of all entries, others than before; without a generator, none."""
        if rng is None or not dropout:
            self.set_values(self._whole)
            return
        at = self._within
        entries = rng.random(at.n_entries, dtype=np.float32)[at.first_entry :][: len(self._whole)]
        kept = as_like((entries >= dropout) / (1 - dropout), self._whole)
        rows = rng.random(at.n_rows, dtype=np.float32)[at.first_row :][: self.n_rows]
        rows = as_like(rows >= _WHOLE_ROWS, self._whole)
        self.set_values(self._whole * kept * rows.repeat_interleave(self.starts.diff()))


def blocks_of(
    kinds: tuple[str, ...],
    n_rows: int,
    features: Any,
    seen: sparse.csr_matrix | None,
    *,
    ids: bool = True,
    constant: bool = True,
    within: Within | None = None,
    dtype: torch.dtype,
    device: Any,
) -> list[Block]:
    """Return the blocks of a tower, in the order of `KINDS`.

    Parameters
    ----------
    kinds : tuple of str
        The kinds of inputs.
    n_rows : int
        Entities.
    features : array or sparse matrix
        Scaled features, if they are among the kinds.
    seen : sparse matrix
        Histories, if they are among the kinds.
    ids : bool
        False for entities that had no id in the fit.
    constant : bool
        Whether there is a constant column at the end.
    within : Within, optional
        Where histories of one process are among all.
    """
    found: list[Block] = []
    for kind in kinds:
        if kind == "ids" and ids:
            found.append(Ids(n_rows))
        elif kind == "features":
            found.append(_tensor_block(features, dtype, device))
        elif kind == "history":
            assert seen is not None
            starts, columns = (
                torch.from_numpy(a.astype(np.int64)).to(device) for a in (seen.indptr, seen.indices)
            )
            found.append(History(starts, columns, seen.shape[1], dtype, within))
    if constant:
        found.append(Dense(torch.ones(n_rows, 1, dtype=dtype, device=device)))
    return found


def _tensor_block(features: Any, dtype: torch.dtype, device: Any) -> Block:
    if not sparse.issparse(features):
        return Dense(torch.as_tensor(features, dtype=dtype, device=device))
    starts, columns = (
        torch.from_numpy(a.astype(np.int64)).to(device) for a in (features.indptr, features.indices)
    )
    return Sparse(
        starts, columns, torch.as_tensor(features.data, dtype=dtype, device=device), features.shape[1]
    )
