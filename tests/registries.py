"""The losses, solvers, strategies and problems that the shared batteries run over: adding one is adding a row here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearer import active, datasets, losses, solvers
from nearer.comparisons import Comparisons
from nearer.objectives import PointObjective


@dataclass(frozen=True)
class SquaredHinge(losses.Loss):
    """A loss that nearer does not have, as a user would write it."""

    margin: float = 1.0
    name = "squared hinge"

    def value(self, near, far):
        return np.maximum(near - far + self.margin, 0) ** 2

    def derivatives(self, near, far):
        slope = 2 * np.maximum(near - far + self.margin, 0)
        return slope, -slope


LOSSES = {
    "gnmds": losses.GNMDS(),
    "gnmds-wide": losses.GNMDS(margin=3.0),
    "ckl": losses.CKL(),
    "ckl-small": losses.CKL(mu=0.05),
    "ste": losses.STE(),
    "tste": losses.TSTE(alpha=1.0),
    "tste-9": losses.TSTE(alpha=9.0),
    "soe": losses.SOE(),
    "soe-wide": losses.SOE(margin=2.0),
    "robust-soe": losses.RobustSOE(),
    "robust-soe-wide": losses.RobustSOE(margin=2.0, tail=0.5),
}

MARGIN_LOSSES = {
    "square": losses.SquareLoss(),
    "hinge": losses.HingeLoss(),
    "smooth-hinge": losses.SmoothHingeLoss(),
    "smooth-hinge-narrow": losses.SmoothHingeLoss(width=0.1),
    "squared-hinge": losses.SquaredHingeLoss(),
    "logistic": losses.LogisticLoss(),
}

SOLVERS = {
    "adam-svrg": solvers.Phases(
        (solvers.Adam(epochs=30), solvers.SVRG(step=solvers.StabilizedBB(first_step="careful")))
    ),
    "svrg-sbb": solvers.SVRG(),
    "svrg-sbb-1": solvers.SVRG(batch_size=1),
    "svrg-sbb-50": solvers.SVRG(batch_size=50),
    "svrg-sbb-hand": solvers.SVRG(epsilon=0.05),
    "svrg-sbb0": solvers.find("svrg-sbb0"),
    "svrg-sbb-restarts": solvers.find("svrg-sbb-restarts"),
    "svrg-short-epochs": solvers.SVRG(epoch_length=300),
    "svrg-long-epochs": solvers.SVRG(epoch_length=2500),
    "svrg": solvers.find("svrg"),
    "svrg-fixed": solvers.SVRG(step=0.02),
    "svrg-decay": solvers.SVRG(step="decay"),
    "sgd": solvers.SGD(),
    "sgd-1": solvers.SGD(batch_size=1),
    "adam": solvers.Adam(),
    "batch": solvers.GradientDescent(),
    "lbfgs": solvers.LBFGS(),
    "gd": solvers.find("gd"),
    "gd-diag": solvers.find("gd-diag"),
    "full-adam": solvers.FullAdam(step=0.1),
}

STRATEGIES = {
    "random": active.Random(),
    "round-robin": active.RoundRobin(),
    "uncertainty": active.Uncertainty(),
    "uncertainty-small": active.Uncertainty(pool=5),
    "information-gain": active.InformationGain(),
    "information-gain-small": active.InformationGain(pool=5, places=20),
    "arr": active.AdaptiveRoundRobin(),
    "arr-small": active.AdaptiveRoundRobin(pool=1),
    "adaptive": active.Adaptive(),
    "adaptive-small": active.Adaptive(pool=5),
}


def planted(kind: str = "triplets", weights: bool = False, seed: int = 0) -> Comparisons:
    """1,000 answers about 25 objects in the plane, one in twenty wrong."""
    answers, _ = datasets.planted(25, 2, 1000, noise=0.05, kind=kind, scale=1.0, random_state=seed)
    if not weights:
        return answers
    drawn = np.random.default_rng(seed).uniform(0.5, 2.0, size=len(answers))
    return Comparisons(answers.indices, answers.n_objects, weights=drawn)


def objective(loss="ste", *, l2=0.01, n_components=2, **settings) -> PointObjective:
    """The objective of the planted problem."""
    kind = settings.pop("kind", "triplets")
    comparisons = planted(kind, settings.pop("weights", False))
    return PointObjective(comparisons, losses.find(loss), n_components, l2=l2, **settings)


def start(shape=(25, 2), seed: int = 0, dtype=np.float64) -> np.ndarray:
    """Random points at unit scale."""
    return np.random.default_rng(seed).normal(size=shape).astype(dtype) * 0.5
