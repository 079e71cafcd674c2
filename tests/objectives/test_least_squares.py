"""The least squares problem of one side: against a direct solution, entity by entity."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from nearer.errors import InputError  # noqa: E402
from nearer.losses import LogisticLoss, SquareLoss  # noqa: E402
from nearer.objectives.least_squares import LinearPathObjective  # noqa: E402
from nearer.objectives.observed import ObservedPairs  # noqa: E402
from nearer.objectives.similarity_sums import Weights  # noqa: E402
from nearer.objectives.tower import Tower  # noqa: E402
from nearer.objectives.tower_inputs import Dense, Ids  # noqa: E402
from nearer.solvers import Budget, find, minimise  # noqa: E402

M, N, K = 9, 6, 3


def problem(features=True, seed=0, columns=2, loss=None):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    observed = draw(M, N) > 0
    rows, items = observed.nonzero(as_tuple=True)
    starts = torch.zeros(M + 1, dtype=torch.int64)
    starts[1:] = torch.bincount(rows, minlength=M).cumsum(0)
    pairs = ObservedPairs(starts, items, N, weights=draw(len(rows)).abs())
    towers = [Tower([Ids(n), *([Dense(draw(n, columns))] if features else [])], linear=K) for n in (M, N)]
    weights = Weights(0.3, draw(M).abs(), draw(N).abs(), draw(M, 2), draw(N, 2))
    n_parameters = sum(tower.n_parameters for tower in towers)
    scales = draw(n_parameters).abs()
    for tower, part in zip(
        towers, (scales[: towers[0].n_parameters], scales[towers[0].n_parameters :]), strict=True
    ):
        for view in tower.views(part).values():  # one factor per row, as frequencies make them
            view[:] = view[:, :1]
    f = LinearPathObjective(pairs, *towers, loss or SquareLoss(), weights, l2=0.4, scales=scales)
    return f, draw(n_parameters)


@pytest.mark.parametrize("side", [0, 1])
def test_the_vectors_of_a_side_become_stationary(side):
    f, x = problem(features=False)
    solved = f.least_squares(x, side, products=2 * K)
    tower = (f.left, f.right)[side]
    before, after = (tower.views(f.split(f.value_and_gradient(y)[1])[side])["input0"] for y in (x, solved))
    assert float(after.norm()) < 1e-6 * float(before.norm())
    assert torch.equal(f.split(solved)[1 - side], f.split(x)[1 - side])


@pytest.mark.parametrize("side", [0, 1])
def test_the_weights_of_features_leave_the_least_penalty(side):
    f, x = problem()
    solved = f.least_squares(x, side, products=2 * K)
    # with the embeddings as they are, moving weight between features and vectors cannot help
    tower, theta = (f.left, f.right)[side], f.split(solved)[side]
    block, weights = tower.blocks[1], tower.linear_part(theta, 1).clone()
    value = f.value(solved)
    for seed in range(5):
        move = 1e-3 * torch.randn(
            weights.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
        )
        other = solved.clone()
        part = f.split(other)[side]
        tower.linear_part(part, 1).add_(move)
        tower.linear_part(part, 0).sub_(block.times(move, slice(0, tower.n_rows)))
        assert f.value(other) > value


def test_every_sweep_descends_to_a_stationary_point():
    f, x = problem()
    y, result = minimise(find("als"), f, x, budget=Budget(max_epochs=500, tol=1e-10))
    values = result.history["objective"]
    assert (values[1:] <= values[:-1] + 1e-9).all()
    _, further = minimise(find("newton"), f, y, budget=Budget(max_epochs=20, tol=1e-12))
    assert result.objective - further.objective < 1e-3 * (values[0] - result.objective)


def test_what_cannot_be_solved_is_refused():
    f, x = problem(loss=LogisticLoss())
    with pytest.raises(InputError, match="square"):
        minimise(find("als"), f, x)
    f, x = problem(columns=5000)
    with pytest.raises(InputError, match="5000"):
        minimise(find("als"), f, x)
