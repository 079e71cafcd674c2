"""One battery for every loss."""

import pickle

import numpy as np
import pytest

from nearer import OrdinalEmbedding, RelativeKernel, datasets, losses
from nearer._utils.arrays import compared_distances
from nearer.errors import InputError
from nearer.objectives import PointObjective
from tests.registries import LOSSES

EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)


def pairs(n=200, seed=0, largest=4.0):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.01, largest, n), rng.uniform(0.01, largest, n)


@EVERY_LOSS
def test_derivatives_match_finite_differences(loss):
    near, far = pairs()
    kink = np.abs(near - far + getattr(loss, "margin", np.inf)) < 1e-3  # of the hinge; the others have none
    near, far, h = near[~kink], far[~kink], 1e-6
    by_near, by_far = loss.derivatives(near, far)
    numeric_near = (loss.value(near + h, far) - loss.value(near - h, far)) / (2 * h)
    numeric_far = (loss.value(near, far + h) - loss.value(near, far - h)) / (2 * h)
    np.testing.assert_allclose(by_near, numeric_near, atol=2e-8, rtol=1e-6)
    np.testing.assert_allclose(by_far, numeric_far, atol=2e-8, rtol=1e-6)


@EVERY_LOSS
def test_finite_at_extreme_distances(loss):
    extreme = np.array([0.0, 1e-300, 1e-30, 1e-8, 1.0, 1e8, 1e30, 1e150])
    near, far = (grid.ravel() for grid in np.meshgrid(extreme, extreme))
    with np.errstate(all="raise", under="ignore"):
        everything = [loss.value(near, far), *loss.derivatives(near, far)]
    for values in everything:
        assert np.isfinite(values).all()


@EVERY_LOSS
def test_a_longer_near_pair_never_costs_less(loss):
    near, far = pairs()
    assert (loss.value(near, far) >= 0).all()
    assert (loss.value(near + 1, far) >= loss.value(near, far)).all()
    by_near, by_far = loss.derivatives(near, far)
    assert (by_near >= 0).all()
    assert (by_far <= 0).all()


@EVERY_LOSS
def test_float32_stays_float32(loss):
    near, far = (values.astype(np.float32) for values in pairs())
    assert loss.value(near, far).dtype == np.float32
    assert all(derivative.dtype == np.float32 for derivative in loss.derivatives(near, far))
    double = loss.value(near.astype(np.float64), far.astype(np.float64))
    np.testing.assert_allclose(loss.value(near, far), double, rtol=1e-4, atol=1e-6)


@EVERY_LOSS
def test_pickles_to_an_equal_loss(loss):
    assert pickle.loads(pickle.dumps(loss)) == loss


@pytest.mark.parametrize(
    ("scaled", "plain", "factor"),
    [
        (losses.GNMDS(margin=3.0), losses.GNMDS(), 3.0),
        (losses.CKL(mu=4.0), losses.CKL(), 1.0),
        (losses.SOE(margin=2.0), losses.SOE(), 4.0),
        (losses.RobustSOE(margin=2.0), losses.RobustSOE(), 4.0),
    ],
)
def test_the_unit_is_the_scale_of_distances(scaled, plain, factor):
    near, far = pairs()
    u = scaled.unit / plain.unit
    np.testing.assert_allclose(scaled.value(u * near, u * far), factor * plain.value(near, far), atol=1e-12)


@EVERY_LOSS
def test_probability_is_the_loss_where_there_is_one(loss):
    near, far = pairs()
    if not loss.has_probability:
        with pytest.raises(AttributeError, match="probability"):
            loss.probability(near, far)
        return
    probability = loss.probability(near, far)
    np.testing.assert_allclose(loss.value(near, far), -np.log(probability), rtol=1e-9)
    np.testing.assert_allclose(probability + loss.probability(far, near), 1.0)
    np.testing.assert_allclose(loss.probability(near, near), 0.5)


def test_known_values():
    near, far = np.array([1.0]), np.array([3.0])
    assert losses.GNMDS().value(near, far) == 0
    assert losses.GNMDS().value(far, near) == 3
    assert losses.CKL(mu=0.5).probability(near, far) == pytest.approx(3.5 / 5)
    assert losses.STE().value(near, far) == pytest.approx(np.log1p(np.exp(-2)))
    # Student-t with one degree of freedom: 1 / (1 + d)
    assert losses.TSTE(alpha=1).probability(near, far) == pytest.approx((1 / 2) / (1 / 2 + 1 / 4))
    assert losses.SOE().value(far, near) == pytest.approx(np.sqrt(3) ** 2)


def test_tste_takes_its_freedom_from_the_dimension():
    assert losses.TSTE().resolved(10).alpha == 9
    assert losses.TSTE().resolved(1).alpha == 1
    assert losses.TSTE(alpha=3).resolved(10).alpha == 3
    with pytest.raises(ValueError, match="alpha"):
        losses.TSTE().value(np.ones(1), np.ones(1))


SETTINGS = [
    (losses.GNMDS, "margin"),
    (losses.SOE, "margin"),
    (losses.RobustSOE, "tail"),
    (losses.CKL, "mu"),
    (losses.TSTE, "alpha"),
]


@pytest.mark.parametrize(("make", "name"), SETTINGS)
@pytest.mark.parametrize("bad", [0, -1, float("nan"), "wide", 1e-300, 1e-9, 1e9, 1e300])
def test_bad_settings_are_named(make, name, bad):
    with pytest.raises(InputError) as refusal:
        make(**{name: bad})
    shown = f"{bad:g}" if isinstance(bad, float) else repr(bad)
    assert [word for word in (name, shown) if word not in str(refusal.value)] == []


def test_find():
    assert losses.find("soe") == losses.SOE()
    mine = losses.GNMDS(margin=2)
    assert losses.find(mine) is mine
    with pytest.raises(InputError) as refusal:
        losses.find("hinge")
    assert [word for word in ("'hinge'", *losses.LOSSES) if word not in str(refusal.value)] == []


EXTREMES = [make(**{name: size}) for size in (1e-8, 1e8) for make, name in SETTINGS]


@pytest.mark.parametrize("loss", EXTREMES, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_least_and_the_largest_settings_fit_like_others(loss, dtype):
    test_finite_at_extreme_distances(loss)
    answers = datasets.planted(15, 2, 400, noise=0.1, random_state=0).comparisons
    for solver in ("auto", "lbfgs", "sgd"):
        model = OrdinalEmbedding(2, loss=loss, l2=0.0, solver=solver, dtype=dtype, random_state=0).fit(
            answers
        )
        assert np.isfinite(model.embedding_).all()
        assert np.isfinite(model.result_.objective)
        assert model.score(answers) > 0.75
    kernel = RelativeKernel(loss, trace_penalty=1e-3, random_state=0, max_epochs=50).fit(answers)
    assert np.isfinite(kernel.kernel_).all()


@pytest.mark.parametrize("loss", EXTREMES, ids=str)
def test_compiled_loops_agree_at_extreme_settings(loss):
    """Both forms of a loss at settings where terms of different sizes meet."""
    answers = datasets.planted(8, 2, 50, random_state=0).comparisons
    points = np.sqrt(loss.unit) * np.random.default_rng(0).normal(size=(8, 2))
    near, far = compared_distances(points, answers.indices)
    compiled = PointObjective(answers, loss, 2).value(points)
    assert compiled == pytest.approx(loss.value(near, far).mean(), rel=1e-6)
