"""Simulate studies with an oracle, to see how many answers each strategy needs."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nearer._fitting import silent_trials
from nearer._utils.files import replacing
from nearer._utils.validation import RandomState, generator, whole
from nearer.active._checks import checked_strategy
from nearer.active.oracles import Oracle, Sitting
from nearer.active.selector import Selector
from nearer.active.strategies import Strategy
from nearer.errors import InputError
from nearer.metrics import triplet_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nearer.ordinal import OrdinalEmbedding


@dataclass(frozen=True, eq=False)
class Study:
    """Hold the held-out error by number of answers, for each strategy and repetition.

    Attributes
    ----------
    strategies : tuple of str
        Names of the strategies.
    n_answers : array of shape (checkpoints,)
        Number of answers at which the errors were measured.
    errors : array of shape (strategies, repetitions, checkpoints)
        Held-out errors. NaN if the questions had run out before.
    choosing_seconds : array of shape (strategies, repetitions)
        Time to choose all questions, including the fits of the selector's map.
    finished : bool
        False if ctrl-C stopped it early. Errors that were not measured are NaN.
    """

    strategies: tuple[str, ...]
    n_answers: np.ndarray
    errors: np.ndarray
    choosing_seconds: np.ndarray
    finished: bool = True

    def answers_needed(self, error: float | Sequence[float] | np.ndarray) -> dict[str, np.ndarray]:
        """Return, per strategy and repetition, the number of answers after which the held-out error stays at `error`.

        A lucky dip below `error` does not count. Values between checkpoints are interpolated linearly. The number is
        infinite if the last error is larger.

        Parameters
        ----------
        error : float, or one per repetition
            The held-out error to reach.

        Examples
        --------
        >>> study = Study(("random",), np.array([10, 20]), np.array([[[0.4, 0.2]]]), np.zeros((1, 1)))
        >>> study.answers_needed(0.3)
        {'random': array([15.])}
        """
        targets = np.broadcast_to(np.asarray(error, dtype=float), self.errors.shape[1:2])
        return {
            name: np.array(
                [_for_good(self.n_answers, curve, at) for curve, at in zip(curves, targets, strict=True)]
            )
            for name, curves in zip(self.strategies, self.errors, strict=True)
        }

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the curves as csv: strategy, repetition, answers, error."""
        with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["strategy", "repetition", "answers", "error"])
            for name, repetitions in zip(self.strategies, self.errors, strict=True):
                for repetition, errors in enumerate(repetitions.tolist()):
                    for answers, error in zip(self.n_answers.tolist(), errors, strict=True):
                        if np.isfinite(error):
                            writer.writerow([name, repetition, answers, error])

    def plot(self, **settings: Any) -> Figure:
        """Draw the curves; see `nearer.plotting.plot_study`."""
        from nearer.plotting import plot_study

        return plot_study(self, **settings)


def play(
    oracle: Oracle,
    strategies: str | Strategy | Sequence[str | Strategy] = ("random", "adaptive"),
    *,
    n_answers: int,
    n_components: int = 2,
    batch: int = 10,
    random_share: float = 0.0,
    checkpoints: Sequence[int] | None = None,
    repeats: int = 1,
    estimator: OrdinalEmbedding | None = None,
    random_state: RandomState = None,
    callback: Callable[[str, int, int, float], object] | None = None,
) -> Study:
    """Simulate a study with each of the strategies.

    Within a repetition all strategies get the same points and are judged by the same held-out answers. The error
    is that of a fit of `estimator` to all answers collected, not that of the selector's own map. Ctrl-C stops the
    study early and keeps what was measured.

    Parameters
    ----------
    oracle : PlantedOracle, RecordedOracle or other Oracle
        Source of the answers.
    strategies : names or Strategy objects
        Strategies to compare. Each gets its own study.
    n_answers : int
        Number of answers per study.
    n_components : int
        Dimension of the maps.
    batch : int
        Number of questions chosen at a time, before any of them is answered.
    random_share : float
        Fraction of random questions mixed in.
    checkpoints : sequence of int, optional
        Numbers of answers at which to measure the error; by default twelve.
    repeats : int
        Number of repetitions, each with new random draws.
    estimator : OrdinalEmbedding, optional
        By default STE with automatic regularisation.
    random_state : int, Generator, RandomState or None
        Source of all random draws.
    callback : callable, optional
        Called as `callback(strategy, repetition, answers, error)` at each checkpoint.

    Examples
    --------
    >>> from nearer.active import PlantedOracle, play
    >>> study = play(PlantedOracle(15), ["random", "arr"], n_answers=200, checkpoints=[100, 200], random_state=0)
    >>> study.strategies, study.errors.shape
    (('random', 'arr'), (2, 1, 2))
    """
    whole("n_answers", n_answers)
    whole("batch", batch)
    whole("repeats", repeats)
    chosen = _checked_strategies(strategies)
    stops = _checked_checkpoints(checkpoints, n_answers)
    errors = np.full((len(chosen), repeats, len(stops)), np.nan)
    study = Study(tuple(chosen), np.array(stops), errors, np.zeros((len(chosen), repeats)))
    made: dict[str, Any] = {"n_components": n_components, "random_share": random_share}
    try:
        for repetition, rng in enumerate(generator(random_state).spawn(repeats)):
            sitting, seed = oracle.begin(rng), int(rng.integers(2**31))
            for at, (name, strategy) in enumerate(chosen.items()):
                selector = Selector(
                    sitting.n_objects, strategy, questions=sitting.questions, random_state=seed, **made
                )
                game = _Game(sitting, selector, _judge(estimator, n_components, seed), batch, seed)
                for step, error in enumerate(game.errors(stops)):
                    study.errors[at, repetition, step] = error
                    study.choosing_seconds[at, repetition] = game.seconds
                    if callback is not None:
                        callback(name, repetition, stops[step], error)
    except KeyboardInterrupt:
        if not np.isfinite(study.errors).any():
            raise
        return replace(study, finished=False)
    return study


class _Game:
    """One simulated study: a selector, the answers to its questions, and the fit that judges it."""

    def __init__(
        self, sitting: Sitting, selector: Selector, judge: OrdinalEmbedding, batch: int, seed: int
    ) -> None:
        self.sitting, self.selector, self.judge, self.batch = sitting, selector, judge, batch
        self.rng = np.random.default_rng([seed, 1])
        self.seconds = 0.0

    def errors(self, stops: Sequence[int]) -> Iterator[float]:
        """Yield the held-out error at each number of answers; end early if no question is left."""
        for stop in stops:
            self._continue_to(stop)
            if self.selector.n_answers < stop:
                return
            with silent_trials():  # the first answers of a study are few
                self.judge.fit(self.selector.answers)
            if self.judge.result_.stop_reason == "interrupted":  # a fit catches ctrl-C
                raise KeyboardInterrupt
            yield triplet_error(self.judge.embedding_, self.sitting.held_out)

    def _continue_to(self, n_answers: int) -> None:
        while (missing := n_answers - self.selector.n_answers) > 0:
            began = time.perf_counter()
            questions = self.selector.next(min(self.batch, missing))
            self.seconds += time.perf_counter() - began
            if not len(questions):
                return
            self.selector.tell(self.sitting.answer(questions, self.rng))


def _judge(estimator: OrdinalEmbedding | None, n_components: int, seed: int) -> OrdinalEmbedding:
    from sklearn.base import clone

    from nearer.ordinal import OrdinalEmbedding

    if estimator is None:
        return OrdinalEmbedding(n_components, loss="ste", random_state=seed)
    return clone(estimator)


def _checked_strategies(strategies: str | Strategy | Sequence[str | Strategy]) -> dict[str, Strategy]:
    """Return the strategies by name. Two with the same name are distinguished by their settings."""
    several = [strategies] if isinstance(strategies, str | Strategy) else list(strategies)
    if not several:
        raise InputError("strategies is empty: give at least one strategy")
    found = [checked_strategy(strategy) for strategy in several]
    names = [strategy.name for strategy in found]
    named = {
        strategy.name if names.count(strategy.name) == 1 else repr(strategy): strategy for strategy in found
    }
    if len(named) < len(found):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the strategy {twice!r} is given twice: give each once")
    return named


def _checked_checkpoints(checkpoints: Sequence[int] | None, n_answers: int) -> list[int]:
    if checkpoints is None:
        return sorted({max(1, round(n_answers * share / 12)) for share in range(1, 13)})
    for checkpoint in checkpoints:
        whole("checkpoints", checkpoint)
    stops = sorted({int(checkpoint) for checkpoint in checkpoints})
    if not stops or stops[-1] > n_answers:
        raise InputError(
            f"checkpoints must be numbers of answers from 1 to n_answers ({n_answers}), not {checkpoints}"
        )
    return stops


def _for_good(n_answers: np.ndarray, errors: np.ndarray, target: float) -> float:
    """Return where a curve falls to the target for the last time."""
    known = np.isfinite(errors)
    n_answers, errors = n_answers[known], errors[known]
    above = np.flatnonzero(errors > target)
    if not len(above):
        return float(n_answers[0]) if len(errors) else np.inf
    at = above[-1]
    if at == len(errors) - 1:
        return np.inf
    part = (errors[at] - target) / (errors[at] - errors[at + 1])
    return float(n_answers[at] + part * (n_answers[at + 1] - n_answers[at]))
