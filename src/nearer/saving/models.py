"""Save a model to one file that loads anywhere: a zip of `manifest.json` and one `.npy` file per array.

The manifest holds the format's name and version, the version of nearer that wrote it, the estimator's class,
its parameters and its fitted attributes (how values are written: `nearer.saving.format`). Nothing is pickled, and
loading runs no code from the file: classes are looked up in a fixed table. Every value is checked against the
schema of its class (`nearer._utils.schema`) before an estimator is returned; `save` checks the same, so that what it
writes loads.

An estimator needs a row in `nearer.registry` and a class attribute `_schema` that declares its parameters and its
fitted attributes.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nearer._utils.files import replacing
from nearer._utils.schema import Parts, Saved, check_whole
from nearer.comparisons.files.opening import FORMATS
from nearer.errors import InputError, ModelFileError
from nearer.registry import BY_NAME, estimator_class
from nearer.saving.format import DAMAGE, Archive, Decoder, Encoder, write_archive

FORMAT = "nearer model"
FORMAT_VERSION = 1

#: longest reason for refusing a file, in characters
_LONGEST_REASON = 200


def save(estimator: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted estimator to one file.

    The file is written under another name and renamed, so an interruption leaves the old one intact. Equal models make
    equal bytes. The answers that a model was fitted to are not part of it: keep them with `Comparisons.write`, and
    after loading pass `partial_fit` all that should count.

    Parameters
    ----------
    estimator : any fitted estimator of nearer, or a `nearer.active.Selector`
        A selector may be saved at any time and continues where it was. Functions among the parameters, such as a
        callback, and losses, solvers or strategies that you wrote are refused: a model file holds no code. A random
        generator passed as `random_state` is stored as None; an int is kept.
    path : str or path
        Where to write, usually a name such as `model.nearer`. An existing file is replaced.

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
    with replacing(path) as temporary:
        write_archive(temporary, manifest, arrays)
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
        The saved class with its parameters and fitted attributes; its predictions are the same bit for bit.

    Raises
    ------
    nearer.errors.ModelFileError
        If the file is damaged, is not a model, holds values that no model can have, or was written by a newer version
        of nearer.

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
    with _opened(path) as stream:
        try:
            return _loaded(Archive(stream), path)
        except ModelFileError:
            raise
        except OSError as error:
            if error.errno != errno.EINVAL:  # the disk failed; EINVAL is a bad offset in the file
                raise
            raise _damaged(path, error) from error
        except DAMAGE as error:
            raise _damaged(path, error) from error


def _opened(path: Path) -> Any:
    """Open the file; a pipe would block for ever."""
    if not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        raise ModelFileError(f"{path} is a pipe or a device, not a file: copy the model to a file first")
    return path.open("rb")


def _damaged(path: Path, error: BaseException) -> ModelFileError:
    if {ending.lower() for ending in path.suffixes} & FORMATS.keys():
        return ModelFileError(
            f"{path} is a table of data, not a model: use a file that nearer.save or `nearer fit` wrote"
        )
    reason = str(error).partition("\n")[0].rstrip(".")[:_LONGEST_REASON] or type(error).__name__
    return ModelFileError(
        f"{path} is damaged or was not written by nearer.save ({reason}): save the model again"
    )


def _loaded(archive: Archive, path: Path) -> Any:
    manifest = archive.manifest()
    _check_version(manifest, path)
    _check_known(manifest, path)
    return _rebuilt(manifest, archive.array)


def _described(estimator: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the manifest and arrays of a fitted estimator."""
    from sklearn.exceptions import NotFittedError

    from nearer import __version__

    name = type(estimator).__name__
    if name not in BY_NAME or BY_NAME[name].module != type(estimator).__module__:
        raise InputError(f"nearer.save stores {', '.join(BY_NAME)}, not {type(estimator).__qualname__}")
    params, fitted = _content(estimator)
    if not fitted:
        raise NotFittedError(f"this {name} is not fitted: call fit before saving it")
    encoder = Encoder()
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "nearer_version": __version__,
        "class": name,
        "params": {key: encoder.encode(value, f"{name}'s {key}") for key, value in params.items()},
        "fitted": {key: encoder.encode(value, f"{name}'s {key}") for key, value in fitted.items()},
    }
    try:
        _rebuilt(manifest, encoder.arrays.__getitem__)
    except DAMAGE as error:
        raise InputError(f"this {name} would not load again because {error}: set or fit it again") from error
    return manifest, encoder.arrays


def _content(estimator: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and fitted attributes."""
    if hasattr(estimator, "_to_save"):
        return estimator._to_save()
    fitted = {key: vars(estimator)[key] for key in estimator._schema.fitted if key in vars(estimator)}
    return estimator.get_params(deep=False), fitted


def _check_version(manifest: dict[str, Any], path: Path) -> None:
    from nearer import __version__

    if manifest["format"] != FORMAT:
        raise ValueError("its manifest was written by another program")
    version, wrote = manifest["format_version"], manifest["nearer_version"]
    if type(version) is not int or not isinstance(wrote, str) or len(wrote) > 50:
        raise ValueError("its manifest names no version")
    if version > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} was written by nearer {wrote} in format {version}, but nearer "
            f"{__version__} reads formats up to {FORMAT_VERSION}: upgrade nearer"
        )


def _check_known(manifest: dict[str, Any], path: Path) -> None:
    """Refuse what a newer version may have written."""
    name = manifest["class"]
    if not isinstance(name, str) or name not in BY_NAME:
        raise _unknown(path, manifest, f"the class {str(name)[:50]!r}")
    schema = estimator_class(name)._schema
    for what, part, known in (
        ("parameter", "params", schema.params),
        ("attribute", "fitted", schema.fitted),
    ):
        for key in manifest[part]:
            if key not in known:
                raise _unknown(path, manifest, f"{name}'s {what} {key[:50]!r}")


def _rebuilt(manifest: dict[str, Any], read_array: Callable[[str], np.ndarray]) -> Any:
    """Return the estimator that a manifest describes, after checking every part of it."""
    kind = estimator_class(manifest["class"])
    decoder = Decoder(read_array, make=Parts.of)
    schema: Saved = kind._schema
    params = schema.read_params(decoder.decode_entries(manifest["params"]))
    fitted = schema.read_fitted(decoder.decode_entries(manifest["fitted"]))
    if hasattr(kind, "_from_saved"):
        return kind._from_saved(params, fitted)
    estimator = kind(**params)
    vars(estimator).update(fitted)
    estimator._check_settings()
    check_whole(estimator)
    return estimator


def _unknown(path: Path, manifest: dict[str, Any], what: str) -> ModelFileError:
    from nearer import __version__

    return ModelFileError(
        f"{path} was written by nearer {manifest['nearer_version']} and holds {what}, which nearer "
        f"{__version__} does not know: use the version that wrote it"
    )
