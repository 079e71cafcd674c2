"""What an online kernel can be asked besides what every kernel can: points, counts of steps and of projections."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from nearer._utils.arrays import compared_distances
from nearer.kernels._forms import Factored, Whole
from nearer.kernels._full import FullKernel
from nearer.kernels.base import KernelModel, kernel_distances, leading_eigenpairs


class HeldKernel(KernelModel):
    """Reads a kernel from the form in which `held_` holds it, whole or as points; `update` names its loss."""

    held_: Whole | Factored
    update: str

    @property
    def kernel_(self) -> np.ndarray:  # type: ignore[override]
        check_is_fitted(self, "held_")
        return self.held_.kernel()

    @property
    def points_(self) -> np.ndarray:
        """The points whose inner products are the kernel; only with `rank`."""
        check_is_fitted(self, "held_")
        if not isinstance(self.held_, Factored):
            raise AttributeError("a whole kernel has no points of its own: call embedding(n_components)")
        return self.held_.points()

    @property
    def n_steps_(self) -> int:
        """Steps that changed the kernel."""
        check_is_fitted(self, "held_")
        return self.held_.n_steps

    @property
    def n_projections_(self) -> int:
        """Steps for which the smallest eigenpair was computed."""
        return self._counted("n_projections")

    @property
    def n_skipped_(self) -> int:
        """Steps that were known to need no projection."""
        return self._counted("n_skipped")

    @property
    def n_negative_(self) -> int:
        """Projections that removed a negative eigenvalue."""
        return self._counted("n_negative")

    @property
    def loss(self) -> str:
        """The loss whose probability `predict_proba` gives."""
        return "gnmds" if self.update == "gnmds" else "ste"

    @property
    def loss_(self) -> Any:  # type: ignore[override]
        from nearer.losses import find

        return find(self.loss)

    # -- for KernelModel -----------------------------------------------------------------------------------------

    @property
    def _n_objects(self) -> int:
        held = self.held_.held
        return len(held.matrix.base if isinstance(held, FullKernel) else held)

    @property
    def _highest_rank(self) -> int:
        return min(self.held_.held.shape) if isinstance(self.held_, Factored) else self._n_objects

    def _compared(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(self.held_, Factored):
            return compared_distances(self.held_.points(), indices)
        return kernel_distances(self.kernel_, indices)

    def _leading(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(self.held_, Factored):
            return leading_eigenpairs(self.kernel_, count)
        vectors, lengths, _ = np.linalg.svd(self.held_.points(), full_matrices=False)
        missing = max(count - len(lengths), 0)
        values = np.pad(lengths**2, (0, missing))
        return values[:count], np.pad(vectors, ((0, 0), (0, missing)))[:, :count]

    def _counted(self, name: str) -> int:
        check_is_fitted(self, "held_")
        held = self.held_.held
        return getattr(held, name) if isinstance(held, FullKernel) else 0
