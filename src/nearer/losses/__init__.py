"""Losses: of a comparison, a function of two squared distances; of a pair of samples, one of the margin of scores.

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

from nearer.errors import InputError
from nearer.losses.base import Loss
from nearer.losses.ckl import CKL
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
]


def find(loss: str | Loss) -> Loss:
    """The loss object for a name, or the object itself."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    raise InputError(
        f"must be one of {', '.join(LOSSES)} or a nearer.losses.Loss object (for OrdinalEmbedding also "
        f"'auto'), not {loss!r}",
        parameter="loss",
    )
