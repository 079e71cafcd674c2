"""Adam in the eigenvectors of past gradients: for parameters that are matrices, such as the layers of a network."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearer._utils.namespaces import as_like, namespace, rounded_products, to_numpy
from nearer.objectives.base import WithMatrices, WithNoise, members
from nearer.solvers.adam import AdamMoments, FullAdam, WithNewNoise, check_memories, squares_towards, towards
from nearer.solvers.result import State

#: added to the eigenvalues of matrices, relative to their size
_RIDGE = 1e-7
#: the least size of a turned coordinate, as a share of its row: what is smaller is rounding, which must not be followed
_LEAST_SHARE, _ROUNDINGS = 1e-8, 10.0
#: the longest move of a turned coordinate, in steps. In fixed axes Adam's moves stay below 1.2 steps; where a gradient
#: nearly vanishes in a turned coordinate, rounding would let it be arbitrarily long
_LONGEST = 3.0


@dataclass(frozen=True)
class EigenAdam(FullAdam):
    """Adam on full gradients, each matrix of parameters turned so that its gradients are uncorrelated.

    Adam divides each coordinate by the size of its past gradients. That suits axes along which curvatures differ, and
    those of a network are seldom its coordinates. Here the axes are the eigenvectors of the mean of G'G over past
    gradients G, for the columns, and of GG', for the rows of matrices that are not tables of entities. The method is
    known as SOAP (Vyas et al., 2024). The eigenvectors follow every gradient, by one step of orthogonal iteration:
    with new ones in every tenth step only, towers needed twice as many steps.

    All other parameters are those of `FullAdam`, with other defaults.

    Parameters
    ----------
    beta3 : float
        Memory of the means of G'G and GG'.
    """

    step: float = 0.01
    final_step: float | None = 1e-4
    epochs: int | None = 300
    warm_up: int = 20
    beta2: float = 0.95
    beta3: float = 0.98
    name = "eigen-adam"
    requires = members(WithMatrices)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_memories(beta3=self.beta3)

    def _moments(self, objective: WithMatrices, x: Any) -> AdamMoments:  # type: ignore[override]
        return _TurnedMoments(objective, x, self)


@dataclass(frozen=True)
class NoisyEigenAdam(WithNewNoise, EigenAdam):
    """The same for an objective whose inputs are drawn again for each step. The parameters are those of `EigenAdam`."""

    name = "noisy-eigen-adam"
    requires = members(WithNoise) | members(WithMatrices)


class _TurnedMoments(AdamMoments):
    """Adam's moments, where the squares are those of turned gradients."""

    def __init__(self, objective: WithMatrices, x: Any, solver: EigenAdam):
        super().__init__(x, solver.beta1, solver.beta2)
        self._objective, self._share = objective, 1 - solver.beta3
        #: means of GG' and G'G of each matrix, and their eigenvectors, by number and side
        self._means: dict[tuple[int, int], Any] = {}
        self._bases: dict[tuple[int, int], Any] = {}

    def stored(self) -> State:
        """Return what a later run needs to continue."""
        state = super().stored()
        for kind, kept in (("mean", self._means), ("basis", self._bases)):
            state.arrays.update({f"{kind} {k} {side}": to_numpy(found) for (k, side), found in kept.items()})
        return state

    def restore(self, state: State, like: Any) -> None:
        """Continue where an earlier run ended, if there was one."""
        super().restore(state, like)
        for name, array in state.arrays.items():
            kind, *of = name.split()
            if of:
                kept = self._means if kind == "mean" else self._bases
                kept[int(of[0]), int(of[1])] = as_like(array, like)

    def __call__(self, x: Any, gradient: Any, step: float) -> None:
        """Move x, which is changed in place as the gradient is."""
        # where gradients are small in turned coordinates, rounding would hide them
        with rounded_products(False):
            self._follow(gradient)
            self.count += 1
            towards(self.mean, gradient, 1 - self.beta1)
            turned = self._turned(gradient)
            squares_towards(self.square, turned, 1 - self.beta2)
            move = self._turned(self.mean)
            root = namespace(x).sqrt(self.square, out=turned)
            self._keep_above_rounding(root)
            move /= root
            longest = _LONGEST * step / self.length(step)
            namespace(move).clip(move, -longest, longest, out=move)
            x -= self.length(step) * self._turned(move, back=True)

    def _follow(self, gradient: Any) -> None:
        """Keep the means of products of gradients, and about their eigenvectors."""
        for k, products in enumerate(self._objective.products_of_matrices(gradient)):
            for side, product in enumerate(products):
                if product is None:
                    continue
                if (k, side) in self._means:
                    towards(self._means[k, side], product, self._share)
                else:
                    self._means[k, side] = product
        self._bases = _eigenvectors(self._means, self._bases)

    def _keep_above_rounding(self, root: Any) -> None:
        """Add a small share of its row to each number."""
        share = _LEAST_SHARE + _ROUNDINGS * float(namespace(root).finfo(root.dtype).eps)
        root += float(namespace(root).finfo(root.dtype).tiny) ** 0.5
        for matrix in self._objective.matrices(root):
            matrix += share * namespace(root).linalg.norm(matrix, axis=1)[:, None]

    def _turned(self, vector: Any, *, back: bool = False) -> Any:
        """Return a vector with its matrices in the coordinates of the eigenvectors, or back from there."""
        xp, found = namespace(vector), vector + 0
        matrices = zip(self._objective.matrices(vector), self._objective.matrices(found), strict=True)
        for k, (matrix, into) in enumerate(matrices):
            rows, columns = (self._bases.get((k, side)) for side in range(2))
            if columns is not None:
                xp.matmul(matrix, columns.T if back else columns, out=into)
            if rows is not None:
                into[:] = (rows if back else rows.T) @ into
        return found


def _eigenvectors(
    matrices: dict[tuple[int, int], Any], before: dict[tuple[int, int], Any]
) -> dict[tuple[int, int], Any]:
    """Return about the eigenvectors of symmetric matrices, the largest first, from those of matrices that are close.

    Matrices of equal size are worked on together.
    """
    of_size = defaultdict(list)
    for key, matrix in matrices.items():
        of_size[len(matrix)].append(key)
    found: dict[tuple[int, int], Any] = {}
    for keys in of_size.values():
        stacked = _apart(_in_double([matrices[key] for key in keys]))
        vectors = None
        if all(key in before for key in keys):
            vectors = _iterated(stacked, _in_double([before[key] for key in keys]))
        if vectors is None:
            vectors = namespace(stacked).flip(namespace(stacked).linalg.eigh(stacked)[1], (2,))
        for key, basis in zip(keys, vectors, strict=True):
            found[key] = namespace(basis).asarray(basis, dtype=matrices[key].dtype)
    return found


def _apart(matrices: Any) -> Any:
    """Return matrices whose zero eigenvalues are apart, so that rounding does not choose their eigenvectors."""
    xp = namespace(matrices)
    sizes = xp.linalg.norm(matrices, axis=(1, 2)) + xp.finfo(xp.float64).tiny ** 0.5
    ranks = as_like(np.linspace(1.0, 0.5, matrices.shape[1]), matrices)
    return matrices + _RIDGE * sizes[:, None, None] * xp.diag(ranks)


def _iterated(matrices: Any, vectors: Any) -> Any:
    """Return vectors after a step of orthogonal iteration; None if they lost their independence.

    Images are made orthogonal by a Cholesky factor of their inner products: on a GPU in a tenth of the time of QR.
    """
    xp = namespace(matrices)
    images = matrices @ vectors
    images /= xp.linalg.norm(images, axis=1)[:, None, :]
    try:
        factor = xp.linalg.cholesky(images.swapaxes(1, 2) @ images).swapaxes(1, 2)
    except xp.linalg.LinAlgError:
        return None
    if xp is np:
        return images @ np.linalg.inv(factor)
    return xp.linalg.solve_triangular(factor, images, upper=True, left=False)


def _in_double(matrices: list[Any]) -> Any:
    stacked = namespace(matrices[0]).stack(matrices)
    return namespace(stacked).asarray(stacked, dtype=namespace(stacked).float64)
