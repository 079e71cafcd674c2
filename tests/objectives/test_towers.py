"""The sums over all pairs against the plain double sum, and their derivatives against autograd and differences."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nearer.losses import LogisticLoss, SquareLoss  # noqa: E402
from nearer.losses.margins import SmoothHingeLoss, SquaredHingeLoss  # noqa: E402
from nearer.objectives import pair_losses, pair_products, similarity_sums  # noqa: E402
from nearer.objectives.observed import ObservedPairs  # noqa: E402
from nearer.objectives.similarity_sums import Weights  # noqa: E402
from nearer.objectives.tower import Tower  # noqa: E402
from nearer.objectives.tower_inputs import Dense, Ids, Sparse  # noqa: E402
from nearer.objectives.towers import TowerObjective  # noqa: E402

M, N, K = 7, 5, 3


class UsersLoss(LogisticLoss):
    """A user's own smooth loss: the fourth power of what the margin lacks to one."""

    name = "fourth power"

    def value(self, margin):
        return (1 - margin) ** 4

    def slope(self, margin):
        return -4 * (1 - margin) ** 3

    def second_derivative(self, margin):
        return 12 * (1 - margin) ** 2


def sparse(dense):
    rows, columns = dense.nonzero(as_tuple=True)
    starts = torch.zeros(len(dense) + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(rows, minlength=len(dense)).cumsum(0)
    return Sparse(starts, columns, dense[rows, columns], dense.shape[1])


def problem(
    loss, *, labels=None, weighted=False, hidden=True, path=False, chunk_rows=100, empty=True, seed=0
):
    """A small problem of every kind of input, and a function from parameters to embeddings by plain autograd."""
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    observed = draw(M, N) > 0
    if empty:
        observed[2], observed[:, 3] = False, False
    rows, columns = observed.nonzero(as_tuple=True)
    starts = torch.zeros(M + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(rows, minlength=M).cumsum(0)
    told = {"ones": None, "signs": draw(len(rows)).sign(), "numbers": draw(len(rows))}[labels or "ones"]
    pairs = ObservedPairs(starts, columns, N, told, draw(len(rows)).abs() if weighted else None)
    some = draw(M, 4) * (draw(M, 4) > 0)
    networks = [
        torch.nn.Sequential(torch.nn.ELU(), torch.nn.Linear(4, K)).double() if hidden else None
        for _ in range(2)
    ]
    width = 4 if hidden else 0
    left = Tower([Ids(M), sparse(some)], width, networks[0], K if path or not hidden else 0)
    right = Tower([Dense(draw(N, 2)), Ids(N)], width, networks[1], K if path or not hidden else 0)
    if weighted:
        weights = Weights(0.3, draw(M).abs(), draw(N).abs(), draw(M, 2), draw(N, 2))
    else:
        weights = Weights.constant(0.3, M, N, -1.0, draw(1))
    scales = draw(left.n_parameters + right.n_parameters).abs() if weighted else None
    f = TowerObjective(pairs, left, right, loss, weights, l2=0.2, scales=scales, chunk_rows=chunk_rows)
    x = 0.5 * draw(f.n_parameters)
    inputs = (
        torch.cat([torch.eye(M).double(), some], 1),
        torch.cat([right.blocks[0].X, torch.eye(N).double()], 1),
    )
    return f, x, inputs


def embeddings(f, x, inputs):
    """Embeddings of all entities as plain dense algebra."""
    out = []
    for tower, theta, X in zip((f.left, f.right), f.split(x), inputs, strict=True):
        views = tower.views(theta)
        first = torch.cat([views["input0"], views["input1"]])
        network = {name: view for name, view in views.items() if not name.startswith("input")}
        hidden = X @ first
        if tower.network is None:
            out.append(hidden)
        else:
            output = torch.func.functional_call(tower.network, network, (hidden[:, : tower.width],))
            out.append(output + hidden[:, tower.width :] if tower.linear else output)
    return out


def scores(f, x, inputs):
    P, Q = embeddings(f, x, inputs)
    return P @ Q.T


def entry_losses(f, Y):
    """The loss of every entry of the matrix of scores: the definition, pair by pair."""
    pairs, w = f.sums.pairs, f.sums.weights
    imputed = w.imputed_left @ w.imputed_right.T
    entries = w.omega / 2 * w.left[:, None] * w.right * (imputed - Y) ** 2
    at = pairs.rows, pairs.columns
    label = torch.ones(pairs.count).double() if pairs.labels is None else pairs.labels
    told = (label - Y[at]) ** 2 if isinstance(f.sums.loss, SquareLoss) else f.sums.loss.value(label * Y[at])
    return entries.index_put(at, told if pairs.weights is None else pairs.weights * told)


def double_sum(f, x, inputs):
    penalty = (x**2).sum() if f.scales is None else (f.scales * x**2).sum()
    return entry_losses(f, scores(f, x, inputs)).sum() + f.l2 / 2 * penalty


def gauss_newton(f, x, inputs, direction):
    """J' diag(second derivatives) J d, with the whole Jacobian of all m n scores."""
    J = torch.func.jacrev(lambda t: scores(f, t, inputs).ravel())(x)
    Y = scores(f, x, inputs).detach()
    curved = torch.func.grad(lambda y: torch.func.grad(lambda z: entry_losses(f, z).sum())(y).sum())(Y)
    turned = J.T @ (curved.ravel() * (J @ direction))
    return turned + f.l2 * (direction if f.scales is None else f.scales * direction)


PROBLEMS = {
    "logistic": {"loss": LogisticLoss()},
    "logistic, signs and weights": {"loss": LogisticLoss(), "labels": "signs", "weighted": True},
    "square": {"loss": SquareLoss()},
    "square, numbers and weights": {"loss": SquareLoss(), "labels": "numbers", "weighted": True},
    "squared hinge": {"loss": SquaredHingeLoss(), "labels": "signs"},
    "smooth hinge": {"loss": SmoothHingeLoss()},
    "a user's loss": {"loss": UsersLoss(), "weighted": True},
    "linear towers": {"loss": LogisticLoss(), "hidden": False},
    "linear path": {"loss": LogisticLoss(), "path": True, "weighted": True},
    "in chunks": {"loss": LogisticLoss(), "weighted": True, "chunk_rows": 3},
    "every entity has pairs": {"loss": LogisticLoss(), "empty": False},
}


@pytest.fixture(params=["compiled", "torch", "compiled, in parts"])
def products(request, monkeypatch):
    """Compute the products over observed pairs in compiled loops, in torch, and with few pairs and rows at a time."""
    if request.param == "compiled, in parts":
        monkeypatch.setattr(similarity_sums, "_BLOCK_NUMBERS", 6)
        monkeypatch.setattr(pair_losses, "_BLOCK_PAIRS", 3)
    if request.param == "torch":
        monkeypatch.setattr(pair_products, "_compiled", lambda *tensors: False)


def close(found, wanted):
    found, wanted = (torch.as_tensor(x, dtype=torch.float64) for x in (found, wanted))
    return float((found - wanted).norm() / wanted.norm()) < 1e-10


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("settings", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_value_and_gradient_equal_the_double_sum(settings, seed):
    f, x, inputs = problem(**settings, seed=seed)
    at = x.clone().requires_grad_()
    wanted = double_sum(f, at, inputs)
    wanted.backward()
    value, gradient = f.value_and_gradient(x)
    assert close(f.value(x), wanted.detach())
    assert close(value, wanted.detach())
    assert close(gradient, at.grad)


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize("settings", PROBLEMS.values(), ids=PROBLEMS)
def test_product_equals_the_whole_gauss_newton_matrix(settings):
    f, x, inputs = problem(**settings)
    product = f.curvature(x)
    for seed in (1, 2):
        direction = torch.randn(
            f.n_parameters, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
        )
        assert close(product(direction), gauss_newton(f, x, inputs, direction))


def test_gradient_equals_finite_differences():
    f, x, _ = problem(LogisticLoss(), weighted=True)
    _, gradient = f.value_and_gradient(x)
    for k in range(0, f.n_parameters, 7):
        step = torch.zeros_like(x)
        step[k] = 1e-6
        assert float(gradient[k]) == pytest.approx(
            (f.value(x + step) - f.value(x - step)) / 2e-6, rel=1e-6, abs=1e-6
        )


def test_a_change_in_place_is_noticed():
    f, x, inputs = problem(LogisticLoss())
    f.value(x)
    x += 1
    assert close(f.value(x), double_sum(f, x, inputs))


def test_the_mean_over_all_blocks_is_the_gradient():
    f, x, _ = problem(LogisticLoss(), weighted=True)
    value, gradient = f.value_and_gradient(x)
    sets = [[torch.tensor(chosen) for chosen in combinations(range(size), 3)] for size in (M, N)]
    found = [f.block_gradient(x, left, right) for left in sets[0] for right in sets[1]]
    assert close(np.mean([one for one, _ in found]), value)
    assert close(torch.stack([slope for _, slope in found]).mean(dim=0), gradient)


def test_the_mean_over_all_pairs_of_pairs_is_the_gradient():
    f, x, _ = problem(LogisticLoss(), weighted=True, empty=False)
    singles = [torch.tensor([k]) for k in range(f.n_terms)]
    gramians = [f.gramians_of(x, second) for second in singles]
    found = [f.pair_gradient(x, first, found)[1] for first in singles for found in gramians]
    assert close(torch.stack(found).mean(dim=0), f.value_and_gradient(x)[1])


def test_all_entities_and_all_pairs_are_the_whole_gradient():
    f, x, _ = problem(LogisticLoss(), weighted=True, empty=False)
    value, gradient = f.value_and_gradient(x)
    found, slope = f.block_gradient(x, torch.arange(M), torch.arange(N))
    assert close(found, value)
    assert close(slope, gradient)
    everything = torch.arange(f.n_terms)
    assert close(f.pair_gradient(x, everything, f.gramians_of(x, everything))[1], gradient)


@pytest.mark.parametrize("side", [0, 1])
def test_one_side_moves_as_in_the_whole_product(side):
    f, x, _ = problem(LogisticLoss(), weighted=True)
    scored = f.sums.at(*f.embeddings(x))
    generator = torch.Generator().manual_seed(3)
    moves = [torch.zeros_like(scored.P), torch.zeros_like(scored.Q)]
    moves[side] = torch.randn(moves[side].shape, generator=generator, dtype=torch.float64)
    (block,) = f.sums.pairs.blocks()
    found = f.sums.row_matrices(scored, side)(block).times(moves[side])
    assert close(found, f.sums.turned(scored)(*moves)[side])
