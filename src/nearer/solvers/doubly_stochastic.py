"""Steps on one pair of rows at a time: AdaDSG, which doubles the rows it uses, and DSGD, which uses all."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from nearer._compiled.pairwise_reference import POWER, T
from nearer._utils.validation import positive, whole
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss
from nearer.objectives._pair_weights import POWER_OF_AVERAGE, floor_of, length_of, rule_of
from nearer.objectives.stochastic_pairs import PairObjective, PairWalk
from nearer.solvers._passes import OnlineSolver, Pass, samples_of
from nearer.solvers.run import Run

#: the floor of the first steps in units of (mean squared distance of a pair) * (largest curvature of the loss)
_FLOOR = 0.5


@dataclass(frozen=True)
class _DoublyStochastic(OnlineSolver):
    """What AdaDSG and DSGD share: how a stage is walked, and how a stream is cut into stages.

    The run's memory holds, besides arrays, the rows that the present stage uses ("size"), its steps so far
    ("position") and the stages on all rows so far ("repeats").
    """

    step: str | float = "auto"
    average: str = "weighted"
    walk: str = "ordered"
    buffer: int = 256

    def __post_init__(self) -> None:
        if self.step not in ("auto", "paper"):
            positive("step", self.step)
        for name, known in (("average", ("weighted", "tail", "last")), ("walk", ("ordered", "random"))):
            if getattr(self, name) not in known:
                raise InputError(
                    f"must be one of {', '.join(known)}, not {getattr(self, name)!r}", parameter=name
                )
        whole("buffer", self.buffer)

    requires: ClassVar[frozenset[str]] = frozenset({"pair_walk", "loss", "regularization", "stream"})

    def solve(
        self, objective: PairObjective, x: np.ndarray, rng: np.random.Generator, run: Run
    ) -> np.ndarray:
        walk = objective.pair_walk(x, run.memory, rng, order=self.walk, buffer=self.buffer)
        try:
            if objective.stream:
                self._chunk(walk, objective, run)
            else:
                self._schedule(walk, objective, run)
        finally:
            walk.store(run.memory.arrays)
        return self._answer(walk) if walk.has_pairs else x

    @abstractmethod
    def _schedule(self, walk: PairWalk, objective: PairObjective, run: Run) -> None:
        """Carry out all stages of a fit."""

    @abstractmethod
    def _next_size(self, numbers: dict[str, float]) -> int:
        """Return how many steps the next stage of a stream has."""

    def _chunk(self, walk: PairWalk, objective: PairObjective, run: Run) -> None:
        """Make two steps per row of a chunk of a stream, in stages that reach over chunks."""
        numbers, left = run.memory.numbers, 2 * objective.n_terms if walk.has_pairs else 0
        run.expected = left
        while left > 0:
            stage = max(run.epoch, 0)
            if numbers.get("position", 0) >= numbers.get("size", 0):
                stage += 1
                numbers["position"], numbers["size"] = 0.0, float(self._next_size(numbers))
            walk.begin(None)
            size = int(numbers["size"])
            rule = self._rule(numbers, objective.loss, objective.regularization / np.sqrt(size))
            rule[T] = numbers["position"]
            steps = min(left, size - int(numbers["position"]))
            left -= self._stage(walk, run, rule, steps, stage)

    def _stage(self, walk: PairWalk, run: Run, rule: np.ndarray, steps: int, stage: int) -> int:
        """Make up to `steps` steps of a stage; return how many there were."""
        numbers = run.memory.numbers
        with Pass(run, lambda: self._answer(walk), length_of(rule), stage) as now:
            while now.made < steps:
                count = run.room(steps - now.made)
                if self.average == "tail":
                    count = self._towards_tail(walk, numbers, rule, count)
                made, loss = walk.steps(count, rule)
                numbers["position"] += made
                now.add(made, loss)
        return now.made

    def _towards_tail(self, walk: PairWalk, numbers: dict[str, float], rule: np.ndarray, count: int) -> int:
        """Average only in the second half of a stage; return how many steps may be made until it begins."""
        left = int(numbers["size"]) // 2 - int(numbers["position"])
        if left > 0:
            rule[POWER] = -1.0
            return min(count, left)
        if rule[POWER] < 0:
            rule[POWER] = 0.0
            walk.weights.restart_average()
        return count

    def _answer(self, walk: PairWalk) -> np.ndarray:
        return walk.weights.last() if self.average == "last" else walk.weights.average()

    def _rule(self, numbers: dict[str, float], loss: MarginLoss, mu: float) -> np.ndarray:
        power = POWER_OF_AVERAGE if self.average == "weighted" else (0.0 if self.average == "tail" else -1.0)
        if self.step == "paper":
            if mu <= 0:
                raise InputError('step="paper" divides by the regularization, which is 0: choose step="auto"')
            return rule_of(0.0, mu, power, proximal=False)
        floor = 1 / self.step if isinstance(self.step, float | int) else floor_of(numbers, loss, _FLOOR)
        return rule_of(floor * max(numbers.get("repeats", 0), 1), mu, power, proximal=True)


@dataclass(frozen=True)
class AdaDSG(_DoublyStochastic):
    """Adaptive doubly stochastic gradient: each stage uses twice the rows of the last.

    A stage of m rows makes m steps, each on one row of either class, from where the last stage ended. Once m is all
    of the rows, further stages follow with ever shorter steps.

    Parameters
    ----------
    start : int
        Half of the first stage's rows. Smaller first stages were never faster to a given AUC.
    stages : int
        Of a fit. A stream has no end: two steps are made per row.
    step : "auto", "paper" or float
        "auto": the t-th step of a stage has length `1 / (floor + mu t)`, where mu is the strength of the L2 term, and
        the floor is half the mean squared distance of a pair times the loss's largest curvature, measured on
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
    >>> import nearer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> model = nearer.AUCClassifier(solver=AdaDSG(), random_state=0).fit(X, np.arange(400) < 100)
    >>> int(model.coef_.argmax()), model.result_.n_epochs, model.result_.stop_reason
    (0, 20, 'epochs')
    """

    start: int = 1024
    stages: int = 20
    name: ClassVar[str] = "adadsg"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("start", self.start)
        whole("stages", self.stages)

    def _schedule(self, walk: PairWalk, objective: PairObjective, run: Run) -> None:
        numbers, n = run.memory.numbers, objective.n_terms
        run.expected = sum(min(self.start << stage, n) for stage in range(1, self.stages + 1))
        for _ in range(self.stages):
            size = min(self._next_size(numbers), n)
            numbers["position"], numbers["size"] = 0.0, float(size)
            numbers["repeats"] = numbers.get("repeats", 0.0) + (size == n)
            walk.begin(size)
            rule = self._rule(numbers, objective.loss, objective.regularization / np.sqrt(size))
            self._stage(walk, run, rule, size, max(run.epoch, 0) + 1)

    def _next_size(self, numbers: dict[str, float]) -> int:
        return 2 * max(int(numbers.get("size", 0)), self.start)


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
    >>> import nearer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3)) + [1.0, 0.0, 0.0] * (np.arange(400)[:, None] < 100)
    >>> model = nearer.AUCClassifier(solver=DSGD(passes=5), random_state=0).fit(X, np.arange(400) < 100)
    >>> int(model.coef_.argmax()), model.result_.n_evaluations
    (0, 2000)
    """

    passes: int = 14
    name: ClassVar[str] = "dsgd"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("passes", self.passes)

    def _schedule(self, walk: PairWalk, objective: PairObjective, run: Run) -> None:
        numbers, n, stage = run.memory.numbers, objective.n_terms, max(run.epoch, 0) + 1
        run.expected = self.passes * n
        numbers["position"], numbers["size"] = 0.0, float(self.passes * n)
        for _ in range(self.passes):
            numbers["repeats"] = numbers.get("repeats", 0.0) + 1
            walk.begin(None)
            rule = self._rule(numbers, objective.loss, objective.regularization / np.sqrt(n))
            rule[T] = numbers["position"]
            self._stage(walk, run, rule, n, stage)

    def _next_size(self, numbers: dict[str, float]) -> int:
        return max(int(samples_of(numbers)), 1)
