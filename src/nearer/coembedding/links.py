"""Which objects are linked: two sets, or one, in one space, as a convex problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearer._utils.runtime import one_thread
from nearer._utils.schema import (
    BUDGET,
    SEED,
    SWITCH,
    AnyOf,
    Array,
    Flag,
    Integer,
    Literal,
    Number,
    Part,
    Saved,
    Text,
    need,
    optional,
)
from nearer._utils.text import warn
from nearer._utils.validation import RandomState, finite, generator, positive, whole
from nearer.coembedding.choosing import Steps
from nearer.coembedding.fitting import check_fit_settings, check_folds, fit_factor
from nearer.coembedding.link_model import LinkModel, described
from nearer.coembedding.link_rows import GRAPHS, Links, is_symmetric, read_links
from nearer.coembedding.link_terms import RULES, LinkTerms
from nearer.coembedding.post_rows import checked_features
from nearer.coembedding.rows import Preparation
from nearer.errors import InputError
from nearer.interactions import recommending
from nearer.losses.links import LinkLoss
from nearer.losses.margins import MarginLoss, find_smooth_loss
from nearer.pairwise._scales import check_scale
from nearer.pairwise.thresholds import Scored, Sigmoid, calibrate
from nearer.solvers import Result
from nearer.solvers.path import Choice
from nearer.solvers.run import Callback

#: fits to weaker penalties take many times longer, so the path goes in small steps and ends soon after the best one.
#: How a fit ranks held-out pairs is known long before its gap is small.
_STEPS = Steps(factor=0.6, most=24, tol=0.2)


class LinkPredictor(LinkModel):
    """Which objects are linked: pairs that are nearer to each other than both of them are to a threshold.

    Left objects u and right objects v lie in one space, together with a threshold point of each side, u₀ and v₀. A pair
    is predicted to be linked if |u - v|² is below both |u - u₀|² and |v - v₀|² (`rule` changes that). Learning the
    points is one convex problem over a positive semidefinite matrix (section 3 of the co-embedding paper), solved to a
    certified gap by growing factors (`nearer.solvers.ILA`).

    Objects may have features. Others with features, never seen in the fit, then have places too.

    Parameters
    ----------
    beta : float or "auto"
        Strength of the trace, for the *sum* of the losses of all pairs, times their weights: the stronger, the fewer
        dimensions. "auto" chooses it by the area under the ROC curve on held-out pairs, along a path with warm starts.
    graph : {"bipartite", "undirected", "directed"}
        "bipartite": links of two sets; rows are left objects, columns right ones. "undirected": links within one set;
        rows and columns are the same objects, and (i, j) is the same link as (j, i). "directed": links within one set
        from rows to columns; every object has a point as the source of links, and one as their target.
    loss : str or MarginLoss
        h, of the margin by which a pair is nearer than one of its thresholds: "smooth-hinge", "logistic",
        "squared-hinge" or "square". A link with the margins a and b has the loss ln(exp h(a) + exp h(b)), any other
        pair h(-a) + h(-b).
    rule : {"both", "mean", "either"}
        What the distance of a linked pair is below: both |u - u₀|² and |v - v₀|², their mean, or either of them. The
        fit asks that all links are below both and all other pairs above both, whatever the rule is. "either" ranks
        pairs of an object with many links and one with few higher.
    offset : float
        What is added to |u - u₀|² and |v - v₀|². Below 0, pairs at the same place are not linked yet: a link then needs
        points that lie far from the thresholds. Where links are rare, that ranks pairs better.
    negatives : int, "all" or "auto"
        Which pairs without a link are learned from: all, or a sample of this many per link, drawn once. "auto" is all
        up to 200,000 pairs, else 5 per link.
    balance : float or None
        Total weight of the pairs without a link, relative to that of the links. With 1, the objective is the mean over
        links plus the mean over all other pairs, divided by 2; a sample estimates the second. None lets every pair
        count as much as any other: the objective is the mean over all pairs, or its estimate. Where links are rare,
        hardly any pair is then predicted to be linked.
    cv : int
        Folds of pairs that are held out, to choose `beta` and to calibrate probabilities; of many pairs, only some
        folds. 0 holds out none: there are then no probabilities.
    scale : "auto" or bool
        Whether each column of features is divided by the size of its numbers, and measured from its median, first.
        "auto" leaves columns alone that share a unit, as in texts and flags.
    max_rank : int, optional
        Most dimensions. The minimum is then not certified; `result_.details["gap"]` says how far it may be.
    max_epochs, max_evaluations, max_seconds : number, optional
        Budget of rounds of growth, derivatives and time. The last two include the folds.
    tol : float
        Stop when the certified gap is below this share of the objective.
    random_state : int, Generator, RandomState or None
        Draws pairs without a link, the folds, and where eigenvectors are looked for.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress`; a true answer stops the fit.

    Attributes
    ----------
    left_embedding_, right_embedding_ : arrays (n_left, rank), (n_right, rank)
        Points; in an undirected graph both are the same.
    left_threshold_, right_threshold_ : arrays (rank,)
        Threshold points; in an undirected graph both are the same.
    left_factor_, right_factor_ : arrays or None
        What prepared features are multiplied with, if there are any. Unless the graph is undirected, the last row
        belongs to a column of ones.
    left_preparation_, right_preparation_ : Preparation or None
        How features are prepared.
    left_names_, right_names_ : tuples of str, or None
        Names, in the order of the points.
    seen_starts_, seen_columns_ : arrays
        The links of the fit, by rows.
    calibration_ : Sigmoid or None
        From decisions to probabilities.
    graph_, rule_, offset_ : str, str, float
        The kind of graph, the rule and the offset of the fit.
    beta_ : float
        The strength that was used.
    result_ : nearer.solvers.Result
        The course of the fit: objective (the *mean* over pairs), rank, largest eigenvalue and gap per round.

    Examples
    --------
    >>> import nearer
    >>> friends = nearer.Interactions(["ann", "ann", "bob", "eve"], ["bob", "cid", "cid", "dan"])
    >>> model = LinkPredictor(0.1, graph="undirected", cv=0).fit(friends)
    >>> model.predict([["bob", "ann"], ["ann", "eve"]])
    array([ True, False])
    >>> model.recommend("dan", k=1, exclude_seen=False, names=True).items
    array([['eve']], dtype=object)
    """

    _schema = Saved(
        params={
            "beta": AnyOf(Text(), Number()),
            "graph": Text(),
            "loss": AnyOf(Text(), Part(MarginLoss)),
            "rule": Text(),
            "offset": Number(),
            "negatives": AnyOf(Text(), Integer(1, 10**9)),
            "balance": optional(Number()),
            "cv": Integer(0, 10**6),
            "scale": AnyOf(Flag(), Text()),
            "max_rank": optional(Integer(1, 10**9)),
            **BUDGET,
            "random_state": SEED,
            "verbose": SWITCH,
            "callback": Literal(None),
        },
        fitted={
            "left_embedding_": Array("m", "d", filled=True, dtype="float64", order="C"),
            "right_embedding_": Array("n", "d", filled=True, dtype="float64", order="C"),
            **recommending.FITTED,
            "left_threshold_": Array("d", dtype="float64"),
            "right_threshold_": Array("d", dtype="float64"),
            "left_factor_": optional(Array("p", "d", dtype="float64", order="C")),
            "right_factor_": optional(Array("q1", "d", dtype="float64", order="C")),
            "left_preparation_": optional(Part(Preparation)),
            "right_preparation_": optional(Part(Preparation)),
            "calibration_": optional(Part(Sigmoid)),
            "graph_": Text(),
            "rule_": Text(),
            "offset_": Number(),
            "beta_": Number(at_least=0),
            "result_": Part(Result),
        },
    )

    def __init__(
        self,
        beta: float | str = "auto",
        *,
        graph: str = "bipartite",
        loss: str | MarginLoss = "smooth-hinge",
        rule: str = "both",
        offset: float = 0.0,
        negatives: int | str = "auto",
        balance: float | None = 1.0,
        cv: int = 5,
        scale: bool | str = "auto",
        max_rank: int | None = None,
        max_epochs: int | None = None,
        max_evaluations: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-3,
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ):
        self.beta = beta
        self.graph = graph
        self.loss = loss
        self.rule = rule
        self.offset = offset
        self.negatives = negatives
        self.balance = balance
        self.cv = cv
        self.scale = scale
        self.max_rank = max_rank
        self.max_epochs = max_epochs
        self.max_evaluations = max_evaluations
        self.max_seconds = max_seconds
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @one_thread()
    def fit(self, R: Any, left: Any = None, right: Any = None) -> LinkPredictor:
        """Learn where objects and thresholds lie.

        Parameters
        ----------
        R : Interactions or scipy.sparse matrix
            The links; rows are left objects. Weights say how much each link counts. In an undirected graph, a link
            that is stored in both directions is one link, with the larger of both weights.
        left, right : arrays or sparse matrices, optional
            Features of the objects, one row each. Within one set, `left` has those of all objects.
        """
        self._check_settings()
        if right is not None and self.graph != "bipartite":
            raise InputError(
                f"is given, but with graph={self.graph!r} both sides are one set",
                "give the features of its objects as left",
                parameter="right",
            )
        links = read_links(R, self.graph, left, right)
        if self.graph == "bipartite" and is_symmetric(links):
            warn(
                'every link is stored in both directions, but graph="bipartite" takes rows and columns for two sets: '
                'use graph="undirected" if they are one'
            )
        given = self._given(links, left, right)
        self.left_preparation_, self.right_preparation_ = (
            None if table is None else Preparation.of(table, self.scale, False) for table in given
        )
        rng, loss = generator(self.random_state), LinkLoss(find_smooth_loss(self.loss))
        terms = self._terms(links, given, rng)
        counts: dict[str, Any] = {"n_links": len(links.pairs), "n_pairs": links.n_pairs}
        Q, choice, self.result_ = fit_factor(
            self, lambda: terms, loss, rng, n_folds=self.cv, steps=_STEPS, **counts
        )
        self.graph_, self.rule_, self.offset_ = self.graph, self.rule, float(self.offset)
        self.beta_ = float(choice.strength)
        self._keep_pairs(links.seen)
        self._keep(Q, terms, given)
        self.calibration_ = _calibration(choice, links.n_others / (len(terms) - len(links.pairs)))
        if not Q.any() and self.result_.stop_reason == "tolerance":
            warn(f"beta = {self.beta_:.3g} is so strong that all points are equal: use a smaller one")
        return self

    # -- inside -------------------------------------------------------------------------------------------------

    def _given(self, links: Links, left: Any, right: Any) -> tuple[Any, Any]:
        """Return the features of both sides, checked."""
        left = checked_features(left, "object", links.shape[0], "left")
        if self.graph != "bipartite":
            return left, left
        return left, checked_features(right, "object", links.shape[1], "right")

    def _terms(self, links: Links, given: tuple[Any, Any], rng: np.random.Generator) -> LinkTerms:
        preparations = self.left_preparation_, self.right_preparation_
        tables = [
            sparse.identity(count, format="csr")
            if table is None
            else described(table, preparation, self.graph)
            for table, preparation, count in zip(given, preparations, links.shape, strict=True)
        ]
        others = links.others(self.negatives, rng)
        total = links.n_others if self.balance is None else self.balance * links.weights.sum()
        kinds = np.repeat([True, False], [len(links.pairs), len(others)])
        return LinkTerms(
            tables[0],
            None if self.graph == "undirected" else tables[1],
            np.concatenate([links.pairs, others]),
            kinds,
            np.concatenate([links.weights, np.full(len(others), total / len(others))]),
            self.rule,
            float(self.offset),
        )

    def _keep(self, Q: np.ndarray, terms: LinkTerms, given: tuple[Any, Any]) -> None:
        width = terms.left.shape[1]
        rest = Q[width:]
        self.left_threshold_, self.right_threshold_ = (
            rest[-1 if terms.right is None else -2].copy(),
            Q[-1].copy(),
        )
        parts = Q[:width], Q[:width] if terms.right is None else rest[:-2]
        tables = terms.left, terms.left if terms.right is None else terms.right
        self.left_embedding_, self.right_embedding_ = (
            np.ascontiguousarray(table @ part) for table, part in zip(tables, parts, strict=True)
        )
        self.left_factor_, self.right_factor_ = (
            None if table is None else np.ascontiguousarray(part)
            for table, part in zip(given, parts, strict=True)
        )

    def _check_settings(self) -> None:
        find_smooth_loss(self.loss)
        check_folds(self)
        check_scale(self.scale)
        for parameter, choices in (("graph", GRAPHS), ("rule", RULES)):
            given = getattr(self, parameter)
            if not (isinstance(given, str) and given in choices):
                raise InputError(f"must be one of {', '.join(choices)}, not {given!r}", parameter=parameter)
        if isinstance(self.negatives, str):
            if self.negatives not in ("all", "auto"):
                raise InputError(
                    f'must be "all", "auto" or a number per link, not {self.negatives!r}',
                    parameter="negatives",
                )
        else:
            whole("negatives", self.negatives)
        finite("offset", self.offset)
        if self.balance is not None:
            positive("balance", self.balance)
        check_fit_settings(self)

    def _check_loaded(self) -> None:
        self._check_seen()
        need(self.graph_ in GRAPHS, f"graph_ must be one of {', '.join(GRAPHS)}")
        need(self.rule_ in RULES, f"rule_ must be one of {', '.join(RULES)}")
        need(
            self.graph_ == "bipartite" or self._shape[0] == self._shape[1],
            "left_embedding_ and right_embedding_ must have the same rows within one set",
        )
        for side in recommending.SIDES:
            factor, preparation = getattr(self, f"{side}_factor_"), getattr(self, f"{side}_preparation_")
            need((factor is None) == (preparation is None), f"{side}_preparation_ belongs to {side}_factor_")
            if factor is not None:
                columns = len(factor) - (self.graph_ != "undirected")
                sizes = [len(part) for part in (preparation.shift, preparation.scales) if part is not None]
                need(set(sizes) <= {columns}, f"{side}_preparation_ must be about {columns} columns")


def _calibration(choice: Choice, per_other: float) -> Sigmoid | None:
    """Return probabilities from held-out pairs, of which each without a link stands for this many."""
    if not choice.held_out:
        return None
    links = np.concatenate([part.links for part, _ in choice.held_out])
    decisions = np.concatenate([part.decisions(Q) for part, Q in choice.held_out])
    return calibrate(Scored(decisions, links, np.where(links, 1.0, per_other)), "sigmoid")
