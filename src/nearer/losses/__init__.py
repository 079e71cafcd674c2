"""Losses of a comparison (two squared distances), of a pair of samples (one margin) and of a row against all labels.

>>> sorted(LOSSES)
['ckl', 'gnmds', 'robust-soe', 'soe', 'ste', 'tste']
>>> find("tste") == TSTE()
True
>>> sorted(MARGIN_LOSSES)
['hinge', 'logistic', 'smooth-hinge', 'square', 'squared-hinge']
>>> find_margin_loss("hinge") == HingeLoss()
True
"""

from __future__ import annotations

from nearer._utils.namespaces import namespace
from nearer.losses.distances import CKL, GNMDS, LOSSES, SOE, STE, TSTE, Loss, RobustSOE, find
from nearer.losses.formulas import sigmoid, softplus
from nearer.losses.label_sets import LabelSetLoss, RankingLoss, SoftMaxLoss
from nearer.losses.links import LinkLoss
from nearer.losses.margins import (
    MARGIN_LOSSES,
    HingeLoss,
    LogisticLoss,
    MarginLoss,
    SmoothHingeLoss,
    SquaredHingeLoss,
    SquareLoss,
    find_margin_loss,
)
from nearer.losses.rounding import RoundedGNMDS

__all__ = [
    "CKL",
    "GNMDS",
    "LOSSES",
    "MARGIN_LOSSES",
    "SOE",
    "STE",
    "TSTE",
    "HingeLoss",
    "LabelSetLoss",
    "LinkLoss",
    "LogisticLoss",
    "Loss",
    "MarginLoss",
    "RankingLoss",
    "RobustSOE",
    "RoundedGNMDS",
    "SmoothHingeLoss",
    "SoftMaxLoss",
    "SquareLoss",
    "SquaredHingeLoss",
    "find",
    "find_margin_loss",
    "namespace",
    "sigmoid",
    "softplus",
]
