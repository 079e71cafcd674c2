"""Real data from the folder that the environment variable NEARER_DATA names; nothing of it is kept here.

A data set NAME is the file NAME/NAME.npz in that folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks._runner import Skip
from nearer import Comparisons


@cache
def load(name: str) -> dict[str, np.ndarray]:
    """The arrays of a data set; skips the cell where the folder or the file is missing."""
    folder = os.environ.get("NEARER_DATA")
    if not folder:
        raise Skip("the environment variable NEARER_DATA names no folder of real data")
    path = Path(folder) / name / f"{name}.npz"
    if not path.exists():
        raise Skip(f"{name}.npz is not in the folder that NEARER_DATA names")
    with np.load(path, allow_pickle=False) as arrays:
        return {key: arrays[key] for key in arrays.files}


def music() -> Comparisons:
    """Music artists: web survey, cleaned of contradictions; degenerate rows dropped."""
    arrays = load("music_artists")
    return Comparisons(arrays["triplets"], len(arrays["artist_names"]), invalid="drop")


def food() -> Comparisons:
    """Dishes: "choose k of m" screens, one group a screen."""
    arrays = load("food100")
    return Comparisons(arrays["triplets"], len(arrays["image_names"]), groups=arrays["screen"])


def cars() -> Comparisons:
    """Cars: "c is the central one of a, b, c" gives (a, c, b) and (b, c, a), in one group."""
    arrays = load("cars60")
    centre = arrays["chosen_center"].astype(int)
    others = arrays["shown"].astype(int)
    left, right = others[others != centre[:, None]].reshape(-1, 2).T
    triplets = np.stack([[left, centre, right], [right, centre, left]]).transpose(2, 0, 1).reshape(-1, 3)
    return Comparisons(triplets, len(arrays["car_class"]), groups=np.repeat(np.arange(len(centre)), 2))


def material() -> Comparisons:
    """Materials: votes on both answers of a question become weighted rows of one group."""
    arrays = load("material_appearance")
    questions = np.concatenate([arrays["train_triplets"], arrays["test_triplets"]])
    votes = np.concatenate([arrays["train_votes"], arrays["test_votes"]])
    return Comparisons.from_responses(questions, votes, n_objects=len(arrays["material_names"]))


def fruit() -> Comparisons:
    """Strange fruit: single answers of many people, contradictions and all."""
    arrays = load("strange_fruit30")
    return Comparisons(arrays["triplets"], 30)


def things() -> Comparisons:
    """Things: odd one out of three, two triplets and one group a trial."""
    arrays = load("things_ooo")
    return Comparisons.from_odd_one_out(arrays["triplets"], n_objects=len(arrays["item_names"]))


HUMAN: dict[str, Callable[[], Comparisons]] = {
    "music": music,
    "food": food,
    "cars": cars,
    "material": material,
    "fruit": fruit,
    "things": things,
}
