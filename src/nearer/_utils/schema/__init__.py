"""Declarations of what a model file may hold; every loaded value is checked before anything is built from it.

A class that can be saved declares its schema next to its code, in the class attribute `_schema`:

- an estimator: `Saved(params={...}, fitted={...})`, one entry per parameter and per fitted attribute;
- a dataclass among its attributes: `Fields(...)`, one entry per field;
- a frozen dataclass of settings that checks itself in `__post_init__` (losses, solvers): `Settings()`.

Sizes have names. `Array("n", "p")` and `Names("n")` in one schema must agree on n, and `Array("q", 3, kinds="i",
below="n")` holds indices of the n objects. What a declaration cannot express, such as that two shapes are equal, is
checked by a method `_check_loaded` of the class, which raises `SchemaError`.

>>> import numpy as np
>>> sizes = {}
>>> Array("n", 2).read(np.zeros((3, 2)), "points", sizes).shape, sizes
((3, 2), {'n': 3})
>>> Array("q", kinds="i", below="n").read(np.array([0, 3]), "rows", sizes)
Traceback (most recent call last):
nearer._utils.schema.values.SchemaError: rows must hold numbers below 3, not 3
"""

from __future__ import annotations

from nearer._utils.schema.structures import (
    AnyOf,
    Fields,
    Items,
    MayLack,
    Part,
    Parts,
    Plain,
    Record,
    Row,
    Saved,
    Settings,
    check_whole,
    optional,
)
from nearer._utils.schema.values import (
    LARGEST,
    MOST,
    Array,
    Flag,
    Integer,
    Literal,
    Matrix,
    Names,
    Number,
    SchemaError,
    Size,
    Spec,
    Strings,
    Text,
    need,
)

COUNT = Integer()
SWITCH = AnyOf(Flag(), Integer(0, 1000))
SEED = optional(
    Integer(0, 2**256),
    Items(Integer(0, 2**256), kind=list),
    Items(Integer(0, 2**256), kind=tuple),
    Array(None, kinds="iu", at_least=0, at_most=2**64),
)
#: parameters of the budget of a fit
BUDGET: dict[str, Spec] = {
    "max_epochs": optional(COUNT),
    "max_evaluations": optional(COUNT),
    "max_seconds": optional(Number()),
    "tol": Number(),
}

__all__ = [
    "BUDGET",
    "COUNT",
    "LARGEST",
    "MOST",
    "SEED",
    "SWITCH",
    "AnyOf",
    "Array",
    "Fields",
    "Flag",
    "Integer",
    "Items",
    "Literal",
    "Matrix",
    "MayLack",
    "Names",
    "Number",
    "Part",
    "Parts",
    "Plain",
    "Record",
    "Row",
    "Saved",
    "SchemaError",
    "Settings",
    "Size",
    "Spec",
    "Strings",
    "Text",
    "check_whole",
    "need",
    "optional",
]
