"""A share of right answers that is no better than guessing is said to be so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import nearer
from nearer._fitting import at_chance, silent_trials, warn_of_chance
from nearer.comparisons import Comparisons


def noise(n=600, n_objects=12):
    rng = np.random.default_rng(0)
    return Comparisons(np.argsort(rng.random((n, n_objects)), axis=1)[:, :3], n_objects)


ANSWERS = Comparisons([[0, 1, 2]] * 200)


def test_by_a_test_of_significance():
    assert at_chance(0.5, ANSWERS)
    assert at_chance(0.55, ANSWERS)
    assert not at_chance(0.6, ANSWERS)
    assert at_chance(0.6, ANSWERS[:40])
    assert not at_chance(0.5, ANSWERS[:29])
    assert not at_chance(0.5, ANSWERS[:0])


def test_rows_of_one_trial_and_light_rows_count_for_less():
    trials = Comparisons([[0, 1, 2]] * 200, groups=np.arange(200) // 5)
    assert at_chance(0.6, trials)
    light = Comparisons([[0, 1, 2]] * 200, weights=np.r_[np.ones(40), np.full(160, 1e-6)])
    assert at_chance(0.6, light)
    assert not at_chance(0.5, Comparisons([[0, 1, 2]] * 200, weights=np.zeros(200)))


def test_the_warning_names_likely_causes():
    with pytest.warns(
        UserWarning, match=r"the accuracy of 51.0% is no better than guessing.*wrong direction.*noise"
    ):
        assert warn_of_chance(0.51, ANSWERS, "the accuracy")
    with pytest.warns(UserWarning, match=r"20.0% is worse than guessing.*wrong direction"):
        assert warn_of_chance(0.2, ANSWERS, "the accuracy")
    assert not warn_of_chance(0.9, ANSWERS, "the accuracy")


@pytest.mark.parametrize(
    "fit",
    [
        lambda c: nearer.OrdinalEmbedding(1, random_state=0).fit(c),
        lambda c: nearer.RelativeKernel(random_state=0).fit(c),
        lambda c: nearer.choose_dimension(c, (1,), n_splits=2, random_state=0),
    ],
    ids=["embedding", "kernel", "dimension"],
)
def test_fits_that_hold_answers_out_warn(fit):
    with pytest.warns(UserWarning, match="no better than guessing") as caught:
        fit(noise())
    assert len(caught) == 1
    assert caught[0].filename == __file__
    answers, _ = nearer.datasets.planted(12, 1, 600, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(answers)
        with silent_trials():
            nearer.OrdinalEmbedding(1, random_state=0).fit(noise())


def test_few_answers_do_not():
    nearer.OrdinalEmbedding(1, random_state=0).fit(noise(100))
