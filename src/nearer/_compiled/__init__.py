"""Compiled loops, each with a readable version in a file called `..._reference`. Nothing here is public.

`loops_for(loss)` returns the loops over comparisons for a loss: compiled if the loss has a scalar version, staged numpy
otherwise. Both have the same methods.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from nearer.losses import LOSSES, LabelSetLoss, LinkLoss, Loss, RankingLoss, SoftMaxLoss
from nearer.losses.margins import is_named


class Loops:
    """The loops over comparisons for one loss; `points_reference.py` documents their arguments."""

    compiled: bool
    value: Callable[..., float]
    gradient: Callable[..., float]
    gradients: Callable[..., None]
    join: Callable[..., float]
    search: Callable[..., tuple[int, float]]
    sgd: Callable[..., float]
    svrg: Callable[..., None]


class CompiledLoops(Loops):
    """The numba loops for a loss in the table `CODES`."""

    compiled = True

    def __init__(self, loss: Loss):
        from nearer._compiled import epochs, line_search, points
        from nearer._compiled.scalar_losses import CODES

        first, second = loss.scalar_parameters()
        # numba compiles again for each type of argument, so whole numbers become floats
        settings = CODES[type(loss)], (float(first), float(second))
        self.value, self.gradient = partial(points.value, *settings), partial(points.gradient, *settings)
        self.gradients, self.join = partial(points.gradients, *settings), points.join
        self.search = partial(line_search.search, *settings)
        self.sgd, self.svrg = partial(epochs.sgd, *settings), partial(epochs.svrg, *settings)


class StagedLoops(Loops):
    """The numpy loops, for any loss."""

    compiled = False

    def __init__(self, loss: Loss):
        from nearer._compiled import line_search_reference
        from nearer._compiled import points_reference as plain

        self.value, self.gradient = partial(plain.value, loss), partial(plain.gradient, loss)
        self.gradients, self.join = partial(plain.gradients, loss), plain.join
        self.search = partial(line_search_reference.search, loss)
        self.sgd, self.svrg = partial(plain.sgd, loss), partial(plain.svrg, loss)


def loops_for(loss: Loss) -> Loops:
    """Return compiled loops if the loss has a scalar version, staged numpy loops otherwise."""
    if type(loss) in LOSSES.values():  # asking the table of codes would import numba for a user's loss too
        from nearer._compiled.scalar_losses import CODES

        if type(loss) in CODES:
            return CompiledLoops(loss)
    return StagedLoops(loss)


def label_loop_for(loss: LabelSetLoss) -> Callable[..., float]:
    """Return the loop over rows for a loss of a row against all labels: compiled if there is one, else numpy.

    It takes `starts`, `labels`, `shares` and `affinities`; `label_sets.py` explains them.
    """
    if type(loss) in (SoftMaxLoss, RankingLoss) and is_named(loss.margin):
        from nearer._compiled import label_sets
        from nearer._compiled.margin_losses import MARGIN_CODES

        compiled = label_sets.soft_max if type(loss) is SoftMaxLoss else label_sets.ranking
        return partial(compiled, MARGIN_CODES[type(loss.margin)])
    from nearer._compiled.label_sets_reference import replace_by_slopes

    return partial(replace_by_slopes, loss)


def link_loop_for(loss: LinkLoss) -> Callable[..., float]:
    """Return the loop over pairs for a loss of links and other pairs: compiled if there is one, else numpy.

    It takes `offset`, `n_links`, `shares`, `first`, `second`, `distances` and `slopes`; `links.py` explains them.
    """
    if type(loss) is LinkLoss and is_named(loss.margin):
        from nearer._compiled.links import link_losses
        from nearer._compiled.margin_losses import MARGIN_CODES

        return partial(link_losses, MARGIN_CODES[type(loss.margin)])
    from nearer._compiled.links_reference import link_losses as plain

    return partial(plain, loss)


def label_curvature_loops_for(loss: LabelSetLoss) -> tuple[Callable[..., None], Callable[..., None]] | None:
    """Return loops over second derivatives by affinities, compiled; None if there are none for the loss.

    Both take what the loop above takes. The first replaces affinities by the second derivative by each of them. The
    second also takes small changes of the affinities, and replaces them by those of the slopes.
    """
    if type(loss) is not RankingLoss or not is_named(loss.margin):
        return None
    from nearer._compiled import label_sets
    from nearer._compiled.margin_losses import MARGIN_CODES

    code = MARGIN_CODES[type(loss.margin)]
    return partial(label_sets.ranking_curvatures, code), partial(label_sets.ranking_products, code)
