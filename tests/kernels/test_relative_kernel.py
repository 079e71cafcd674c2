"""RelativeKernel: what users see."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

import nearer
from nearer import Comparisons, RelativeKernel, datasets, losses, metrics
from nearer.errors import InputError
from nearer.kernels import base
from nearer.solvers import AcceleratedProximalGradient, ProximalGradient
from tests.registries import SquaredHinge


def data(n=20, q=1500, noise=0.0, seed=0, **kind):
    answers, truth = datasets.planted(n, 2, q, noise=noise, scale=1.0, random_state=seed, **kind)
    return answers, truth


@pytest.fixture(scope="module")
def fitted():
    return RelativeKernel(trace_penalty=1e-3).fit(data()[0])


# -- the kernel -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [*losses.LOSSES, SquaredHinge()], ids=str)
@pytest.mark.parametrize("kind", ["triplets", "quadruplets"])
def test_planted_answers_are_recovered(loss, kind):
    answers, truth = data(q=2500, kind=kind)
    train, test = answers.split(test_size=500, random_state=0)
    model = RelativeKernel(loss, trace_penalty=3e-4).fit(train)
    assert model.score(test) > 0.93
    values = np.linalg.eigvalsh(model.kernel_)
    assert values[0] > -1e-10 * values[-1]
    np.testing.assert_array_equal(model.kernel_, model.kernel_.T)
    np.testing.assert_allclose(model.kernel_.sum(axis=1), 0, atol=1e-8 * values[-1])
    assert metrics.procrustes_distance(model.embedding(2), truth) < 0.3  # of unrelated points about 0.9


def test_noise_is_smoothed_over():
    answers, _ = data(noise=0.15)
    clean, _ = data(q=3000, seed=0)
    model = RelativeKernel(trace_penalty=3e-3).fit(answers)
    assert model.score(clean) > 0.88


@pytest.mark.parametrize("loss", ["ste", "gnmds"])
def test_weights_are_repeated_rows(loss):
    answers, _ = data(q=300, noise=0.1)
    weights = np.where(np.arange(300) < 100, 3.0, 1.0)
    weighted = Comparisons(answers.indices, 20, weights=weights)
    repeated = Comparisons(np.concatenate([answers.indices, *[answers.indices[:100]] * 2]), 20)
    one, two = (RelativeKernel(loss, trace_penalty=3e-3, tol=1e-6).fit(c) for c in (weighted, repeated))
    assert one.result_.objective == pytest.approx(two.result_.objective, rel=1e-5)
    np.testing.assert_allclose(one.kernel_, two.kernel_, atol=0.05 * one.kernel_.max())


def test_answers_of_weight_zero_do_not_count():
    answers, _ = data(q=400)
    weights = (np.arange(400) < 300).astype(float)
    one = RelativeKernel(trace_penalty=1e-2).fit(Comparisons(answers.indices, 20, weights=weights))
    two = RelativeKernel(trace_penalty=1e-2).fit(answers[:300])
    np.testing.assert_allclose(one.kernel_, two.kernel_, atol=1e-9)


def test_stronger_penalties_give_smaller_ranks():
    answers, _ = data(noise=0.1)
    models = [RelativeKernel(trace_penalty=p).fit(answers) for p in (1e-3, 1e-2, 1.0)]
    ranks = [model.rank_ for model in models]
    assert ranks[0] > ranks[1] > ranks[2] == 0
    assert not models[2].kernel_.any()
    assert not models[2].predict(answers).any()  # all are ties
    for model in models:
        assert model.rank_ == base.KernelModel.rank_.fget(model)  # by decomposition


@pytest.mark.parametrize("loss", ["ste", "gnmds", "ckl", "tste", "soe"])
def test_the_gram_form_of_limited_rank(loss):
    answers, _ = data()
    model = RelativeKernel(loss, trace_penalty=0.0, max_rank=2).fit(answers)
    assert model.rank_ == 2
    assert model.score(answers) > 0.9
    assert abs(model.kernel_.sum()) < 1e-8 * model.kernel_.max()
    assert model.result_.details["minimum"] == "stationary point"


def test_a_start_of_higher_rank_is_cut():
    answers, _ = data()
    model = RelativeKernel("ckl", trace_penalty=0.0, max_rank=3, init=np.eye(20), max_epochs=1).fit(answers)
    assert model.rank_ <= 3


def test_details_say_what_kind_of_minimum_it_is(fitted):
    details = fitted.result_.details
    assert details["convex"]
    assert details["minimum"] == "global, up to the gap"
    assert details["primal"] == fitted.result_.objective
    assert details["gap"] == details["primal"] - details["dual"]
    assert 0 <= details["gap"] <= 1e-3 * details["primal"]
    other = RelativeKernel("ckl", trace_penalty=1e-3).fit(data()[0]).result_.details
    assert not other["convex"]
    assert other["minimum"] == "stationary point"
    assert "gap" not in other


def test_a_given_start_matters_only_where_the_problem_is_not_convex():
    answers, _ = data(q=300, noise=0.1)
    K = (lambda X: X @ X.T)(np.random.default_rng(0).normal(size=(20, 20)))
    kernels = [
        RelativeKernel(trace_penalty=1e-2, tol=1e-7, init=init).fit(answers).kernel_ for init in ("auto", K)
    ]
    np.testing.assert_allclose(kernels[0], kernels[1], atol=1e-3)
    one_step = {"max_epochs": 1, "tol": 0.0, "solver": ProximalGradient(factored=False)}
    begun = RelativeKernel("ckl", trace_penalty=0.0, init=K, **one_step).fit(answers).kernel_
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    auto = RelativeKernel("ckl", trace_penalty=0.0, **one_step).fit(answers).kernel_
    assert np.linalg.norm(begun - centred) < np.linalg.norm(auto - centred)


# -- the choice of the penalty ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["ste", "gnmds", "ckl"])
def test_auto_chooses_on_held_out_answers(loss):
    answers, _ = data(noise=0.15)
    model = RelativeKernel(loss, random_state=0).fit(answers)
    errors = model.result_.details["held_out_errors"]
    chosen = f"{model.trace_penalty_:.4g}"
    assert errors[chosen] == min(errors.values())
    assert len(errors) >= 3
    clean = data(q=3000)[0]
    assert model.score(clean) > 0.85
    weakest = RelativeKernel(loss, trace_penalty=1e-6, max_epochs=300).fit(answers)
    assert model.score(clean) > weakest.score(clean) - 0.01


def test_warm_starts_do_not_change_the_end():
    """The path ends in the kernel that its last penalty has when fitted alone."""
    answers, _ = data(noise=0.15)
    model = RelativeKernel(random_state=0, tol=1e-6).fit(answers)
    cold = RelativeKernel(trace_penalty=model.trace_penalty_, tol=1e-6).fit(answers)
    assert model.result_.objective == pytest.approx(cold.result_.objective, rel=1e-6)
    np.testing.assert_allclose(model.kernel_, cold.kernel_, atol=1e-2 * cold.kernel_.max())


def test_the_seed_draws_the_folds():
    answers, _ = data(q=300, noise=0.15)
    errors = [
        RelativeKernel(random_state=seed).fit(answers).result_.details["held_out_errors"]
        for seed in (0, 0, 1)
    ]
    assert errors[0] == errors[1]
    assert errors[0] != errors[2]


def test_folds_do_not_separate_trials(monkeypatch):
    seen = []
    folds = Comparisons.folds

    def spy(self, *args, **settings):
        seen.append(folds(self, *args, **settings))
        return seen[-1]

    monkeypatch.setattr(Comparisons, "folds", spy)
    answers, _ = data(q=300)
    grouped = Comparisons(answers.indices, 20, groups=np.arange(300) // 3)
    RelativeKernel(random_state=0, tol=0.1).fit(grouped)
    for train, test in seen[0]:
        assert not set(grouped.groups[train]) & set(grouped.groups[test])


def test_too_few_answers_are_not_held_out():
    model = RelativeKernel().fit([[0, 1, 2], [1, 0, 2]])
    assert "held_out_errors" not in model.result_.details
    assert model.trace_penalty_ > 0
    assert model.score([[0, 1, 2], [1, 0, 2]]) == 1


def test_the_documentation_tells_how_the_path_goes():
    from nearer.kernels import _penalty

    page = Path(__file__).parents[2] / "docs" / "api" / "kernels.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    assert '`"auto"` halves it from the least value that leaves nothing but K = 0' in text
    assert "twice in a row does not fall" in text
    assert (_penalty._FACTOR, _penalty._PATIENCE) == (0.5, 2)


def test_contradicting_answers_leave_nothing_to_learn():
    model = RelativeKernel().fit([[0, 1, 2], [0, 2, 1]] * 30)
    assert not model.kernel_.any()


# -- asking -----------------------------------------------------------------------------------------------------------


def test_predictions_follow_from_the_kernel(fitted):
    questions = [[0, 1, 2], [5, 6, 7]]
    K = fitted.kernel_
    near, far = K[0, 0] + K[1, 1] - 2 * K[0, 1], K[0, 0] + K[2, 2] - 2 * K[0, 2]
    assert fitted.predict(questions)[0] == (near < far)
    assert fitted.predict(questions).dtype == bool
    assert fitted.predict_proba(questions)[0] == pytest.approx(1 / (1 + np.exp(near - far)))
    assert fitted.predict([[0, 1, 2, 3]])[0] == (near < K[2, 2] + K[3, 3] - 2 * K[2, 3])
    turned = fitted.predict([[0, 2, 1]])
    assert turned[0] != fitted.predict(questions)[0]


def test_scores_are_weighted(fitted):
    answers = Comparisons([[0, 1, 2], [0, 2, 1]], 20, weights=[3.0, 1.0])
    assert fitted.score(answers) in (0.75, 0.25)
    assert fitted.score([[0, 1, 2], [0, 1, 2]], [1, -1]) == 0.5
    with pytest.raises(InputError, match="the score of no comparisons is undefined"):
        fitted.score(answers[:0])


def test_only_losses_with_a_probability_give_one():
    hinge = RelativeKernel("gnmds", trace_penalty=1e-2).fit(data(q=100)[0])
    assert not hasattr(hinge, "predict_proba")
    assert hasattr(RelativeKernel("ckl"), "predict_proba")


def test_embedding_is_the_best_of_its_rank(fitted):
    whole = fitted.embedding(20)
    np.testing.assert_allclose(whole @ whole.T, fitted.kernel_, atol=1e-8 * fitted.kernel_.max())
    plane = fitted.embedding(2)
    np.testing.assert_allclose(plane, whole[:, :2], atol=1e-8)
    assert (abs(plane).max(axis=0) == plane.max(axis=0)).all()  # a fixed sign
    np.testing.assert_allclose(
        plane.T @ plane, np.diag(np.linalg.eigvalsh(fitted.kernel_)[:-3:-1]), atol=1e-8
    )
    with pytest.raises(InputError, match="n_components is 21 but the kernel has 20 objects"):
        fitted.embedding(21)


def test_embedding_by_lanczos_equals_the_whole_spectrum():
    X = np.random.default_rng(0).normal(size=(300, 6)) * np.arange(1, 7)
    values, vectors = base.leading_eigenpairs(X @ X.T, 4)
    exact, basis = np.linalg.eigh(X @ X.T)
    np.testing.assert_allclose(values, exact[:-5:-1], rtol=1e-9)
    np.testing.assert_allclose(abs(np.sum(vectors * basis[:, :-5:-1], axis=0)), 1, atol=1e-8)
    assert base.leading_eigenpairs(X @ X.T, 10)[0][6:] == pytest.approx(np.zeros(4), abs=1e-8)


def test_names_are_kept_and_used():
    answers = Comparisons([("cat", "dog", "car"), ("car", "bus", "cat"), ("dog", "cat", "bus")])
    model = RelativeKernel("gnmds", trace_penalty=1e-3).fit(answers)
    assert model.names_ == ("bus", "car", "cat", "dog")
    assert model.predict([("cat", "dog", "bus")]).all()
    with pytest.raises(InputError, match="does not know the object 'sun'"):
        model.predict([("cat", "dog", "sun")])
    with pytest.raises(InputError, match="about 7 objects but the model knows 4"):
        model.predict([[0, 1, 6]])


# -- manners ----------------------------------------------------------------------------------------------------------


def test_clone_search_and_cross_validation():
    answers, _ = data(q=400, noise=0.1)
    model = RelativeKernel("gnmds", trace_penalty=0.01, max_rank=4, tol=1e-2)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(RelativeKernel(tol=1e-2), {"trace_penalty": [1e-3, 1e-2]}, cv=answers.folds(3))
    search.fit(answers)
    assert search.best_score_ > 0.7
    scores = cross_val_score(RelativeKernel(trace_penalty=1e-2), answers, cv=answers.folds(3, random_state=0))
    assert (scores > 0.7).all()


def test_pickles_and_files_predict_the_same_bits(fitted, tmp_path):
    questions = data(q=200, seed=5)[0]
    for other in (
        pickle.loads(pickle.dumps(fitted)),
        nearer.load(nearer.save(fitted, tmp_path / "k.nearer")),
    ):
        np.testing.assert_array_equal(other.kernel_, fitted.kernel_)
        np.testing.assert_array_equal(other.predict_proba(questions), fitted.predict_proba(questions))
        assert other.rank_ == fitted.rank_
        assert dict(other.result_.details) == dict(fitted.result_.details)
        assert other.get_params() == fitted.get_params()


def test_solvers_and_losses_of_a_file(tmp_path):
    solver = AcceleratedProximalGradient(growth=1.2)
    model = RelativeKernel(losses.GNMDS(margin=2.0), trace_penalty=1e-2, solver=solver).fit(data(q=100)[0])
    loaded = nearer.load(nearer.save(model, tmp_path / "k.nearer"))
    assert loaded.solver == solver
    assert loaded.loss_ == losses.GNMDS(margin=2.0)


@pytest.mark.parametrize("loss", ["ste", "ckl"])
@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        ({"max_epochs": 2}, "epochs"),
        ({"max_evaluations": 100}, "evaluations"),
        ({"max_seconds": 1e-6}, "seconds"),
    ],
)
@pytest.mark.parametrize("penalty", [1e-3, "auto"])
def test_budgets(loss, budget, reason, penalty):
    model = RelativeKernel(loss, trace_penalty=penalty, tol=0.0, random_state=0, **budget).fit(data()[0])
    assert model.result_.stop_reason == reason
    assert np.isfinite(model.kernel_).all()


@pytest.mark.parametrize("penalty", [1e-3, "auto"])
def test_ctrl_c_keeps_the_best_so_far(penalty):
    seen = []

    def interrupt(progress):
        seen.append(progress.stage)
        if len(seen) == 200:
            raise KeyboardInterrupt

    model = RelativeKernel(trace_penalty=penalty, tol=1e-9, random_state=0, callback=interrupt).fit(data()[0])
    assert model.result_.stop_reason == "interrupted"
    assert model.score(data()[0]) > 0.7
    assert ("stopped_while" in model.result_.details) == (penalty == "auto")
    assert seen[0] == ("choosing trace_penalty" if penalty == "auto" else "fitting")


def test_a_callback_ends_the_fit():
    points = []

    def watch(progress):
        points.append(progress.points.shape[0])
        return progress.epoch == 3

    model = RelativeKernel(trace_penalty=1e-3, callback=watch).fit(data()[0])
    assert model.result_.stop_reason == "callback"
    assert points == [20] * 4


def test_a_progress_bar_is_shown(capsys):
    RelativeKernel(trace_penalty=1e-3, verbose=True).fit(data()[0])
    assert "objective" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"loss": "stee"}, ["loss", *losses.LOSSES, "'stee'"]),
        ({"trace_penalty": -1.0}, ["trace_penalty", "-1.0"]),
        ({"trace_penalty": "automatic"}, ["trace_penalty", '"auto"', "'automatic'"]),
        ({"max_rank": 0}, ["max_rank", "0"]),
        ({"solver": "stee"}, ["solver", "proximal", "'stee'"]),
        ({"solver": "lbfgs"}, ["'lbfgs'", "accelerated, proximal, ila"]),
        ({"loss": "ckl", "solver": "ila"}, ["'ila'", "convexity", "choose proximal"]),
        ({"trace_penalty": 0.0, "solver": "ila"}, ["trace_penalty", "above 0"]),
        ({"solver": nearer.solvers.LBFGS()}, ["'lbfgs'", "accelerated, proximal"]),
        ({"loss": "ckl", "solver": "accelerated"}, ["'accelerated'", "convexity", "choose proximal"]),
        ({"tol": -1.0}, ["tol", "-1.0"]),
        ({"max_epochs": 0}, ["max_epochs", "0"]),
        ({"init": "random"}, ["init", "(20, 20)", "'random'"]),
        ({"init": np.eye(3)}, ["init", "(3, 3)", "(20, 20)"]),
        ({"init": np.full((20, 20), np.nan)}, ["init", "NaN"]),
        ({"init": np.triu(np.ones((20, 20)))}, ["init", "symmetric"]),
        ({"init": np.diag([-1.0] + [1.0] * 19)}, ["init", "eigenvalue -1"]),
    ],
    ids=str,
)
def test_bad_settings_are_named_in_one_line(settings, named):
    with pytest.raises(InputError) as refused:
        RelativeKernel(**settings).fit(data(q=50)[0])
    message = str(refused.value)
    assert [text for text in named if text not in message] == []
    assert "\n" not in message


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ((np.empty((0, 3), dtype=int),), "no comparisons"),
        ((Comparisons([[0, 1, 2]], weights=[0.0]),), "weight"),
        ((Comparisons([[0, 1, 2]]), [1]), "leave y out"),
    ],
)
def test_bad_data_is_refused(given, named):
    with pytest.raises(InputError, match=named):
        RelativeKernel().fit(*given)
    with pytest.raises(NotFittedError):
        RelativeKernel().predict([[0, 1, 2]])
