"""One battery for every loss of a margin."""

import pickle

import numpy as np
import pytest

from nearer import losses
from nearer.errors import InputError
from nearer.losses.margins import MarginLoss, SmoothHingeLoss
from tests.registries import MARGIN_LOSSES

EVERY_LOSS = pytest.mark.parametrize("loss", MARGIN_LOSSES.values(), ids=MARGIN_LOSSES)
MARGINS = np.linspace(-6, 6, 602)  # on no kink
SMOOTH = {name: loss for name, loss in MARGIN_LOSSES.items() if name != "hinge"}


def test_every_loss_with_a_name_is_in_the_battery():
    assert set(losses.MARGIN_LOSSES) <= {loss.name for loss in MARGIN_LOSSES.values()}
    assert all(losses.find_margin_loss(name).name == name for name in losses.MARGIN_LOSSES)


@EVERY_LOSS
def test_slopes_match_finite_differences(loss):
    h = 1e-6
    numeric = (loss.value(MARGINS + h) - loss.value(MARGINS - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(MARGINS), numeric, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("loss", SMOOTH.values(), ids=SMOOTH)
def test_second_derivatives_match_finite_differences(loss):
    h = 1e-6
    numeric = (loss.slope(MARGINS + h) - loss.slope(MARGINS - h)) / (2 * h)
    np.testing.assert_allclose(loss.second_derivative(MARGINS), numeric, atol=1e-7, rtol=1e-6)
    assert loss.second_derivative(MARGINS).max() == pytest.approx(loss.curvature, rel=1e-3)


def test_the_hinge_has_no_second_derivative():
    assert losses.HingeLoss.curvature == np.inf
    with pytest.raises(AttributeError, match="hinge"):
        losses.HingeLoss().second_derivative(MARGINS)


@EVERY_LOSS
def test_convex_falling_below_one_and_never_negative(loss):
    values, slopes = loss.value(MARGINS), loss.slope(MARGINS)
    assert (values >= 0).all()
    assert (np.diff(slopes) >= -1e-12).all()
    assert (slopes[MARGINS < 1] < 0).all()
    tangents = values[:, None] + slopes[:, None] * (MARGINS - MARGINS[:, None])
    assert (tangents <= values + 1e-9).all()


@EVERY_LOSS
def test_finite_at_extreme_margins(loss):
    size = np.array([0.0, 1e-300, 1e-8, 1.0, 1e3, 1e8, 1e30, 1e150])
    margins = np.concatenate([-size, size])
    with np.errstate(all="raise", under="ignore"):
        everything = [loss.value(margins), loss.slope(margins)]
        if loss in SMOOTH.values():
            everything.append(loss.second_derivative(margins))
    for values in everything:
        assert np.isfinite(values).all()


def test_the_logistic_loss_keeps_its_digits_far_out():
    loss, margins = losses.LogisticLoss(), np.array([50.0, 500.0, -700.0])
    np.testing.assert_allclose(loss.value(margins), [np.exp(-50), np.exp(-500), 700], rtol=1e-12)
    np.testing.assert_allclose(loss.slope(margins), [-np.exp(-50), -np.exp(-500), -1], rtol=1e-12)
    np.testing.assert_allclose(
        loss.second_derivative(margins), [np.exp(-50), np.exp(-500), np.exp(-700)], rtol=1e-12
    )


@EVERY_LOSS
def test_float32_stays_float32(loss):
    margins = MARGINS.astype(np.float32)
    assert loss.value(margins).dtype == np.float32
    assert loss.slope(margins).dtype == np.float32
    np.testing.assert_allclose(loss.value(margins), loss.value(MARGINS), rtol=1e-4, atol=1e-5)
    if loss in SMOOTH.values():
        assert loss.second_derivative(margins).dtype == np.float32


@EVERY_LOSS
def test_pickles_to_an_equal_loss(loss):
    assert pickle.loads(pickle.dumps(loss)) == loss


@pytest.mark.parametrize("width", [0.01, 0.5, 4.0])
def test_rounding_the_hinge_adds_an_eighth_of_the_width_at_most(width):
    hinge = losses.HingeLoss()
    above = hinge.smoothed(width).value(MARGINS) - hinge.value(MARGINS)
    assert above.min() >= -1e-12
    assert above.max() <= width / 8 + 1e-12
    assert hinge.smoothed(width).value(np.ones(1)) == pytest.approx(width / 8)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: losses.find_margin_loss("hinges"), ["loss", "'hinges'", *losses.MARGIN_LOSSES]),
        (lambda: losses.find_margin_loss(3), ["loss", "3", *losses.MARGIN_LOSSES]),
        (lambda: SmoothHingeLoss(width=0), ["width", "0"]),
    ],
)
def test_what_is_refused_is_named(make, named):
    with pytest.raises(InputError) as refusal:
        make()
    assert [word for word in named if word not in str(refusal.value)] == []


def test_a_loss_object_is_taken_as_it_is():
    class Own(MarginLoss):
        name = "own"

        def value(self, margin):
            return np.exp(-margin)

        def slope(self, margin):
            return -np.exp(-margin)

        def bend(self, margin):  # the older name of second_derivative
            return np.exp(-margin)

    own = Own()
    assert losses.find_margin_loss(own) is own
    np.testing.assert_array_equal(own.second_derivative(MARGINS), own.bend(MARGINS))
    square = losses.SquareLoss()
    np.testing.assert_array_equal(square.bend(MARGINS), square.second_derivative(MARGINS))
