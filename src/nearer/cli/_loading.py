"""Saved models, their maps, and reading files about their objects."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer._utils.text import one_of
from nearer.errors import InputError
from nearer.registry import BY_NAME, Registration

if TYPE_CHECKING:
    import numpy as np

    from nearer._fitting import Model
    from nearer.comparisons import Comparisons
    from nearer.kernels.online import OnlineKernel


def load_for(path: Path, command: str) -> tuple[Any, Registration]:
    """Return the model in a file and its row; refuse an estimator that a command is not for."""
    from nearer.saving import load

    estimator = load(path)
    row = BY_NAME[type(estimator).__name__]
    if row.model is None:
        raise InputError(f"{path}: this is a {row.name}, not a model that `nearer fit` wrote")
    if command not in row.commands:
        possible = one_of([f"nearer {name}" for name in row.commands])
        others = [str(one.model) for one in BY_NAME.values() if command in one.commands]
        raise InputError(
            f"{path}: this is a {row.name}, for {possible}; nearer {command} is for models of nearer fit "
            f"--model {one_of(others)}"
        )
    return estimator, row


def load_online(path: Path) -> OnlineKernel:
    """Return the online kernel in a file, to continue with; other models would need all answers again."""
    from nearer._fitting import is_online

    estimator, _ = load_for(path, "predict")
    if not is_online(estimator):
        raise InputError(
            f"{path}: this is a {type(estimator).__name__}, and only an online model can continue with more answers: "
            "fit to all answers together, without --start"
        )
    return estimator


def drawn_map(estimator: Model, dim: int) -> np.ndarray:
    """Return the map of a model; `dim` is the number of dimensions in which a kernel is drawn."""
    from nearer._fitting import map_of, n_objects_of

    check_dim(dim, n_objects_of(estimator))
    return map_of(estimator, dim)


def check_dim(dim: int, n_objects: int) -> None:
    """Refuse a map of a kernel in more dimensions than it has."""
    if dim > n_objects:
        raise InputError(f"--dim is {dim}, but a kernel of {n_objects} objects has no more than {n_objects}")


def read_about(estimator: Model, path: Path, read: Callable[..., Comparisons]) -> Comparisons:
    """Return the comparisons of a file about the objects of a model; `read` takes `names` and `n_objects`.

    The file is first read without the model's names, because with them its numbers would be taken for indices.
    """
    about = about_model(estimator)
    names, n_objects = about["names"], about["n_objects"]
    try:
        comparisons = read()
    except InputError:  # perhaps names that are numbers: only the model can distinguish them from indices
        return read(**about)
    named = comparisons.names is not None
    if not named and names is not None:
        named = {str(number) for number in set(comparisons.indices.ravel().tolist())} <= set(names)
    check_kind(estimator, path, named)
    as_in_the_model = comparisons.names == names and comparisons.n_objects <= n_objects
    if as_in_the_model or path.suffix.lower() == ".npz":  # whose rows are indices into its own names
        return comparisons
    return read(**about)


def read_more(estimator: OnlineKernel, path: Path, read: Callable[..., Comparisons]) -> Comparisons:
    """Return the comparisons of a file for a model to continue with; add new objects to the model."""
    from nearer.comparisons.store import check_numbers

    try:
        found = read()
    except InputError:
        found = None
    names, n_objects = estimator.names_, about_model(estimator)["n_objects"]
    if found is None or (found.names is None) != (names is None):
        # names that are numbers, or an error that says what is wrong
        return read_about(estimator, path, read)
    if found.names is not None and names is not None:
        known = set(names)
        new = [name for name in found.names if name not in known]
        if new:
            estimator.add_objects(names=new)
    elif found.n_objects > n_objects:
        check_numbers(found, str(path))
        estimator.add_objects(found.n_objects - n_objects)
    return found


def continued_model(
    path: Path, answers: Path, read: Callable[..., Comparisons], dim: int
) -> tuple[OnlineKernel, Comparisons, int]:
    """Return a saved online kernel grown to the objects of further answers, these, and the number of new objects."""
    estimator = load_online(path)
    known = about_model(estimator)["n_objects"]
    comparisons = read_more(estimator, answers, read)
    n_objects = about_model(estimator)["n_objects"]
    check_dim(dim, n_objects)
    if comparisons.shape[1] == 4 and estimator.rank is None and estimator.direction != "minimal":
        raise InputError(
            f"{answers}: these are quadruplets, but {path} began with triplets: continue with triplets, or start a "
            "new model"
        )
    return estimator, comparisons, n_objects - known


def about_model(estimator: Model) -> dict[str, Any]:
    """Return the names and the number of a model's objects, as readers take them."""
    from nearer._fitting import n_objects_of

    return {"names": estimator.names_, "n_objects": n_objects_of(estimator)}


def check_kind(estimator: Model, path: Path, named: bool) -> None:
    """Refuse numbers for a model that knows names, and names for one that knows numbers."""
    if named == (estimator.names_ is not None):
        return
    if estimator.names_ is None:
        raise InputError(
            f"{path}: the objects have names, but the model knows them by number, from 0 to "
            f"{about_model(estimator)['n_objects'] - 1}; give numbers, or fit a model to answers with names"
        )
    raise InputError(
        f"{path}: the objects have numbers, but the model knows them by name, such as {estimator.names_[0]!r}; "
        "give their names"
    )


def object_names(estimator: Model) -> list[str]:
    """Return the objects' names, or their indices if they have none."""
    if estimator.names_ is not None:
        return list(estimator.names_)
    return [str(index) for index in range(about_model(estimator)["n_objects"])]
