"""The state of a fit in a file, so that a fit that was killed can continue."""

from __future__ import annotations

import hashlib
import os
import time
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from nearer._utils.files import replacing
from nearer._utils.text import warn
from nearer.objectives.spread import SpreadTensor
from nearer.solvers import Progress, State

if TYPE_CHECKING:
    from nearer.towers.fitting import Data, TowerSettings

#: seconds between two writes
EVERY = 60.0


class Checkpoint:
    """One file with the parameters, the memory of the solver and the history of a fit.

    Process 0 reads and writes it. It holds the parameters of all processes, so that a fit can continue in another
    number of them.

    Parameters
    ----------
    path : str or path
        The file.
    digest : str
        What is fitted, by `digest_of`: a file of another fit is not used.
    spread : SpreadTensor
        How the parameters are spread over processes.
    """

    def __init__(self, path: str | os.PathLike[str], digest: str, spread: SpreadTensor):
        self.path, self._written = Path(path), time.monotonic()
        self._digest, self._spread, self._group = digest, spread, spread.group

    def found(self, start: Tensor) -> tuple[Tensor, State | None]:
        """Return the parameters and the state in the file; the start if there is no file of this fit."""
        content = self._group.same_as_first(self._read() if self._group.is_first else None)
        if content is None:
            return start, None
        x, state = content
        spread = self._spread
        return spread.own(x).to(start.device), spread.own_state(state)

    def _read(self) -> tuple[Tensor, State] | None:
        """Return the parameters and the state in the file, if it is one of this fit."""
        if not self.path.exists():
            return None
        try:
            with self.path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            x = torch.from_numpy(arrays.pop("x"))
            same = str(arrays.pop("digest")) == self._digest and len(x) == self._spread.count
        except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            warn(f"{self.path} is not a checkpoint ({error}): the fit starts over and replaces it")
            return None
        if not same:
            warn(
                f"{self.path} is a checkpoint of other data or settings: the fit starts over and replaces it"
            )
            return None
        parts: dict[str, dict[str, Any]] = {"arrays": {}, "numbers": {}, "history": {}}
        for name, array in arrays.items():
            kind, _, key = name.partition("/")
            parts[kind][key] = array.item() if kind == "numbers" else array
        return x, State(**parts)

    def write(self, progress: Progress) -> None:
        """Write the file if the last time is long ago."""
        if not self._group.same_as_first(time.monotonic() - self._written >= EVERY):
            return
        state = self._spread.whole_state(progress.state())
        whole = self._spread.whole(progress.parameters)
        self._written = time.monotonic()
        if not self._group.is_first:
            return
        assert state is not None
        content = {
            f"{kind}/{key}": value for kind, part in vars(state).items() for key, value in part.items()
        }
        x = whole.detach().cpu().numpy()
        with replacing(self.path) as temporary, temporary.open("wb") as stream:
            np.savez(stream, x=x, digest=np.array(self._digest), **content)

    def remove(self) -> None:
        """Remove the file: the fit is complete."""
        if self._group.is_first:
            with suppress(FileNotFoundError):
                self.path.unlink()


def digest_of(settings: TowerSettings, data: Data) -> str:
    """Return a text that differs for other settings or data."""
    digest = hashlib.sha256(repr(settings).encode())
    tables = [data.pairs]
    for side in data.sides:
        digest.update(repr(side.kinds).encode())
        tables += [side.features, side.weights, side.imputed]
    for table in tables:
        arrays = [table.indptr, table.indices, table.data] if sparse.issparse(table) else [table]
        for array in arrays:
            digest.update(repr(np.shape(array)).encode())
            digest.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
