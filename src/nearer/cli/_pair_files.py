"""Files of pairs, for the models of two sides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nearer.cli._options import column_of
from nearer.cli._row_features import read_features
from nearer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    from nearer.interactions import Interactions
    from nearer.interactions.recommending import Recommending


def read_pairs(path: Path, given: dict[str, Any], **about: Any) -> Interactions:
    """Return the pairs of a file; `about` holds the names and numbers that a model knows."""
    from nearer.interactions import Interactions

    columns: dict[str, Any] = {
        role: column_of(given[option])
        for role, option in (
            ("left", "left"),
            ("right", "right"),
            ("weight", "weight"),
            ("time", "time_column"),
        )
    }
    chosen = {name: None if given[name] is None else given[name].value for name in ("ids", "duplicates")}
    pairs = Interactions.read(
        path,
        header=given["header"],
        at_least=given["at_least"],
        invalid=given["invalid"].value,
        **columns,
        **{**about, **{name: value for name, value in chosen.items() if value is not None}},
    )
    if not len(pairs):
        if given["at_least"] is not None:
            raise InputError(
                f"{path}: no pairs are left with --at-least {given['at_least']:g}: give a smaller number, or name the "
                "column of weights with --weight"
            )
        raise InputError(f"{path}: no pairs are left: check what was left out")
    return pairs


def read_new_pairs(
    path: Path, given: dict[str, Any], model: Recommending
) -> tuple[Interactions, csr_matrix, int]:
    """Return the pairs of a file, those that a model has not seen by its indices, and the number of the others."""
    about: dict[str, Any] = {}
    names = model.left_names_, model.right_names_
    for side, known, embedding in zip(
        ("left", "right"), names, (model.left_embedding_, model.right_embedding_), strict=True
    ):
        about |= {f"n_{side}": len(embedding)} if known is None else {f"{side}_names": known}
    if (names[0] is None) == (names[1] is None) and path.suffix.lower() != ".npz":
        about["ids"] = "indices" if names[0] is None else "names"
    pairs = read_pairs(path, given, **about)
    held_out = pairs.csr()
    held_out = held_out - held_out.multiply(model._seen_matrix())
    held_out.eliminate_zeros()
    if not held_out.nnz:
        raise InputError(f"{path}: the fit has seen all of these pairs: give pairs that it did not see")
    return pairs, held_out, len(pairs) - held_out.nnz


def features_of_sides(given: dict[str, Any], pairs: Interactions) -> list[np.ndarray | None]:
    """Return the features of both sides, None for a side without."""
    paths = given["left_features"], given["right_features"]
    sides = zip(paths, (pairs.left_names, pairs.right_names), pairs.shape, strict=True)
    return [
        None if path is None else read_features(path, names, count).values for path, names, count in sides
    ]
