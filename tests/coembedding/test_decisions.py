"""Decisions about labels: sigmoids drawn to a common one, cuts of probabilities, and what beta is chosen by."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import f1_score

from nearer import CoEmbeddingClassifier
from nearer.coembedding import sigmoids
from nearer.coembedding.decisions import decide
from nearer.coembedding.sigmoids import label_sigmoids, log_loss
from nearer.pairwise.thresholds import Scored, calibrate


def shifted(n=400, seed=0, offsets=(2.0, 0.0, -2.0, -4.5), slopes=(1.0, 2.0, 1.0, 1.0)):
    """Affinities that mean another probability for each label; the last label is rare."""
    rng = np.random.default_rng(seed)
    affinities = rng.normal(size=(n, len(offsets)))
    own = rng.uniform(size=affinities.shape) < expit(affinities * slopes + offsets)
    return affinities, own


def plain(affinities, own):
    """The same sigmoids, label by label, by a general method."""
    common = calibrate(Scored(affinities.ravel(), own.ravel(), np.ones(own.size)), "sigmoid")

    def loss(at, z, y):
        odds = at[0] * z + at[1]
        return np.sum(np.logaddexp(0, odds) - y * odds) + 2.5 * (at[0] - 1) ** 2 + 0.05 * at[1] ** 2

    found = []
    for z, y in zip((common.slope * affinities + common.offset).T, own.T, strict=True):
        bounds = [(0.1, None), (None, None)]
        a, b = minimize(loss, [1.0, 0.0], (z, y), bounds=bounds, method="L-BFGS-B", tol=1e-14).x
        found.append([common.slope * a, common.offset * a + b])
    return np.array([*found, [common.slope, common.offset]]).T


# -- probabilities ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [1, 1000, 2**15])
def test_sigmoids_are_those_of_a_general_method(block, monkeypatch):
    monkeypatch.setattr(sigmoids, "_BLOCK", block)
    affinities, own = shifted(slopes=(1.0, 2.0, -3.0, 1.0))  # the third is the less likely, the higher it is
    slopes, offsets = label_sigmoids(affinities, own)
    wanted = plain(affinities, own)
    np.testing.assert_allclose(slopes, wanted[0], atol=1e-3)
    np.testing.assert_allclose(offsets, wanted[1], atol=1e-3)
    assert slopes[2] == pytest.approx(0.1 * slopes[-1])


def test_a_rare_label_has_nearly_the_common_slope():
    affinities, own = shifted(n=2000)
    own[:, 3] = False
    own[affinities[:, 3].argmin(), 3] = True  # one row, at the lowest affinity
    slopes, offsets = label_sigmoids(affinities, own)
    assert slopes[3] > 0.5 * slopes[-1]
    assert expit(affinities[:, 3] * slopes[3] + offsets[3]).mean() < 0.005


def test_log_loss_is_that_of_the_probabilities():
    affinities, own = shifted()
    slopes, offsets = label_sigmoids(affinities, own)
    found = expit(affinities * slopes[:-1] + offsets[:-1])
    assert log_loss(affinities, own) == pytest.approx(-np.mean(np.log(np.where(own, found, 1 - found))))
    assert log_loss(affinities, own) < log_loss(np.zeros_like(affinities), own)


def test_equal_affinities_have_finite_cuts():
    found = decide(np.zeros((40, 2)), sparse.csr_matrix(shifted(40)[1][:, :2]), "micro-f1")
    assert np.isfinite(found.cuts(seen=True)).all()
    assert np.isfinite(found.threshold)


# -- cuts -------------------------------------------------------------------------------------------------------------


def test_hamming_predicts_what_is_likelier_than_not():
    affinities, own = shifted()
    found = decide(affinities, sparse.csr_matrix(own), "hamming")
    np.testing.assert_array_equal(
        affinities > found.cuts(seen=True), found.probabilities(affinities, seen=True) > 0.5
    )


def test_micro_f1_cuts_all_labels_at_the_same_best_probability():
    affinities, own = shifted()
    found = decide(affinities, sparse.csr_matrix(own), "micro-f1")
    at_cut = found.probabilities(found.cuts(seen=True)[None], seen=True)
    assert np.ptp(at_cut) < 1e-9
    chosen = f1_score(own, affinities > found.cuts(seen=True), average="micro")
    likely = found.probabilities(affinities, seen=True)
    assert chosen == pytest.approx(
        max(f1_score(own, likely > cut, average="micro") for cut in np.unique(likely)[:-1])
    )
    unseen = found.probabilities(np.array([[found.threshold]]), seen=False)
    assert unseen[0, 0] == pytest.approx(at_cut[0, 0])


def test_macro_f1_has_the_highest_expected_f1_of_each_label():
    affinities, own = shifted()
    found = decide(affinities, sparse.csr_matrix(own), "macro-f1")
    likely = found.probabilities(affinities, seen=True)
    for label, p in enumerate(likely.T):
        order = np.argsort(-p)
        expected = [2 * p[order[:k]].sum() / (k + p.sum()) for k in range(1, len(p) + 1)]
        called = affinities[:, label] > found.cuts(seen=True)[label]
        assert called.sum() == 1 + int(np.argmax(expected))


def test_a_label_that_no_row_has_is_cut_as_for_micro_f1():
    affinities, own = shifted()
    own[:, 3] = False
    labels = sparse.csr_matrix(own)
    micro, macro = (decide(affinities, labels, name).cuts(seen=True) for name in ("micro-f1", "macro-f1"))
    assert macro[3] == pytest.approx(micro[3])
    assert not (affinities[:, 3] > macro[3]).any()


@pytest.mark.parametrize(
    ("criterion", "measure"),
    [
        ("micro-f1", lambda own, found: f1_score(own, found, average="micro")),
        ("hamming", lambda own, found: np.mean(own == found)),
    ],
)
def test_one_cut_of_affinities_is_worse(criterion, measure):
    """On new rows: the same affinity means another probability for each label."""
    affinities, own = shifted(n=1000)
    later, truth = shifted(n=1000, seed=1)
    cuts = decide(affinities, sparse.csr_matrix(own), criterion).cuts(seen=True)
    single = max(measure(truth, later > cut) for cut in np.linspace(-3, 3, 61))
    assert measure(truth, later > cuts) > single + 0.05


# -- beta -------------------------------------------------------------------------------------------------------------


def test_beta_is_the_best_of_the_path_and_of_closer_ones_whatever_the_threshold():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    Y = (X @ rng.normal(size=(6, 4)) + rng.normal(size=(300, 4)) > 0.5).astype(int)
    models = [
        CoEmbeddingClassifier(threshold=threshold, random_state=0).fit(X, Y)
        for threshold in ("micro-f1", "hamming", "macro-f1", 0.0)
    ]
    assert len({model.beta_ for model in models}) == 1
    tried = np.sort([float(beta) for beta in models[0].result_.details["held_out_errors"]])
    steps = np.log(tried[1:] / tried[:-1]) / np.log(1 / 0.4)
    close = np.flatnonzero(abs(steps - 0.5) < 0.02)
    assert len(close) in (
        3,
        4,
    )  # half-way to both neighbours on the path, of which the stronger may be missing
    assert np.all(abs(np.delete(steps, close) - 1) < 0.02)
