"""What a model file may hold as the state of a solver of pairs, now and in files of earlier versions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nearer._compiled.pairwise_reference import COUNT as IN_AVERAGE
from nearer._compiled.pairwise_reference import SCALE, TOTAL
from nearer._utils.schema import (
    COUNT,
    LARGEST,
    MOST,
    AnyOf,
    Array,
    Fields,
    MayLack,
    Number,
    Parts,
    Record,
    Spec,
    Text,
    need,
)
from nearer.objectives._kept_rows import SIDES, SPARSE_PARTS
from nearer.solvers import State

_NONE = np.empty(0)
_MOMENTS = frozenset(("means", "counts", "traces", "factors", "ridges", "latest", "average", "held"))
_COUNTS = ("positives", "negatives", "size", "position", "repeats")


def _kept(side: str) -> dict[str, Spec]:
    """Declare rows of a class that are kept, dense or sparse."""
    indices: dict[str, Any] = {"kinds": "i", "at_least": 0, "order": "C"}
    return {
        f"{side} rows": Array(side, "m", order="C"),
        f"{side} data": Array(f"{side} entries"),
        f"{side} indices": Array(f"{side} entries", below="m", **indices),
        f"{side} indptr": Array(None, filled=True, ascending=True, **indices),
        f"{side} shape": Array(2, **indices),
    }


def _floats(*shape: str | int, **options: Any) -> Array:
    return Array(*shape, dtype="float64", order="C", **options)


#: the weights, and what solvers keep besides; m is the number of weights
_ARRAYS: dict[str, Any] = {"w": Array("m", filled=True, dtype="float64")} | {
    name: MayLack(spec)
    for name, spec in {
        "v": AnyOf(_floats("m"), _floats("features", "components")),
        "lag": AnyOf(_floats("m"), _floats("features", "components")),
        "held": _floats(4),
        "threshold": _floats(2),
        "saddle": _floats(3),
        "seen": Array(2, kinds="i", at_least=0, at_most=MOST, dtype="int64"),
        "means": _floats(2, "m"),
        "counts": _floats(2, at_least=0),
        "traces": _floats(2),
        "factors": _floats(2, "height", "m"),
        "ridges": _floats(2),
        "latest": _floats("m"),
        "average": _floats("m"),
        **_kept("positive"),
        **_kept("negative"),
    }.items()
}
_NUMBERS = {
    "unit": MayLack(Number(above=0, at_most=LARGEST)),
    **dict.fromkeys(_COUNTS, MayLack(Number(at_least=0, at_most=MOST))),
}
_COLUMN = Array("records", kinds="fiu", finite=False, dtype="float64")
#: what a `State` of a solver of pairs may hold
PAIR_STATE = Fields(
    arrays=Record(_ARRAYS),
    numbers=Record(_NUMBERS, others=Number(at_least=0, finite=False)),
    history=Record({}, others=_COLUMN),
)


def is_metric(state: State) -> bool:
    """Return whether the weights are those of a distance, with a threshold behind them."""
    return "unit" in state.numbers


def check_state(state: State) -> None:
    """Refuse a loaded state whose parts do not fit each other."""
    arrays, w = state.arrays, state.arrays["w"]
    v, lag, held = (arrays.get(name, _NONE) for name in ("v", "lag", "held"))
    if "v" in arrays:
        need(len(held) == 4 and lag.shape == v.shape, "state: v comes without lag or held")
        need((v.ndim == 2) == is_metric(state), "state: v is not of the kind that unit says")
        need(v.ndim == 1 or (v.size + 1 == len(w) and "threshold" in arrays), "state: v does not fit w")
    if "factors" in arrays:
        need(arrays.keys() >= _MOMENTS, "state: some of the moments of the classes are missing")
    elif "v" in arrays:
        need(held[SCALE] > 0 and held.min() >= 0, "state: held has a scale or a weight below zero")
        need(held[IN_AVERAGE] == 0 or held[TOTAL] > 0, "state: held has an average without weight")
    for side in SIDES:
        _check_kept(side, arrays, len(w))
    for name, value in state.last_row().items():
        if name in ("epoch", "evaluations", "seconds"):
            need(0 <= value <= MOST, f"state: {name} must be a count, not {value}")


def _check_kept(side: str, arrays: dict[str, np.ndarray], width: int) -> None:
    """Refuse kept rows of a class whose arrays are not those of one CSR matrix."""
    parts = [arrays.get(f"{side} {part}") for part in SPARSE_PARTS]
    if all(part is None for part in parts):
        return
    need(all(part is not None for part in parts), f"some arrays of the {side} rows are missing")
    data, _, indptr, shape = (np.asarray(part) for part in parts)
    ends = (int(indptr[0]), int(indptr[-1]))
    need(ends == (0, len(data)), f"the {side} rows reach from entry {ends[0]} to {ends[1]} of {len(data)}")
    rows = len(indptr) - 1
    need(
        shape.tolist() == [rows, width],
        f"the {side} rows have the shape {shape.tolist()}, not {[rows, width]}",
    )


#: columns of a history by their former names
_FORMER_COLUMNS = {
    "stage": "epoch",
    "steps": "evaluations",
    "seconds": "seconds",
    "loss": "objective",
    "step": "step",
}


@dataclass
class FormerState:
    """What files of earlier versions hold in the place of a `State`; it is read as one."""

    w: np.ndarray
    steps: int = 0
    positives: int = 0
    negatives: int = 0
    stage: int = 0
    size: int = 0
    position: int = 0
    repeats: int = 0
    seconds: float = 0.0
    stop_reason: str = "epochs"
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    history: dict[str, np.ndarray] = field(default_factory=dict)
    _schema = Fields(
        w=_ARRAYS["w"],
        **dict.fromkeys(("steps", "stage", *_COUNTS), COUNT),
        seconds=Number(at_least=0),
        stop_reason=Text(),
        arrays=PAIR_STATE.specs["arrays"],
        numbers=PAIR_STATE.specs["numbers"],
        history=Record(dict.fromkeys(_FORMER_COLUMNS, _COLUMN)),
    )

    @classmethod
    def _moved(cls, fields: dict[str, Any]) -> Parts:
        counts = {
            name: cls._schema.specs[name].read(fields.get(name, 0), f"state.{name}", {})
            for name in ("steps", "stage", "seconds", *_COUNTS)
        }
        unknown = fields.keys() - cls.__dataclass_fields__.keys()
        need(not unknown, f"state.{str(*list(unknown)[:1])[:50]} is unknown")
        arrays, numbers, past = (fields.get(name, {}) for name in ("arrays", "numbers", "history"))
        need(all(isinstance(part, dict) for part in (arrays, numbers, past)), "state holds no dictionaries")
        moved = {name: float(counts[name]) for name in _COUNTS}
        return Parts(
            State,
            {
                "arrays": {**arrays, "w": fields["w"]},
                "numbers": {**numbers, **moved},
                "history": _history(past, counts),
            },
        )


def _history(past: dict[str, Any], counts: dict[str, float]) -> dict[str, np.ndarray]:
    """Return a former history under its present names, with the counts of the end as its last record."""
    read = FormerState._schema.specs["history"].read(past, "state.history", {}) if past else {}
    found = {now: read.get(name, _NONE) for name, now in _FORMER_COLUMNS.items()}
    if counts["stage"] == 0:
        return found
    last = {name: column[-1] for name, column in found.items() if len(column)}
    if (last.get("epoch"), last.get("evaluations")) == (counts["stage"], counts["steps"]):
        return found
    end = {"objective": np.nan, "step": np.nan, **last}
    end |= {"epoch": counts["stage"], "evaluations": counts["steps"], "seconds": counts["seconds"]}
    return {name: np.append(column, float(end[name])) for name, column in found.items()}
