"""Losses that are convex in near - far: conjugates that bound them from below, and kinks rounded off."""

import numpy as np
import pytest

from nearer.losses import GNMDS, STE, RoundedGNMDS, SmoothHingeLoss
from nearer.losses.rounding import SmoothGNMDS
from tests.registries import LOSSES

CENTRES = np.linspace(0, 1, 61)
CONVEX = {
    "ste": STE(),
    "gnmds": GNMDS(),
    "gnmds-wide": GNMDS(margin=3.0),
    "rounded": RoundedGNMDS(),
    "rounded-sharp": RoundedGNMDS(margin=3.0, rounding=0.5),
    "smooth": SmoothGNMDS(width=0.4),
    "smooth-centred": SmoothGNMDS(margin=2.0, width=0.4, centre=CENTRES),
}
EVERY_CONVEX = pytest.mark.parametrize("loss", CONVEX.values(), ids=CONVEX)
DIFFERENCES = np.linspace(-6.05, 5.95, 61)  # on no kink


def at(loss, differences):
    return loss.value(differences + 7, np.full_like(differences, 7.0))


def slopes(loss, differences):
    return loss.derivatives(differences + 7, np.full_like(differences, 7.0))[0]


def test_those_that_are_convex_say_so():
    assert {name for name, loss in LOSSES.items() if loss.convex} == {"ste", "gnmds", "gnmds-wide"}


@EVERY_CONVEX
def test_a_function_of_the_difference_alone(loss):
    moved = loss.value(DIFFERENCES + 20, np.full_like(DIFFERENCES, 20.0))
    np.testing.assert_allclose(at(loss, DIFFERENCES), moved, atol=1e-12)
    by_near, by_far = loss.derivatives(DIFFERENCES + 7, np.full_like(DIFFERENCES, 7.0))
    np.testing.assert_array_equal(by_far, -by_near)
    assert ((by_near >= 0) & (by_near <= 1)).all()


@EVERY_CONVEX
def test_the_conjugate_touches_at_the_slope_and_bounds_from_below_elsewhere(loss):
    slope = slopes(loss, DIFFERENCES)
    np.testing.assert_allclose(slope * DIFFERENCES - loss.conjugate(slope), at(loss, DIFFERENCES), atol=1e-12)
    for other in np.linspace(0, 1, 11):
        bound = other * DIFFERENCES - loss.conjugate(np.full_like(DIFFERENCES, other))
        assert (bound <= at(loss, DIFFERENCES) + 1e-12).all()


@EVERY_CONVEX
def test_the_conjugate_is_finite_at_both_ends(loss):
    assert np.isfinite(loss.conjugate(np.zeros(61))).all()
    assert np.isfinite(loss.conjugate(np.ones(61))).all()


@pytest.mark.parametrize("centre", [0.0, CENTRES])
def test_rounding_stays_within_half_of_its_width(centre):
    hinge, width = GNMDS(margin=1.5), 0.3
    below = at(hinge, DIFFERENCES) - at(hinge.smoothed(width, centre), DIFFERENCES)
    assert (below >= -1e-12).all()
    assert (below <= width / 2 + 1e-12).all()


def test_rounding_has_no_kink():
    smooth = GNMDS().smoothed(0.5, 0.3)
    fine = np.linspace(-3, 3, 20_001)
    numeric = np.gradient(at(smooth, fine), fine)
    np.testing.assert_allclose(slopes(smooth, fine)[1:-1], numeric[1:-1], atol=1e-3)


def test_rounding_centred_at_the_slopes_of_a_kink_leaves_it_there():
    """At the kink any slope from 0 to 1 is a slope of the hinge; the rounded loss keeps the one it is centred at."""
    kink = np.full(61, -1.0)
    smooth = GNMDS().smoothed(0.5, CENTRES)
    np.testing.assert_allclose(slopes(smooth, kink), CENTRES)
    np.testing.assert_allclose(at(smooth, kink), at(GNMDS(), kink))


@pytest.mark.parametrize("loss", [STE(), RoundedGNMDS()])
def test_losses_without_kinks_are_their_own_rounded_form(loss):
    assert loss.smoothed(0.1) == loss.rounded() == loss


def test_the_smooth_hinge_of_the_paper():
    """0 for z <= -2, (2 + z)² / 4 up to 0, and 1 + z from there: of a difference of distances and of a margin alike."""
    z = DIFFERENCES
    expected = np.where(z <= -2, 0, np.where(z <= 0, (2 + z) ** 2 / 4, 1 + z))
    np.testing.assert_allclose(at(GNMDS().rounded(), z), expected, atol=1e-12)
    np.testing.assert_allclose(SmoothHingeLoss().value(-z), expected, atol=1e-12)
    assert GNMDS(margin=3.0).rounded() == RoundedGNMDS(3.0, 6.0)


@pytest.mark.parametrize("loss", [RoundedGNMDS(), RoundedGNMDS(margin=3.0, rounding=0.5)])
def test_rounded_slopes_are_those_of_finite_differences(loss):
    h = 1e-6
    numeric = (at(loss, DIFFERENCES + h) - at(loss, DIFFERENCES - h)) / (2 * h)
    np.testing.assert_allclose(slopes(loss, DIFFERENCES), numeric, atol=1e-6)


def test_others_have_no_conjugate():
    with pytest.raises(AttributeError, match="ckl"):
        LOSSES["ckl"].conjugate(np.ones(1))
