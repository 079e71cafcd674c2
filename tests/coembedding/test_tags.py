"""TagRecommender: the objective of the paper, its certificate, lists, unknown users and items, features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import nearer
from nearer import Posts, TagRecommender
from nearer.losses import LogisticLoss, SmoothHingeLoss
from tests.refusals import refused


def planted(n_users=12, n_items=10, n_tags=15, per_user=5, n_own=3, seed=0):
    """Posts whose tags are the nearest to user and item together."""
    rng = np.random.default_rng(seed)
    users, items, tags = (rng.normal(size=(n, 2)) for n in (n_users, n_items, n_tags))
    rows = []
    for user in range(n_users):
        for item in rng.choice(n_items, per_user, replace=False):
            far = ((users[user] - tags) ** 2).sum(1) + ((items[item] - tags) ** 2).sum(1)
            rows += [(user, item, tag) for tag in np.argsort(far)[:n_own]]
    return Posts.from_array(rows, n_users=n_users, n_items=n_items, n_tags=n_tags)


def paper_objective(model, posts, margin, beta):
    """Equation 14, pair by pair, over the tags that occur."""
    there = model.tag_counts_ > 0
    points = model.user_embedding_, model.item_embedding_, model.tag_embedding_
    total = beta * sum((part**2).sum() for part in points)
    own = posts.csr().toarray() > 0
    for (user, item), mine in zip(posts.pairs, own, strict=True):
        far = ((points[0][user] - points[2]) ** 2).sum(1) + ((points[1][item] - points[2]) ** 2).sum(1)
        total += sum(float(margin.value(other - near)) for near in far[mine] for other in far[~mine & there])
    return total


@pytest.mark.parametrize("margin", [LogisticLoss(), SmoothHingeLoss()], ids=lambda margin: margin.name)
def test_the_objective_is_that_of_the_paper(margin):
    posts = planted()
    model = TagRecommender(beta=0.5, loss=margin).fit(posts)
    expected = paper_objective(model, posts, margin, 0.5)
    assert model.result_.objective * posts.n_posts == pytest.approx(expected, rel=1e-9)


def test_the_minimum_is_that_of_a_convex_solver():
    cvxpy = pytest.importorskip("cvxpy")
    posts = planted(5, 4, 5, per_user=3, n_own=2)
    assert len(np.unique(posts.tags)) == 5
    n_users, n_items, n_tags = posts.shape
    C = cvxpy.Variable((n_users + n_items + n_tags,) * 2, PSD=True)
    losses = []
    for (user, item), mine in zip(posts.pairs, posts.csr().toarray() > 0, strict=True):

        def distance(tag, user=user, item=item):
            tag, total = n_users + n_items + tag, 0.0
            for other in (user, n_users + item):
                total = total + C[other, other] + C[tag, tag] - 2 * C[other, tag]
            return total

        losses += [
            cvxpy.logistic(distance(near) - distance(far))
            for near in np.flatnonzero(mine)
            for far in np.flatnonzero(~mine)
        ]
    problem = cvxpy.Problem(cvxpy.Minimize(sum(losses) + 0.1 * cvxpy.trace(C)))
    problem.solve(solver="CLARABEL")
    model = TagRecommender(beta=0.1, tol=1e-6).fit(posts)
    assert model.result_.objective * posts.n_posts == pytest.approx(problem.value, rel=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "smooth-hinge"])
def test_the_gap_is_certified(loss):
    model = TagRecommender(beta=0.1, loss=loss, tol=1e-4).fit(planted())
    result = model.result_
    assert result.stop_reason == "tolerance"
    assert result.details["gap"] <= 1e-4 * result.objective
    assert result.details["rank"] == model.tag_embedding_.shape[1]


def test_what_was_planted_is_found():
    train, test = planted(40, 30, 20, per_user=12).split(random_state=0)
    model = TagRecommender(beta=0.3, loss="smooth-hinge").fit(train)
    popular = TagRecommender(beta=0.3, max_rank=1, max_epochs=1).fit(train)
    assert model.score(test, k=3) > 0.75
    assert model.score(test, k=3) > popular.score(test, k=3)


def test_beta_is_chosen_on_held_out_posts():
    train, test = planted(40, 30, 20, per_user=12).split(random_state=0)
    model = TagRecommender(random_state=0, tol=1e-2).fit(train)
    errors = model.result_.details["held_out_errors"]
    assert errors[f"{model.beta_:.4g}"] == min(errors.values())
    assert model.score(test, k=3) > 0.75


def test_max_rank_limits_the_dimension():
    assert TagRecommender(beta=0.1, max_rank=2).fit(planted()).user_embedding_.shape[1] <= 2


def test_weights_count_posts_as_often():
    """A weight of 2 everywhere is the same as half the penalty; a heavy post is learned better."""
    posts = planted()
    rows = np.stack([posts.users, posts.items, posts.tags], axis=1)
    doubled = TagRecommender(beta=1.0, tol=1e-7).fit(rows, weights=np.full(len(rows), 2.0))
    plain = TagRecommender(beta=0.5, tol=1e-7).fit(rows)
    assert doubled.result_.objective == pytest.approx(plain.result_.objective, rel=1e-6)
    heavy = TagRecommender(beta=1.0, tol=1e-7).fit(rows, weights=np.where(posts.users == 0, 5.0, 1.0))
    even = TagRecommender(beta=1.0, tol=1e-7).fit(rows)
    first = posts.pairs[:, 0] == 0
    margins = [part.predict_scores(*posts.pairs[first].T) for part in (heavy, even)]
    own = posts.csr().toarray()[first] > 0
    gaps = [scores[own].mean() - scores[~own & (heavy.tag_counts_ > 0)].mean() for scores in margins]
    assert gaps[0] > gaps[1]


def test_all_inputs_agree():
    import pandas as pd

    rows = [("bob", "tea", "hot"), ("ann", "tea", "hot"), ("ann", "tea", "green"), ("ann", "milk", "cold")]
    frame = pd.DataFrame(rows, columns=["user", "artist", "tag"])
    models = [TagRecommender(beta=0.1).fit(given) for given in (rows, frame, Posts.from_array(rows))]
    lists = [model.recommend(["ann", "bob"], "tea", k=2, names=True).items.tolist() for model in models]
    assert lists[0] == lists[1] == lists[2] == [["hot", "green"], ["hot", "green"]]


# -- unknown users and items -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    return TagRecommender(beta=0.1).fit(planted())


def test_scores_are_minus_distances(fitted):
    scores = fitted.predict_scores([3, 4], [5, 6])
    tags = fitted.tag_embedding_
    expected = -((fitted.user_embedding_[3] - tags) ** 2).sum(1) - (
        (fitted.item_embedding_[5] - tags) ** 2
    ).sum(1)
    np.testing.assert_allclose(scores[0], np.where(fitted.tag_counts_ > 0, expected, -np.inf), atol=1e-10)
    np.testing.assert_allclose(fitted.decision_function([(4, 6, 0), (3, 5, 2)]), [scores[1, 0], scores[0, 2]])


@pytest.mark.parametrize("unknown", [-1, 99, None, np.nan, "eve"])
def test_an_unknown_user_leaves_the_item(fitted, unknown):
    tags = fitted.tag_embedding_
    expected = -((fitted.item_embedding_[5] - tags) ** 2).sum(1)
    found = fitted.predict_scores([unknown], [5])[0]
    np.testing.assert_allclose(found, np.where(fitted.tag_counts_ > 0, expected, -np.inf), atol=1e-10)


def test_an_unknown_item_leaves_the_user(fitted):
    tags = fitted.tag_embedding_
    expected = -((fitted.user_embedding_[2] - tags) ** 2).sum(1)
    found = fitted.predict_scores([2], None)[0]
    np.testing.assert_allclose(found, np.where(fitted.tag_counts_ > 0, expected, -np.inf), atol=1e-10)


def test_nothing_known_leaves_popularity(fitted):
    posts = planted()
    counts = np.bincount(posts.tags, minlength=posts.shape[2])
    found = fitted.recommend(None, None, k=4)
    np.testing.assert_allclose(found.scores[0], np.sort(counts)[::-1][:4] / posts.n_posts)
    assert counts[found.items[0]].tolist() == np.sort(counts)[::-1][:4].tolist()


def test_a_user_without_posts_is_unknown():
    rows = planted()
    posts = Posts(rows.users, rows.items, rows.tags, n_users=20)
    model = TagRecommender(beta=0.1).fit(posts)
    np.testing.assert_allclose(model.predict_scores([15], [5]), model.predict_scores([-1], [5]))


def test_tags_of_no_post_are_never_recommended():
    posts = planted()
    wider = Posts(posts.users, posts.items, posts.tags, n_tags=40)
    found = TagRecommender(beta=0.1).fit(wider).recommend([0, -1], [0, -1], k=40)
    assert (found.items < 15).all()
    assert (found.items[:, -1] == -1).all()
    assert np.isneginf(found.scores[:, -1]).all()


def test_seen_tags_can_be_left_out(fitted):
    posts = planted()
    users, items = posts.pairs.T
    best = fitted.recommend(users, items, k=3, exclude_seen=True).items
    own = posts.csr().toarray() > 0
    assert not own[np.arange(len(best))[:, None], best].any()
    assert own[np.arange(len(best))[:, None], fitted.recommend(users, items, k=3).items].mean() > 0.8


def test_names_and_numbers(fitted):
    found = fitted.recommend(0, [1, 2], k=2)
    assert found.items.shape == (2, 2)
    assert fitted.recommend(0, [1, 2], k=2, names=True).items.tolist() == found.items.astype(str).tolist()
    assert fitted.recommend([], [], k=2).items.shape == (0, 2)


def test_the_score_is_f1_of_lists(fitted):
    posts = planted(seed=3)
    lists = fitted.recommend(*posts.pairs.T, k=5).items
    own = posts.csr().toarray() > 0
    hits = own[np.arange(len(lists))[:, None], lists].sum(axis=1)
    precision, recall = np.mean(hits / 5), np.mean(hits / own.sum(axis=1))
    assert fitted.score(posts) == pytest.approx(2 * precision * recall / (precision + recall))


def test_unknown_tags_count_as_missed():
    model = TagRecommender(beta=0.1).fit([("a", "x", "s"), ("a", "y", "t"), ("b", "x", "s")])
    assert model.score([("a", "x", "s")], k=1) == 1.0
    assert model.score([("a", "x", "s"), ("a", "x", "new")], k=1) == pytest.approx(2 / 3)


# -- features ----------------------------------------------------------------------------------------------------


def test_features_place_new_users_and_items():
    rng = np.random.default_rng(0)
    users, items, tags = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)), rng.normal(size=(12, 2))
    rows = []
    for user in range(40):
        for item in rng.choice(30, 8, replace=False):
            far = ((users[user] - tags) ** 2).sum(1) + ((items[item] - tags) ** 2).sum(1)
            rows += [(user, item, tag) for tag in np.argsort(far)[:2]]
    rows = np.array(rows)
    known = rows[rows[:, 0] < 30]
    model = TagRecommender(beta=0.1).fit(
        known, user_features=users[:30], item_features=sparse.csr_matrix(items)
    )
    new = Posts.from_array(rows[rows[:, 0] >= 30])
    found = model.recommend(new.pairs[:, 0], new.pairs[:, 1], k=2, user_features=users, item_features=items)
    own = new.csr().toarray() > 0
    assert own[np.arange(len(own))[:, None], found.items].mean() > 0.7
    with refused(parameter="user_features"):
        model.recommend(0, 0, user_features=users[:, :1])
    with refused("fitted without", parameter="item_features"):
        TagRecommender(beta=1.0).fit(known).recommend(0, 0, item_features=items)


def test_features_of_tags_reach_tags_of_no_post():
    posts = planted()
    features = np.random.default_rng(0).normal(size=(15, 3))
    model = TagRecommender(beta=0.1).fit(posts, tag_features=features)
    np.testing.assert_allclose(model.tag_embedding_, features @ model.tag_factor_)
    assert np.isfinite(model.predict_scores([0], [0])).all()


# -- manners -----------------------------------------------------------------------------------------------------


def test_it_is_an_estimator(tmp_path, fitted):
    assert clone(TagRecommender(beta=2.0)).get_params()["beta"] == 2.0
    nearer.save(fitted, tmp_path / "m.nearer")
    again = nearer.load(tmp_path / "m.nearer")
    np.testing.assert_array_equal(
        again.recommend([0, -1], [1, 2]).items, fitted.recommend([0, -1], [1, 2]).items
    )


@pytest.mark.parametrize(
    ("posts", "shown"),
    [
        ([(0, 0, 0), (0, 0, 1), (0, 0, 0)], "occurs again"),
        ([(0, 0, 0), (1, 0, 0)], "1 different tag"),
        (np.empty((0, 3), int), "0 different tags"),
        ([(0, 0)], "(q, 3)"),
        ([(0.0, 0.0, np.nan)], "empty"),
        ("posts.csv", "Posts.read"),
    ],
)
def test_bad_posts_are_refused(posts, shown):
    with refused(shown):
        TagRecommender(beta=0.1).fit(posts)


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"beta": -1.0}, "beta"),
        ({"beta": "none"}, "beta"),
        ({"loss": "hinge"}, "loss"),
        ({"tol": -1}, "tol"),
        ({"solver": "newton"}, "solver"),
        ({"solver": "central-path", "max_rank": 3}, "max_rank"),
    ],
)
def test_bad_settings_are_refused(settings, parameter):
    with refused(parameter=parameter):
        TagRecommender(**{"beta": 1.0} | settings).fit([(0, 0, 0), (0, 0, 1), (1, 0, 1)])


def test_bad_questions_are_refused(fitted):
    for users, items in (([-2], [0]), ([0.5], [0]), ([[0]], [0]), ([0, 1], [0, 1, 2])):
        with refused():
            fitted.recommend(users, items)
    with refused(row=1):
        fitted.decision_function([(0, 0, 0), (0, 0, 99)])
    with refused("(3,)"):
        fitted.decision_function([0, 0, 0])
    with refused("names"):
        fitted.score([("a", "b", "c")])


def test_bad_features_are_refused():
    posts = planted()
    for features, shown in (
        (np.ones((3, 2)), "(3, 2)"),
        (np.ones((12, 2)), "constant"),
        ([["a"]] * 12, "numbers"),
    ):
        with refused(shown, parameter="user_features"):
            TagRecommender(beta=0.1).fit(posts, user_features=features)


def test_a_strong_penalty_says_so():
    with pytest.warns(UserWarning, match="so strong"):
        TagRecommender(beta=1e6).fit(planted())


def test_posts_with_every_tag_say_nothing():
    rows = [(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)]
    with pytest.warns(UserWarning, match="all points are equal"):
        model = TagRecommender(beta=0.1).fit(rows)
    assert model.result_.objective == 0


def test_both_solvers_find_the_same_minimum():
    posts = planted(seed=4)
    found = [
        TagRecommender(0.5, solver=solver, tol=1e-6, random_state=0).fit(posts)
        for solver in ("ila", "central-path")
    ]
    first, second = (model.result_ for model in found)
    assert first.stop_reason == second.stop_reason == "tolerance"
    assert first.objective == pytest.approx(second.objective, rel=2e-6)
    assert "slack" in second.details
    assert found[1].score(posts) == pytest.approx(found[0].score(posts), abs=0.01)


def test_a_weak_strength_is_left_to_the_central_path():
    posts = planted(seed=4)
    for beta, followed in ((1e-4, True), (1.0, False)):
        model = TagRecommender(beta, tol=1e-2, max_epochs=3, random_state=0).fit(posts)
        assert bool(np.isnan(model.result_.history["rank"][0])) == followed
    limited = TagRecommender(1e-4, max_rank=2, max_epochs=3, random_state=0).fit(posts)
    assert not np.isnan(limited.result_.history["rank"]).any()


def test_the_central_path_refuses_features_of_tags():
    posts = planted()
    with refused("needs inner_products"):
        TagRecommender(1.0, solver="central-path").fit(posts, tag_features=np.eye(15))


def test_the_central_path_takes_a_choice_of_strength():
    model = TagRecommender(solver="central-path", random_state=0).fit(planted(per_user=9))
    assert model.result_.stop_reason == "tolerance"
    assert len(model.result_.details["held_out_errors"]) > 1
