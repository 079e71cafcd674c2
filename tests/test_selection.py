"""Choosing the dimension."""

import warnings

import numpy as np
import pytest

import nearer
from nearer import datasets, selection
from nearer.selection import DimensionChoice
from tests.refusals import refused


def test_finds_the_planted_dimension():
    answers, _ = datasets.planted(30, 2, 3000, noise=0.05, scale=1.0, random_state=0)
    choice = nearer.choose_dimension(answers, (1, 2, 3), n_splits=4, random_state=0)
    assert choice.smallest_within_one_se == 2
    assert choice.errors.shape == (3, 4)
    assert choice.mean_errors[0] > choice.mean_errors[1] + 0.05


def test_the_estimators_settings_are_used():
    answers, _ = datasets.planted(12, 4, 600, random_state=0)
    calls = []
    est = nearer.OrdinalEmbedding(
        l2=0.1, max_epochs=2, callback=lambda progress: calls.append(progress.points.shape)
    )
    with pytest.warns(UserWarning, match="^4 dimensions.* up to 8$"):
        nearer.choose_dimension(answers, (1, 4), n_splits=2, estimator=est, random_state=0)
    assert {shape[1] for shape in calls} == {1, 4}


def test_one_standard_error_rule():
    errors = np.array([[0.30, 0.32, 0.31], [0.21, 0.19, 0.20], [0.20, 0.20, 0.19]])
    choice = DimensionChoice((1, 2, 3), errors)
    assert choice.best == 3
    assert choice.smallest_within_one_se == 2
    assert DimensionChoice((3, 2, 1), errors[::-1]).smallest_within_one_se == 2


@pytest.mark.parametrize(("standard_errors", "expected"), [(1.3, 2), (1.7, 3)])
def test_the_standard_error_counts_that_folds_share_answers(standard_errors, expected):
    """With five folds it is 1.5 times that of independent numbers."""
    spread = np.array([0.010, 0.0, 0.018, 0.007, -0.005]) - 0.006
    excess = spread + standard_errors * spread.std(ddof=1) / np.sqrt(5)
    assert DimensionChoice((2, 3), np.array([0.08 + excess, [0.08] * 5])).smallest_within_one_se == expected


@pytest.mark.parametrize(("gap", "warns"), [(0.04, False), (0.07, True)])
def test_only_a_clearly_best_edge_is_warned_of(monkeypatch, gap, warns):
    """The corrected standard error of these three folds is 0.033: one is not enough, and two are."""
    spread = np.array([-0.036, 0.0, 0.036])
    errors = {1: list(0.2 + gap + spread), 2: [0.2, 0.2, 0.2]}
    monkeypatch.setattr(selection, "_along_a_path", lambda *arguments: errors)
    answers, _ = datasets.planted(12, 2, 200, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choice = nearer.choose_dimension(answers, (1, 2), n_splits=3)
    assert choice.smallest_within_one_se == 2
    assert bool(caught) == warns


def test_printing_says_what_was_chosen():
    choice = DimensionChoice((1, 2, 3), np.array([[0.30, 0.32], [0.20, 0.21], [0.19, 0.21]]))
    assert str(choice) == (
        "DimensionChoice(best=3 (the largest tried), smallest_within_one_se=2, mean_errors={1: 0.31, 2: 0.205, 3: 0.2})"
    )


def test_a_best_dimension_at_the_edge_is_told():
    falling = np.array([[0.30, 0.32], [0.20, 0.21], [0.10, 0.11]])
    for choice in (DimensionChoice((1, 2, 3), falling), DimensionChoice((3, 2, 1), falling[::-1])):
        assert choice.best_is_largest
        assert "best=3 (the largest tried)" in repr(choice)
        legend = choice.plot().axes[0].get_legend()
        assert any("3 (the largest tried)" in text.get_text() for text in legend.get_texts())
    for choice in (DimensionChoice((1, 2, 3), falling[::-1]), DimensionChoice((3,), falling[:1])):
        assert not choice.best_is_largest
        assert "largest tried" not in repr(choice)


def test_a_clearly_best_dimension_at_the_edge_is_warned_of():
    answers, _ = datasets.planted(30, 3, 3000, random_state=0)
    with pytest.warns(UserWarning, match="^2 dimensions.* up to 4$"):
        choice = nearer.choose_dimension(answers, (1, 2), n_splits=3, random_state=0)
    assert choice.best_is_largest
    more = nearer.choose_dimension(answers, (2, 3, 4), n_splits=3, random_state=0)  # warnings are errors
    assert more.best > 2


def test_arrays_are_comparisons_too():
    answers, _ = datasets.planted(12, 1, 200, random_state=0)
    options = {"n_components": (1, 2), "n_splits": 2, "random_state": 0}
    of_array = nearer.choose_dimension(answers.indices, **options)
    np.testing.assert_array_equal(of_array.errors, nearer.choose_dimension(answers, **options).errors)


def test_plot_draws_every_dimension():
    figure = DimensionChoice((1, 2, 3), np.array([[0.3, 0.31], [0.2, 0.21], [0.2, 0.22]])).plot()
    labels = [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    assert {"1", "2", "3"} <= set(labels)


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ({"n_components": ()}, ["n_components is empty", "(1, 2, 3)"]),
        ({"n_components": 3}, ["n_components", "(1, 2, 3)", "not 3"]),
        ({"n_components": (0,)}, ["n_components must be", "1 or more", "not 0"]),
        ({"n_splits": 1}, ["n_splits must be", "2 or more", "not 1"]),
    ],
)
def test_bad_arguments(arguments, facts):
    answers, _ = datasets.planted(12, 2, 200, random_state=0)
    with refused(*facts):
        nearer.choose_dimension(answers, **arguments)


def test_dimensions_on_one_path_have_the_errors_of_separate_fits(monkeypatch):
    answers, _ = nearer.datasets.planted(60, 5, 8000, noise=0.05, random_state=0)
    settings = {"n_components": (2, 4, 5, 6), "n_splits": 3, "random_state": 0}
    path = nearer.choose_dimension(answers, **settings)
    monkeypatch.setattr(selection, "_can_follow_a_path", lambda template: False)
    separate = nearer.choose_dimension(answers, **settings)
    np.testing.assert_allclose(path.mean_errors, separate.mean_errors, atol=0.012)
    assert path.smallest_within_one_se == separate.smallest_within_one_se == 5


def test_dimensions_need_not_be_in_order():
    answers, _ = nearer.datasets.planted(30, 3, 2000, random_state=0)
    one, other = (
        nearer.choose_dimension(answers, dimensions, n_splits=2, random_state=0)
        for dimensions in ((5, 2, 3), (2, 3, 5))
    )
    np.testing.assert_array_equal(one.errors[[1, 2, 0]], other.errors)
    assert one.n_components == (5, 2, 3)


def test_threads_do_not_change_the_choice():
    answers, _ = nearer.datasets.planted(30, 3, 3000, noise=0.1, random_state=0)
    errors = [
        nearer.choose_dimension(
            answers, (2, 3, 4), n_splits=3, random_state=0, estimator=nearer.OrdinalEmbedding(n_jobs=n_jobs)
        ).errors
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*errors)


@pytest.mark.parametrize(
    ("settings", "follows"),
    [
        ({"loss": "tste", "l2": 0.01, "effort": "quick", "tol": 1e-2}, True),
        ({"solver": "sgd"}, False),
        ({"n_init": 3}, False),
        ({"init": np.zeros((3, 2))}, False),
        ({"callback": print}, False),
        ({"max_seconds": 5.0}, False),
    ],
)
def test_settings_that_a_path_ignores_are_not_ignored(settings, follows):
    assert selection._can_follow_a_path(nearer.OrdinalEmbedding(**settings)) == follows
