"""Losses of a comparison (functions of two squared distances) and of a pair of samples (functions of one margin).

>>> sorted(LOSSES)
['ckl', 'gnmds', 'soe', 'ste', 'tste']
>>> find("tste") == TSTE()
True
>>> sorted(MARGIN_LOSSES)
['hinge', 'logistic', 'square', 'squared-hinge']
>>> find_margin_loss("hinge") == HingeLoss()
True
"""

from __future__ import annotations

from nearer._utils.namespaces import namespace
from nearer.errors import InputError
from nearer.losses.base import Loss
from nearer.losses.ckl import CKL
from nearer.losses.formulas import sigmoid, softplus
from nearer.losses.gnmds import GNMDS
from nearer.losses.margins import (
    MARGIN_LOSSES,
    HingeLoss,
    LogisticLoss,
    MarginLoss,
    SquaredHingeLoss,
    SquareLoss,
    find_margin_loss,
)
from nearer.losses.soe import SOE
from nearer.losses.ste import STE
from nearer.losses.tste import TSTE

LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in (GNMDS, CKL, STE, TSTE, SOE)}

__all__ = [
    "CKL",
    "GNMDS",
    "LOSSES",
    "MARGIN_LOSSES",
    "SOE",
    "STE",
    "TSTE",
    "HingeLoss",
    "LogisticLoss",
    "Loss",
    "MarginLoss",
    "SquareLoss",
    "SquaredHingeLoss",
    "find",
    "find_margin_loss",
    "namespace",
    "sigmoid",
    "softplus",
]


def find(loss: str | Loss) -> Loss:
    """Return the loss with this name, or the object itself."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    raise InputError(
        f"must be one of {', '.join(LOSSES)} or a nearer.losses.Loss object (for OrdinalEmbedding also "
        f"'auto'), not {loss!r}",
        parameter="loss",
    )
