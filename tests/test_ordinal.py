"""The estimator: quality on known answers, scikit-learn manners, stopping, saving what it chose."""

import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

import nearer
from nearer import datasets, losses, metrics, solvers
from nearer.comparisons import Comparisons
from tests.refusals import refused
from tests.registries import SquaredHinge, planted


@pytest.fixture(scope="module")
def answers():
    return datasets.planted(40, 2, 6000, noise=0.05, scale=1.0, random_state=1)


@pytest.fixture(scope="module")
def fitted(answers):
    return nearer.OrdinalEmbedding(2, loss="ste", random_state=0).fit(answers.comparisons)


def test_finds_the_planted_map(answers, fitted):
    assert metrics.procrustes_distance(fitted.embedding_, answers.embedding) < 0.05
    assert fitted.score(answers.comparisons) > 0.9


@pytest.mark.parametrize("loss", ["gnmds", "ckl", "ste", "tste", "soe", SquaredHinge()])
def test_every_loss_finds_the_planted_map(answers, loss):
    est = nearer.OrdinalEmbedding(2, loss=loss, l2=0.01, random_state=0, max_epochs=40)
    assert metrics.procrustes_distance(est.fit(answers.comparisons).embedding_, answers.embedding) < 0.08


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_low_dimensional_maps_do_not_fold(n_components, seed):
    answers, truth = datasets.planted(30, n_components, 3000, noise=0.1, scale=1.0, random_state=seed)
    est = nearer.OrdinalEmbedding(n_components, random_state=seed).fit(answers)
    from_truth = nearer.OrdinalEmbedding(
        n_components, loss=est.loss_, l2=est.l2_, solver="lbfgs", init=truth, tol=1e-6
    ).fit(answers)
    assert est.result_.objective < 1.003 * from_truth.result_.objective


def test_quadruplets():
    answers, truth = datasets.planted(30, 2, 4000, noise=0.05, kind="quadruplets", scale=1.0, random_state=0)
    est = nearer.OrdinalEmbedding(2, random_state=0).fit(answers)
    assert metrics.procrustes_distance(est.embedding_, truth) < 0.02


def test_predict_and_proba(answers, fitted):
    some = answers.comparisons[:500]
    near, far = (
        ((fitted.embedding_[some.indices[:, 0]] - fitted.embedding_[some.indices[:, c]]) ** 2).sum(1)
        for c in (1, 2)
    )
    np.testing.assert_array_equal(fitted.predict(some), near < far)
    assert fitted.predict(some).dtype == bool
    probability = fitted.predict_proba(some)
    np.testing.assert_allclose(probability, 1 / (1 + np.exp(near - far)))
    np.testing.assert_array_equal(probability > 0.5, fitted.predict(some))
    assert fitted.score(some) == pytest.approx(fitted.predict(some).mean())
    np.testing.assert_array_equal(fitted.predict(some.indices), fitted.predict(some))


def test_a_tie_is_false(fitted):
    model = clone(fitted).fit(planted())
    model.embedding_ = np.zeros_like(model.embedding_)
    assert not model.predict([[0, 1, 2]]).any()
    assert model.score([[0, 1, 2]]) == 0


def test_probability_is_absent_where_the_loss_has_none(answers):
    assert not hasattr(nearer.OrdinalEmbedding(loss="soe"), "predict_proba")
    assert not hasattr(nearer.OrdinalEmbedding(loss="auto"), "predict_proba")
    assert hasattr(nearer.OrdinalEmbedding(loss="ckl"), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        nearer.OrdinalEmbedding(loss="gnmds").predict_proba  # noqa: B018
    assert "'gnmds' has no probability: use ste, tste or ckl" in str(caught.value.__cause__)


def test_responses_turn_questions_into_answers(answers):
    questions = answers.comparisons.indices.copy()
    flipped = np.random.default_rng(0).random(len(questions)) < 0.5
    questions[flipped] = questions[flipped][:, [0, 2, 1]]
    responses = np.where(flipped, -1, 1)
    one = nearer.OrdinalEmbedding(2, l2=0.01, random_state=0).fit(questions, responses)
    two = nearer.OrdinalEmbedding(2, l2=0.01, random_state=0).fit(answers.comparisons)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    assert one.score(questions, responses) == pytest.approx(two.score(answers.comparisons))


# -- what was chosen --------------------------------------------------------------------------------------------------


def test_strength_follows_the_noise():
    typical = []
    for noise in (0.0, 0.3):
        chosen = []
        for seed in range(3):
            comparisons, _ = datasets.planted(40, 3, 3000, noise=noise, random_state=seed)
            est = nearer.OrdinalEmbedding(3, random_state=seed).fit(comparisons)
            chosen.append(est.l2_)
            errors = est.result_.details["held_out_errors"][est.loss_.name]
            assert est.result_.details["l2"] == est.l2_
            assert f"{est.l2_:g}" in errors
        typical.append(np.exp(np.mean(np.log(chosen))))
    assert typical[0] < typical[1]


def test_loss_auto_says_what_it_chose():
    answers, _ = datasets.planted(40, 5, 3000, noise=0.1, random_state=0)
    est = nearer.OrdinalEmbedding(5, loss="auto", random_state=0).fit(answers)
    details = est.result_.details
    assert details["loss"] == repr(est.loss_)
    errors, scores = details["held_out_errors"], details["held_out_scores"]
    assert list(errors) == list(scores) == ["soe", "tste", "robust-soe"]
    assert all(list(errors[name]) == list(scores[name]) for name in errors)
    chosen = scores[est.loss_.name][f"{est.l2_:g}"]
    assert chosen <= min(min(of_loss.values()) for of_loss in scores.values()) * 1.006
    assert details["choice_evaluations"] > 0


def test_automatic_choices_never_separate_a_group(monkeypatch):
    """Rows of a group share a side in every split that the choice makes."""
    base = planted()
    grouped = Comparisons(base.indices, 25, groups=np.arange(len(base)) // 5)
    sides = []
    original = Comparisons.split

    def spying(self, *arguments, **settings):
        parts = original(self, *arguments, **settings)
        sides.append([set(part.groups.tolist()) for part in parts])
        return parts

    monkeypatch.setattr(Comparisons, "split", spying)
    nearer.OrdinalEmbedding(2, random_state=0).fit(grouped)
    assert sides
    assert all(not (train & held) for train, held in sides)


def test_few_comparisons_need_no_trials():
    est = nearer.OrdinalEmbedding(2, random_state=0).fit([[0, 1, 2], [1, 0, 2], [3, 0, 1]])
    assert "held_out_errors" not in est.result_.details
    assert est.score([[0, 1, 2], [1, 0, 2]]) == 1


@pytest.mark.parametrize("loss", ["soe", "ste", "tste", "ckl"])
@pytest.mark.parametrize("seed", range(3))
def test_a_fit_to_few_comparisons_converges(loss, seed):
    answers, _ = datasets.planted(8, 2, 20, noise=0.1, random_state=seed)
    est = nearer.OrdinalEmbedding(2, loss=loss, random_state=0).fit(answers)
    assert est.result_.stop_reason == "tolerance"
    further = nearer.OrdinalEmbedding(
        2, loss=loss, l2=est.l2_, solver="lbfgs", init=est.embedding_, tol=0, random_state=0
    ).fit(answers)
    assert est.result_.objective < (1 + 1e-6) * further.result_.objective


def test_loss_auto_with_a_given_strength():
    answers, _ = datasets.planted(30, 4, 1000, random_state=0)
    est = nearer.OrdinalEmbedding(4, l2=0.02, random_state=0).fit(answers)
    assert est.l2_ == 0.02
    errors = est.result_.details["held_out_errors"]
    assert list(errors) == ["soe", "tste", "robust-soe"]
    assert all(list(each) == ["0.02"] for each in errors.values())
    est = nearer.OrdinalEmbedding(2, l2=0.02, loss="soe", random_state=0).fit(planted())
    assert "held_out_errors" not in est.result_.details  # nothing is left to choose


# -- randomness and threads -------------------------------------------------------------------------------------------


def test_same_seed_same_numbers_whatever_the_threads():
    answers, _ = datasets.planted(60, 2, 20_000, noise=0.1, random_state=0)
    one, two, three = (
        nearer.OrdinalEmbedding(2, random_state=seed, n_jobs=jobs).fit(answers).embedding_
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, three)


def test_restarts_keep_the_best():
    answers = planted()
    settings = {"loss": "gnmds", "l2": 0.0, "solver": "batch", "init": "random", "max_epochs": 30}
    single = nearer.OrdinalEmbedding(2, random_state=0, **settings).fit(answers)
    several = nearer.OrdinalEmbedding(2, random_state=0, n_init=6, **settings).fit(answers)
    assert several.result_.objective < single.result_.objective


def test_float32_is_kept():
    est = nearer.OrdinalEmbedding(2, dtype="float32", random_state=0).fit(planted())
    assert est.embedding_.dtype == np.float32
    assert est.score(planted()) > 0.85


# -- stopping ---------------------------------------------------------------------------------------------------------


def test_budgets_cover_the_trials():
    answers = planted()
    est = nearer.OrdinalEmbedding(2, max_evaluations=50_000, random_state=0).fit(answers)
    assert est.result_.stop_reason == "evaluations"
    assert 20_000 < est.result_.details["choice_evaluations"] < 30_000  # half is left for the fit itself
    assert est.result_.details["choice_evaluations"] + est.result_.n_evaluations < 60_000
    est = nearer.OrdinalEmbedding(2, max_seconds=1e-6, random_state=0).fit(answers)
    assert est.result_.stop_reason == "seconds"
    assert np.isfinite(est.embedding_).all()


def test_starts_share_one_budget():
    answers, _ = datasets.planted(60, 5, 20_000, random_state=0)
    est = nearer.OrdinalEmbedding(5, l2=0.01, n_init=50, max_evaluations=100_000, random_state=0).fit(answers)
    assert est.result_.n_evaluations <= 200_000


@pytest.mark.parametrize("l2", ["auto", 0.01])
def test_callback_stops(l2):
    est = nearer.OrdinalEmbedding(2, l2=l2, callback=lambda progress: progress.epoch >= 2, random_state=0)
    assert est.fit(planted()).result_.stop_reason == "callback"


@pytest.mark.parametrize("l2", ["auto", 0.01])
def test_ctrl_c_keeps_the_best(l2):
    def interrupt(progress):
        if progress.epoch == 4:
            raise KeyboardInterrupt

    est = nearer.OrdinalEmbedding(2, l2=l2, callback=interrupt, random_state=0).fit(planted())
    assert est.result_.stop_reason == "interrupted"
    assert est.embedding_.shape == (25, 2)


def test_ctrl_c_between_two_trials_keeps_what_was_found(monkeypatch):
    from nearer import calibration

    calls = []

    def interrupt(*arguments):
        calls.append(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration, "error_and_loss", interrupt)
    est = nearer.OrdinalEmbedding(2, random_state=0).fit(planted())
    assert calls
    assert est.result_.stop_reason == "interrupted"
    assert est.result_.details["stopped_while"] == "choosing loss and l2"
    assert np.isfinite(est.embedding_).all()


def test_ctrl_c_in_later_trials_keeps_the_best_of_the_earlier_ones():
    epochs = []

    def interrupt(progress):
        epochs.append(progress.epoch)
        if len(epochs) == 150:  # the second loss has just begun
            raise KeyboardInterrupt

    answers, _ = datasets.planted(40, 2, 6000, noise=0.05, random_state=0)
    est = nearer.OrdinalEmbedding(2, loss="auto", init="random", callback=interrupt, random_state=0).fit(
        answers
    )
    assert est.result_.stop_reason == "interrupted"
    assert est.score(answers) > 0.9


def test_ctrl_c_between_starts_keeps_the_finished_ones(monkeypatch):
    from nearer import ordinal

    calls = []
    original = ordinal.brought_back

    def interrupt_the_second(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(ordinal, "brought_back", interrupt_the_second)
    est = nearer.OrdinalEmbedding(2, l2=0.01, n_init=3, random_state=0).fit(planted())
    assert est.result_.stop_reason == "interrupted"
    assert est.score(planted()) > 0.85


def test_verbose_shows_a_bar_and_still_calls_back(capsys):
    seen = []
    nearer.OrdinalEmbedding(2, l2=0.01, verbose=True, callback=seen.append, random_state=0).fit(planted())
    assert "objective" in capsys.readouterr().err
    assert len(seen) > 3


# -- more answers -----------------------------------------------------------------------------------------------------


def test_partial_fit_goes_on_with_all_answers():
    answers, truth = datasets.planted(30, 2, 4000, noise=0.1, scale=1.0, random_state=0)
    est = nearer.OrdinalEmbedding(2, random_state=0)
    distances = []
    for start in range(0, 4000, 1000):
        est.partial_fit(answers[start : start + 1000])
        distances.append(metrics.procrustes_distance(est.embedding_, truth))
    assert distances[-1] < 0.6 * distances[0]
    assert est.score(answers) > 0.85


def test_partial_fit_is_cheap():
    """It goes on from the points it has instead of shaking them up again."""
    answers, _ = datasets.planted(30, 2, 4000, noise=0.1, random_state=0)
    est = nearer.OrdinalEmbedding(2, random_state=0).fit(answers[:3900])
    est.partial_fit(answers[3900:])
    objective = est.result_.history["objective"]
    assert objective.max() < 1.02 * objective[0]
    assert est.result_.n_epochs < 15


def test_partial_fit_after_loading_goes_by_name(tmp_path):
    letters = [("a", "b", "h"), ("h", "g", "a"), ("c", "b", "h"), ("g", "h", "b")]
    est = nearer.OrdinalEmbedding(1, l2=0.1, random_state=0).fit(Comparisons(letters * 10))
    nearer.save(est, tmp_path / "model.nearer")
    loaded = nearer.load(tmp_path / "model.nearer")
    loaded.partial_fit(Comparisons([("h", "g", "a"), ("x", "h", "a")] * 10, names=("x", "h", "g", "a")))
    assert loaded.names_ == ("a", "b", "c", "g", "h", "x")
    assert loaded.predict(Comparisons(letters)).all()


def test_partial_fit_with_another_dimension_is_refused():
    est = nearer.OrdinalEmbedding(2, l2=0.1, random_state=0).fit(planted())
    with refused("n_components is 3", "2 columns", "call fit"):
        est.set_params(n_components=3).partial_fit(planted())


def test_partial_fit_takes_new_objects_by_name():
    est = nearer.OrdinalEmbedding(2, random_state=0)
    est.partial_fit(Comparisons([("cat", "dog", "car"), ("dog", "cat", "car")] * 30))
    est.partial_fit(Comparisons([("cat", "dog", "bus"), ("bus", "car", "cat")] * 30))
    assert est.names_ == ("car", "cat", "dog", "bus")
    assert est.embedding_.shape == (4, 2)
    assert est.predict(Comparisons([("bus", "car", "cat")])).all()


# -- scikit-learn manners ---------------------------------------------------------------------------------------------


def test_clone_and_params():
    est = nearer.OrdinalEmbedding(3, loss=losses.TSTE(alpha=2), solver=solvers.LBFGS(), random_state=4)
    copy = clone(est)
    assert copy.get_params() == est.get_params()
    assert copy.set_params(n_components=5).n_components == 5
    assert not hasattr(copy, "embedding_")


def test_grid_search_and_cross_validation():
    answers = planted()
    search = GridSearchCV(
        nearer.OrdinalEmbedding(l2=0.01, random_state=0, max_epochs=20),
        {"n_components": [1, 2], "loss": ["ste", "soe"]},
        cv=answers.folds(3, random_state=0),
    ).fit(answers)
    assert search.best_params_["n_components"] == 2
    assert search.best_score_ > 0.8
    scores = cross_val_score(
        nearer.OrdinalEmbedding(2, l2=0.01, random_state=0, max_epochs=20), answers, cv=3
    )
    assert scores.min() > 0.75


def test_unfitted_is_said():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        nearer.OrdinalEmbedding().predict([[0, 1, 2]])


@pytest.mark.parametrize(
    ("settings", "remedies"),
    [
        ({"n_components": 0}, ["1 or more"]),
        ({"loss": "hinge"}, ["auto", "soe"]),
        ({"solver": "simplex"}, ["auto", "svrg-sbb"]),
        ({"l2": -1}, ["0 or more"]),
        ({"l2": "strong"}, ['"auto"', "at least 0"]),
        ({"callback": 3}, ["nearer.solvers.Progress"]),
        ({"init": "pca"}, ['"spectral"', "array"]),
        ({"n_init": 0}, ["1 or more"]),
        ({"n_jobs": 0}, ["1 or more"]),
        ({"dtype": "int32"}, ['"float64"', '"float32"']),
        ({"tol": -1}, ["0 or more"]),
        ({"max_epochs": 0}, ["1 or more"]),
    ],
)
def test_bad_settings_are_refused(settings, remedies):
    ((name, value),) = settings.items()
    with refused(f"{name} must be", f"not {value!r}", *remedies):
        nearer.OrdinalEmbedding(**{"l2": 0.1, **settings}).fit(planted())


def test_bad_comparisons_are_refused(fitted):
    with refused("no comparisons", "at least one"):
        nearer.OrdinalEmbedding().fit(planted()[:0])
    with refused("weight 0", "at least one"):
        nearer.OrdinalEmbedding().fit(Comparisons([[0, 1, 2]], weights=[0.0]))
    with refused("already hold their answers", "leave y out"):
        nearer.OrdinalEmbedding().fit(Comparisons([[0, 1, 2]]), [1])
    with refused("41 objects", "knows 40"):
        fitted.predict(Comparisons([[0, 1, 40]]))
    with refused("'a'", "by number", "pass indices"):
        fitted.predict([("c", "b", "a")])


@pytest.mark.parametrize(
    "comparisons",
    [
        Comparisons([[0, 1, 2], [0, 2, 1]] * 40, 10),  # they cancel each other
        Comparisons.from_rankings([0], [list(range(1, 13))]),  # one group: nothing to hold out
        Comparisons(planted().indices, 25, weights=[1.0] * 3 + [0.0] * 997),
        Comparisons(planted().indices, 25, weights=np.full(1000, 1e306)),
        Comparisons(planted().indices, 25, weights=np.full(1000, 1e-300)),
        Comparisons([[0, 1, 2]], 50),
    ],
    ids=["cancel", "one group", "few count", "huge weights", "tiny weights", "single"],
)
def test_odd_but_valid_comparisons(comparisons):
    est = nearer.OrdinalEmbedding(2, random_state=0).fit(comparisons)
    assert np.isfinite(est.embedding_).all()
    assert est.result_.stop_reason != "diverged"
    if len(comparisons) == 1000 and comparisons.weights.all():
        assert est.score(planted()) > 0.85


def test_an_answer_of_weight_zero_is_as_if_never_given():
    answers = planted()
    mixed = np.stack([answers.indices, answers.indices[:, [0, 2, 1]]], axis=1).reshape(-1, 3)
    zeros = Comparisons(mixed, 25, weights=np.tile([1.0, 0.0], len(answers)))
    one, two = (
        nearer.OrdinalEmbedding(2, max_epochs=10, random_state=0).fit(given) for given in (answers, zeros)
    )
    assert one.l2_ == two.l2_
    np.testing.assert_allclose(one.embedding_, two.embedding_, rtol=1e-9)


def test_n_jobs_minus_one_is_all_cores():
    answers = planted()
    every, one = (
        nearer.OrdinalEmbedding(2, l2=0.01, n_jobs=jobs, random_state=0).fit(answers) for jobs in (-1, 1)
    )
    np.testing.assert_array_equal(every.embedding_, one.embedding_)


@pytest.fixture(scope="module")
def named():
    train = [("a", "b", "z"), ("b", "a", "z"), ("z", "b", "a"), ("m", "z", "a"), ("b", "m", "z")]
    return nearer.OrdinalEmbedding(1, loss="ste", l2=0.01, random_state=0).fit(Comparisons(train * 20))


@pytest.mark.parametrize("kind", [list, np.array, lambda rows: np.array(rows, dtype=object)])
def test_arrays_of_names_may_be_about_few_of_the_objects(named, kind):
    rows = [("z", "b", "a"), ("z", "a", "b")]
    code = {name: at for at, name in enumerate(named.names_)}
    indices = [[code[name] for name in row] for row in rows]
    np.testing.assert_array_equal(named.predict(kind(rows)), named.predict(indices))
    np.testing.assert_array_equal(named.predict_proba(kind(rows)), named.predict_proba(indices))
    assert named.predict(kind(rows)).tolist() == [True, False]
    assert named.score(kind(rows)) == 0.5
    assert named.score(kind(rows), [1, -1]) == 1


def test_an_unknown_name_is_named_with_its_row(named):
    rows = [("z", "b", "a"), ("z", "b", "sun")]
    for ask in (named.predict, named.predict_proba, named.score):
        with refused("row 1", "'sun'"):
            ask(rows)
    spare = Comparisons([("z", "b", "a")], names=("z", "b", "a", "sun"))  # no row is about it
    assert named.predict(spare).tolist() == [True]


def test_compiling_is_told():
    from numba.core import event

    def compile_something(progress):
        with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
            time.sleep(0.01)

    settings = {"loss": "soe", "l2": 0.1, "max_epochs": 3, "random_state": 0}
    nearer.OrdinalEmbedding(2, **settings).fit(planted())  # whatever there is to compile is compiled
    assert "compile_seconds" not in nearer.OrdinalEmbedding(2, **settings).fit(planted()).result_.details
    est = nearer.OrdinalEmbedding(2, **settings, callback=compile_something).fit(planted())
    assert 0.04 <= est.result_.details["compile_seconds"] < 1


def test_names_are_matched_not_positions():
    train = Comparisons([("a", "b", "z"), ("b", "a", "z"), ("z", "b", "a")] * 20)
    est = nearer.OrdinalEmbedding(1, random_state=0).fit(train)
    question = Comparisons([("z", "b", "a")], names=("z", "b", "a"))
    assert question.indices.tolist() == [[0, 1, 2]]
    assert est.predict(question).tolist() == est.predict(train[2:3]).tolist()
