"""How large an online kernel may grow: settings that make it diverge, and the size at which learning stops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from nearer._utils.arrays import LARGEST
from nearer._utils.text import warn
from nearer._utils.validation import at_most
from nearer.errors import InputError

if TYPE_CHECKING:
    from nearer.kernels._rules import Rule
    from nearer.kernels.online import OnlineKernel

#: a kernel this many times larger than its start and its margin has diverged
_GROWN = 1e9
#: a passive-aggressive step of this many times the length that meets the answer misses it by as much on the other side
_MIRRORED = 2.0
#: the largest amount by which a unit step changes near - far: the paper's direction, and quadruplets of four objects
_LARGEST_GAIN = 10.0


def check_growth(model: OnlineKernel) -> None:
    """Refuse settings under which a kernel grows without limit, or that overflow."""
    for name in ("margin", "step_size", "max_step"):
        if getattr(model, name) is not None:
            at_most(name, getattr(model, name), LARGEST)
    if model.step_size is None or model.rank is not None or model.step != "constant":
        return  # low-rank steps are bounded, and steps that shrink fall below the limit in time
    if model.update == "passive-aggressive" and (model.max_step is None or model.soft):
        _check_overshoot(model)


def _check_overshoot(model: OnlineKernel) -> None:
    """Refuse steps that miss an answer by more than before.

    A step of s times the length that meets an answer leaves 1 - s times its violation. Above s = 2, answers that
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
            "and more until the kernel overflows: use 1 to meet each answer exactly, or set max_step"
        )


def ceiling_of(rule: Rule, start: float) -> float:
    """Return the size beyond which a kernel counts as diverged, from the largest entry that it started with.

    Bounded steps only add up. Passive-aggressive steps without a bound are as long as the kernel is large, so that they
    can multiply it.
    """
    bounded = rule.update != "passive-aggressive" or (math.isfinite(rule.max_step) and not rule.soft)
    return LARGEST if bounded else min(_GROWN * max(start, rule.margin), LARGEST)


def warn_of_divergence(model: OnlineKernel, learned: int, given: int) -> None:
    """Say once that learning stopped, and what helps."""
    settings = "step_size, max_step" if model.max_step is not None else "step_size"
    remedy = f"use a smaller {settings} or smaller weights"
    if model.update == "passive-aggressive" and model.max_step is None:
        remedy += ", or set max_step"
    warn(
        f"the kernel diverged: learning stopped after {learned:,} of {given:,} answers and keeps the kernel as it was "
        f"then; {remedy}"
    )
