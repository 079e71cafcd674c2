"""Compiled loops and their readable twins. Nothing here is public.

`kernels_for(loss)` gives the loops for a loss: compiled where the loss has a scalar twin, staged numpy otherwise.
Both have the same methods; numba is imported when the first compiled loop is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from nearer.losses import LOSSES, Loss


class Kernels(Protocol):
    """Loops over comparisons for one loss; conventions in `points.py`."""

    compiled: bool

    def value(self, X: np.ndarray, Q: np.ndarray, W: np.ndarray) -> float: ...

    def gradient(
        self, X: np.ndarray, Q: np.ndarray, W: np.ndarray, G: np.ndarray, C: np.ndarray
    ) -> float: ...

    def sgd(
        self,
        X: np.ndarray,
        Q: np.ndarray,
        W: np.ndarray,
        steps: np.ndarray,
        batch_size: int,
        log_kept: np.ndarray,
    ) -> float: ...

    def svrg(
        self,
        X: np.ndarray,
        S: np.ndarray,
        G: np.ndarray,
        Q: np.ndarray,
        W: np.ndarray,
        C: np.ndarray,
        step: float,
        batch_size: int,
        shrink: float,
    ) -> float: ...


@dataclass(frozen=True)
class CompiledKernels:
    """The numba loops, the loss given by its code and numbers."""

    code: int
    parameters: tuple[float, float]
    compiled = True

    def value(self, X, Q, W):
        from nearer._compiled import points

        return points.value(X, Q, W, self.code, self.parameters)

    def gradient(self, X, Q, W, G, C):
        from nearer._compiled import points

        return points.gradient(X, Q, W, self.code, self.parameters, G, C)

    def sgd(self, X, Q, W, steps, batch_size, log_kept):
        from nearer._compiled import epochs

        return epochs.sgd(X, Q, W, self.code, self.parameters, steps, batch_size, log_kept)

    def svrg(self, X, S, G, Q, W, C, step, batch_size, shrink):
        from nearer._compiled import epochs

        return epochs.svrg(X, S, G, Q, W, C, self.code, self.parameters, step, batch_size, shrink)


@dataclass(frozen=True)
class StagedKernels:
    """The numpy loops, for any loss."""

    loss: Loss
    compiled = False

    def value(self, X, Q, W):
        from nearer._compiled import reference

        return reference.value(X, Q, W, self.loss)

    def gradient(self, X, Q, W, G, C):
        from nearer._compiled import reference

        return reference.gradient(X, Q, W, self.loss, G, C)

    def sgd(self, X, Q, W, steps, batch_size, log_kept):
        from nearer._compiled import reference

        return reference.sgd(X, Q, W, self.loss, steps, batch_size, log_kept)

    def svrg(self, X, S, G, Q, W, C, step, batch_size, shrink):
        from nearer._compiled import reference

        return reference.svrg(X, S, G, Q, W, C, self.loss, step, batch_size, shrink)


def kernels_for(loss: Loss) -> Kernels:
    """Compiled loops where the loss has a scalar twin, staged numpy loops otherwise."""
    if type(loss) in LOSSES.values():  # ours; asking the code table would import numba for a user's loss too
        from nearer._compiled.scalar_losses import CODES

        if type(loss) in CODES:
            first, second = loss.scalar_parameters()
            # numba compiles anew for every type: a whole number must not be one of its own
            return CompiledKernels(CODES[type(loss)], (float(first), float(second)))
    return StagedKernels(loss)
