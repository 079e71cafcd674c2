"""The race of `erkle_large`: one online pass and the re-trainings of batch kernels, piece by piece."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks import _account
from benchmarks._projected import Dense, Factored, wrong
from benchmarks._store import SCRATCH
from nearer import Comparisons, OnlineKernel
from nearer._utils.files import replacing
from nearer.kernels.base import kernel_distances

#: where the online kernel begins: a multiple of the identity
ONLINE = {"PA": 1.0, "PA from 3 I": 3.0}
ACCOUNT = "account"
FULL, NEGATIVE, OURS = "full", "negative", "ours"
#: how, and with how many steps a re-training
METHODS = [(FULL, 1), (FULL, 2), (NEGATIVE, 1), (NEGATIVE, 2), (OURS, 1), (OURS, 2)]

#: step and tau for a number of steps
Chosen = Callable[[int], tuple[float, float]]
Pieces = Iterator[tuple[str, dict[str, Any]]]


def new_kernel(how: str, n: int) -> Dense | Factored:
    """The kernel before the first answer."""
    return Factored(n, 1.0) if how == OURS else Dense(n, 1.0, how)


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Processor time, time by the clock, and how many processes the machine had to run (mean of a minute)."""
    clock, processor = time.perf_counter(), time.process_time()
    work()
    return {
        "seconds": round(time.process_time() - processor, 4),
        "clock": round(time.perf_counter() - clock, 4),
        "load": round(os.getloadavg()[0], 2),
    }


def counts_of(online: OnlineKernel) -> dict[str, int]:
    """How many steps, eigenproblems and so on there were."""
    return {
        "answers": online.n_seen_,
        "steps": online.n_steps_,
        "skipped": online.n_skipped_,
        "projections": online.n_projections_,
        "negative": online.n_negative_,
        "products": online.held_.held.n_products,  # type: ignore[union-attr]
    }


def error_of(online: OnlineKernel, answers: Comparisons) -> float:
    """Share of answers that do not hold, counted as for the batch kernels."""
    return round(wrong(*kernel_distances(online.kernel_, answers.indices)), 5)


class Race:
    """All methods on the same answers, in turn after each part of them; kernels are kept on disk between parts."""

    def __init__(
        self, n: int, seed: int, settings: dict[str, Any], chosen: Chosen, done: frozenset[str]
    ) -> None:
        self.n, self.settings, self.chosen, self.done = n, settings, chosen, done
        self.folder = SCRATCH / "state" / f"erkle_large-{n}-{seed}"

    def run(self, train: Comparisons, test: Comparisons, more: Comparisons) -> Pieces:
        """The pieces that are not done; then where the time of the online pass goes, on some more answers."""
        self.train, self.test = train, test
        parts = self.settings["parts"]
        self.ends = [part * len(train) // parts for part in range(parts + 1)]
        online = {name: self._online(name) for name in ONLINE}
        self.kernels = {method: self._kernel(*method) for method in METHODS if not self._is_dear(*method)}
        for part in range(1, parts + 1):
            for name, kernel in online.items():
                yield from self._learned(name, kernel, part)
            for method in METHODS:
                yield from (self._sampled if self._is_dear(*method) else self._retrained)(*method, part)
        if ACCOUNT not in self.done:
            yield ACCOUNT, _account.account(online["PA"], more)
        for path in self.folder.glob("*.pickle"):
            path.unlink()

    def _is_dear(self, how: str, steps: int) -> bool:
        return ((how, steps) == (FULL, 2) or how == OURS) and self.n > self.settings["largest_full"]

    # -- pieces ---------------------------------------------------------------------------------------------------

    def _learned(self, name: str, online: OnlineKernel, part: int) -> Pieces:
        begin, end = self.ends[part - 1], self.ends[part]
        if (rival := f"{name} @{end}") not in self.done:
            times = timed(partial(online.partial_fit, self.train[begin:end]))
            yield rival, {**times, **counts_of(online), "error": error_of(online, self.test)}
            self._save(name, online)

    def _retrained(self, how: str, steps: int, part: int) -> Pieces:
        end = self.ends[part]
        if (rival := f"{how}, {steps} @{end}") not in self.done:
            kernel = self.kernels[how, steps]
            work = partial(kernel.retrain, self.train[:end], *self.chosen(steps), steps)
            times = timed(work)
            found = {**times, "error": round(kernel.error(self.test), 5), "rank": kernel.rank}
            yield rival, found | self._apart(how, steps)
            self._save(f"{how}, {steps}", kernel)

    def _apart(self, how: str, steps: int) -> dict[str, float]:
        """How far the kernel is from that of the full eigendecompositions, where both are there."""
        full = self.kernels.get((FULL, steps))
        if how != NEGATIVE or full is None:
            return {}
        return {"apart": float(np.abs(full.kernel - self.kernels[how, steps].kernel).max())}  # type: ignore[union-attr]

    def _sampled(self, how: str, steps: int, part: int) -> Pieces:
        """One full step, timed, from the kernel that the quicker twin has reached; it counts `steps` times."""
        end = self.ends[part]
        if (
            how == OURS
            or part not in self.settings["sampled"]
            or (rival := f"{how}, {steps} @{end}") in self.done
        ):
            return
        twin = Dense(self.n, 0.0, how)
        twin.kernel = self.kernels[NEGATIVE, steps].kernel.copy()  # type: ignore[union-attr]
        times = timed(partial(twin.retrain, self.train[:end], *self.chosen(steps), 1))
        yield rival, {**times, "seconds": steps * times["seconds"], "clock": steps * times["clock"]}

    # -- going on where an interruption left off --------------------------------------------------------------------

    def _online(self, name: str) -> OnlineKernel:
        """An online kernel after the parts that are done."""
        online = self._load(name) or OnlineKernel(self.n, start=ONLINE[name])
        seen = getattr(online, "n_seen_", 0)
        done = max([end for end in self.ends if f"{name} @{end}" in self.done], default=0)
        return online.partial_fit(self.train[seen:done]) if done > seen else online

    def _kernel(self, how: str, steps: int) -> Dense | Factored:
        """A batch kernel after the parts that are done."""
        name = f"{how}, {steps}"
        kernel = self._load(name) or new_kernel(how, self.n)
        for end in self.ends:
            if f"{name} @{end}" in self.done and end > kernel.seen:
                kernel.retrain(self.train[:end], *self.chosen(steps), steps)
        return kernel

    def _save(self, name: str, kernel: Any) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.folder / f"{name}.pickle") as temporary, open(temporary, "wb") as file:
            pickle.dump(kernel, file, protocol=5)

    def _load(self, name: str) -> Any:
        path = self.folder / f"{name}.pickle"
        if (
            not path.exists() or not self.done
        ):  # a run that starts over has no use for what is left of another
            return None
        with open(path, "rb") as file:
            return pickle.load(file)
