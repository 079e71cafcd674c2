"""How the parameters of an objective are copied, shown and stored: numpy or torch, one array or several.

Nothing else in the framework looks inside parameters. An objective names one of these as its `parameters`; one whose
parameters are of another kind brings its own class with the same methods.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

P = TypeVar("P")
#: numbers whose products are summed in their own precision
_BLOCK = 65536
#: the same on a GPU: many small sums would keep it waiting
_CARD_BLOCK = 2**24


class Parameters(Protocol[P]):
    """What a run asks about parameters."""

    def copy(self, x: P) -> P:
        """Return a copy, which later steps do not change."""

    def view(self, x: P) -> P:
        """Return the same numbers for callbacks to read, without a copy if possible."""

    def is_finite(self, x: P) -> bool:
        """Return whether every number is finite."""

    def arrays(self, x: P) -> dict[str, np.ndarray]:
        """Return the numbers as named numpy arrays, for a file."""

    def restored(self, arrays: dict[str, np.ndarray]) -> P:
        """Return the parameters stored by `arrays`."""


class VectorSpace(Parameters[P], Protocol[P]):
    """Parameters that second-order methods can add and multiply."""

    def inner(self, x: P, y: P) -> float:
        """Return the inner product of two vectors of this kind."""

    def mean(self, x: P) -> float:
        """Return the mean of all numbers."""

    def largest(self, x: P) -> float:
        """Return the largest number."""

    def plus(self, x: P, scale: float, y: P) -> P:
        """Return `x + scale * y`."""


class OneArray:
    """One numpy array, whose shape may change during a run.

    >>> adapter = OneArray()
    >>> adapter.restored(adapter.arrays(np.ones(2)))
    array([1., 1.])
    """

    def copy(self, x: np.ndarray) -> np.ndarray:
        """Return a copy."""
        return x.copy()

    def view(self, x: np.ndarray) -> np.ndarray:
        """Return a read-only view."""
        view = x.view()
        view.flags.writeable = False
        return view

    def is_finite(self, x: np.ndarray) -> bool:
        """Return whether every number is finite."""
        return bool(np.isfinite(x).all())

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the array under the name "x"."""
        return {"x": x}

    def restored(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """Return a copy of the array named "x"."""
        return arrays["x"].copy()

    def inner(self, x: np.ndarray, y: np.ndarray) -> float:
        """Return the sum of products."""
        return float(x.ravel() @ y.ravel())

    def mean(self, x: np.ndarray) -> float:
        """Return the mean of all numbers."""
        return float(x.mean())

    def largest(self, x: np.ndarray) -> float:
        """Return the largest number."""
        return float(x.max())

    def plus(self, x: np.ndarray, scale: float, y: np.ndarray) -> np.ndarray:
        """Return `x + scale * y`."""
        return x + scale * y


class Tensors:
    """Named torch tensors on any device.

    Parameters
    ----------
    device : str or torch.device
        Where `restored` puts them.
    """

    def __init__(self, device: Any = "cpu"):
        self.device = device

    def copy(self, x: dict[str, Any]) -> dict[str, Any]:
        """Return copies, outside any graph, on the same device."""
        return {name: tensor.detach().clone() for name, tensor in x.items()}

    def view(self, x: dict[str, Any]) -> dict[str, Any]:
        """Return the tensors outside any graph; torch has no read-only tensors."""
        return {name: tensor.detach() for name, tensor in x.items()}

    def is_finite(self, x: dict[str, Any]) -> bool:
        """Return whether every number is finite."""
        return all(bool(tensor.isfinite().all()) for tensor in x.values())

    def arrays(self, x: dict[str, Any]) -> dict[str, np.ndarray]:
        """Return copies as numpy arrays."""
        return {name: tensor.detach().cpu().numpy().copy() for name, tensor in x.items()}

    def restored(self, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
        """Return tensors on the device."""
        import torch

        return {name: torch.tensor(array, device=self.device) for name, array in arrays.items()}

    def inner(self, x: dict[str, Any], y: dict[str, Any]) -> float:
        """Return the sum of products over all tensors, in double precision."""
        return float(sum((tensor.double() * y[name].double()).sum() for name, tensor in x.items()))

    def mean(self, x: dict[str, Any]) -> float:
        """Return the mean of all numbers."""
        total = sum(float(tensor.double().sum()) for tensor in x.values())
        return total / sum(tensor.numel() for tensor in x.values())

    def largest(self, x: dict[str, Any]) -> float:
        """Return the largest number."""
        return max(float(tensor.max()) for tensor in x.values())

    def plus(self, x: dict[str, Any], scale: float, y: dict[str, Any]) -> dict[str, Any]:
        """Return `x + scale * y`, tensor by tensor."""
        return {name: tensor + scale * y[name] for name, tensor in x.items()}


class OneTensor:
    """One torch tensor on any device.

    Parameters
    ----------
    device, dtype : torch.device, torch.dtype
        Where `restored` puts it, and in which precision.
    """

    def __init__(self, device: Any = "cpu", dtype: Any = None):
        self.device, self.dtype = device, dtype

    def copy(self, x: Any) -> Any:
        """Return a copy outside any graph, on the same device."""
        return x.detach().clone()

    def view(self, x: Any) -> Any:
        """Return the tensor outside any graph; torch has no read-only tensors."""
        return x.detach()

    def is_finite(self, x: Any) -> bool:
        """Return whether every number is finite."""
        return bool(x.isfinite().all())

    def arrays(self, x: Any) -> dict[str, np.ndarray]:
        """Return a copy under the name "x"."""
        return {"x": x.detach().cpu().numpy().copy()}

    def restored(self, arrays: dict[str, np.ndarray]) -> Any:
        """Return the array named "x" as a tensor on the device."""
        import torch

        return torch.tensor(arrays["x"], device=self.device, dtype=self.dtype)

    def inner(self, x: Any, y: Any) -> float:
        """Return the sum of products: products in the tensors' precision, sums of blocks in double precision."""
        size = _CARD_BLOCK if x.is_cuda else _BLOCK
        blocks = zip(x.ravel().split(size), y.ravel().split(size), strict=True)
        return float(sum((a @ b).double() for a, b in blocks))

    def mean(self, x: Any) -> float:
        """Return the mean of all numbers."""
        return float(x.mean())

    def largest(self, x: Any) -> float:
        """Return the largest number."""
        return float(x.max())

    def plus(self, x: Any, scale: float, y: Any) -> Any:
        """Return `x + scale * y`."""
        return x.add(y, alpha=scale)


class Lazy:
    """Parameters that are computed when first asked for."""

    def __init__(self, x: Any):
        self._x, self._known = x, not callable(x)

    def __call__(self) -> Any:
        """Return the parameters."""
        if not self._known:
            self._x, self._known = self._x(), True
        return self._x
