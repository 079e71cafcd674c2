"""How rows of features are prepared: measured from their medians, in the size of their columns, of unit length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.schema import Array, Fields, Flag, optional
from nearer.errors import InputError
from nearer.pairwise._scales import columns_of, moved, scales_of, shift_of

#: with fewer columns, the length of a row is a large part of what it says
_MANY_COLUMNS = 20


def check_unit_length(value: Any) -> None:
    """Refuse anything but "auto", True and False."""
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "auto")):
        raise InputError(f'must be "auto", True or False, not {value!r}', parameter="unit_length")


@dataclass(frozen=True)
class Preparation:
    """What is done to rows before they are multiplied with a factor.

    Attributes
    ----------
    shift, scales : array (p,), optional
        What is subtracted from the columns, and what they are divided by.
    unit_length : bool
        Whether every row is then divided by its length.
    """

    shift: np.ndarray | None
    scales: np.ndarray | None
    unit_length: bool
    _schema = Fields(
        shift=optional(Array("p", dtype="float64")),
        scales=optional(Array("p", dtype="float64")),
        unit_length=Flag(),
    )

    @classmethod
    def of(cls, rows: Any, scale: bool | str, unit_length: bool | str) -> Preparation:
        """Return the preparation that some rows call for.

        >>> Preparation.of(np.array([[1.0, 5.0], [3.0, 5.5], [2.0, 9.0]]), "auto", False)(np.array([[2.0, 5.5]]))
        array([[0., 0.]])
        """
        columns = columns_of(rows)
        scales = scales_of(columns, scale)
        unit = rows.shape[1] >= _MANY_COLUMNS if isinstance(unit_length, str) else bool(unit_length)
        return cls(shift_of(columns, always=scale is not False), scales, unit)

    def __call__(self, rows: Any) -> Any:
        """Return prepared rows in float64, dense or CSR; a row of zeros stays one."""
        found = moved(rows.astype(np.float64), self.shift, self.scales)
        if not self.unit_length:
            return found
        from sklearn.preprocessing import normalize

        return normalize(found, copy=False)
