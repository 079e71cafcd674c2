"""Map features to a learned embedding, to place objects that were never compared."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import r2_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted, validate_data

from nearer._utils.arrays import row_blocks
from nearer._utils.runtime import one_thread, threads_for
from nearer._utils.schema import LARGEST, AnyOf, Array, Flag, MayLack, Number, Saved, Size, Strings, Text
from nearer._utils.tables import finite_rows, naming_cells
from nearer._utils.validation import positive
from nearer.errors import InputError

_GAMMA_FACTORS = 4.0 ** np.arange(-4, 3)  # around 1 / (features * variance)
_ALPHAS = 10.0 ** np.arange(-6, 2.5, 0.5)  # the kernel's diagonal is 1, so these are noise-to-signal ratios
_ROWS_TO_CHOOSE_FROM = 1000  # one eigendecomposition for each gamma: 0.2 s each at this size


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Place objects in a learned embedding by their features (kernel ridge regression with an RBF kernel).

    Fit it on the features of the objects that were compared and on their points; it then places objects that
    were never compared. It is scikit-learn's `KernelRidge` with an RBF kernel, on centred points, with
    settings chosen from the data.

    Parameters
    ----------
    gamma : float, "auto" or "scale", default="auto"
        Width of the kernel `exp(-gamma * |a - b|²)`. `"scale"` is 1 / (number of features * their variance).
        `"auto"` chooses from 1/256 to 16 times that the value with the smallest leave-one-out error.
    alpha : float or "auto", default="auto"
        Strength of the regularisation, above 0. `"auto"` chooses from 1e-6 to 100 the value with the smallest
        leave-one-out error.
    standardise : bool, default=True
        Scale every feature to variance 1 first, so that units do not matter. Switch it off if the features
        share one unit and their spread is meaningful, as with principal components. Features are always
        centred, so offsets never matter.

    Attributes
    ----------
    gamma_, alpha_ : float
        The values used.
    loo_score_ : float
        Leave-one-out R²: the score to expect for new, similar objects.
    features_, dual_coef_ : arrays of shape (n_objects, n_features) and (n_objects, n_components)
        Centred and scaled training features, and their coefficients.
    feature_mean_, feature_scale_ : arrays of shape (n_features,)
        Mean subtracted from each feature, and the scale it is divided by.
    embedding_mean_ : array of shape (n_components,)
        Mean of the learned points. Regularisation shrinks predictions towards it.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    The leave-one-out errors are exact, except that the mean is always taken over all points. They cost one
    eigendecomposition per gamma. Above 1,000 objects they are computed on 1,000 evenly spaced rows. Time
    grows with the cube of the number of objects, memory with its square. All work is done in float64;
    `transform` returns the precision of the features it receives.

    Examples
    --------
    >>> import numpy as np
    >>> from nearer import FeatureMap
    >>> features = np.random.default_rng(0).uniform(-1, 1, size=(60, 3))
    >>> embedding = np.stack([features[:, 0] ** 2, features[:, 1]], axis=1)
    >>> place = FeatureMap().fit(features[:50], embedding[:50])
    >>> place.transform(features[50:]).shape
    (10, 2)
    >>> place.score(features[50:], embedding[50:]) > 0.95
    True
    """

    _schema = Saved(
        params={
            "gamma": AnyOf(Text(), Number()),
            "alpha": AnyOf(Text(), Number()),
            "standardise": AnyOf(Flag(), Number()),
        },
        fitted={
            "gamma_": Number(above=0, at_most=LARGEST),
            "alpha_": Number(above=0, at_most=LARGEST),
            "loo_score_": Number(finite=False),
            "features_": Array("n", "d", filled=True, dtype="float64"),
            "dual_coef_": Array("n", "p", filled=True, dtype="float64"),
            "feature_mean_": Array("d", dtype="float64"),
            "feature_scale_": Array("d", at_least=1 / LARGEST, dtype="float64"),
            "embedding_mean_": Array("p", dtype="float64"),
            "n_features_in_": Size("d"),
            "feature_names_in_": MayLack(Strings("d")),
        },
    )

    def __init__(
        self,
        *,
        gamma: float | Literal["auto", "scale"] = "auto",
        alpha: float | Literal["auto"] = "auto",
        standardise: bool = True,
    ) -> None:
        self.gamma = gamma
        self.alpha = alpha
        self.standardise = standardise

    @one_thread()
    def fit(self, X: ArrayLike, y: ArrayLike) -> FeatureMap:
        """Learn the map from features to points.

        Parameters
        ----------
        X : array of shape (n_objects, n_features)
            Features of the objects that were compared.
        y : array of shape (n_objects, n_components)
            Their learned points, such as `OrdinalEmbedding.embedding_`.

        Returns
        -------
        self
        """
        self._check_settings()
        features, embedding = self._checked(X, y, reset=True)
        self.feature_mean_, self.feature_scale_ = self._centre_and_scale(features)
        self.features_ = self._prepared(features)
        self.embedding_mean_ = embedding.mean(axis=0)
        points = embedding - self.embedding_mean_
        self.gamma_, self.alpha_, self.loo_score_ = self._choose(points)
        ridge = KernelRidge(alpha=self.alpha_, kernel="rbf", gamma=self.gamma_).fit(self.features_, points)
        self.dual_coef_ = ridge.dual_coef_
        return self

    @one_thread()
    def transform(self, X: ArrayLike) -> np.ndarray:
        """Return the points of objects with features `X`, in float32 if the features are.

        Parameters
        ----------
        X : array of shape (n_new, n_features)
            Features of objects that need not have been compared.

        Returns
        -------
        array of shape (n_new, n_components)
        """
        check_is_fitted(self)
        features = self._checked(X)
        return self._placed(features, features.dtype)

    def _placed(self, features: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        points = np.empty((len(features), self._n_features_out), dtype=dtype)
        for block in row_blocks(len(features), len(self.features_)):
            kernel = rbf_kernel(self._prepared(features[block]), self.features_, gamma=self.gamma_)
            points[block] = kernel @ self.dual_coef_ + self.embedding_mean_
        return points

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the coefficient of determination R²: 1 is perfect, 0 no better than the mean of `y`.

        Columns are weighted by their variance, so the score does not change when the embedding is rotated.

        Parameters
        ----------
        X : array of shape (n, n_features)
            Features of objects.
        y : array of shape (n, n_components)
            Their points.
        """
        check_is_fitted(self)
        features, embedding = self._checked(X, y)
        return _r2(embedding, self._placed(features))

    @property
    def _n_features_out(self) -> int:
        return self.dual_coef_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _check_settings(self) -> None:
        _check_setting("gamma", self.gamma, ("auto", "scale"))
        _check_setting("alpha", self.alpha, ("auto",))

    def _checked(self, X: ArrayLike, y: ArrayLike | None = None, reset: bool = False) -> Any:
        """Return features, or features and points, as finite arrays of two dimensions."""
        with naming_cells(X):
            shape = X.shape if hasattr(X, "shape") else np.asarray(X).shape
        if len(shape) != 2:
            raise InputError(
                f"features must have two dimensions, not shape {shape}: Reshape your data to one row per object"
            )
        options = {"dtype": (np.float64, np.float32), "ensure_all_finite": False, "reset": reset}
        if y is None and not reset:
            with naming_cells(X):
                features = validate_data(self, X, **options)
            return finite_rows(features)
        # at least two objects: a single one could be placed anywhere
        with naming_cells(X), naming_cells(y, "points", "give coordinates"):
            features, points = validate_data(
                self, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2 if reset else 1, **options
            )
            points = np.asarray(points, dtype=np.float64).reshape(len(points), -1)
        return finite_rows(features), points

    def _centre_and_scale(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wide = features.astype(np.float64)
        mean, scale = wide.mean(axis=0), wide.std(axis=0)
        if not self.standardise:  # the kernel depends only on differences, but far from 0 these lose digits
            return mean, np.ones(wide.shape[1])
        # a constant feature carries no information: do not scale the rounding error of its mean to variance 1
        constant = scale <= 10 * np.finfo(features.dtype).eps * np.abs(mean)
        return mean, np.where(constant, 1.0, scale)

    def _prepared(self, features: np.ndarray) -> np.ndarray:
        return (features.astype(np.float64) - self.feature_mean_) / self.feature_scale_

    def _choose(self, points: np.ndarray) -> tuple[float, float, float]:
        """Return gamma and alpha with the smallest leave-one-out error, and its R²."""
        rows = np.linspace(0, len(points) - 1, min(len(points), _ROWS_TO_CHOOSE_FROM)).astype(int)
        features, points = self.features_[rows], points[rows]
        variance = self.features_.var()
        usual = 1 / (features.shape[1] * variance) if variance > 0 else 1.0
        if isinstance(self.gamma, str):
            gammas = usual * _GAMMA_FACTORS if self.gamma == "auto" else np.array([usual])
        else:
            gammas = np.array([self.gamma])
        alphas = _ALPHAS if isinstance(self.alpha, str) else np.array([self.alpha])
        _, gamma, alpha, score = min(_best_alpha(features, points, float(gamma), alphas) for gamma in gammas)
        return gamma, alpha, score


def _best_alpha(
    features: np.ndarray, points: np.ndarray, gamma: float, alphas: np.ndarray
) -> tuple[float, float, float, float]:
    """Return the smallest leave-one-out error at this gamma, gamma, the best alpha, and its R²."""
    residuals = leave_one_out_residuals(rbf_kernel(features, gamma=gamma), points, alphas)
    errors = np.square(residuals).sum(axis=(1, 2))
    best = errors.argmin()
    return float(errors[best]), gamma, float(alphas[best]), _r2(points, points - residuals[best])


def leave_one_out_residuals(kernel: np.ndarray, points: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Return each point minus its prediction by a kernel ridge fitted to all others, for each alpha.

    With `G = K + alpha I` the residual of object i is `(G⁻¹ Y)_i / (G⁻¹)_ii`; one eigendecomposition of K
    serves all alphas.

    Returns
    -------
    array of shape (n_alphas, n, n_components)
    """
    with threads_for(len(kernel)):
        values, vectors = np.linalg.eigh(kernel)
    values = np.maximum(values, 0)  # rounding leaves small negative eigenvalues
    turned, squares = vectors.T @ points, vectors**2
    residuals = np.empty((len(alphas), *points.shape))
    for place, alpha in enumerate(alphas):
        inverse = 1 / (values + alpha)
        residuals[place] = vectors @ (inverse[:, None] * turned) / (squares @ inverse)[:, None]
    return residuals


def _r2(embedding: np.ndarray, predicted: np.ndarray) -> float:
    return float(r2_score(embedding, predicted, multioutput="variance_weighted"))


def _check_setting(name: str, value: Any, words: tuple[str, ...]) -> None:
    if isinstance(value, str) and value in words:
        return
    if not isinstance(value, Real):
        choices = " or ".join(repr(word) for word in words)
        raise InputError(f"must be {choices} or a number above 0, not {value!r}", parameter=name)
    positive(name, value)
