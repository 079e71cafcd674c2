"""Cases of `RelativeKernel` and `OnlineKernel`."""

from __future__ import annotations

from itertools import product
from typing import Any

import nearer
from benchmarks._same.case import Case, Numbers, attributes, case, course
from benchmarks._same.data import N_OBJECTS, answers, points
from benchmarks._same.embeddings import LOSSES

KERNEL_SOLVERS = ("accelerated", "proximal", "ila")
UPDATES = ("passive-aggressive", "ste", "gnmds")
STEPS = ("constant", "1/j", "1/sqrt(j)")
SKIPS = ("local", "bound", "never")
DIRECTIONS = ("paper", "minimal")
_CONVEX = ("ste", "gnmds")
_COUNTS = ("n_seen_", "n_steps_", "n_projections_", "n_skipped_", "n_negative_", "diverged_")


def _relative(loss: str = "ste", given: dict[str, Any] | None = None, **settings: Any) -> Numbers:
    settings = {"trace_penalty": 0.01, "random_state": 0, "max_epochs": 60} | settings
    model = nearer.RelativeKernel(loss, **settings).fit(answers(**given or {}))
    found = attributes(model, "kernel_", "rank_", "trace_penalty_") | course(model)
    certificate = {key: model.result_.details[key] for key in ("dual",) if key in model.result_.details}
    test = answers(count=200)
    asked = {"score": model.score(test), "predict": model.predict(test), "embedding": model.embedding(2)}
    return found | certificate | asked


def _from_kernel(loss: str) -> Numbers:
    return _relative(loss, init=points() @ points().T)


def _online(given: dict[str, Any] | None = None, **settings: Any) -> Numbers:
    model = nearer.OnlineKernel(N_OBJECTS, **{"random_state": 0} | settings)
    comparisons = answers(**{"count": 300} | (given or {}))
    model.partial_fit(comparisons[:100]).partial_fit(comparisons[100:])
    return _online_numbers(model)


def _online_numbers(model: Any) -> Numbers:
    low_rank = () if model.rank is None else ("points_",)
    asked = {"score": model.score(answers(count=200)), "rank_": model.rank_, "embedding": model.embedding(2)}
    return attributes(model, "kernel_", *low_rank, *_COUNTS) | asked


def _grown(**settings: Any) -> Numbers:
    model = nearer.OnlineKernel(N_OBJECTS - 5, random_state=0, **settings)
    comparisons = answers(count=300)
    old = (comparisons.indices < N_OBJECTS - 5).all(axis=1)
    model.partial_fit(comparisons.indices[old]).add_objects(5).partial_fit(comparisons)
    return _online_numbers(model)


CASES: dict[str, Case] = {
    **{f"relative {loss}": case(_relative, loss) for loss in LOSSES},
    **{
        f"relative {loss}, {solver}": case(_relative, loss, solver=solver)
        for loss, solver in product(_CONVEX, KERNEL_SOLVERS)
    },
    **{
        f"relative {loss}, proximal": case(_relative, loss, solver="proximal")
        for loss in ("ckl", "tste", "soe")
    },
    **{f"relative {loss}, auto penalty": case(_relative, loss, trace_penalty="auto") for loss in LOSSES},
    **{
        f"relative {loss}, max_rank=2": case(_relative, loss, max_rank=2, trace_penalty=0.0)
        for loss in LOSSES
    },
    **{f"relative {loss}, init=array": case(_from_kernel, loss) for loss in ("ste", "ckl")},
    **{f"relative {loss}, tight": case(_relative, loss, tol=1e-7, max_epochs=200) for loss in LOSSES},
    "relative weights": case(_relative, given={"weights": True}),
    "relative quadruplets": case(_relative, given={"width": 4}),
    "relative max_evaluations": case(_relative, max_evaluations=8000, trace_penalty="auto"),
    **{
        f"online {update}, {step}": case(_online, update=update, step=step)
        for update, step in product(UPDATES, STEPS)
    },
    **{
        f"online skip={skip}, {direction}": case(_online, skip=skip, direction=direction)
        for skip, direction in product(SKIPS, DIRECTIONS)
    },
    **{f"online rank=3, {update}": case(_online, update=update, rank=3) for update in UPDATES},
    "online rank=3, quadruplets": case(_online, {"width": 4}, rank=3),
    "online quadruplets": case(_online, {"width": 4}, direction="minimal"),
    "online weights": case(_online, {"weights": True}, update="ste"),
    "online passes=3": case(_online, passes=3),
    "online passes=3, rank=3": case(_online, passes=3, rank=3),
    "online max_step": case(_online, max_step=0.1),
    "online max_step, soft": case(_online, max_step=0.1, soft=True),
    "online trace_penalty": case(_online, trace_penalty=0.01),
    "online start=array": case(_online, start=points() @ points().T),
    "online margin, step_size": case(_online, margin=0.5, step_size=0.3),
    "online add_objects": case(_grown),
    "online add_objects, passes=2, rank=3": case(_grown, passes=2, rank=3),
}
