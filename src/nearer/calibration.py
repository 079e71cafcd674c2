"""Choose the loss and the strength of the L2 term on held-out training comparisons.

The right strength depends on the noise, which is unknown beforehand: from 0.0002 for answers without error to 0.8 for
opinions. So the strengths are walked from strong to weak, each fit starting warm from its neighbour, until the
held-out score turns. A strong term leaves few local minima, and following the minimum from there ends in better ones
than a cold start does. A further loss starts from the best points of the first one.

The score is the log loss of a psychometric function with a lapse rate. One split of it chooses as well as several
splits of the error do, which depends on a few comparisons near the border.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nearer._fitting import Fit
from nearer._utils.runtime import in_threads
from nearer.comparisons import Comparisons
from nearer.losses import SOE, TSTE, Loss, RobustSOE
from nearer.metrics.embeddings import error_and_loss
from nearer.objectives import PointObjective
from nearer.solvers import LBFGS
from nearer.solvers.path import LEAST_COMPARISONS, Choice, Path, Split, StopRule, Trials
from nearer.starts import brought_back

#: used if there are too few comparisons to hold some out
DEFAULT_STRENGTH = 0.05

_HELD_OUT = 0.1
_ENOUGH_HELD_OUT = 2000  # comparisons; with fewer, several splits are averaged
_ENOUGH_FOR_A_SCALE = 2000  # comparisons: one number needs no more
#: below these sizes a fit takes a fraction of a second, and a careful choice is worth several fits
_FEW_OBJECTS, _FEW_COMPARISONS = 1000, 50_000
#: shares by which the held-out score must fall to change the strength, or the loss. With 0.004 for the strength, terms
#: were too strong: more errors on seven of eight sets of data than with 0.001 or 0, and equally many on one
_WORTH_A_CHANGE, _WORTH_ANOTHER_LOSS = 0.001, 0.002
#: share by which the score may rise on the way, and a further loss be behind at its first strength; scores of few
#: comparisons may rise by more
_IN_DOUBT = 0.003
#: up to this many dimensions the tails of t-STE bring nothing
_LOW_DIMENSION = 3
#: coordinates from which a map leaves the caches, where single precision takes half the time
_LARGE_MAP = 100_000
#: answers per object that an L2 term may weigh as much as. The best terms weigh 0.1 to 40; on many noisy answers about
#: few objects, stronger ones score hardly worse and make more errors
_MOST_WEIGHT = 40.0
#: mean squared distance, in units of the loss, below which points have collapsed
_COLLAPSED = 1e-3


@dataclass(frozen=True)
class Effort:
    """How carefully to choose.

    Parameters
    ----------
    strengths : tuple of float
        Strengths to walk, from strong to weak.
    stronger : tuple of float
        Strengths to walk upwards, if the strongest of these is the best.
    further : dict
        Strengths of further losses by their names, from the points of the first: they do not need their own way down.
    most_splits : int
        Splits to average at most.
    tol : float
        Factor on the tolerance of the fit.
    """

    strengths: tuple[float, ...]
    stronger: tuple[float, ...]
    further: dict[str, tuple[float, ...]]
    most_splits: int
    tol: float


#: every halving from 0.8 to 0.0001
CAREFUL = Effort(
    strengths=tuple(0.8 * 0.5**k for k in range(14)),
    stronger=(1.6, 3.2),
    further={"robust-soe": (0.05, 0.0125, 0.003), "tste": (0.003, 0.0008, 0.0002)},
    most_splits=6,
    tol=1.0,
)
#: every fourth, by fits that go only as far as the next one needs
QUICK = Effort(
    strengths=(0.2, 0.05, 0.0125, 0.003, 0.0008, 0.0002),
    stronger=(0.8, 3.2),
    further={"robust-soe": (0.0125,), "tste": (0.0008,)},
    most_splits=1,
    tol=5.0,
)
#: for a fit that must end before long
HURRIED = replace(QUICK, strengths=(0.2, 0.0125, 0.0008), stronger=())
EFFORTS = ("quick", "normal", "thorough")
#: evaluations of each comparison that a path takes: careful on all splits, quick, and one strength of it
_OF_A_CAREFUL_PATH, _OF_A_PATH, _OF_A_STRENGTH = 800, 80, 15


def effort_for(effort: str, n_objects: int, n_comparisons: int) -> Effort:
    """Return how carefully to choose, by the user's wish and the size of the fit.

    >>> effort_for("normal", 100, 10_000) is CAREFUL, effort_for("normal", 5000, 200_000) is QUICK
    (True, True)
    """
    small = n_objects < _FEW_OBJECTS and n_comparisons <= _FEW_COMPARISONS
    return CAREFUL if effort == "thorough" or (effort == "normal" and small) else QUICK


def restrained(effort: Effort, per_object: float) -> Effort:
    """Return the same without strengths that weigh more than answers could, given their number per object.

    >>> restrained(QUICK, per_object=1000).strengths
    (0.0125, 0.003, 0.0008, 0.0002)
    """

    def sensible(strengths: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(each for each in strengths if each * per_object <= _MOST_WEIGHT)

    return replace(
        effort,
        strengths=sensible(effort.strengths) or effort.strengths[-1:],
        stronger=sensible(effort.stronger),
        further={name: sensible(each) or each[-1:] for name, each in effort.further.items()},
    )


def candidates(n_components: int, wish: str, effort: Effort) -> list[Loss]:
    """Return the losses that loss="auto" tries; a large fit tries one besides SOE.

    SOE is the best or close to it if nearly all answers are right, its robust form if some are wrong, and t-STE with
    heavy tails for opinions in many dimensions. Trying STE, CKL and GNMDS as well makes the choice worse, by chance.
    """
    if wish == "quick":
        return [SOE()]
    if n_components <= _LOW_DIMENSION:
        return [SOE(), RobustSOE()]
    further = [TSTE(alpha=(n_components - 1) / 2), RobustSOE()]
    return [SOE(), *(further if effort is CAREFUL else further[:1])]


def choose(
    course: Fit, start: np.ndarray, losses: list[Loss], effort: Effort, strength: float | None = None
) -> Choice:
    """Return the loss and strength with the lowest held-out error; the first loss unless another is clearly better.

    With `strength`, only the loss is chosen. If the trials are ended early, by ctrl-C, a callback or a spent budget,
    this is the best so far.
    """
    comparisons = course.comparisons
    first = Choice(losses[0], DEFAULT_STRENGTH if strength is None else strength, start)
    one_trial = comparisons.groups is not None and len(np.unique(comparisons.groups)) < 2
    if len(comparisons) < LEAST_COMPARISONS or one_trial:
        return first
    room = _room(course, first)
    if room < 2 * _OF_A_STRENGTH:
        return first
    if room < _OF_A_PATH:
        effort, losses = HURRIED, losses[:1]
    elif room < _OF_A_CAREFUL_PATH:
        effort = QUICK
    n_splits = min(splits_for(len(comparisons)), effort.most_splits)
    trials = trials_of(course, effort, start, n_splits)

    def work() -> None:
        splits = [comparisons.split(test_size=_HELD_OUT, random_state=course.rng) for _ in range(n_splits)]
        walk(trials, splits, [start] * n_splits, losses, effort, strength)

    return trials.choose(first, work, comparisons, _WORTH_ANOTHER_LOSS)


def splits_for(n_comparisons: int) -> int:
    """Return how many splits to average: one, or as many pairs as hold out enough together, so that two threads share.

    >>> [splits_for(count) for count in (500, 4000, 7000, 15_000, 30_000)]
    [40, 6, 4, 2, 1]
    """
    held_out = int(_HELD_OUT * n_comparisons + 1)
    return 1 if held_out >= _ENOUGH_HELD_OUT else 2 * -(-_ENOUGH_HELD_OUT // (2 * held_out))


def trials_of(course: Fit, effort: Effort, start: np.ndarray, n_splits: int) -> Trials:
    """Return the trials of a fit; points that collapse are replaced by `start`."""
    each = _for_trials(course, n_splits)
    return Trials(
        course.run,
        course.rng,
        lambda part, loss, l2: each.objective(loss, l2, part),
        error_and_loss,
        lambda objective, points: points if _spread(objective, points) else start,
        course.n_jobs,
        max_epochs=None,
        tol=effort.tol * course.run.budget.tol,
    )


def walk(
    trials: Trials,
    splits: list[Split],
    starts: list[np.ndarray],
    losses: list[Loss],
    effort: Effort,
    strength: float | None = None,
) -> None:
    """Walk along the strengths of the first loss, then along those of the others from its best points."""
    part, _ = splits[0]
    effort = restrained(effort, len(part) / part.n_objects)
    strengths = effort.strengths if strength is None else (strength,)
    further = [effort.further[loss.name] if strength is None else (strength,) for loss in losses[1:]]
    parts = sum(len(each) for each in (strengths, *further))
    trials.run.enter(_stage(losses, strength), parts * len(splits))
    doubt = _IN_DOUBT + sum(len(held) for _, held in splits) ** -0.5
    rule = StopRule(_WORTH_A_CHANGE, slack=doubt)
    path = trials.path(losses[0], splits)
    _descend(path, strengths, starts, rule)
    if path.best == effort.strengths[0] and strength is None:
        path.walk(effort.stronger, path.best_fits, LBFGS(), rule)
    in_doubt = replace(rule, hopeless=(1 + doubt) * path.least)
    for loss, weaker in zip(losses[1:], further, strict=True):
        _descend(trials.path(loss, splits), weaker, path.best_fits, in_doubt)


def _for_trials(course: Fit, n_splits: int) -> Fit:
    """Return the settings of trials: threads go to splits or to comparisons, and large maps need only be compared."""
    n_jobs = course.n_jobs if n_splits == 1 else 1
    large = course.comparisons.n_objects * course.n_components >= _LARGE_MAP
    return replace(course, n_jobs=n_jobs, dtype=np.float32 if large else course.dtype)


def _room(course: Fit, choice: Choice) -> float:
    """Return how often all comparisons can be evaluated in the time that trials may take."""
    if course.run.seconds_left is None:
        return math.inf
    objective = course.objective(choice.loss, choice.strength)
    points = objective.start(choice.points)
    objective.value_and_gradient(points)  # loops may have to be compiled
    began = time.perf_counter()
    objective.value_and_gradient(points)
    seconds = time.perf_counter() - began
    return course.run.seconds_left / 2 / max(seconds, 1e-9)


def _descend(path: Path, strengths: tuple[float, ...], starts: Sequence[np.ndarray], rule: StopRule) -> None:
    """Walk from points that may have another scale."""

    def scaled(part: Comparisons, points: np.ndarray) -> np.ndarray:
        some = part[np.arange(0, len(part), max(len(part) // _ENOUGH_FOR_A_SCALE, 1))]
        return brought_back(path.trials.build(some, path.loss, strengths[0]), points)

    jobs = [partial(scaled, part, x) for (part, _), x in zip(path.splits, starts, strict=True)]
    path.walk(strengths, in_threads(jobs, path.trials.n_jobs), LBFGS(), rule)


def _spread(objective: PointObjective, points: np.ndarray) -> bool:
    """Return whether points are apart: from one point, where a strong term may lead, no descent leads away."""
    centred = points - points.mean(axis=0)
    return 2 * float(np.vdot(centred, centred)) > _COLLAPSED * len(points) * objective.unit_length**2


def _stage(losses: list[Loss], strength: float | None) -> str:
    choices = [name for name, several in (("loss", len(losses) > 1), ("l2", strength is None)) if several]
    return f"choosing {' and '.join(choices)}"
