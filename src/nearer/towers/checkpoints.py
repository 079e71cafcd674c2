"""The state of a fit in a file, so that a fit that was killed can continue."""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from nearer._utils.files import replacing
from nearer._utils.text import warn
from nearer.solvers import Progress, State

if TYPE_CHECKING:
    from nearer.towers.fitting import Data, TowerSettings

#: seconds between two writes
EVERY = 60.0


class Checkpoint:
    """One file with the parameters, the memory of the solver and the history of a fit.

    Parameters
    ----------
    path : str or path
        The file.
    settings, data : TowerSettings, Data
        What is fitted: a file of another fit is not used.
    """

    def __init__(self, path: str | os.PathLike[str], settings: TowerSettings, data: Data):
        self.path, self._written = Path(path), time.monotonic()
        self._digest = _digest(settings, data)

    def found(self, start: Tensor) -> tuple[Tensor, State | None]:
        """Return the parameters and the state in the file; the start if there is no file of this fit."""
        if not self.path.exists():
            return start, None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            x = torch.from_numpy(arrays.pop("x"))
            same = str(arrays.pop("digest")) == self._digest and x.shape == start.shape
        except (OSError, ValueError, KeyError, EOFError) as error:
            warn(f"{self.path} is not a checkpoint ({error}): the fit starts over and replaces it")
            return start, None
        if not same:
            warn(
                f"{self.path} is a checkpoint of other data or settings: the fit starts over and replaces it"
            )
            return start, None
        parts: dict[str, dict[str, Any]] = {"arrays": {}, "numbers": {}, "history": {}}
        for name, array in arrays.items():
            kind, _, key = name.partition("/")
            parts[kind][key] = array.item() if kind == "numbers" else array
        return x.to(start.dtype), State(**parts)

    def write(self, progress: Progress) -> None:
        """Write the file if the last time is long ago."""
        if time.monotonic() - self._written < EVERY:
            return
        state = progress.state()
        assert state is not None
        content = {
            f"{kind}/{key}": value for kind, part in vars(state).items() for key, value in part.items()
        }
        x = progress.parameters.detach().cpu().numpy()
        with replacing(self.path) as temporary, temporary.open("wb") as stream:
            np.savez(stream, x=x, digest=np.array(self._digest), **content)
        self._written = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the fit is complete."""
        with suppress(FileNotFoundError):
            self.path.unlink()


def _digest(settings: TowerSettings, data: Data) -> str:
    """Return a text that differs for other settings or data."""
    digest = hashlib.sha256(repr(settings).encode())
    for array in (data.pairs.indptr, data.pairs.indices, data.pairs.data):
        digest.update(np.ascontiguousarray(array).tobytes())
    for side in data.sides:
        features = getattr(side.features, "data", side.features)
        digest.update(b"" if features is None else np.ascontiguousarray(features).tobytes())
    return digest.hexdigest()
