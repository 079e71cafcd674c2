"""Users, items and tags in one space: which tags a user gives to an item, as a convex problem."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearer._utils.runtime import one_thread
from nearer._utils.schema import (
    BUDGET,
    SEED,
    SWITCH,
    AnyOf,
    Array,
    Integer,
    Literal,
    Names,
    Number,
    Part,
    Saved,
    Text,
    need,
    optional,
)
from nearer._utils.text import counted, warn
from nearer._utils.validation import RandomState, generator
from nearer.coembedding.choosing import Steps
from nearer.coembedding.fitting import check_fit_settings, fit_factor
from nearer.coembedding.post_rows import as_posts, checked_features, described, side_by_side
from nearer.coembedding.post_terms import PostTerms
from nearer.coembedding.tag_model import TagModel
from nearer.errors import InputError
from nearer.interactions import Posts
from nearer.losses.label_sets import RankingLoss
from nearer.losses.margins import MarginLoss, find_smooth_loss
from nearer.solvers import Result
from nearer.solvers.run import Callback

#: strengths are judged by lists of five tags, which settle long before the objective
_STEPS = Steps(tol=0.1)


class TagRecommender(TagModel):
    """Which tags a user gives to an item: those that are near both, in one space of users, items and tags.

    The distance of a tag is the sum of its squared distances from the user and from the item. Tags of a post should be
    nearer than all others. This is one convex problem over a positive semidefinite matrix (eq. 14 of the co-embedding
    paper), solved to a certified gap.

    Anything of the form (x, z, set of y) can be learned, also from features of users, items or tags.

    Parameters
    ----------
    beta : float or "auto"
        Strength of the trace, for the *sum* over posts of the loss, as in the paper: the stronger, the fewer
        dimensions. "auto" chooses it by the F1 of held-out posts, along a path with warm starts.
    loss : str or MarginLoss
        Of the margin by which one tag of a post is nearer than one other tag: "logistic" as in the paper,
        "smooth-hinge", "squared-hinge" or "square". The loss of a post is the sum over all such pairs.
    solver : {"auto", "central-path", "ila"}
        "ila" grows factors, as in the paper (`nearer.solvers.ILA`): quick with a strong `beta`, and for any number of
        tags, but with a weak one it cannot say how far the minimum is. "central-path" is an interior-point method
        (`nearer.solvers.CentralPath`) for up to about a thousand tags without features. "auto" is the second if it
        applies, there are at most 1,000 tags and `beta` is below a hundred-thousandth of the one that leaves nothing.
    max_rank : int, optional
        Most dimensions, of "ila". The minimum is then not certified; `result_.details["gap"]` says how far it may be.
    max_epochs, max_evaluations, max_seconds : number, optional
        Budget of rounds or Newton steps, derivatives and time. The last two include the choice of `beta`.
    tol : float
        Stop when the certified gap is below this share of the objective.
    random_state : int, Generator, RandomState or None
        Draws the folds of `beta="auto"`, and where eigenvectors are looked for.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress`; a true answer stops the fit.

    Attributes
    ----------
    user_embedding_, item_embedding_, tag_embedding_ : arrays (n_users, rank), (n_items, rank), (n_tags, rank)
        Points. Those without posts and without features are 0 and have no meaning.
    user_factor_, item_factor_, tag_factor_ : arrays or None
        What features are multiplied with, if there are any.
    user_names_, item_names_, tag_names_ : tuples of str, or None
        Names, in the order of the points.
    user_counts_, item_counts_, tag_counts_ : arrays
        Posts of the fit with each user, item and tag; for tags, the sum of their weights.
    rows_ : array (q, 3)
        Users, items and tags of the fit, sorted.
    n_posts_ : float
        Number of posts of the fit, or the sum of their weights.
    beta_ : float
        The strength that was used.
    result_ : nearer.solvers.Result
        The course of the fit: objective (the *mean* over posts), rank, largest eigenvalue and gap per round or step.

    Examples
    --------
    >>> posts = [("ann", "tea", "hot"), ("ann", "tea", "green"), ("bob", "milk", "cold"), ("bob", "tea", "hot")]
    >>> model = TagRecommender(beta=0.1).fit(posts)
    >>> model.recommend(["ann", "bob"], ["tea", "milk"], k=2, names=True).items
    array([['hot', 'green'],
           ['cold', 'hot']], dtype=object)

    A user that the model does not know gets the tags near the item:

    >>> model.recommend("eve", "milk", k=1, names=True).items
    array([['cold']], dtype=object)
    """

    _schema = Saved(
        params={
            "beta": AnyOf(Text(), Number()),
            "loss": AnyOf(Text(), Part(MarginLoss)),
            "solver": Text(),
            "max_rank": optional(Integer(1, 10**9)),
            **BUDGET,
            "random_state": SEED,
            "verbose": SWITCH,
            "callback": Literal(None),
        },
        fitted={
            "user_embedding_": Array("u", "d", dtype="float64", order="C"),
            "item_embedding_": Array("i", "d", dtype="float64", order="C"),
            "tag_embedding_": Array("t", "d", dtype="float64", order="C", filled=True),
            "user_factor_": optional(Array(None, "d", dtype="float64", order="C")),
            "item_factor_": optional(Array(None, "d", dtype="float64", order="C")),
            "tag_factor_": optional(Array(None, "d", dtype="float64", order="C")),
            "user_names_": optional(Names("u")),
            "item_names_": optional(Names("i")),
            "tag_names_": optional(Names("t")),
            "user_counts_": Array("u", kinds="iu", at_least=0, dtype="int64"),
            "item_counts_": Array("i", kinds="iu", at_least=0, dtype="int64"),
            "tag_counts_": Array("t", at_least=0, dtype="float64"),
            "rows_": Array(None, 3, kinds="i", at_least=0, dtype="int32", order="C"),
            "n_posts_": Number(above=0),
            "beta_": Number(at_least=0),
            "result_": Part(Result),
        },
    )

    #: past steps of descent: an iteration costs far more than they do
    _memory = 20

    def __init__(
        self,
        beta: float | str = "auto",
        *,
        loss: str | MarginLoss = "logistic",
        solver: str = "auto",
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
        self.loss = loss
        self.solver = solver
        self.max_rank = max_rank
        self.max_epochs = max_epochs
        self.max_evaluations = max_evaluations
        self.max_seconds = max_seconds
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    @one_thread()
    def fit(
        self,
        posts: Any,
        y: None = None,
        *,
        weights: ArrayLike | None = None,
        user_features: Any = None,
        item_features: Any = None,
        tag_features: Any = None,
    ) -> TagRecommender:
        """Learn where users, items and tags lie.

        Parameters
        ----------
        posts : Posts, frame or array (q, 3)
            A row of user, item and tag for each tag of a post, by name or number. Columns of a frame are found by their
            names. `nearer.Posts` reads files.
        y : None
            Ignored; scikit-learn passes it.
        weights : array (q,), optional
            How much the post of each row counts; the same in all rows of a post.
        user_features, item_features, tag_features : array or sparse matrix, optional
            A row of features for every user, item or tag, in the order of numbers or of sorted names. They then lie
            where their features say, and others with features can be placed.
        """
        self._check_settings()
        given = as_posts(posts, weights)
        features = [
            checked_features(table, side, count)
            for side, table, count in zip(
                ("user", "item", "tag"),
                (user_features, item_features, tag_features),
                given.shape,
                strict=True,
            )
        ]
        terms, used = _terms(given, features)
        loss, rng = RankingLoss(find_smooth_loss(self.loss)), generator(self.random_state)
        Q, choice, self.result_ = fit_factor(self, lambda: terms, loss, rng, steps=_STEPS)
        self.beta_ = float(choice.strength)
        self._keep(Q, given, features, used)
        if not Q.any() and self.result_.stop_reason == "tolerance":
            warn(f"beta = {self.beta_:.3g} is so strong that all points are equal: use a smaller one")
        return self

    # -- inside -------------------------------------------------------------------------------------------------

    def _keep(self, Q: np.ndarray, posts: Posts, features: list[Any], used: list[np.ndarray]) -> None:
        start = 0
        for side, table, these, count in zip(
            ("user", "item", "tag"), features, used, posts.shape, strict=True
        ):
            width = len(these) if table is None else table.shape[1]
            part = np.ascontiguousarray(Q[start : start + width])
            start += width
            points = np.zeros((count, Q.shape[1]))
            if table is None:
                points[these] = part
            else:
                points[:] = table @ part
            setattr(self, f"{side}_embedding_", points)
            setattr(self, f"{side}_factor_", None if table is None else part)
            setattr(self, f"{side}_names_", getattr(posts, f"{side}_names"))
        weights, pairs = posts.post_weights(), posts.pairs
        self.user_counts_, self.item_counts_ = (
            np.bincount(column, minlength=count)
            for column, count in zip(pairs.T, posts.shape[:2], strict=True)
        )
        self.tag_counts_ = np.bincount(posts.tags, posts.weights, minlength=posts.shape[2]).astype(float)
        self.n_posts_ = float(posts.n_posts if weights is None else weights.sum())
        self.rows_ = np.stack([posts.users, posts.items, posts.tags], axis=1)

    def _check_settings(self) -> None:
        find_smooth_loss(self.loss)
        check_fit_settings(self)

    def _check_loaded(self) -> None:
        sizes = [len(self.user_embedding_), len(self.item_embedding_), len(self.tag_embedding_)]
        need(bool((self.rows_ < sizes).all()), "rows_ must hold numbers of users, items and tags")
        keys = self.rows_[:, 0].astype(np.int64) * max(sizes[1], 1) + self.rows_[:, 1]
        need(bool((keys[1:] >= keys[:-1]).all()), "rows_ must be sorted")


def _terms(posts: Posts, features: list[Any]) -> tuple[PostTerms, list[np.ndarray]]:
    """Return posts as terms, and the users, items and tags that these are about."""
    pairs, columns = posts.pairs, (posts.users, posts.items, posts.tags)
    used = [
        np.unique(codes) if table is None else np.arange(count)
        for codes, table, count in zip(columns, features, posts.shape, strict=True)
    ]
    if len(used[2]) < 2:
        raise InputError(
            f"have {counted(len(used[2]), 'different tag')}, so there is nothing to rank: give at least two",
            parameter="posts",
        )
    if not posts.n_posts:
        raise InputError("hold no post", "give at least one", parameter="posts")
    rows = side_by_side(*(described(pairs[:, at], features[at], used[at]) for at in range(2)))
    return PostTerms(rows, posts.csr()[:, used[2]], features[2], posts.post_weights()), used
