"""Steps on one pair of rows at a time: AdaDSG, which doubles the rows it counts on, and DSGD, which counts on all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearer._compiled.pairwise_reference import POWER, T
from nearer._utils.validation import positive, whole
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.pairwise._courses import ClassesCourse, Course, Steps
from nearer.pairwise._reservoir import Reservoir
from nearer.pairwise._weights import POWER_OF_AVERAGE, floor_of, length_of, rule_of
from nearer.pairwise.base import PairSolver
from nearer.pairwise.pairs import Pairs
from nearer.pairwise.state import State, Watch

#: the first steps' floor in units of (mean squared distance of a pair) * (largest second derivative of the loss)
_FLOOR = 0.5


@dataclass(frozen=True)
class _DoublyStochastic(PairSolver):
    """What AdaDSG and DSGD share: how a stage is walked, and how a stream is cut into stages."""

    step: str | float = "auto"
    average: str = "weighted"
    walk: str = "ordered"
    buffer: int = 256

    def __post_init__(self) -> None:
        if self.step not in ("auto", "paper"):
            positive("step", self.step)
        for name, known in (("average", ("weighted", "tail", "last")), ("walk", ("ordered", "random"))):
            if getattr(self, name) not in known:
                raise InputError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")
        whole("buffer", self.buffer)

    def _stage(self, walker: Steps, watch: Watch, rule: np.ndarray, steps: int, size: int) -> None:
        """Up to `steps` steps of a stage of `size`, and their row in the history."""
        state = watch.state
        met, total, first_length = 0, 0.0, length_of(rule)
        while met < steps and not watch.over:
            count = min(watch.room(steps - met), steps - met)
            if self.average == "tail":
                middle = size // 2
                if state.position < middle:
                    rule[POWER] = -1.0
                    count = min(count, middle - state.position)
                elif rule[POWER] < 0:
                    rule[POWER] = 0.0
                    walker.restart_average()
            made, loss = walker.steps(count, rule)
            met, total = met + made, total + loss
            state.position += made
            watch.made(made, loss, lambda: self._answer(walker))
        state.record(total / max(met, 1), first_length)

    def _answer(self, walker: Steps) -> np.ndarray:
        walker.finish()
        return walker.weights.last() if self.average == "last" else walker.weights.average()

    def _rule(self, state: State, loss: MarginLoss, mu: float) -> np.ndarray:
        power = POWER_OF_AVERAGE if self.average == "weighted" else (0.0 if self.average == "tail" else -1.0)
        if self.step == "paper":
            if mu <= 0:
                raise InputError('step="paper" divides by the regularization, which is 0: choose step="auto"')
            return rule_of(0.0, mu, power, proximal=False)
        floor = 1 / self.step if isinstance(self.step, float | int) else floor_of(state, loss, _FLOOR)
        return rule_of(floor * max(state.repeats, 1), mu, power, proximal=True)

    def _keep(self, course: Course, state: State) -> None:
        """Let the state hold the answer, and what it takes to go on."""
        if course.steps is not None:  # there was a stage
            state.w = self._answer(course.steps)
            state.arrays.update(course.steps.weights.stored())

    def _run_batch(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        course = ClassesCourse(pairs, loss, self.walk, watch.state, rng)
        self._schedule(course, loss, regularization, watch)
        self._keep(course, watch.state)

    def _run_stream(
        self, pairs: Pairs, loss: MarginLoss, regularization: float, rng: np.random.Generator, watch: Watch
    ) -> None:
        """Two steps for every row of the chunk, with kept rows where it has few of a class."""
        state = watch.state
        kept = Reservoir.resumed(self.buffer, state.arrays, (state.positives, state.negatives))
        joined = kept.join(pairs, rng)
        kept.add(pairs, rng)
        state.positives, state.negatives = kept.seen
        if min(len(joined.positives), len(joined.negatives)) > 0:
            course = ClassesCourse(joined, loss, self.walk, state, rng)
            self._chunk(course, loss, regularization, watch, 2 * pairs.n_rows)
            self._keep(course, state)
        kept.store(state.arrays)

    def _schedule(self, course: Course, loss: MarginLoss, regularization: float, watch: Watch) -> None:
        """All stages of a fit."""
        raise NotImplementedError

    def _chunk(
        self, course: Course, loss: MarginLoss, regularization: float, watch: Watch, left: int
    ) -> None:
        """So many steps over a chunk of a stream, in stages that reach over chunks."""
        state = watch.state
        while left > 0 and not watch.over:
            if state.position >= state.size:
                state.stage, state.position = state.stage + 1, 0
                state.size = self._next_size(state)
            walker, before = course.begin(None), state.steps
            rule = self._rule(state, loss, regularization / np.sqrt(state.size))
            rule[T] = state.position
            self._stage(walker, watch, rule, min(left, state.size - state.position), state.size)
            left -= state.steps - before

    def _next_size(self, state: State) -> int:
        raise NotImplementedError


@dataclass(frozen=True)
class AdaDSG(_DoublyStochastic):
    """Adaptive doubly stochastic gradient: stages that each count on twice the rows of the last.

    A stage of m rows makes m steps, each on one row of either class, from where the last stage ended. Once m is all
    of the rows, further stages follow with ever shorter steps.

    Parameters
    ----------
    start : int
        Half of the first stage's rows. Smaller first stages were never faster to a given AUC.
    stages : int
        Of a fit. On a stream there is no end: two steps are made for every row that comes.
    step : "auto", "paper" or float
        "auto": the t-th step of a stage has length `1 / (floor + mu t)`, where mu is the strength of the L2 term, and
        the floor is half the mean squared distance of a pair times the loss's largest second derivative, measured on
        the first, small stage; it grows with every further stage on all rows. Steps are proximal: they cannot
        overshoot. A number takes the place of 1 / floor. "paper" is the printed rule, `1 / (mu t)`, explicit steps: it
        throws away what the stage before had found, and diverges with the square loss.
    average : {"weighted", "tail", "last"}
        The answer: the average of all iterates, the t-th weighing t**3; of those in the second half of a stage; or the
        latest.
    walk : {"ordered", "random"}
        Whether rows are met in the order of a shuffled copy, which is faster on data larger than the caches, or drawn
        at random from where they lie, which takes no memory.
    buffer : int
        Rows of either class kept of a stream, partners for chunks that have few of one class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> pairs = Pairs.from_labels(X, np.arange(400) < 100, rng)
    >>> from nearer.losses.margins import HingeLoss
    >>> state = AdaDSG().run(pairs, HingeLoss(), 0.01, rng)
    >>> int(state.w.argmax()), state.stage, state.stop_reason
    (0, 20, 'epochs')
    """

    start: int = 1024
    stages: int = 20
    name: ClassVar[str] = "adadsg"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("start", self.start)
        whole("stages", self.stages)

    def _schedule(self, course: Course, loss: MarginLoss, regularization: float, watch: Watch) -> None:
        state, n = watch.state, course.n_rows
        for _ in range(self.stages):
            if watch.over:
                break
            state.stage, state.position = state.stage + 1, 0
            state.size = min(self._next_size(state), n)
            state.repeats += state.size == n
            walker = course.begin(state.size)
            rule = self._rule(state, loss, regularization / np.sqrt(state.size))
            self._stage(walker, watch, rule, state.size, state.size)

    def _next_size(self, state: State) -> int:
        return 2 * max(state.size, self.start)


@dataclass(frozen=True)
class DSGD(_DoublyStochastic):
    """Doubly stochastic gradient: one long stage on all rows, otherwise as `AdaDSG`.

    Parameters
    ----------
    passes : int
        Of a fit: steps divided by rows.
    step : {"auto", "paper"} or float
        As in `AdaDSG`; steps grow shorter with every pass.
    average : {"weighted", "tail", "last"}
        As in `AdaDSG`.
    walk : {"ordered", "random"}
        As in `AdaDSG`.
    buffer : int
        As in `AdaDSG`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> pairs = Pairs.from_labels(X, np.arange(400) < 100, rng)
    >>> from nearer.losses.margins import HingeLoss
    >>> state = DSGD(passes=5).run(pairs, HingeLoss(), 0.01, rng)
    >>> int(state.w.argmax()), state.steps
    (0, 2000)
    """

    passes: int = 14
    name: ClassVar[str] = "dsgd"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("passes", self.passes)

    def _schedule(self, course: Course, loss: MarginLoss, regularization: float, watch: Watch) -> None:
        state, n = watch.state, course.n_rows
        state.stage, state.size, state.position = state.stage + 1, self.passes * n, 0
        for _ in range(self.passes):
            if watch.over:
                break
            state.repeats += 1
            walker = course.begin(None)
            rule = self._rule(state, loss, regularization / np.sqrt(n))
            rule[T] = state.position
            self._stage(walker, watch, rule, n, state.size)

    def _next_size(self, state: State) -> int:
        return max(state.samples, 1)
