"""Two towers: embeddings of two kinds of things from which of them belong together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from nearer._fitting import watched
from nearer._utils.group import processes
from nearer._utils.optional import optional as optional_package
from nearer._utils.validation import RandomState, generator, positive, whole
from nearer.errors import InputError
from nearer.interactions import Interactions
from nearer.interactions.lists import Recommended
from nearer.interactions.named import NamedPairs, as_pairs
from nearer.interactions.recommending import Recommending
from nearer.losses import MarginLoss, find_margin_loss
from nearer.metrics import mean_precision
from nearer.solvers import Budget, Run, Solver
from nearer.solvers.agreement import over_processes
from nearer.solvers.run import Callback
from nearer.towers.data import (
    check_learnable,
    checked_weights,
    held_out_part,
    warn_if_below_popularity,
)

optional_package("torch", "TwoTower", "'nearer[torch]'")


from nearer.towers.assembly import Architecture, Penalty, Side  # noqa: E402
from nearer.towers.checks import DTYPES, SCHEMA, check_loaded, check_settings  # noqa: E402
from nearer.towers.fitting import Data, TowerSettings, fit_towers  # noqa: E402
from nearer.towers.inputs import Scaling, checked_features, kinds_of  # noqa: E402
from nearer.towers.memory import told_on_stderr  # noqa: E402
from nearer.towers.new_rows import answer_by_popularity, embed_new  # noqa: E402
from nearer.towers.ranking import top_k, unit_rows  # noqa: E402

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from scipy.sparse import csr_matrix

_VALIDATION_ROWS = 1000


class TwoTower(Recommending, BaseEstimator):
    """Embed left and right entities so that the inner product says how well they go together.

    The loss runs over all pairs, observed or not, at the cost of the observed ones: unobserved pairs have a squared
    loss, whose sum follows from small matrices. See the guide "Two towers".

    Parameters
    ----------
    n_components : int
        Columns of the embeddings.
    hidden : tuple of int
        Widths of the hidden layers of both towers; () makes towers linear, which is matrix factorisation for ids.
    inputs : str or pair of str
        What the towers see: "ids", "features", "history" (the pairs that an entity has), or several of them, joined
        with +; one text for both towers or one for each. "auto" is history on the left and ids on the right, with the
        features that `fit` gets.
    linear : bool
        Add a linear path beside the hidden layers. Ids then lead to this path alone.
    loss : {"logistic", "square"} or MarginLoss
        The loss of observed pairs.
    omega : float
        Weight of an unobserved pair.
    missing : float
        The score that unobserved pairs should have.
    l2 : float
        Strength of the L2 term.
    frequency : float
        Power of the frequency that scales the L2 term of each parameter; 0 treats all alike.
    dropout : float
        Share of each history that is left out in a step of training. Only solvers that draw it again use it.
    solver : str or Solver
        "auto", "newton", "gd", "gd-diag", "sogram", "sogram-diag", "sampling", "sampling-diag", "sg", "full-adam",
        "eigen-adam", "noisy-adam", "noisy-eigen-adam", "als", or a solver object. "auto" says in `result_.details` what
        it chose.
    modules : pair of torch.nn.Module, optional
        Towers of your own: each gets the features of its side, or indices without features, and returns
        n_components columns. They run in evaluation mode; `hidden`, `inputs` and `linear` do not count then.
    validation : float, optional
        Share of the pairs to hold out: the parameters with the best MAP@5 on them are kept.
    max_epochs, max_evaluations, max_seconds : number, optional
        Stop at whichever limit comes first.
    tol : float
        Stop when two consecutive epochs lower the objective by less than this fraction.
    chunk_rows : int, optional
        Entities whose activations are in memory at a time: by default 65,536, and all that fit on a GPU.
    dtype : {"float32", "tf32", "float64"}
        Precision; sums over all pairs are always double. "tf32" is float32, but a GPU may round the factors of matrix
        products to 10 bits: networks then take less time, and their embeddings are right to about 0.1%.
    device : str
        Where to compute: "cpu", "cuda". If pairs do not fit on a GPU, they stay in main memory and are copied there
        block by block.
    checkpoint : str, optional
        File to which the state of the fit is written once per minute. A fit with the same settings and data continues
        from it, and removes it at the end; it stays if ctrl-C or a callback ends the fit.
    random_state : int, Generator, RandomState or None
        Source of random draws.
    verbose : bool
        Show a progress bar.
    callback : callable, optional
        Called with a `nearer.solvers.Progress` after each epoch. A true return value stops the fit.

    Attributes
    ----------
    left_embedding_, right_embedding_ : arrays of shape (n, n_components)
        The embeddings of the entities of the fit.
    result_ : nearer.solvers.Result
        History of the fit.
    left_names_, right_names_ : tuples of str, or None
        Names of the entities.

    Examples
    --------
    >>> import nearer
    >>> clicks, _, _ = nearer.datasets.planted_interactions(random_state=0)
    >>> train, test = clicks.split(random_state=0)
    >>> model = nearer.TwoTower(n_components=8, hidden=(), max_epochs=100, random_state=0).fit(train)
    >>> model.recommend(rows=[0], k=3).items.shape, model.score(test) > 0.1
    ((1, 3), True)
    """

    _schema = SCHEMA

    def __init__(
        self,
        n_components: int = 128,
        *,
        hidden: Sequence[int] = (256, 256),
        inputs: str | tuple[str, str] = "auto",
        linear: bool = True,
        loss: str | MarginLoss = "logistic",
        omega: float = 0.06,
        missing: float = -1.0,
        l2: float = 0.3,
        frequency: float = 0.5,
        dropout: float = 0.5,
        solver: str | Solver = "auto",
        modules: tuple[Any, Any] | None = None,
        validation: float | None = None,
        max_epochs: int | None = None,
        max_evaluations: int | None = None,
        max_seconds: float | None = None,
        tol: float = 1e-4,
        chunk_rows: int | None = None,
        dtype: str = "float32",
        device: str = "cpu",
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: RandomState = None,
        verbose: bool = False,
        callback: Callback | None = None,
    ):
        self.n_components = n_components
        self.hidden = hidden
        self.inputs = inputs
        self.linear = linear
        self.loss = loss
        self.omega = omega
        self.missing = missing
        self.l2 = l2
        self.frequency = frequency
        self.dropout = dropout
        self.solver = solver
        self.modules = modules
        self.validation = validation
        self.max_epochs = max_epochs
        self.max_evaluations = max_evaluations
        self.max_seconds = max_seconds
        self.tol = tol
        self.chunk_rows = chunk_rows
        self.dtype = dtype
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    # -- fitting ------------------------------------------------------------------------------------------------

    def fit(
        self,
        R: Interactions | csr_matrix,
        left: Any = None,
        right: Any = None,
        *,
        left_weights: ArrayLike | None = None,
        right_weights: ArrayLike | None = None,
        imputed: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> TwoTower:
        """Learn both towers.

        Parameters
        ----------
        R : Interactions or scipy.sparse matrix
            The observed pairs; rows are left entities. Weights say how much each pair counts.
        left, right : arrays, data frames or sparse matrices, optional
            Features, one row per entity.
        left_weights, right_weights : arrays, optional
            How much the unobserved pairs of each entity count.
        imputed : pair of arrays of shape (n_left, r) and (n_right, r), optional
            Factors whose product has the scores that unobserved pairs should have, instead of `missing`.
        """
        self._check_settings()
        group = processes()
        pairs = as_pairs(R, left, right)
        check_learnable(pairs)
        rng = group.same_as_first(generator(self.random_state))
        scalings, features = self._features(pairs, left, right)
        kinds = kinds_of(self.inputs, (left is not None, right is not None))
        weights = checked_weights(pairs, left_weights, right_weights, imputed)
        train, score = pairs.matrix, None
        if self.validation is not None:
            train, score = held_out_part(pairs.matrix, self.validation, rng, _VALIDATION_ROWS)
        sides = tuple(
            Side(
                pairs.matrix.shape[k],
                kinds[k],
                features[k],
                _seen(train, k) if "history" in kinds[k] else None,
                *weights[k],
            )
            for k in range(2)
        )
        verbose = self.verbose and group.is_first
        with watched(verbose, self.callback, self.max_seconds) as (callback, finish):
            run = Run(self._budget(), callback, agree=None if group.alone else over_processes(group))
            data = Data(train, (sides[0], sides[1]), score)
            found, result = fit_towers(
                data, self._settings(), run, rng, self.checkpoint, group, told_on_stderr if verbose else None
            )
            finish(result)
        if score is not None and group.is_first and result.stop_reason not in ("interrupted", "callback"):
            warn_if_below_popularity(score, found[:2], train)
        self.left_embedding_, self.right_embedding_, self.parameters_ = found
        if features[0] is None and self.modules is None:
            answer_by_popularity(self.left_embedding_, np.diff(pairs.matrix.indptr) == 0)
        self.result_ = result
        self.left_scaling_, self.right_scaling_ = scalings
        self._keep_pairs(pairs)
        return self

    def search(
        self,
        R: Interactions | csr_matrix,
        left: Any = None,
        right: Any = None,
        *,
        seconds: float = 600.0,
        held_out: float | None = None,
        by: str = "pairs",
        history: bool = True,
        measure: str = "map@5",
    ) -> TwoTower:
        """Choose loss, inputs, width, omega, l2 and the number of epochs on held-out pairs, then fit with them.

        The parameters of this estimator are set to the choice, and `result_.details["trials"]` lists all trials.

        Parameters
        ----------
        R, left, right
            As for `fit`.
        seconds : float
            Time for trials and fit together.
        held_out : float, optional
            Share of the pairs, or of the entities, to judge trials by; a tenth by default. Not for by="last".
        by : str
            What is held out, as in `Interactions.split`: "pairs", "each-left", "time" or "last", or whole entities if
            the model is to serve new ones: "left", or "right" (these are ranked among themselves).
        history : bool
            Whether new entities come with four fifths of their pairs, or with their features alone.
        measure : str
            What to choose by, as in `nearer.metrics.ranking_scores`: "map@5", "recall@20", "ndcg@10", "hr@10".
        """
        from nearer.towers.search import chosen

        positive("seconds", seconds)
        questions = {"held_out": held_out, "by": by, "history": history, "measure": measure}
        return chosen(self, R, left, right, seconds, questions)

    # -- embeddings ---------------------------------------------------------------------------------------------

    def embed_left(self, features: Any = None, history: Any = None) -> np.ndarray:
        """Return the embeddings of the left entities of the fit, or of new ones.

        Parameters
        ----------
        features : array or sparse matrix, optional
            Features of new entities, one row each.
        history : sparse matrix or Interactions, optional
            Right entities that the new ones were seen with, one row each.
        """
        return self._embed(0, features, history)

    def embed_right(self, features: Any = None, history: Any = None) -> np.ndarray:
        """Return the embeddings of the right entities of the fit, or of new ones; see `embed_left`."""
        return self._embed(1, features, history)

    def similarity(self, left: ArrayLike | None = None, right: ArrayLike | None = None) -> np.ndarray:
        """Return the similarities of all pairs of two sets of entities, given by their indices or names."""
        check_is_fitted(self)
        P, Q = self.left_embedding_, self.right_embedding_
        P = P if left is None else P[self._rows(left, 0)]
        return P @ (Q if right is None else Q[self._rows(right, 1)]).T

    def similar_right(self, rows: ArrayLike | None = None, k: int = 10, names: bool = False) -> Recommended:
        """Return the right entities whose embeddings have the smallest angle to that of each given one."""
        check_is_fitted(self)
        whole("k", k)
        from scipy.sparse import csr_matrix

        at = np.arange(len(self.right_embedding_)) if rows is None else self._rows(rows, 1)
        units = unit_rows(self.right_embedding_)
        itself = csr_matrix((np.ones(len(at)), at, np.arange(len(at) + 1)), shape=(len(at), len(units)))
        return self._named(top_k(units[at], units, k, itself), names)

    def score(self, R: Interactions | csr_matrix, y: None = None) -> float:
        """Return MAP@5 on held-out pairs; the pairs of the fit are left out of the lists."""
        check_is_fitted(self)
        held_out = self._known_pairs(R)
        rows = np.flatnonzero(np.diff(held_out.indptr))
        return mean_precision(self.recommend(rows, 5).items, held_out[rows], k=5)

    def export(self, path: str | os.PathLike[str]) -> None:
        """Write the embeddings to a file: .npz, .parquet, or .usearch (an index of the right embeddings)."""
        from nearer.towers.export import write_embeddings

        check_is_fitted(self)
        write_embeddings(self, path)

    # -- inside -------------------------------------------------------------------------------------------------

    def _features(self, pairs: NamedPairs, left: Any, right: Any) -> tuple[list[Any], list[Any]]:
        """Return how features are scaled, and scaled features, for both sides."""
        scalings: list[Any] = []
        scaled: list[Any] = []
        for X, n_rows, name in zip((left, right), pairs.matrix.shape, ("left", "right"), strict=True):
            X = None if X is None else checked_features(X, n_rows, name)
            scalings.append(None if X is None else Scaling.of(X))
            scaled.append(None if X is None else scalings[-1].scaled(X))
        return scalings, scaled

    def _settings(self) -> TowerSettings:
        return TowerSettings(
            loss=find_margin_loss(self.loss),
            omega=float(self.omega),
            missing=float(self.missing),
            penalty=Penalty(float(self.l2), float(self.frequency)),
            chunk_rows=self.chunk_rows,
            dropout=float(self.dropout),
            dtype=DTYPES[self.dtype],
            tf32=self.dtype == "tf32",
            device=self.device,
            architecture=self._architecture(),
            solver=self.solver,
        )

    def _architecture(self) -> Architecture:
        return Architecture(
            self.n_components, tuple(self.hidden), bool(self.linear), self.modules, offset=self.missing != 0
        )

    def _budget(self) -> Budget:
        return Budget(self.max_epochs, self.max_evaluations, self.max_seconds, self.tol)

    def _embed(self, side: int, features: Any, history: Any) -> np.ndarray:
        check_is_fitted(self)
        fitted = (self.left_embedding_, self.right_embedding_)
        if features is None and history is None:
            return fitted[side]
        name, scaling = ("left", "right")[side], (self.left_scaling_, self.right_scaling_)[side]
        if features is not None:
            if scaling is None:
                raise InputError(
                    f"must be left out: the fit had no features of the {name} side", parameter="features"
                )
            features = scaling.scaled(checked_features(features, None, "features", scaling))
        if history is not None:
            history = self._known_history(history, side)
        if features is not None and history is not None and features.shape[0] != history.shape[0]:
            raise InputError(
                f"has {history.shape[0]} rows, but features has {features.shape[0]}", parameter="history"
            )
        kinds = kinds_of(self.inputs, (self.left_scaling_ is not None, self.right_scaling_ is not None))
        return embed_new(self, self._settings(), kinds, side, features, history)

    def _top(self, rows: np.ndarray, k: int, seen: csr_matrix | None) -> Recommended:
        return top_k(self.left_embedding_[rows], self.right_embedding_, k, seen)

    def _known_history(self, history: Any, side: int) -> csr_matrix:
        other = (self.right_embedding_, self.left_embedding_)[side]
        names = (self.right_names_, self.left_names_)[side]
        return as_pairs(history).with_columns(names, len(other))

    def _check_loaded(self) -> None:
        check_loaded(self)

    def _check_settings(self) -> None:
        check_settings(self)
        self._budget()


def _seen(train: csr_matrix, side: int) -> csr_matrix:
    if side == 0:
        return train
    turned = train.T.tocsr()
    turned.sort_indices()
    return turned
