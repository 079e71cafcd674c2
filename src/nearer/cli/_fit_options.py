"""The options of `nearer fit` that are about one kind of model, and which kind that is."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nearer.cli._options import refuse_idle


class ModelKind(StrEnum):
    """What is fitted: an estimator of the library each."""

    embedding = "embedding"
    kernel = "kernel"
    online = "online"


class Loss(StrEnum):
    """The names of `nearer.losses.LOSSES`, which would take a second to import, and "auto"."""

    gnmds = "gnmds"
    ckl = "ckl"
    ste = "ste"
    tste = "tste"
    soe = "soe"
    auto = "auto"


class Solver(StrEnum):
    """The names in `nearer.solvers.SOLVERS` that fit an embedding."""

    auto = "auto"
    svrg_sbb = "svrg-sbb"
    svrg_sbb0 = "svrg-sbb0"
    svrg_sbb_restarts = "svrg-sbb-restarts"
    svrg = "svrg"
    sgd = "sgd"
    adam = "adam"
    batch = "batch"
    lbfgs = "lbfgs"


class Update(StrEnum):
    """The updates of `nearer.OnlineKernel`."""

    passive_aggressive = "passive-aggressive"
    ste = "ste"
    gnmds = "gnmds"


class Step(StrEnum):
    """The ways in which its steps shrink."""

    constant = "constant"
    inverse = "1/j"
    inverse_root = "1/sqrt(j)"


_BUDGET = "Budget, of embeddings and kernels"
_EMBEDDINGS = "Embeddings"
_KERNELS = "Kernels"
_ONLINE = "Answers that keep coming (--model online)"

WhichModel = Annotated[
    ModelKind,
    typer.Option(
        "--model",
        help="An embedding: points; a kernel of any rank; or such a kernel online, one answer after the other.",
    ),
]
WhichLoss = Annotated[
    Loss | None,
    typer.Option(
        "--loss",
        metavar="<loss>",
        show_default="soe, or ste for a kernel",
        help=f"{', '.join(Loss)} (chosen on held-out answers). Not of online kernels.",
    ),
]
WhichSolver = Annotated[
    Solver,
    typer.Option("--solver", metavar="<solver>", rich_help_panel=_EMBEDDINGS, help=f"{', '.join(Solver)}."),
]
L2 = Annotated[
    str,
    typer.Option(
        "--l2", rich_help_panel=_EMBEDDINGS, help="Strength of the L2 term; auto: on held-out answers."
    ),
]
Restarts = Annotated[
    int,
    typer.Option("--restarts", min=1, rich_help_panel=_EMBEDDINGS, help="Fits from different starts."),
]
Jobs = Annotated[
    int, typer.Option("--jobs", min=1, rich_help_panel=_EMBEDDINGS, help="Threads; the map is the same.")
]
TracePenalty = Annotated[
    str | None,
    typer.Option(
        "--trace-penalty",
        rich_help_panel=_KERNELS,
        show_default="auto, or 0 online",
        help="Keeps the rank low; auto: by cross-validation. Online: shrinks the kernel after every answer.",
    ),
]
Rank = Annotated[
    int | None,
    typer.Option(
        "--rank",
        min=1,
        rich_help_panel=_KERNELS,
        show_default="free",
        help="Most dimensions of the kernel; with few of them, online kernels hold millions of objects.",
    ),
]
WhichUpdate = Annotated[
    Update, typer.Option("--update", rich_help_panel=_ONLINE, help="How far one answer moves the kernel.")
]
WhichStep = Annotated[
    Step, typer.Option("--step", rich_help_panel=_ONLINE, help="How steps shrink after j answers.")
]
MaxStep = Annotated[
    float | None,
    typer.Option(
        "--max-step",
        rich_help_panel=_ONLINE,
        show_default="no bound",
        help="Bounds passive-aggressive steps, where answers may be wrong.",
    ),
]
Passes = Annotated[
    int,
    typer.Option(
        "--passes",
        min=1,
        rich_help_panel=_ONLINE,
        help="Steps an answer; further ones go over earlier answers.",
    ),
]
Start = Annotated[
    Path | None,
    typer.Option(
        "--start",
        rich_help_panel=_ONLINE,
        show_default=False,
        help="Go on with this online model; objects that are new are added to it.",
    ),
]
MaxEpochs = Annotated[
    int | None,
    typer.Option("--max-epochs", min=1, show_default=False, help="At most so many.", rich_help_panel=_BUDGET),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option("--max-seconds", show_default=False, help="At most so many.", rich_help_panel=_BUDGET),
]
Tol = Annotated[
    float,
    typer.Option("--tol", min=0.0, help="Relative decrease an epoch must bring.", rich_help_panel=_BUDGET),
]

#: for each kind of model its options, by the names of the estimator's parameters
SETTINGS: dict[ModelKind, dict[str, str]] = {
    ModelKind.embedding: {
        "loss": "loss",
        "solver": "solver",
        "l2": "l2",
        "n_init": "restarts",
        "n_jobs": "jobs",
        "max_epochs": "max_epochs",
        "max_seconds": "max_seconds",
        "tol": "tol",
    },
    ModelKind.kernel: {
        "loss": "loss",
        "trace_penalty": "trace_penalty",
        "max_rank": "rank",
        "max_epochs": "max_epochs",
        "max_seconds": "max_seconds",
        "tol": "tol",
    },
    ModelKind.online: {
        "update": "update",
        "step": "step",
        "max_step": "max_step",
        "passes": "passes",
        "trace_penalty": "trace_penalty",
        "rank": "rank",
    },
}


def check_settings(context: typer.Context, model: ModelKind, start: Path | None) -> None:
    """Refuse settings that the kind of model does not have, or that a model to go on with has already."""
    kinds_of: dict[str, list[str]] = {}
    for kind, options in SETTINGS.items():
        for option in options.values():
            kinds_of.setdefault(option, []).append(kind)
    if start is not None:
        settled = [*kinds_of, *(["model"] if model is not ModelKind.online else [])]
        refuse_idle(context, (True, settled, f"was settled when {start} began: leave it or --start out"))
        return
    for option, kinds in kinds_of.items():
        advice = f"is for --model {' or '.join(kinds)}, not {model}: leave it out"
        refuse_idle(context, (model not in kinds, [option], advice))
