"""Losses compute the same with tensors as with arrays, and torch differentiates them to their derivatives."""

import numpy as np
import pytest

from nearer.losses import Loss, namespace, sigmoid, softplus
from nearer.losses.rounding import RoundedGNMDS, SmoothGNMDS
from tests.registries import LOSSES, MARGIN_LOSSES

torch = pytest.importorskip("torch")

EVERY = {
    **LOSSES,
    "smooth-gnmds": SmoothGNMDS(width=0.4, centre=0.3),
    "rounded": RoundedGNMDS(),
    **MARGIN_LOSSES,
}
EVERY_LOSS = pytest.mark.parametrize("loss", EVERY.values(), ids=EVERY)
TYPES = pytest.mark.parametrize("dtype", ["float32", "float64"])
SIZES = [0.0, 1e-300, 1e-30, 1e-8, 1.0, 1e8, 1e30, 1e300, np.inf]


def ordinary(loss, dtype):
    rng = np.random.default_rng(0)
    drawn = rng.uniform(0.01, 4, (2, 300)) if isinstance(loss, Loss) else rng.normal(0, 3, (1, 300))
    return drawn.astype(dtype)


def extreme(loss, dtype):
    with np.errstate(over="ignore"):
        sizes = np.array(SIZES).astype(dtype)
    if isinstance(loss, Loss):
        return np.stack([grid.ravel() for grid in np.meshgrid(sizes, sizes)])
    return np.concatenate([-sizes, sizes])[None]


def everything(loss, inputs):
    """Return all that a loss computes, as named arrays."""
    found = {"value": loss.value(*inputs)}
    if isinstance(loss, Loss):
        found["by_near"], found["by_far"] = loss.derivatives(*inputs)
        if loss.has_probability:
            found["probability"] = loss.probability(*inputs)
        if loss.convex:
            found["conjugate"] = loss.conjugate(loss.derivatives(*inputs)[0])
    else:
        found["slope"] = loss.slope(*inputs)
        if np.isfinite(loss.curvature):
            found["second_derivative"] = loss.second_derivative(*inputs)
    return found


@EVERY_LOSS
@TYPES
@pytest.mark.parametrize("inputs", [ordinary, extreme])
def test_tensors_and_arrays_agree(loss, dtype, inputs):
    assert loss.accepts_tensors
    arrays = inputs(loss, dtype)
    with np.errstate(all="ignore"):
        expected = everything(loss, arrays)
    found = everything(loss, torch.from_numpy(arrays))
    limits = np.finfo(dtype)
    # below the smallest normal number either library may flush to zero; ordinary inputs may nearly cancel
    atol = 2 * limits.tiny if inputs is extreme else limits.eps
    for name, tensor in found.items():
        assert isinstance(tensor, torch.Tensor), name
        assert str(tensor.dtype) == f"torch.{dtype}", name
        np.testing.assert_allclose(
            tensor.numpy(), expected[name], rtol=20 * limits.eps, atol=atol, err_msg=name
        )


@EVERY_LOSS
@TYPES
def test_devices_are_kept(loss, dtype):
    """The meta device holds no numbers: a detour through numpy would fail on it."""
    inputs = torch.from_numpy(ordinary(loss, dtype)).to("meta")
    assert {tensor.device.type for tensor in everything(loss, inputs).values()} == {"meta"}


@EVERY_LOSS
def test_autograd_finds_the_derivatives(loss):
    inputs = torch.from_numpy(ordinary(loss, "float64")).requires_grad_()
    (found,) = torch.autograd.grad(loss.value(*inputs).sum(), inputs)
    detached = inputs.detach()
    expected = loss.derivatives(*detached) if isinstance(loss, Loss) else (loss.slope(*detached),)
    np.testing.assert_allclose(found.numpy(), np.stack([each.numpy() for each in expected]), rtol=1e-10)


SMOOTH = {name: loss for name, loss in MARGIN_LOSSES.items() if np.isfinite(loss.curvature)}


@pytest.mark.parametrize("loss", SMOOTH.values(), ids=SMOOTH)
def test_autograd_finds_the_second_derivative(loss):
    margins = torch.from_numpy(ordinary(loss, "float64")[0]).requires_grad_()
    (found,) = torch.autograd.grad(loss.slope(margins).sum(), margins)
    np.testing.assert_allclose(found.numpy(), loss.second_derivative(margins.detach()).numpy(), rtol=1e-10)


def test_autograd_is_right_where_scores_tie():
    """Terms with `abs` and `maximum`, as numpy needs them, would have other derivatives at exactly 0."""
    zero = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(softplus(zero).sum(), zero, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), zero)
    assert (slope.item(), curvature.item()) == (0.5, 0.25)
    (of_sigmoid,) = torch.autograd.grad(sigmoid(zero).sum(), zero)
    assert of_sigmoid.item() == 0.25


def test_autograd_takes_the_same_slope_at_the_kink():
    kink = torch.ones(1, dtype=torch.float64, requires_grad=True)
    for name in ("hinge", "squared-hinge"):
        (slope,) = torch.autograd.grad(MARGIN_LOSSES[name].value(kink).sum(), kink)
        assert slope.item() == MARGIN_LOSSES[name].slope(kink.detach()).item() == 0


def test_the_namespace_follows_the_input():
    assert namespace(torch.zeros(1)) is torch
    assert namespace(np.zeros(1)) is namespace(0.5) is np
