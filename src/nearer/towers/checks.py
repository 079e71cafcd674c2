"""What is checked of `TwoTower`: its parameters before a fit, and a model that comes from a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from nearer._utils.schema import (
    BUDGET,
    SEED,
    SWITCH,
    AnyOf,
    Array,
    Flag,
    Integer,
    Items,
    Literal,
    Number,
    Part,
    Saved,
    Text,
    need,
    optional,
)
from nearer._utils.validation import not_negative, whole
from nearer.errors import InputError
from nearer.interactions.recommending import FITTED
from nearer.losses import MarginLoss, find_margin_loss
from nearer.solvers import Result, Solver
from nearer.towers.fitting import automatic_solver
from nearer.towers.inputs import Scaling, kinds_of
from nearer.towers.new_rows import parameter_counts

if TYPE_CHECKING:
    from nearer.towers.two_tower import TwoTower

DTYPES = {"float32": torch.float32, "tf32": torch.float32, "float64": torch.float64}

SCHEMA = Saved(
    params={
        "n_components": Integer(1, 10**6),
        "hidden": Items(Integer(1, 10**6), kind=tuple),
        "inputs": AnyOf(Text(), Items(Text(), kind=tuple), Items(Text(), kind=list)),
        "linear": Flag(),
        "loss": AnyOf(Text(), Part(MarginLoss)),
        **dict.fromkeys(("omega", "l2", "frequency", "dropout"), Number(at_least=0)),
        "missing": Number(),
        "solver": AnyOf(Text(), Part(Solver)),
        "modules": Literal(None),
        "validation": optional(Number()),
        **BUDGET,
        "chunk_rows": optional(Integer(1, 10**9)),
        "dtype": Text(),
        "device": Text(),
        "checkpoint": Literal(None),
        "random_state": SEED,
        "verbose": SWITCH,
        "callback": Literal(None),
    },
    fitted={
        "left_embedding_": Array("m", "k", filled=True),
        "right_embedding_": Array("n", "k", filled=True),
        "parameters_": Array("x"),
        "result_": Part(Result),
        **FITTED,
        "left_scaling_": optional(Part(Scaling)),
        "right_scaling_": optional(Part(Scaling)),
    },
)


def check_settings(model: TwoTower) -> None:
    """Refuse parameters that no fit can use."""
    whole("n_components", model.n_components)
    if isinstance(model.hidden, str) or not isinstance(model.hidden, Sequence):
        raise InputError(
            f"must hold the width of each layer, such as (256, 256), or () for linear towers, not {model.hidden!r}",
            parameter="hidden",
        )
    for width in model.hidden:
        whole("hidden", width)
    _check_modules(model.modules)
    for name in ("omega", "l2", "frequency", "dropout"):
        not_negative(name, getattr(model, name))
    if model.dropout >= 1:
        raise InputError(f"must be below 1, not {model.dropout!r}", parameter="dropout")
    if not isinstance(model.missing, int | float) or not np.isfinite(model.missing):
        raise InputError(f"must be a number, not {model.missing!r}", parameter="missing")
    if model.validation is not None and not 0 < model.validation < 1:
        raise InputError(f"must be a share between 0 and 1, not {model.validation!r}", parameter="validation")
    if model.chunk_rows is not None:
        whole("chunk_rows", model.chunk_rows)
    if model.dtype not in DTYPES:
        raise InputError(f"must be float32, tf32 or float64, not {model.dtype!r}", parameter="dtype")
    find_margin_loss(model.loss)
    automatic_solver(model.solver, linear=False, path=True, least_squares=False, noisy=False)


def check_loaded(model: TwoTower) -> None:
    """Refuse a loaded model whose parts do not fit together."""
    model._check_seen()
    arrays = (model.left_embedding_, model.right_embedding_, model.parameters_)
    dtype = np.dtype("float64" if model.dtype == "float64" else "float32")
    need(all(array.dtype == dtype for array in arrays), f"arrays must be {dtype}")
    need(model.left_embedding_.shape[1] == model.n_components, "embeddings must have n_components columns")
    has_features = (model.left_scaling_ is not None, model.right_scaling_ is not None)
    kinds = kinds_of(model.inputs, has_features)
    counts = parameter_counts(model, model._architecture(), kinds)
    need(
        counts[0][0] + counts[1][0] == len(model.parameters_),
        "parameters_ must have one entry per parameter",
    )


def _check_modules(modules: Any) -> None:
    """Refuse anything but two networks."""
    if modules is None:
        return
    pair = isinstance(modules, tuple | list) and len(modules) == 2
    if not pair or not all(isinstance(module, nn.Module) for module in modules):
        raise InputError(
            "must be a pair of torch.nn.Module: the left and the right tower", parameter="modules"
        )
