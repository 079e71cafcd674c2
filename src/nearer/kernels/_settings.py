"""The settings of an online kernel: what is refused, and what they mean for a step."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nearer._utils.validation import not_negative, positive, whole
from nearer.errors import InputError
from nearer.kernels._divergence import ceiling_of, check_growth
from nearer.kernels._forms import Plan
from nearer.kernels._rules import STEPS, UPDATES, Rule

if TYPE_CHECKING:
    from nearer.kernels.online import OnlineKernel

_DIRECTIONS = ("paper", "minimal")
_SKIPS = ("local", "bound", "never")


def check_settings(model: OnlineKernel) -> None:
    """Refuse settings that cannot be, alone or together."""
    _check_choices(model)
    not_negative("margin", model.margin)
    not_negative("trace_penalty", model.trace_penalty)
    whole("passes", model.passes)
    for name in ("n_objects", "rank"):
        if getattr(model, name) is not None:
            whole(name, getattr(model, name))
    for name in ("step_size", "max_step"):
        if getattr(model, name) is not None:
            positive(name, getattr(model, name))
    if np.ndim(model.start) == 0:
        positive("start", model.start)
    _check_combinations(model)
    check_growth(model)


def _check_choices(model: OnlineKernel) -> None:
    for name, value, known in (
        ("update", model.update, tuple(UPDATES)),
        ("step", model.step, tuple(STEPS)),
        ("direction", model.direction, (*_DIRECTIONS, None)),
        ("skip", model.skip, _SKIPS),
    ):
        if value not in known:
            names = ", ".join(repr(item) for item in known if item is not None)
            raise InputError(f"is {value!r}: use one of {names}", parameter=name)


def _check_combinations(model: OnlineKernel) -> None:
    if model.max_step is not None and model.update != "passive-aggressive":
        raise InputError(
            f"bounds passive-aggressive steps, but update is {model.update!r}: leave it out",
            parameter="max_step",
        )
    if model.soft and model.max_step is None:
        raise InputError("soft needs max_step, the bound that it softens: set max_step as well")
    if model.rank is not None and model.direction is not None:
        raise InputError("direction is for whole kernels, but rank is set: leave direction out")


def check_columns(model: OnlineKernel, columns: int) -> None:
    """Refuse quadruplets where the direction, or the answers kept before, are of triplets, and the like."""
    if columns == 4 and model.rank is None and model.direction != "minimal":
        raise InputError('the paper\'s direction is for triplets: set direction="minimal" for quadruplets')
    if columns != model.kept_indices_.shape[1] and model.passes > 1:
        raise InputError(
            f"these answers have {columns} columns but those before had {model.kept_indices_.shape[1]}: with passes "
            "above 1 give all as triplets or all as quadruplets"
        )


def plan_of(model: OnlineKernel, start: float) -> Plan:
    """How answers are to be learned by a kernel that started with entries of this size."""
    most = math.inf if model.max_step is None else float(model.max_step)
    size = float(model.step_size) if model.step_size is not None else 1.0 if model.rank is None else 0.5
    rule = Rule(model.update, model.step, size, float(model.margin), most, bool(model.soft))
    ceiling = ceiling_of(rule, start)
    return Plan(rule, int(model.passes), float(model.trace_penalty), model.seed_, ceiling)


def longer(names: tuple[str, ...] | None, new: tuple[str, ...] | None, count: int) -> tuple[str, ...] | None:
    """The names of the objects and those of the new ones, where there are names."""
    if new is None and names is None:
        return None
    if new is None:
        raise InputError(f"the objects have names, such as {names[0]!r}: name the new ones as well")  # type: ignore[index]
    if names is None:
        raise InputError("the objects so far have no names: add the new ones by their count")
    if len(new) != count:
        raise InputError(f"there are {len(new)} names for {count} objects: give one an object")
    repeated = sorted(set(new) & set(names)) or sorted({name for name in new if new.count(name) > 1})
    if repeated:
        raise InputError(f"the name {repeated[0]!r} is taken: give every object a name of its own")
    return names + new
