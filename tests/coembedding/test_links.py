"""LinkPredictor: its objective and certificate, what it finds in planted graphs, new objects, lists, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import average_precision_score, roc_auc_score

import nearer
from nearer import Interactions, LinkPredictor
from nearer.coembedding import link_rows
from nearer.coembedding.link_rows import read_links
from nearer.coembedding.link_terms import RULES
from nearer.losses import LinkLoss, LogisticLoss, SmoothHingeLoss
from tests.refusals import refused

GRAPHS = ("bipartite", "undirected", "directed")
EVERY = pytest.mark.parametrize("graph", GRAPHS)


def planted(graph, n=24, m=20, seed=0, share=0.25):
    """Links of the nearest pairs of random points: the matrix, and the points of both sides."""
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(n, 2))
    right = {"bipartite": rng.normal(size=(m, 2)), "undirected": left, "directed": left @ [[0, 1], [-1, 0]]}
    right = right[graph]
    far = ((left[:, None] - right) ** 2).sum(axis=2)
    links = far < np.quantile(far, share)
    if graph != "bipartite":
        np.fill_diagonal(links, False)
    return sparse.csr_matrix(links.astype(float)), left, right


def every_pair(links, graph):
    """All pairs, and which of them are links."""
    pairs = np.argwhere(np.ones(links.shape))
    if graph != "bipartite":
        pairs = (
            pairs[pairs[:, 0] < pairs[:, 1]] if graph == "undirected" else pairs[pairs[:, 0] != pairs[:, 1]]
        )
    return pairs, links.toarray()[tuple(pairs.T)] > 0


def held_out(links, graph, seed=1, share=0.2):
    """Links of a part of the pairs, and the other pairs with whether they are links."""
    pairs, linked = every_pair(links, graph)
    test = np.random.default_rng(seed).random(len(pairs)) < share
    hidden = pairs[test & linked]
    train = links.tolil()
    train[tuple(hidden.T)] = 0
    if graph == "undirected":
        train[tuple(hidden.T[::-1])] = 0
    return sparse.csr_matrix(train), pairs[test], linked[test]


def plain_objective(model, links, graph, balance):
    """The definition, one pair at a time: the sum over links, and that over other pairs times their weight."""
    h = lambda margin: float(SmoothHingeLoss().value(np.array([margin]))[0])  # noqa: E731
    U, V, u0, v0 = (
        model.left_embedding_,
        model.right_embedding_,
        model.left_threshold_,
        model.right_threshold_,
    )
    pairs, linked = every_pair(links, graph)
    weight = 1.0 if balance is None else balance * linked.sum() / (~linked).sum()
    total = 0.0
    for (i, j), link in zip(pairs, linked, strict=True):
        d = ((U[i] - V[j]) ** 2).sum()
        a, b = ((U[i] - u0) ** 2).sum() - d, ((V[j] - v0) ** 2).sum() - d
        a, b = a + model.offset, b + model.offset
        total += np.log(np.exp(h(a)) + np.exp(h(b))) if link else weight * (h(-a) + h(-b))
    parts = (U, u0) if graph == "undirected" else (U, V, u0, v0)
    penalty = model.beta * sum((part**2).sum() for part in parts)
    return (total + penalty) / (linked.sum() + weight * (~linked).sum())


@EVERY
@pytest.mark.parametrize("balance", [1.0, 0.5, None])
def test_the_objective_is_the_definition(graph, balance):
    links, *_ = planted(graph)
    model = LinkPredictor(0.5, graph=graph, balance=balance, cv=0).fit(links)
    assert model.result_.objective == pytest.approx(plain_objective(model, links, graph, balance), rel=1e-9)
    assert model.left_embedding_.shape[1] == model.result_.details["rank"] > 0


@EVERY
def test_the_minimum_is_that_of_a_solver_of_cones(graph):
    cvxpy = pytest.importorskip("cvxpy")
    links, *_ = planted(graph, 6, 5)
    pairs, linked = every_pair(links, graph)
    n, m = links.shape
    rows = np.eye(n + 1 if graph == "undirected" else n + m + 2)
    first, second = rows[pairs[:, 0]], rows[pairs[:, 1] + (0 if graph == "undirected" else n)]
    C = cvxpy.Variable(rows.shape, PSD=True)
    distance = lambda D: cvxpy.sum(cvxpy.multiply(D @ C, D), axis=1)  # noqa: E731
    near = distance(first - second)
    a = distance(first - rows[n if graph == "undirected" else -2]) - near
    b = distance(second - rows[-1]) - near
    h = lambda z: cvxpy.logistic(-z)  # noqa: E731
    of_links = [cvxpy.log_sum_exp(cvxpy.hstack([h(a[k]), h(b[k])])) for k in np.flatnonzero(linked)]
    weight = linked.sum() / (~linked).sum()
    others = weight * cvxpy.sum((h(-a) + h(-b))[np.flatnonzero(~linked)])
    least = cvxpy.Problem(cvxpy.Minimize(sum(of_links) + others + 0.1 * cvxpy.trace(C)))
    least.solve(solver=cvxpy.SCS, eps=1e-8, max_iters=50_000)
    model = LinkPredictor(0.1, graph=graph, loss="logistic", cv=0, tol=1e-7).fit(links)
    assert model.result_.objective * 2 * linked.sum() == pytest.approx(least.value, rel=1e-5)


@EVERY
@pytest.mark.parametrize("loss", ["logistic", "smooth-hinge"])
def test_the_gap_is_certified(graph, loss):
    result = LinkPredictor(0.3, graph=graph, loss=loss, cv=0, tol=1e-4).fit(planted(graph)[0]).result_
    assert result.stop_reason == "tolerance"
    assert result.details["gap"] <= 1e-4 * result.objective


@EVERY
def test_the_bound_counts_that_no_link_is_without_loss(graph):
    """The loss of a link is at least ln 2; no factor of a fit is below the bound that this makes."""
    model = LinkPredictor(0.05, graph=graph, cv=0, tol=1e-6).fit(planted(graph)[0])
    assert model.result_.objective >= np.log(2) / 2
    assert model.result_.details["lower_bound"] >= np.log(2) / 2


@EVERY
@pytest.mark.parametrize(
    ("rule", "of_both"), [("both", min), ("mean", lambda t: sum(t) / 2), ("either", max)]
)
def test_rules(graph, rule, of_both):
    """All rules share the fit; decisions, lists and the score follow the rule of the fit, not a later setting."""
    links, *_ = planted(graph)
    model = LinkPredictor(0.5, graph=graph, rule=rule, cv=0, random_state=0).fit(links)
    plain = LinkPredictor(0.5, graph=graph, cv=0, random_state=0).fit(links)
    np.testing.assert_array_equal(model.left_embedding_, plain.left_embedding_)
    model.set_params(rule="both")
    pairs, linked = every_pair(links, graph)
    expected = []
    for i, j in pairs:
        u, v = model.left_embedding_[i], model.right_embedding_[j]
        radii = ((u - model.left_threshold_) ** 2).sum(), ((v - model.right_threshold_) ** 2).sum()
        expected.append(of_both(radii) - ((u - v) ** 2).sum())
    np.testing.assert_allclose(model.decision_function(pairs), expected, atol=1e-9)
    assert model.score(pairs, linked) == pytest.approx(roc_auc_score(linked, expected))
    found = model.recommend(k=1, exclude_seen=False)
    chosen = np.stack([np.arange(len(found.items)), found.items[:, 0]], axis=1)
    np.testing.assert_allclose(found.scores[:, 0], model.decision_function(chosen), atol=1e-9)


def test_strengths_and_probabilities_are_found_by_the_rule(monkeypatch):
    links, *_ = planted("undirected", 60, share=0.1)
    asked = []
    for rule in RULES:
        monkeypatch.setitem(
            RULES, rule, lambda a, b, rule=rule, of=RULES[rule]: asked.append(rule) or of(a, b)
        )
        LinkPredictor(graph="undirected", rule=rule, random_state=0).fit(links)
        assert set(asked) == {rule}
        asked.clear()


def test_the_path_of_strengths_ends_once_held_out_pairs_are_ranked_no_better():
    links, *_ = planted("undirected", 80, share=0.1)
    model = LinkPredictor(graph="undirected", random_state=0).fit(links)
    errors = model.result_.details["held_out_errors"]
    by_strength = [errors[beta] for beta in sorted(errors, key=float, reverse=True)]
    assert np.argmin(by_strength) == len(by_strength) - 3  # two weaker ones were tried
    assert f"{model.beta_:.4g}" == sorted(errors, key=float)[2]


@EVERY
def test_an_offset_is_added_to_thresholds(graph):
    links, *_ = planted(graph)
    model = LinkPredictor(0.5, graph=graph, offset=-2.0, balance=0.5, cv=0).fit(links)
    assert model.result_.objective == pytest.approx(plain_objective(model, links, graph, 0.5), rel=1e-9)
    pairs, linked = every_pair(links, graph)
    u, v = model.left_embedding_[pairs[:, 0]], model.right_embedding_[pairs[:, 1]]
    t = [
        ((points - at) ** 2).sum(axis=1)
        for points, at in ((u, model.left_threshold_), (v, model.right_threshold_))
    ]
    expected = np.minimum(*t) - 2 - ((u - v) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.decision_function(pairs), expected, atol=1e-9)
    top = model.recommend([0], k=1, exclude_seen=False)
    assert top.scores[0, 0] == pytest.approx(expected[pairs[:, 0] == 0].max())
    assert np.mean((expected > 0) == linked) > 0.9
    nothing = LinkPredictor(1e6, graph=graph, offset=-2.0, cv=0)
    with pytest.warns(UserWarning, match="so strong"):
        assert not nothing.fit(links).predict(pairs).any()


@EVERY
def test_planted_geometry_is_found(graph):
    links, *_ = planted(graph, 110, 100)
    train, pairs, linked = held_out(links, graph)
    model = LinkPredictor(10.0, graph=graph, cv=0).fit(train)
    assert model.score(pairs, linked) > 0.97
    assert model.score(pairs, linked) == roc_auc_score(linked, model.decision_function(pairs))
    known, of_fit = every_pair(train, graph)
    assert np.mean(model.predict(known) == of_fit) > 0.9


def test_planted_communities_are_found():
    group = np.arange(60) % 4
    rng = np.random.default_rng(0)
    links = np.triu((group[:, None] == group) & (rng.random((60, 60)) < 0.7), 1)
    train, pairs, linked = held_out(sparse.csr_matrix((links | links.T).astype(float)), "undirected")
    model = LinkPredictor(2.0, graph="undirected", cv=0).fit(train)
    same = group[pairs[:, 0]] == group[pairs[:, 1]]
    assert roc_auc_score(same, model.decision_function(pairs)) > 0.98
    assert model.score(pairs, linked) > 0.93  # pairs of one community are links or not by chance


@EVERY
def test_the_rule(graph):
    """A pair is linked if its distance is below both of its thresholds."""
    links, *_ = planted(graph)
    model = LinkPredictor(0.3, graph=graph, cv=0).fit(links)
    pairs, _ = every_pair(links, graph)
    u, v = model.left_embedding_[pairs[:, 0]], model.right_embedding_[pairs[:, 1]]
    d = ((u - v) ** 2).sum(axis=1)
    radii = ((u - model.left_threshold_) ** 2).sum(axis=1), ((v - model.right_threshold_) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.decision_function(pairs), np.minimum(*radii) - d, atol=1e-10)
    np.testing.assert_array_equal(model.predict(pairs), (d < radii[0]) & (d < radii[1]))


def test_beta_is_chosen_on_held_out_pairs():
    links, *_ = planted("undirected", 60)
    train, pairs, linked = held_out(links, "undirected")
    model = LinkPredictor(graph="undirected", random_state=0, tol=1e-2).fit(train)
    errors = model.result_.details["held_out_errors"]
    assert errors[f"{model.beta_:.4g}"] == min(errors.values())
    assert model.score(pairs, linked) > 0.95


def test_probabilities_are_those_of_pairs_that_were_not_seen():
    """Of the pairs of new objects with a probability of about p, a share of about p is linked."""
    links, left, right = planted("bipartite", 160, 60, share=0.1)
    model = LinkPredictor(1.0, negatives=4, random_state=0).fit(links[:80], left[:80], right)
    pairs = np.argwhere(np.ones((80, 60)))
    linked = links[80:].toarray()[tuple(pairs.T)] > 0
    found = model.predict_proba(pairs, left=left[80:])
    assert found.mean() == pytest.approx(linked.mean(), abs=0.02)
    for low, high in ((0.0, 0.1), (0.2, 0.8), (0.8, 1.0)):
        chosen = (found >= low) & (found <= high)
        assert chosen.sum() > 50
        assert linked[chosen].mean() == pytest.approx(found[chosen].mean(), abs=0.12)
    np.testing.assert_array_equal(
        np.argsort(found), np.argsort(model.decision_function(pairs, left=left[80:]))
    )


def test_probabilities_need_held_out_pairs():
    model = LinkPredictor(0.3, cv=0).fit(planted("bipartite")[0])
    with refused(offers=[("cv", 5)]):
        model.predict_proba([[0, 0]])


# -- pairs without a link ----------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("negatives", [1, 2, 5, "all"])
def test_other_pairs_are_a_sample_of_those_without_a_link(graph, negatives):
    links = read_links(planted(graph, 40, 30, share=0.03)[0], graph)
    found = links.others(negatives, np.random.default_rng(0))
    assert len(found) == (links.n_others if negatives == "all" else negatives * len(links.pairs))
    assert len(np.unique(found, axis=0)) == len(found)
    matrix = links.seen.matrix.toarray()
    assert not matrix[tuple(found.T)].any()
    if graph == "undirected":
        assert (found[:, 0] < found[:, 1]).all()
    if graph == "directed":
        assert (found[:, 0] != found[:, 1]).all()
    again = links.others(negatives, np.random.default_rng(0))
    np.testing.assert_array_equal(found, again)


@EVERY
def test_every_other_pair_may_be_drawn_and_is_as_likely(graph):
    links = read_links(planted(graph, 9, 8, share=0.3)[0], graph)
    counts = np.zeros(links.shape)
    for seed in range(300):
        counts[tuple(links.others(1, np.random.default_rng(seed)).T)] += 1
    everything = links.others("all", np.random.default_rng(0))
    drawn = counts[tuple(everything.T)]
    expected = 300 * len(links.pairs) / links.n_others
    assert counts.sum() == drawn.sum() == 300 * len(links.pairs)
    assert abs(drawn - expected).max() < 5 * np.sqrt(expected)


def test_many_pairs_are_sampled_and_few_are_not():
    few = LinkPredictor(5.0, cv=0).fit(planted("bipartite")[0])
    assert few.result_.details["n_terms"] == 24 * 20
    wide = sparse.random(600, 500, 0.002, random_state=0, format="csr")
    many = LinkPredictor(0.2, cv=0, max_epochs=1, max_rank=1).fit(wide)
    assert many.result_.details["n_terms"] == 6 * 600
    large = sparse.csr_matrix(([1.0], ([0], [0])), shape=(10**5, 10**5))
    assert len(read_links(large, "bipartite").others("auto", np.random.default_rng(0))) == 5
    with refused("10,000,000,000", parameter="negatives", offers=["negatives"]):
        LinkPredictor(1.0, negatives="all").fit(large)


def test_too_many_links_are_refused_with_a_number_that_fits(monkeypatch):
    monkeypatch.setattr(link_rows, "_FEW_PAIRS", 1)
    links = read_links(planted("bipartite")[0], "bipartite")
    monkeypatch.setattr(link_rows, "_MOST_PAIRS", 3 * len(links.pairs) + 1)
    with refused("fit into memory", parameter="negatives", offers=["negatives"]) as found:
        links.others("auto", np.random.default_rng(0))
    assert "negatives=2" in str(found.value)
    links.others(2, np.random.default_rng(0))
    monkeypatch.setattr(link_rows, "_MOST_PAIRS", len(links.pairs) + 1)
    with refused("fit a part of the links", parameter="negatives"):
        links.others("auto", np.random.default_rng(0))


def test_a_sample_estimates_the_mean_over_all():
    links, *_ = planted("bipartite", 60, 50, share=0.05)
    model = LinkPredictor(1.0, cv=0, negatives="all", tol=1e-5).fit(links)
    some = LinkPredictor(1.0, cv=0, negatives=10, tol=1e-5, random_state=0).fit(links)
    assert some.result_.details["n_terms"] < model.result_.details["n_terms"]
    assert some.result_.objective == pytest.approx(model.result_.objective, rel=0.1)


# -- graphs ------------------------------------------------------------------------------------------------------


def test_an_undirected_link_is_one_link_however_it_is_stored():
    links, *_ = planted("undirected")
    once = sparse.csr_matrix(sparse.triu(links))
    both, single = (LinkPredictor(0.3, graph="undirected", cv=0).fit(given) for given in (links, once))
    assert both.result_.details["n_links"] == single.result_.details["n_links"] == once.nnz
    np.testing.assert_array_equal(both.left_embedding_, single.left_embedding_)
    np.testing.assert_array_equal(both.recommend().items, single.recommend().items)
    mixed = sparse.csr_matrix((links.multiply(2) + once).multiply(links))
    weights = read_links(mixed, "undirected").weights
    assert (weights == 3).all()  # the larger of both


def test_two_sets_that_look_like_one_are_pointed_out():
    with pytest.warns(UserWarning, match='graph="undirected"'):
        LinkPredictor(0.3, cv=0).fit(planted("undirected")[0])


def test_the_order_of_objects_does_not_matter():
    links, *_ = planted("undirected")
    order = np.random.default_rng(0).permutation(links.shape[0])
    pairs, _ = every_pair(links, "undirected")
    settings = {"beta": 0.3, "graph": "undirected", "cv": 0, "tol": 1e-8}
    plain = LinkPredictor(**settings).fit(links).decision_function(pairs)
    moved = LinkPredictor(**settings).fit(links[order][:, order])
    found = moved.decision_function(np.argsort(order)[pairs])
    np.testing.assert_allclose(found, plain, atol=1e-3 * np.abs(plain).max())


def test_names_of_both_sides_are_those_of_one_set():
    friends = Interactions(["ann", "ann", "bob", "eve"], ["bob", "cid", "cid", "dan"])
    for graph in ("undirected", "directed"):
        model = LinkPredictor(0.05, graph=graph, cv=0).fit(friends)
        assert model.left_names_ == model.right_names_ == ("ann", "bob", "cid", "dan", "eve")
        assert model.predict([["ann", "bob"], ["ann", "eve"], ["eve", "dan"]]).tolist() == [True, False, True]
        assert model.predict(friends).all()
    with refused("only the left objects", parameter="R"):
        LinkPredictor(0.1, graph="undirected").fit(Interactions(["a", "b"], [1, 0]))


def test_weights_count_links_as_often():
    links, *_ = planted("bipartite")
    heavy = links.copy()
    heavy.data[:] = 3.0
    plain = LinkPredictor(0.1, cv=0, tol=1e-7).fit(links)
    tripled = LinkPredictor(0.3, cv=0, tol=1e-7).fit(heavy)
    assert tripled.result_.objective == pytest.approx(plain.result_.objective, rel=1e-6)


# -- lists -------------------------------------------------------------------------------------------------------


@EVERY
def test_lists(graph):
    links, *_ = planted(graph)
    model = LinkPredictor(0.3, graph=graph, cv=0).fit(links)
    m = links.shape[1]
    U, V = model.left_embedding_, model.right_embedding_
    radii = [((X - x) ** 2).sum(1) for X, x in ((U, model.left_threshold_), (V, model.right_threshold_))]
    scores = np.minimum(radii[0][:, None], radii[1]) - ((U[:, None] - V) ** 2).sum(2)
    if graph != "bipartite":
        np.fill_diagonal(scores, -np.inf)
    found = model.recommend(k=4, exclude_seen=False)
    np.testing.assert_allclose(found.scores, -np.sort(-scores)[:, :4], atol=1e-9)
    scores[links.toarray() > 0] = -np.inf
    found = model.recommend([3, 5], k=m)
    np.testing.assert_allclose(found.scores, -np.sort(-scores[[3, 5]]), atol=1e-9)
    assert not links.toarray()[np.array([[3], [5]]), found.items][found.items >= 0].any()


@EVERY
def test_the_score_of_held_out_links(graph):
    """They are compared with every pair that is a link nowhere."""
    links, *_ = planted(graph)
    train, pairs, linked = held_out(links, graph)
    hidden = sparse.csr_matrix((np.ones(linked.sum()), pairs[linked].T), shape=links.shape)
    model = LinkPredictor(0.5, graph=graph, cv=0).fit(train)
    everything, kinds = every_pair(links, graph)
    known = train.toarray()[tuple(everything.T)] > 0
    kinds, scores = kinds[~known].astype(bool), model.decision_function(everything[~known])
    scores = scores.round(9)  # objects without a link of the fit may lie at one point
    assert model.score(hidden) == pytest.approx(roc_auc_score(kinds, scores), abs=1e-12)
    assert model.average_precision(hidden) == pytest.approx(average_precision_score(kinds, scores), abs=1e-12)


def test_objects_with_equal_features_tie_whatever_rounding_says():
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=(n, n + 3))[rng.integers(n, size=40)] for n in (4, 3))
    links = rng.random((40, 40)) < 0.1 + 0.5 * (np.outer(left[:, 0], right[:, 0]) > 0)
    seen = links & (rng.random(links.shape) < 0.6)
    model = LinkPredictor(0.05, cv=0, random_state=0).fit(sparse.csr_matrix(seen * 1.0), left, right)
    hidden, others = sparse.csr_matrix((links & ~seen) * 1.0), np.argwhere(~seen)
    kinds, scores = links[tuple(others.T)], model.decision_function(others).round(9)
    assert len(np.unique(scores)) <= 12
    assert model.score(hidden) == pytest.approx(roc_auc_score(kinds, scores), abs=1e-12)
    assert model.average_precision(hidden) == pytest.approx(average_precision_score(kinds, scores), abs=1e-12)


@EVERY
def test_pairs_of_equal_distance_share_a_place_in_the_list(graph):
    links, *_ = planted(graph)
    train, pairs, linked = held_out(links, graph)
    hidden = sparse.csr_matrix((np.ones(linked.sum()), pairs[linked].T), shape=links.shape)
    model = LinkPredictor(0.5, graph=graph, cv=0).fit(train)
    for name in ("left_embedding_", "right_embedding_", "left_threshold_", "right_threshold_"):
        setattr(model, name, np.zeros_like(getattr(model, name)))  # every decision is 0
    everything, kinds = every_pair(links, graph)
    known = train.toarray()[tuple(everything.T)] > 0
    assert model.average_precision(hidden) == pytest.approx(kinds[~known].mean())
    assert model.score(hidden) == pytest.approx(0.5)


# -- features ----------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("look", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_features_place_new_objects(graph, look):
    links, left, right = planted(graph, 60, 50)
    old, new = np.arange(45), np.arange(45, 60)
    shown = links[old][:, old] if graph != "bipartite" else links[old]
    both = {"left": look(left[old])} | ({"right": look(right)} if graph == "bipartite" else {})
    model = LinkPredictor(0.5, graph=graph, cv=0, scale=False).fit(shown, **both)
    np.testing.assert_allclose(model.embed_left(look(left[old])), model.left_embedding_, atol=1e-12)
    columns = old if graph != "bipartite" else np.arange(50)
    pairs = np.argwhere(np.ones((len(new), len(columns))))
    linked = links.toarray()[new][:, columns][tuple(pairs.T)] > 0
    decisions = model.decision_function(pairs, left=look(left[new]))
    assert roc_auc_score(linked, decisions) > 0.9
    found = model.recommend(k=5, left=look(left[new]))
    assert linked.reshape(len(new), -1)[np.arange(len(new))[:, None], found.items].mean() > 0.6
    if graph != "bipartite":  # both sides new
        pairs, linked = every_pair(links[new][:, new], graph)
        both_new = model.decision_function(pairs, left=left[new], right=left[new])
        assert roc_auc_score(linked, both_new) > 0.85


def test_features_of_other_units_are_scaled():
    links, left, right = planted("bipartite", 60, 50)
    plain = LinkPredictor(0.5, cv=0, scale=True).fit(links, left, right)
    other = LinkPredictor(0.5, cv=0).fit(links, left * [1, 1e4] + [7, 0], right * [1e-3, 10])
    assert other.result_.objective == pytest.approx(plain.result_.objective, rel=2e-3)


# -- manners -----------------------------------------------------------------------------------------------------


@EVERY
def test_it_is_an_estimator(tmp_path, graph):
    assert clone(LinkPredictor(2.0, graph=graph)).get_params()["graph"] == graph
    links, left, right = planted(graph)
    both = (left, right) if graph == "bipartite" else (left,)
    for features in ((), both):
        model = LinkPredictor(0.3, graph=graph, random_state=0).fit(links, *features)
        nearer.save(model, tmp_path / "m.nearer")
        again = nearer.load(tmp_path / "m.nearer")
        pairs, _ = every_pair(links, graph)
        np.testing.assert_array_equal(again.decision_function(pairs), model.decision_function(pairs))
        np.testing.assert_array_equal(again.predict_proba(pairs), model.predict_proba(pairs))
        np.testing.assert_array_equal(again.recommend(k=3).items, model.recommend(k=3).items)
        same = LinkPredictor(0.3, graph=graph, random_state=0).fit(links, *features)
        np.testing.assert_array_equal(same.left_embedding_, model.left_embedding_)


def test_max_rank_limits_the_dimension():
    assert LinkPredictor(0.01, max_rank=2, cv=0).fit(planted("bipartite")[0]).left_embedding_.shape[1] <= 2


def test_a_strong_penalty_says_so():
    with pytest.warns(UserWarning, match="so strong"):
        LinkPredictor(1e6, cv=0).fit(planted("bipartite")[0])


# -- bad input ---------------------------------------------------------------------------------------------------


def square(*places, n=4):
    return sparse.csr_matrix((np.ones(len(places)), np.array(places).reshape(-1, 2).T), shape=(n, n))


@pytest.mark.parametrize(
    ("graph", "R", "words"),
    [
        ("undirected", square((0, 1), (2, 2)), "object 2 with itself"),
        ("directed", square((1, 1)), "object 1 with itself"),
        ("directed", Interactions(["a", "b"], ["b", "b"]), "'b' with itself"),
        ("bipartite", square(), "no link"),
        ("undirected", square(), "no link"),
        ("undirected", square(n=1), "no link"),
        ("bipartite", sparse.csr_matrix(np.ones((3, 2))), "links all pairs"),
        ("undirected", square((0, 1), n=2), "links all pairs"),
        ("directed", sparse.csr_matrix(1 - np.eye(3)), "links all pairs"),
        ("undirected", sparse.csr_matrix(np.ones((3, 4))), "(3, 4)"),
        ("bipartite", np.ones((3, 3)), "ndarray"),
        ("bipartite", [[0, 1]], "list"),
    ],
)
def test_bad_links_are_refused(graph, R, words):
    with refused(words, parameter="R"):
        LinkPredictor(0.1, graph=graph, cv=0).fit(R)


def test_nan_is_no_weight():
    with refused():
        LinkPredictor(0.1, cv=0).fit(sparse.csr_matrix([[np.nan, 0], [0, 1]]))


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"beta": -1.0}, "beta"),
        ({"beta": "none"}, "beta"),
        ({"graph": "one"}, "graph"),
        ({"graph": None}, "graph"),
        ({"rule": "none"}, "rule"),
        ({"offset": np.inf}, "offset"),
        ({"offset": "none"}, "offset"),
        ({"loss": "hinge"}, "loss"),
        ({"negatives": 0}, "negatives"),
        ({"negatives": "some"}, "negatives"),
        ({"balance": 0.0}, "balance"),
        ({"cv": 1}, "cv"),
        ({"beta": "auto", "cv": 0}, "cv"),
        ({"scale": "yes"}, "scale"),
        ({"tol": -1}, "tol"),
    ],
)
def test_bad_settings_are_refused(settings, parameter):
    with refused(parameter=parameter):
        LinkPredictor(**{"beta": 1.0} | settings).fit(planted("bipartite")[0])


@pytest.mark.parametrize(
    ("graph", "features", "parameter", "words"),
    [
        ("bipartite", {"left": np.ones((24, 2))}, "left", "constant"),
        ("bipartite", {"right": np.ones((19, 2))}, "right", "(19, 2)"),
        ("bipartite", {"left": np.full((24, 2), np.nan)}, "left", "NaN"),
        ("undirected", {"left": [["a"]] * 24}, "left", "numbers"),
        ("undirected", {"right": np.eye(24)}, "right", "one set"),
        ("directed", {"left": np.eye(24), "right": np.eye(24)}, "right", "one set"),
        ("bipartite", {"left": np.eye(20), "right": np.eye(24)}, "R", "transposed"),
    ],
)
def test_bad_features_are_refused(graph, features, parameter, words):
    with refused(words, parameter=parameter):
        LinkPredictor(0.1, graph=graph, cv=0).fit(planted(graph)[0], **features)


def test_bad_questions_are_refused():
    links, left, _ = planted("undirected")
    model = LinkPredictor(0.3, graph="undirected", cv=0).fit(links, left)
    for pairs in ([0, 1], [[0, 1, 2]], [[0.5, 1.0]], [[0, 24]], [[-1, 0]], [["a", "b"]]):
        with refused(parameter="pairs"):
            model.decision_function(pairs)
    with refused("itself", parameter="pairs", row=1):
        model.predict([[0, 1], [2, 2]])
    assert model.predict(np.empty((0, 2), int)).shape == (0,)
    with refused("(3,)", parameter="left"):
        model.predict([[0, 1]], left=np.zeros(3))
    with refused("3 columns", parameter="features"):
        model.embed_left(np.zeros((2, 3)))
    with refused(parameter="y"):
        model.score([[0, 1], [2, 3]], [1, 1])
    with refused(parameter="y"):
        model.score([[0, 1], [2, 3]], [1])
    with refused("fit had no features", parameter="right"):
        LinkPredictor(0.3, cv=0).fit(planted("bipartite")[0]).predict([[0, 0]], right=left)


def test_objects_without_links_are_told_apart_from_others():
    """An object without links is one that links to nothing."""
    links, *_ = planted("undirected")
    wide = sparse.csr_matrix((links.data, links.nonzero()), shape=(26, 26))
    model = LinkPredictor(0.3, graph="undirected", cv=0).fit(wide)
    assert not model.predict([[24, j] for j in range(24)]).any()


def test_the_loss_is_that_of_the_paper():
    model = LinkPredictor(0.3, loss=LogisticLoss(), cv=0).fit(planted("bipartite")[0])
    assert model.result_.details["loss"] == LinkLoss().name


@pytest.mark.parametrize("graph", ["undirected", "directed"])
def test_two_sets_taken_for_one_are_named(graph):
    seen = Interactions(["ann", "bob", "bob"], ["tea", "tea", "milk"])
    with pytest.warns(UserWarning, match=f"share no name, but graph='{graph}'.*bipartite"):
        LinkPredictor(0.1, graph=graph, cv=0).fit(seen)
