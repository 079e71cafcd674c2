"""Models in one file that loads anywhere: a zip of `manifest.json` and one `.npy` file for each array.

The manifest holds the format's name and version, the version of nearer that wrote it, the estimator's class,
its parameters and its fitted attributes (how values are written: `nearer._encoding`). Nothing is pickled, and
loading runs no code from the file: classes are looked up in a fixed table.

An estimator joins by an entry in `_HOMES` and a class attribute `_saved_attributes` that names its fitted
attributes.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from nearer._encoding import Decoder, Encoder
from nearer._files import replacing
from nearer.errors import InputError, ModelFileError
from nearer.io import FORMATS

FORMAT = "nearer model"
FORMAT_VERSION = 1

_HOMES = {
    "AUCClassifier": "nearer.pairwise.auc",
    "FeatureMap": "nearer.features",
    "OnlineKernel": "nearer.kernels.online",
    "OrdinalEmbedding": "nearer.ordinal",
    "PairwiseLearner": "nearer.pairwise.learner",
    "RelativeKernel": "nearer.kernels.relative",
}
_MANIFEST = "manifest.json"
# what zip, json, numpy and our own checks raise on a file that is damaged or made up
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RuntimeError,  # recursion in a made-up manifest, a password in a foreign zip
    MemoryError,
)


def save(estimator: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to one file.

    The file is written under another name and renamed, so that an interruption leaves the old one whole.
    Equal models give equal bytes. The answers that a model was fitted to are not part of it: keep them with
    `Comparisons.write`, and after loading give `partial_fit` all that should count.

    Parameters
    ----------
    estimator : OrdinalEmbedding, RelativeKernel, OnlineKernel, AUCClassifier, PairwiseLearner or FeatureMap
        Fitted. Parameters that are functions, such as a callback, and losses or solvers of your own are
        refused: a model file holds no code. A random generator given as `random_state` is stored as None; an
        int is kept.
    path : str or path
        Where to write; `model.nearer` is the usual kind of name. A file that is there is replaced.

    Returns
    -------
    pathlib.Path
        The file written.

    Examples
    --------
    >>> import tempfile
    >>> import nearer
    >>> place = nearer.FeatureMap(gamma=1.0).fit([[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = nearer.save(place, folder + "/place.nearer")
    ...     loaded = nearer.load(file)
    >>> bool((loaded.transform([[0.5]]) == place.transform([[0.5]])).all())
    True
    """
    path = Path(path)
    manifest, arrays = _described(estimator)
    if not path.parent.is_dir():
        raise InputError(
            f"{path} cannot be written because the folder {path.parent} does not exist: create it"
        )
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        # a ZipInfo of its own carries no date: equal models give equal bytes
        archive.writestr(zipfile.ZipInfo(_MANIFEST), json.dumps(manifest, indent=1, allow_nan=False))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
    return path


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `nearer.save` wrote, here or in another process.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        Of the class that was saved, with its parameters and fitted attributes; it predicts the same bits.

    Raises
    ------
    nearer.errors.ModelFileError
        If the file is damaged, is no model, or was written by a newer version of nearer.

    Examples
    --------
    >>> import tempfile
    >>> import nearer
    >>> place = nearer.FeatureMap(gamma=1.0).fit([[0.0], [1.0], [2.0]], [[0.0], [1.0], [4.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nearer.load(nearer.save(place, folder + "/place.nearer"))
    FeatureMap(gamma=1.0)
    """
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = json.loads(archive.read(_MANIFEST))
            _check_version(manifest, path)
            return _rebuilt(manifest, archive, path)
    except ModelFileError:
        raise
    except _DAMAGE as error:
        if {ending.lower() for ending in path.suffixes} & FORMATS.keys():
            raise ModelFileError(
                f"{path} is a table of data, not a model: give a file that nearer.save or `nearer fit` wrote"
            ) from error
        reason = str(error).partition("\n")[0].rstrip(".") or type(error).__name__
        raise ModelFileError(
            f"{path} is damaged or was not written by nearer.save ({reason}): save the model again"
        ) from error


def _described(estimator: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays of a fitted estimator."""
    from sklearn.exceptions import NotFittedError

    from nearer import __version__

    name = type(estimator).__name__
    if _HOMES.get(name) != type(estimator).__module__:
        raise InputError(f"nearer.save stores {', '.join(_HOMES)}, not {type(estimator).__qualname__}")
    fitted = {key: vars(estimator)[key] for key in estimator._saved_attributes if key in vars(estimator)}
    if not fitted:
        raise NotFittedError(f"this {name} has learned nothing that could be saved: call fit first")
    encoder = Encoder()
    params = estimator.get_params(deep=False)
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "nearer_version": __version__,
        "class": name,
        "params": {key: encoder.encode(value, f"{name}'s {key}") for key, value in params.items()},
        "fitted": {key: encoder.encode(value, f"{name}'s {key}") for key, value in fitted.items()},
    }
    return manifest, encoder.arrays


def _check_version(manifest: dict[str, Any], path: Path) -> None:
    from nearer import __version__

    if manifest["format"] != FORMAT:
        raise ValueError("its manifest is of another program")
    version = int(manifest["format_version"])
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} was written by nearer {manifest['nearer_version']} in format {version}, but nearer "
            f"{__version__} reads formats up to {FORMAT_VERSION}: upgrade nearer"
        )


def _rebuilt(manifest: dict[str, Any], archive: zipfile.ZipFile, path: Path) -> Any:
    name = manifest["class"]
    if name not in _HOMES:
        raise _unknown(path, manifest, f"the class {name!r}")
    kind = getattr(import_module(_HOMES[name]), name)
    known = kind().get_params(deep=False)
    for key in manifest["params"]:
        if key not in known:
            raise _unknown(path, manifest, f"{name}'s parameter {key!r}")
    for key in manifest["fitted"]:
        if key not in kind._saved_attributes:
            raise _unknown(path, manifest, f"{name}'s attribute {key!r}")
    decoder = Decoder(lambda member: _read_array(archive, member))
    estimator = kind(**decoder.decode_entries(manifest["params"]))
    for key, value in decoder.decode_entries(manifest["fitted"]).items():
        setattr(estimator, key, value)
    return estimator


def _unknown(path: Path, manifest: dict[str, Any], what: str) -> ModelFileError:
    from nearer import __version__

    return ModelFileError(
        f"{path} was written by nearer {manifest['nearer_version']} and holds {what}, which nearer "
        f"{__version__} does not know: use the version that wrote it"
    )


def _read_array(archive: zipfile.ZipFile, member: str) -> np.ndarray:
    with archive.open(member) as stream:
        array = np.lib.format.read_array(stream, allow_pickle=False)
        if stream.read(1):  # reading to the end is also what checks the checksum
            raise ValueError(f"{member} is longer than it says")
    return array
