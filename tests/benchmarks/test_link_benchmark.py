"""The benchmark of links: what is asked, rivals against plain formulas, what is reported."""

import numpy as np
import pytest

from benchmarks import _link_data, _link_report
from benchmarks._link_data import Graph, Question, question
from benchmarks._link_rivals import LogisticFactors, neighbour_scores
from benchmarks.conclusions.links import conclude
from benchmarks.links import CERTIFIED, COUNTS, FACTORS, OURS, SETTINGS, TUNING, best_setting, grids

BOTH = pytest.mark.parametrize("directed", [True, False])


def graph(directed, size=40, count=300):
    rng = np.random.default_rng(0)
    pairs = rng.integers(size, size=(count, 2))
    pairs = pairs if directed else np.sort(pairs, axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return Graph(pairs, size, directed)


@BOTH
def test_what_is_asked_is_not_known(directed):
    given = graph(directed)
    asked = question(given, 0, [1, 2], 200)
    known, wanted = given.codes(asked.known), given.codes(asked.pairs)
    everything = given.codes(given.links)
    assert not np.isin(wanted, known).any()
    assert np.isin(wanted, everything).tolist() == asked.links.tolist()
    assert len(np.unique(wanted)) == len(wanted)
    assert len(known) + asked.links.sum() == pytest.approx(0.8 * len(everything), abs=5)
    pairs = given.size * (given.size - 1) // (1 if directed else 2)
    assert asked.weights[~asked.links].sum() == pytest.approx(pairs - len(everything))
    other = question(given, 1, [], 200)
    assert not np.isin(given.codes(other.pairs[other.links]), wanted[asked.links]).any()


@BOTH
def test_the_parts_that_are_tested_are_not_learned_from_in_tuning(directed):
    given = graph(directed)
    tuning = question(given, _link_data.VALIDATION, [0, 1], 100)
    for split in (0, 1):
        asked = question(given, split, [], 100)
        assert not np.isin(given.codes(asked.pairs[asked.links]), given.codes(tuning.known)).any()


def test_counts_of_neighbours():
    """0 and 3 are linked to 1 and to 2, which is linked to 4 as well."""
    links = np.array([[0, 1], [0, 2], [1, 3], [2, 3], [2, 4]])
    pairs = np.array([[0, 3], [0, 4], [1, 4]])
    for directed in (True, False):
        asked = Question(Graph(links, 5, directed), links, pairs, np.array([True, False, False]), np.ones(3))
        assert neighbour_scores(asked, True, rarity=False).tolist() == [2, 1, 0]
        expected = [1 / np.log(2) + 1 / np.log(3), 1 / np.log(3), 0]
        np.testing.assert_allclose(neighbour_scores(asked, True, rarity=True), expected)
    asked = Question(Graph(links, 5, True), links, pairs[:, ::-1], np.array([True, False, False]), np.ones(3))
    assert neighbour_scores(asked, False, rarity=False).tolist() == [0, 0, 0]  # no path leads back


@BOTH
def test_the_factorisation(directed):
    given = graph(directed)
    asked = question(given, 0, [], 100)
    rng = np.random.default_rng(0)
    others = asked.pairs[~asked.links]
    model = LogisticFactors(asked, others, 3, 0.1, rng)
    x, along = rng.normal(size=(2, len(model.x)))
    value, gradient = model.value_and_gradient(x)
    step = 1e-6
    numeric = (
        model.value_and_gradient(x + step * along)[0] - model.value_and_gradient(x - step * along)[0]
    ) / (2 * step)
    assert gradient @ along == pytest.approx(numeric, rel=1e-6)
    model.x = x
    odds = model.scores(np.concatenate([asked.known, others]))
    signs = np.repeat([1, -1], [len(asked.known), len(others)])
    shares = np.where(signs > 0, 1, len(asked.known) / len(others))
    plain = shares @ np.log1p(np.exp(-signs * odds)) + 0.1 * (x[:-1] ** 2).sum()
    assert value == pytest.approx(plain, rel=1e-10)
    model.shares = LogisticFactors(asked, others, 3, 0.1, rng, 0.5).shares
    half = np.where(signs > 0, 1, 0.5) * shares
    expected = half @ np.log1p(np.exp(-signs * odds)) + 0.1 * (x[:-1] ** 2).sum()
    assert model.value_and_gradient(x)[0] == pytest.approx(expected, rel=1e-10)
    fitted = LogisticFactors(asked, others, 8, 0.01, rng)
    scores = fitted.scores(np.concatenate([asked.known, others]))
    assert np.mean((scores > 0) == (signs > 0)) > 0.95


def test_the_best_setting_is_that_of_the_highest_auc():
    assert best_setting([{"setting": 2.0, "auc": 0.7}, {"setting": 1.0, "auc": 0.9}]) == 1.0


@pytest.mark.parametrize("name", SETTINGS["data"])
def test_both_methods_that_are_tuned_have_as_many_trials(name):
    found = grids(name, SETTINGS)
    assert len(found[FACTORS]) == len(found[OURS]) * len(SETTINGS["rules"]) == 16
    for settings in (found[FACTORS], found[OURS]):
        assert len({tuple(one.items()) for one in settings}) == len(settings)


def measured(gap, ours):
    """Rows of one graph: a tuning and a split, in which ours has this AUC and the rivals 0.8."""
    fit = {"seconds": 2.0, "gap": 1e-2, "rank": 3, "objective": 1.0, "stopped": "tolerance"}

    def trial(setting, auc, **more):
        return {"setting": setting, "seconds": 1.0, "auc": auc, "ap": auc / 10, **more}

    tuning = {FACTORS: [trial({"l2": l2, "balance": 1.0}, 0.7 + (l2 == 1.0) / 10) for l2 in SETTINGS["l2"]]}
    chosen = {"balance": 1.0, "rule": "both"}
    worse = [trial({"beta": 0.5, "balance": 1.0, "rule": "mean"}, 0.5, **fit)]  # another rule is another path
    tuning |= {OURS: [trial({"beta": b} | chosen, 0.9 - b / 100, **fit) for b in (3.0, 2.0, 1.0)] + worse}
    split = {name: [trial(True, 0.8)] for name in COUNTS} | {
        FACTORS: [trial({"l2": 1.0, "balance": 1.0}, 0.8)]
    }
    split |= {
        OURS: [trial({"beta": 1.0} | chosen, ours) | fit],
        CERTIFIED: [trial({"beta": 1.0} | chosen, ours) | fit | {"gap": gap, "seconds": 6.0}],
    }
    return [
        {
            "cell": {"data": "small", "split": at},
            "results": {name: {"trials": one} for name, one in found.items()},
        }
        for at, found in ((TUNING, tuning | {name: [trial(True, 0.8)] for name in COUNTS}), (0, split))
    ]


@pytest.mark.parametrize(("gap", "ours", "missed"), [(5e-5, 0.9, 0), (2e-4, 0.9, 1), (2e-4, 0.5, 3)])
def test_conclusions(gap, ours, missed):
    rows = measured(gap, ours)
    assert sum(not holds for *_, holds in _link_report.standings(rows)) == missed
    said = conclude(rows, SETTINGS)
    assert said[0].startswith("Missed" if missed else "All 3")
    assert "takes 6 CPU seconds (2 to 1e-02" in said[2]
    assert "and the factorisation 1." in said[2]
    assert "LinkPredictor on small" in said[3]  # the smallest of its three settings is the best
    assert "factorisation" not in said[3]
    assert len(_link_report.tables(rows, SETTINGS)) == 5
    assert len(_link_report.figure(rows).axes) == 2
