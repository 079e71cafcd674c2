"""The settings of an online kernel: what is refused, what they mean for a step, and how large a kernel may grow."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from nearer._utils.arrays import LARGEST
from nearer._utils.text import warn
from nearer._utils.validation import at_most, not_negative, positive, whole
from nearer.errors import InputError
from nearer.kernels._rules import STEPS, UPDATES, Plan, Rule

if TYPE_CHECKING:
    from nearer.kernels.online import OnlineKernel

_DIRECTIONS = ("paper", "minimal")
_SKIPS = ("local", "bound", "never")
#: a kernel this many times larger than its start and its margin has diverged
_GROWN = 1e9
#: a passive-aggressive step of this many times the exact length overshoots an answer by as much as it was violated
_MIRRORED = 2.0
#: the largest amount by which a unit step changes near - far: the paper's direction, and quadruplets of four objects
_LARGEST_GAIN = 10.0


def check_settings(model: OnlineKernel) -> None:
    """Refuse settings that are invalid, alone or together."""
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
    if model.max_seconds is not None:
        positive("max_seconds", model.max_seconds)
    if model.callback is not None and not callable(model.callback):
        raise InputError(
            f"callback must be a function of one nearer.solvers.Progress, not {model.callback!r}"
        )
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
    """Refuse quadruplets if the direction, or the answers kept before, are for triplets, and vice versa."""
    if columns == 4 and model.rank is None and model.direction != "minimal":
        raise InputError('the paper\'s direction is for triplets: set direction="minimal" for quadruplets')
    if columns != model.kept_indices_.shape[1] and model.passes > 1:
        raise InputError(
            f"these answers have {columns} columns but those before had {model.kept_indices_.shape[1]}: with passes "
            "above 1, pass only triplets or only quadruplets"
        )


def plan_of(model: OnlineKernel, start: float) -> Plan:
    """Return how a kernel learns answers if its largest entry at the start was `start`."""
    most = math.inf if model.max_step is None else float(model.max_step)
    size = float(model.step_size) if model.step_size is not None else 1.0 if model.rank is None else 0.5
    rule = Rule(model.update, model.step, size, float(model.margin), most, bool(model.soft))
    ceiling = ceiling_of(rule, start)
    return Plan(rule, int(model.passes), float(model.trace_penalty), model.seed_, ceiling)


def longer(names: tuple[str, ...] | None, new: tuple[str, ...] | None, count: int) -> tuple[str, ...] | None:
    """Return the names of the objects followed by those of the new ones, if there are names."""
    if new is None and names is None:
        return None
    if new is None:
        raise InputError(f"the objects have names, such as {names[0]!r}: name the new ones as well")  # type: ignore[index]
    if names is None:
        raise InputError("the objects so far have no names: add the new ones by their count")
    if len(new) != count:
        raise InputError(f"there are {len(new)} names for {count} objects: pass one name per object")
    repeated = sorted(set(new) & set(names)) or sorted({name for name in new if new.count(name) > 1})
    if repeated:
        raise InputError(f"the name {repeated[0]!r} is taken: choose a different name for every object")
    return names + new


def check_growth(model: OnlineKernel) -> None:
    """Refuse settings under which a kernel grows without limit, or that overflow."""
    for name in ("margin", "step_size", "max_step"):
        if getattr(model, name) is not None:
            at_most(name, getattr(model, name), LARGEST)
    if model.step_size is None or model.rank is not None or model.step != "constant":
        return  # low-rank steps are bounded, and shrinking steps fall below the limit in time
    if model.update == "passive-aggressive" and (model.max_step is None or model.soft):
        _check_overshoot(model)


def _check_overshoot(model: OnlineKernel) -> None:
    """Refuse steps that overshoot an answer by more than it was violated.

    A step of s times the exact length leaves 1 - s times the violation. Above s = 2, answers that
    contradict each other multiply the violation by s - 1 > 1 every time. With `soft` and the bound C, s is the share
    gain / (gain + 1 / (2 C)) of `step_size`.
    """
    assert model.step_size is not None
    most = _MIRRORED
    if model.soft and model.max_step is not None:
        most += 1 / (_LARGEST_GAIN * model.max_step)
    if model.step_size > most:
        raise InputError(
            f"step_size is {model.step_size:g}, but constant passive-aggressive steps above {most:g} overshoot more "
            "and more until the kernel overflows: use step_size=1, which meets each answer exactly, or set max_step"
        )


def ceiling_of(rule: Rule, start: float) -> float:
    """Return the size beyond which a kernel has diverged, from the largest entry at its start.

    Bounded steps only add up. Passive-aggressive steps without a bound are proportional to the kernel, so they can
    multiply it.
    """
    bounded = rule.update != "passive-aggressive" or (math.isfinite(rule.max_step) and not rule.soft)
    return LARGEST if bounded else min(_GROWN * max(start, rule.margin), LARGEST)


def warn_of_divergence(model: OnlineKernel, learned: int, given: int) -> None:
    """Warn that learning stopped, with a remedy."""
    settings = "step_size, max_step" if model.max_step is not None else "step_size"
    remedy = f"use a smaller {settings} or smaller weights"
    if model.update == "passive-aggressive" and model.max_step is None:
        remedy += ", or set max_step"
    warn(
        f"the kernel diverged: learning stopped after {learned:,} of {given:,} answers and keeps the kernel as it was "
        f"then; {remedy}"
    )
