"""The options of `nearer fit` that only some models have, and which models there are."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nearer.registry import BY_MODEL

if TYPE_CHECKING:
    ModelKind = str
else:  # type checkers know no enumerations that are made at run time
    ModelKind = StrEnum("ModelKind", [(model, model) for model in BY_MODEL])
#: options that name a file to read
INPUT_FILES = ("left_features", "right_features", "features")
DEFAULT_MODEL = ModelKind("embedding")


class LossName(StrEnum):
    """The names of `nearer.losses.LOSSES`, which would take a second to import, "auto", and losses of other models."""

    gnmds = "gnmds"
    ckl = "ckl"
    ste = "ste"
    tste = "tste"
    soe = "soe"
    robust_soe = "robust-soe"
    auto = "auto"
    logistic = "logistic"
    square = "square"
    smooth_hinge = "smooth-hinge"
    squared_hinge = "squared-hinge"


class EffortName(StrEnum):
    """The names in `nearer.calibration.EFFORTS`."""

    quick = "quick"
    normal = "normal"
    thorough = "thorough"


class SolverName(StrEnum):
    """The names in `nearer.solvers.SOLVERS` that fit an embedding, towers or tags, and "auto"."""

    auto = "auto"
    svrg_sbb = "svrg-sbb"
    svrg_sbb0 = "svrg-sbb0"
    svrg_sbb_restarts = "svrg-sbb-restarts"
    svrg = "svrg"
    sgd = "sgd"
    adam = "adam"
    batch = "batch"
    lbfgs = "lbfgs"
    newton = "newton"
    gd = "gd"
    gd_diag = "gd-diag"
    full_adam = "full-adam"
    eigen_adam = "eigen-adam"
    noisy_adam = "noisy-adam"
    noisy_eigen_adam = "noisy-eigen-adam"
    als = "als"
    sogram = "sogram"
    sogram_diag = "sogram-diag"
    sampling = "sampling"
    sampling_diag = "sampling-diag"
    sg = "sg"
    ila = "ila"
    central_path = "central-path"


class GraphName(StrEnum):
    """The kinds of graphs of `nearer.LinkPredictor`."""

    bipartite = "bipartite"
    undirected = "undirected"
    directed = "directed"


class RuleName(StrEnum):
    """The rules of `nearer.LinkPredictor`."""

    both = "both"
    mean = "mean"
    either = "either"


class UpdateName(StrEnum):
    """The updates of `nearer.OnlineKernel`."""

    passive_aggressive = "passive-aggressive"
    ste = "ste"
    gnmds = "gnmds"


class StepName(StrEnum):
    """The ways in which its steps shrink."""

    constant = "constant"
    inverse = "1/j"
    inverse_root = "1/sqrt(j)"


_budget = partial(typer.Option, rich_help_panel="Budget (not for online kernels)")
_embeddings = partial(typer.Option, rich_help_panel="Embeddings")
_towers = partial(typer.Option, rich_help_panel="Towers (--model towers)", show_default=False)
_both = partial(typer.Option, rich_help_panel="Embeddings and towers")
_kernels = partial(typer.Option, rich_help_panel="Kernels")
_online = partial(typer.Option, rich_help_panel="Online learning (--model online)")
_spaces = partial(typer.Option, rich_help_panel="Labels, metrics, tags and links", show_default=False)

WhichModel = Annotated[
    ModelKind,
    typer.Option(
        "--model",
        help="embedding: points; kernel: a kernel of any rank; online: such a kernel, learned one answer at a time; "
        "towers: users and items, or any other two sets, from a file of pairs; multilabel: the labels of rows; metric: "
        "distances of rows of features; tags: which tags users give to items; links: which objects are linked, from a "
        "file of pairs.",
    ),
]
WhichLoss = Annotated[
    LossName | None,
    typer.Option(
        "--loss",
        metavar="<loss>",
        show_default="auto, ste for a kernel, logistic for towers and tags, smooth-hinge for labels, metrics and links",
        help=f"{', '.join(LossName)}. logistic and square are for towers, all from logistic on for labels, metrics, "
        "tags and links; auto chooses on held-out answers. Not for online kernels.",
    ),
]
WhichSolver = Annotated[
    SolverName,
    _both(
        "--solver",
        metavar="<solver>",
        help=f"{', '.join(SolverName)}. Those from newton on are for towers, the last two for tags.",
    ),
]
L2 = Annotated[
    str,
    _both(
        "--l2",
        show_default="auto, or 0.3 for towers",
        help="Strength of the L2 term; auto: chosen on held-out answers (not for towers: see --search).",
    ),
]
Restarts = Annotated[
    int, _embeddings("--restarts", min=1, help="Fit from this many different starts and keep the best.")
]
WhichEffort = Annotated[
    EffortName, _embeddings("--effort", help="How carefully to choose loss and l2 on held-out answers.")
]
Jobs = Annotated[
    int | None,
    _embeddings(
        "--jobs",
        min=1,
        show_default="1, or all cores for many answers",
        help="Number of threads; the map does not depend on it.",
    ),
]
TracePenalty = Annotated[
    str | None,
    _kernels(
        "--trace-penalty",
        show_default="auto, or 0 online",
        help="Keeps the rank low; auto: chosen by cross-validation. Online: shrinks the kernel after every answer.",
    ),
]
Rank = Annotated[
    int | None,
    _kernels(
        "--rank",
        min=1,
        show_default="free",
        help="Largest rank of the kernel; with a small one, online kernels can hold millions of objects. For labels, "
        "metrics, tags and links: most dimensions.",
    ),
]
WhichUpdate = Annotated[UpdateName, _online("--update", help="Rule for how far one answer moves the kernel.")]
WhichStep = Annotated[StepName, _online("--step", help="How the steps shrink after j answers.")]
MaxStep = Annotated[
    float | None,
    _online(
        "--max-step",
        show_default="no bound",
        help="Upper bound of passive-aggressive steps, for answers that may be wrong.",
    ),
]
Passes = Annotated[
    int, _online("--passes", min=1, help="Steps per answer; those after the first revisit earlier answers.")
]
Start = Annotated[
    Path | None,
    _online(
        "--start", show_default=False, help="Continue with this online model; new objects are added to it."
    ),
]
Omega = Annotated[
    float | None, _towers("--omega", help="Weight of a pair that was not observed; 0.06 by default.")
]
Hidden = Annotated[
    str | None,
    _towers(
        "--hidden",
        metavar="<widths>",
        help="Widths of the hidden layers, 256,256 by default; none makes linear towers (matrix factorisation).",
    ),
]
Inputs = Annotated[
    str | None,
    _towers(
        "--inputs",
        metavar="<inputs>",
        help="What the towers see: ids, history or ids+history; one for both, or left,right. history,ids by default.",
    ),
]
Validation = Annotated[
    float | None,
    _towers(
        "--validation", help="Hold out this share of the training pairs, and keep the best epoch on them."
    ),
]
Device = Annotated[str | None, _towers("--device", help="Where to compute: cpu (default) or cuda.")]
Checkpoint = Annotated[
    Path | None,
    _towers(
        "--checkpoint",
        help="Write the state of the fit to this npz file once per minute; the same command continues from it.",
    ),
]
LeftFeatures = Annotated[
    Path | None,
    _towers(
        "--left-features",
        help="Features of the users, also for links: a table with names in the first column. Text becomes categories.",
    ),
]
RightFeatures = Annotated[
    Path | None, _towers("--right-features", help="Features of the items, in the same form.")
]
Search = Annotated[
    float | None,
    _towers(
        "--search",
        metavar="<seconds>",
        help="Choose inputs, widths, omega, l2 and epochs on held-out pairs within this time.",
    ),
]
Beta = Annotated[
    str | None,
    _spaces(
        "--beta",
        help="Strength of the trace, which keeps the number of dimensions low; auto, the default, chooses it on "
        "held-out rows.",
    ),
]
WhichThreshold = Annotated[
    str | None,
    _spaces(
        "--threshold",
        help="What predictions of several labels are best for: micro-f1 (default), macro-f1 or hamming; or the cut "
        "itself, such as 0.",
    ),
]
Neighbors = Annotated[
    int | None,
    _spaces(
        "--neighbors", min=1, help="Rows of its own label that each row should have nearby; 3 by default."
    ),
]
WhichGraph = Annotated[
    GraphName | None,
    _spaces(
        "--graph",
        help="Links are between two sets (bipartite, the default), or within one set: undirected or directed.",
    ),
]
Negatives = Annotated[
    str | None,
    _spaces(
        "--negatives",
        metavar="<number>",
        help="Pairs without a link per link to learn from, or all; by default, all up to 200,000 pairs, else 5.",
    ),
]
WhichRule = Annotated[
    RuleName | None,
    _spaces(
        "--rule",
        help="Linked objects are nearer to each other than both are to a threshold (both, the default), than the mean "
        "of these two distances, or than either.",
    ),
]
Offset = Annotated[
    float | None,
    _spaces(
        "--offset",
        help="Added to the distances from thresholds of links, 0 by default; below 0, fewer pairs are predicted to be "
        "linked.",
    ),
]
Balance = Annotated[
    str | None,
    _spaces(
        "--balance",
        metavar="<number>",
        help="Weight of all pairs without a link, relative to that of the links, 1 by default; none: every pair counts "
        "as much as any other.",
    ),
]
MaxEpochs = Annotated[
    int | None, _budget("--max-epochs", min=1, show_default=False, help="Stop after this many epochs.")
]
MaxSeconds = Annotated[
    float | None, _budget("--max-seconds", show_default=False, help="Stop after this many seconds.")
]
Tol = Annotated[
    float, _budget("--tol", min=0.0, help="Stop when the objective falls by less than this share per epoch.")
]
