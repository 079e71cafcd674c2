"""The benchmarks of labels and tags: rivals, comparisons on the same splits, and checks that can say no."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from nearer import Posts

sys.path.insert(
    0, str(Path(__file__).parents[2])
)  # benchmarks is a folder of the repository, not of the package

from benchmarks import (
    _label_data,
    _label_report,
    _label_rivals,
    _tag_data,
    _tag_report,
    _tag_rivals,
    multilabel,
    tags,
)
from benchmarks.conclusions import multilabel as labels_said
from benchmarks.conclusions import tags as tags_said


@pytest.mark.parametrize(
    "module",
    [_label_report, _label_rivals, _tag_data, _tag_report, _tag_rivals],
    ids=lambda one: one.__name__,
)
def test_examples_in_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0


# -- labels -----------------------------------------------------------------------------------------------------------


def label_rows(data="emotions"):
    """Two splits; a rival that is far better was measured on the first alone, where ours is good too."""
    scores = {"hamming": 80.0, "micro-f1": 70.0, "macro-f1": 69.0}
    rows = []
    for split, shift in ((0, 0.0), (1, -10.0)):
        rivals = {"ours": shift, "BR(LOG)": shift + 1 - split, "CC(SVM)": -1.0}
        results = {
            name: {
                **{key: value + more for key, value in scores.items()},
                "zero": scores,
                "plain": {key: value - 3 for key, value in scores.items()},
                "seconds": 1.0,
            }
            for name, more in rivals.items()
            if name != "CC(SVM)" or split == 0
        }
        results["ours"] |= {"beta": scores, "rank": scores, "seconds": scores}
        rows.append({"cell": {"data": data, "split": split}, "results": results})
    fits = {
        f"1 {tol:g}": {"seconds": tol**-1, "gap": tol, "micro-f1": 70 - tol * 10, "rank": 3}
        for tol in (1e-2, 1e-4)
    }
    rows[0]["results"]["speed"] = {"rival_seconds": [10.0], **fits}
    rows[1]["results"]["memory"] = {"peak": 50, "X": 1, "Y": 2, "Q": 3, "history": 4}
    return rows


LABEL_SETTINGS = {"tolerances": [1e-2, 1e-4], "speed_betas": [1.0]}


def test_leads_are_those_on_the_same_splits():
    rows = label_rows()
    assert _label_report.lead(rows, "emotions", "hamming")[0] == pytest.approx(-0.5)
    assert _label_report.lead(rows, "emotions", "hamming", "CC(SVM)")[0] == pytest.approx(1)
    assert _label_report.lead(rows, "emotions", "hamming", plain=True)[0] == pytest.approx((3 - 7) / 2)
    assert labels_said._best(rows, "emotions") is False
    del rows[0]["results"]["BR(LOG)"]
    assert labels_said._best(rows, "emotions") is True


def test_checks_of_labels_can_say_no():
    judged = {what: holds for what, _, _, holds in _label_report.standings(label_rows(), LABEL_SETTINGS)}
    assert judged["emotions: Hamming score, validated cut, minus the paper's"] is False  # 75 and 80.2
    assert judged["emotions: micro-F1, cut at 0, minus the paper's"] is True
    assert (
        judged["emotions: Hamming score minus that of BR(LOG), both with validated cuts"] is True
    )  # -0.5 ± 0.5
    assert judged["emotions: certified relative gap"] is True
    assert judged["emotions: peak of memory / X, Y, Q and the history of L-BFGS"] is False
    assert _label_report.quickest(label_rows(), LABEL_SETTINGS, "emotions", 1.0) == pytest.approx(10)


def test_a_data_set_may_be_measured_for_speed_alone():
    rows = label_rows()
    rows.append({"cell": {"data": "large", "split": 0}, "results": {"speed": rows[0]["results"]["speed"]}})
    assert _label_report.names(rows) == ["emotions"]
    *_, seconds, speed = _label_report.tables(rows, LABEL_SETTINGS)
    assert [len(table.rows) for table in (seconds, speed)] == [1, 2]
    assert len(labels_said.conclude(rows, LABEL_SETTINGS)) >= 3
    assert len(_label_report.figure(rows).axes) == 3


def test_plain_cuts_of_rare_labels_are_those_of_all():
    own = np.zeros((100, 2), dtype=bool)
    own[:20, 0], own[:3, 1] = True, True
    scores = own + np.array([0.0, 0.25])
    assert _label_rivals.plain_cuts(scores, own, "hamming") == pytest.approx(0.625)
    assert _label_rivals.plain_cuts(scores, own, "micro-f1") == pytest.approx(0.625)
    np.testing.assert_allclose(_label_rivals.plain_cuts(scores, own, "macro-f1"), [0.5, 0.625])


def test_label_ranking_votes_for_the_labels_of_a_row():
    random = np.random.default_rng(0)
    Y = (random.random((200, 3)) < 0.4).astype(int)
    X = Y + 0.05 * random.normal(size=Y.shape)
    found = _label_rivals.LabelRanking(LogisticRegression(C=100)).fit(X, Y).decision_function(X)
    assert ((found > 0) == Y).mean() > 0.95


def test_a_split_leaves_out_labels_without_a_training_row(monkeypatch):
    Y = np.zeros((9, 2), int)
    Y[:, 0] = 1
    monkeypatch.setattr(_label_data, "load", lambda name: {"X": np.arange(9.0)[:, None], "Y": Y})
    given = _label_data.problem("drawn", 0, 2)
    assert given.Y.shape == (6, 1)
    assert given.X_test.shape == (2, 1)
    assert not set(given.X.ravel()) & set(given.X_test.ravel())


def test_splits_of_labels_are_none_that_decisions_were_made_on():
    """The first splits were looked at while the method was made, and 100 to 109 while settings were compared."""
    settings = {**multilabel.SETTINGS, "data": {"drawn": {"splits": 3, "rivals": 1}}, "speed_splits": 2}
    cells = multilabel.cells(settings)
    assert [cell["split"] for cell in cells] == [1000, 1001, 1002]
    wanted = [set(multilabel._wanted(cell, 5, settings)) for cell in cells]
    assert [len(names) for names in wanted] == [8, 3, 2]
    assert all({"ours", "BR(LOG)"} <= names for names in wanted)
    assert "speed" in wanted[1]
    assert "speed" not in wanted[2]


# -- tags -------------------------------------------------------------------------------------------------------------


def posts(users=12, items=15, seed=0):
    """Users of three tastes and items of three kinds; a post has the tag of the taste and that of the kind."""
    random = np.random.default_rng(seed)
    pairs = [(u, i) for u in range(users) for i in range(items) if random.random() < 0.7]
    return Posts(*np.array([(u, i, tag) for u, i in pairs for tag in (u % 3, 3 + i % 3)]).T, n_tags=8)


def test_a_step_is_one_of_the_gradient():
    random = np.random.default_rng(0)
    factors = _tag_rivals.Factors.drawn((2, 2, 3), 4, random)
    rate, l2, (u, i, y, other) = 0.1, 0.3, (1, 0, 0, 2)

    def loss(parts):
        users, items, of_users, of_items = parts
        margin = users[u] @ (of_users[y] - of_users[other]) + items[i] @ (of_items[y] - of_items[other])
        used = (users[u], items[i], of_users[[y, other]], of_items[[y, other]])
        return np.log1p(np.exp(-margin)) + l2 / 2 * sum((part**2).sum() for part in used)

    expected = []
    for k, part in enumerate(factors):
        slope = np.zeros_like(part)
        for at in np.ndindex(part.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = [one.copy() for one in factors]
                moved[k][at] += step
                sides.append(loss(moved))
            slope[at] = (sides[0] - sides[1]) / 2e-6
        expected.append(part - rate * slope)
    rows, tags_of, starts = np.array([0]), np.array([y, 1], np.int32), np.array([0, 2], np.int32)
    args = (np.array([0]), np.array([[u, i]]), starts, tags_of, rate, l2, *factors)
    _tag_rivals._descend(rows, np.array([1]), *args)  # belongs to the post
    assert not np.allclose(factors.users, expected[0])
    _tag_rivals._descend(rows, np.array([other]), *args)
    for found, wanted in zip(factors, expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-8)


def test_factors_and_popularity_find_planted_tags():
    split = _tag_data.held_out(posts(), 0)
    assert len(split.test.pairs) == 12
    setting = {"n_factors": 8, "rate": 0.1, "l2": 1e-4}
    *_, last = _tag_rivals.learned(split.train, setting, 0, 60)
    first = _tag_rivals.Factors.drawn(split.train.shape, 8, np.random.default_rng(0))
    best = 2 * 0.4 / 1.4  # two of five tags are right, and both are found
    assert _tag_rivals.f1(last.scores(split.test.pairs), split.test) == pytest.approx(best)
    assert _tag_rivals.f1(first.scores(split.test.pairs), split.test) < best - 0.1
    assert _tag_rivals.popularity(split, 0)["f1"] == pytest.approx(best)


def test_the_terms_of_held_out_posts_are_scored_as_the_model_scores_them():
    split = _tag_data.held_out(_tag_data.compact(posts()), 1)
    found = tags._ours(split, 1.0, 1e-3, 300, 0)
    assert found["stopped"] == "tolerance"
    assert found["curve"][-1][1] == pytest.approx(found["f1"], rel=1e-5)
    assert found["curve"][-1][0] == found["rank"]


def test_a_run_of_tags_fills_its_page(monkeypatch):
    monkeypatch.setattr(tags, "core", lambda level: _tag_data.compact(posts(seed=level)))
    settings = {**tags.SETTINGS, "cores": {"20": 2}, "trials": 2, "most_passes": 10}
    settings["most_evaluations"] = {"ila": {"20": 40}, "central-path": {"20": 40}}
    rows = []
    for cell in tags.cells(settings):
        job = tags.Job(settings, rows, frozenset())
        rows.append({"cell": cell, "results": dict(tags.measure(cell, job))})
    quality = _tag_report.tables(rows, settings)[1]
    assert len(quality.rows) == 1
    assert len(quality.rows[0]) == len(quality.columns)
    assert set(tags.draw(rows, settings)) == {"columns"}
    assert len(tags_said.conclude(rows, settings)) == 4
    assert len(_tag_report.tables(rows, settings)[2].rows) == 2 + 2 * 3


def test_columns_are_those_after_which_f1_stays():
    one = {
        "f1": 0.5,
        "rank": 9,
        "curve": [[1, 0.495, 0, 0, 0.1], [2, 0.3, 0, 0, 0.2], [4, 0.499, 0, 0, 0.4], [8, 0.5, 0, 0, 0.8]],
    }
    rows = [{"cell": {"core": "20"}, "results": {"beta = 1": one}}]
    assert _tag_report.enough(rows, "20", 1.0) == (4, 0.4)
