"""RelativeKernel by growing factors: the minimum of the other solver and of a solver of cones, with a certificate."""

import numpy as np
import pytest

import nearer
from nearer import RelativeKernel
from nearer.errors import InputError
from nearer.losses import GNMDS, STE, RoundedGNMDS
from nearer.solvers import ILA


def data(n=20, q=1500, **settings):
    return nearer.datasets.planted(n, 2, q, noise=0.1, scale=1.0, random_state=0, **settings)[0]


@pytest.mark.parametrize(
    "loss", [STE(), RoundedGNMDS(), RoundedGNMDS(2.0, 0.5)], ids=["ste", "gnmds", "sharp"]
)
@pytest.mark.parametrize("penalty", [0.03, 0.003])
def test_the_minimum_of_the_other_solver(loss, penalty):
    answers = data()
    growing, whole = (
        RelativeKernel(loss, trace_penalty=penalty, solver=solver, tol=1e-6).fit(answers)
        for solver in ("ila", "accelerated")
    )
    assert growing.result_.objective == pytest.approx(whole.result_.objective, rel=3e-6)
    np.testing.assert_allclose(growing.kernel_, whole.kernel_, atol=0.01 * np.abs(whole.kernel_).max())
    assert growing.rank_ == whole.rank_ == growing.result_.history["rank"][-1]
    assert growing.result_.details["dual"] <= whole.result_.objective
    assert growing.result_.details["gap"] <= 1e-6 * growing.result_.objective


def test_the_rounded_hinge_by_a_solver_of_cones():
    cvxpy = pytest.importorskip("cvxpy")
    answers, _ = nearer.datasets.planted(8, 2, 60, noise=0.1, random_state=0)
    K = cvxpy.Variable((8, 8), PSD=True)
    i, j, l, k = answers.quadruplets().T
    own = cvxpy.diag(K)
    z = own[i] + own[j] - 2 * K[i, j] - (own[l] + own[k] - 2 * K[l, k])
    # the square of the part of z + 2 between 0 and 2, a quarter of it, and the rest as it is
    loss = cvxpy.sum(cvxpy.huber(cvxpy.pos(z + 2), 2)) / 4 / 60
    problem = cvxpy.Problem(cvxpy.Minimize(loss + 0.02 * cvxpy.trace(K)))
    problem.solve(solver=cvxpy.SCS, eps=1e-8, max_iters=50_000)
    model = RelativeKernel("gnmds", trace_penalty=0.02, solver="ila", tol=1e-8).fit(answers)
    assert model.result_.objective == pytest.approx(problem.value, rel=1e-5)


def test_gnmds_is_rounded_and_the_model_says_so():
    model = RelativeKernel("gnmds", trace_penalty=0.01, solver="ila").fit(data())
    assert model.loss_ == RoundedGNMDS(1.0, 2.0)
    assert model.result_.details["loss"] == repr(model.loss_)
    assert RelativeKernel(GNMDS(3.0), trace_penalty=0.01, solver=ILA()).fit(data()).loss_ == RoundedGNMDS(
        3.0, 6.0
    )
    assert RelativeKernel("gnmds", trace_penalty=0.01).fit(data()).loss_ == GNMDS()
    assert model.score(data()) > 0.8


@pytest.mark.parametrize("loss", ["ste", "gnmds"])
def test_the_penalty_is_chosen_along_a_path(loss):
    answers = data(q=3000)
    train, test = answers.split(test_size=500, random_state=0)
    model = RelativeKernel(loss, solver="ila", random_state=0).fit(train)
    usual = RelativeKernel(loss, random_state=0).fit(train)
    assert len(model.result_.details["held_out_errors"]) > 2
    assert model.score(test) > usual.score(test) - 0.02


def test_a_model_survives_saving(tmp_path):
    model = RelativeKernel("gnmds", trace_penalty=0.01, solver=ILA(growth="linear")).fit(data())
    again = nearer.load(nearer.save(model, tmp_path / "model.nearer"))
    assert again.solver == ILA(growth="linear")
    assert again.loss_ == model.loss_
    np.testing.assert_array_equal(again.kernel_, model.kernel_)
    np.testing.assert_array_equal(again.result_.history["eigenvalue"], model.result_.history["eigenvalue"])


@pytest.mark.parametrize("loss", ["ckl", "tste", "soe"])
def test_losses_that_are_not_convex_are_refused_in_one_sentence(loss):
    with pytest.raises(InputError, match=r"'ila' needs convexity.*choose proximal$"):
        RelativeKernel(loss, trace_penalty=0.01, solver="ila").fit(data())
