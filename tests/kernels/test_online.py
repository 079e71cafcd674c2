"""OnlineKernel as users hold it."""

import copy
import pickle
from functools import cache

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import nearer
from nearer import Comparisons, OnlineKernel
from nearer._utils.arrays import compared_distances
from nearer.datasets import planted
from nearer.errors import InputError
from nearer.kernels import _full, _smallest_eigenpair
from tests.refusals import refused

from .plain import plain_kernel

FORMS = {
    "whole": {},
    "whole, ste": {"update": "ste", "step": "1/sqrt(j)"},
    "whole, bounded": {"max_step": 0.05, "passes": 3},
    "whole, soft, shrinking": {"max_step": 0.5, "soft": True, "trace_penalty": 0.01},
    "whole, minimal": {"direction": "minimal", "step": "1/j", "step_size": 30.0},
    "whole, bound": {"skip": "bound", "update": "gnmds", "step_size": 0.1},
    "factored": {"rank": 3},
    "factored, ste": {"rank": 3, "update": "ste", "passes": 3, "trace_penalty": 0.02},
    "factored, gnmds": {"rank": 2, "update": "gnmds", "step_size": 0.02},
}


@pytest.fixture(scope="module")
def answers():
    return planted(25, 2, 900, random_state=0).comparisons


def form(name, **more):
    return OnlineKernel(25, random_state=7, **{**FORMS[name], **more})


@pytest.mark.parametrize("name", FORMS)
def test_an_answer_of_weight_zero_is_as_if_never_given(name, answers):
    some = answers[:200]
    wrong = some.indices[:, [0, 2, 1]]
    mixed = np.stack([some.indices, wrong], axis=1).reshape(-1, 3)
    weights = np.tile([0.7, 0.0], len(some))
    with_none = form(name).fit(Comparisons(some.indices, 25, weights=np.full(len(some), 0.7)))
    with_zeros = form(name).partial_fit(Comparisons(mixed, 25, weights=weights))
    assert with_zeros.n_seen_ == with_none.n_seen_ == 200
    np.testing.assert_array_equal(with_zeros.kernel_, with_none.kernel_)
    with_zeros.partial_fit(Comparisons(wrong, 25, weights=np.zeros(200)))
    np.testing.assert_array_equal(with_zeros.kernel_, with_none.kernel_)


@cache
def planted_and_plain(n, q, update, shrink=0.0):
    """Return answers about n objects, and the kernel that the plain method learns from them."""
    comparisons = planted(n, 5, q, random_state=1).comparisons
    return comparisons, plain_kernel(comparisons.indices, n, update=update, shrink=shrink)


@pytest.mark.parametrize("few", [0, 300])
@pytest.mark.parametrize(
    ("update", "shrink"),
    [("passive-aggressive", 0.0), ("passive-aggressive", 0.004), ("ste", 0.0), ("gnmds", 0.004)],
)
def test_equals_the_plain_method(update, shrink, few, monkeypatch):
    monkeypatch.setattr(_full, "_FEW", few)
    monkeypatch.setattr(_smallest_eigenpair, "_KEPT", 20)
    monkeypatch.setattr(_smallest_eigenpair, "_BETWEEN", 20)
    comparisons, expected = planted_and_plain(70, 400, update, shrink)
    online = OnlineKernel(70, update=update, trace_penalty=shrink).partial_fit(comparisons)
    np.testing.assert_allclose(online.kernel_, expected, atol=1e-8)
    assert online.n_negative_ > 50


def test_more_objects_than_the_low_space_holds(monkeypatch):
    monkeypatch.setattr(_full, "_FEW", 0)
    comparisons, expected = planted_and_plain(190, 700, "ste")
    online = OnlineKernel(190, update="ste").partial_fit(comparisons)
    assert online.held_.held.low.basis.shape[1] < 190
    assert online.n_negative_ > 100
    np.testing.assert_allclose(online.kernel_, expected, atol=1e-8)


def test_weights_bound_the_step(answers):
    few = answers[:80]
    weights = np.random.default_rng(0).uniform(0, 2, 80)
    weighted = Comparisons(few.indices, 25, weights=weights)
    for update in ("passive-aggressive", "ste"):
        online = OnlineKernel(25, update=update).partial_fit(weighted)
        expected = plain_kernel(few.indices, 25, update=update, weights=weights)
        np.testing.assert_allclose(online.kernel_, expected, atol=1e-8)
    first = Comparisons(few.indices[:1], 25, weights=[0.5])
    assert OnlineKernel(25, max_step=0.02).partial_fit(first).kernel_[
        tuple(few.indices[0, :2])
    ] == pytest.approx(2 * 0.02 * 0.5)
    soft = OnlineKernel(25, max_step=0.02, soft=True).partial_fit(few[:1]).kernel_
    assert soft[tuple(few.indices[0, :2])] == pytest.approx(2 / (10 + 1 / (2 * 0.02)))


def test_a_passive_aggressive_step_makes_the_answer_hold_by_the_margin():
    for direction in ("paper", "minimal"):
        online = OnlineKernel(9, direction=direction, margin=0.7).partial_fit([(3, 1, 5)])
        near, far = online._compared(np.array([[3, 1, 5]]))
        assert far - near == pytest.approx(0.7)
        before = online.kernel_
        np.testing.assert_array_equal(online.partial_fit([(3, 1, 5)]).kernel_, before)
        assert (online.n_seen_, online.n_steps_) == (2, 1)


def test_a_factored_step_goes_down_the_gradient():
    """A tiny step moves the points against the gradient of near - far, also where the pairs share an object."""
    points = np.random.default_rng(0).normal(size=(6, 3))
    for answer in [(0, 1, 2), (0, 1, 2, 3), (0, 1, 1, 2), (0, 1, 2, 0), (0, 1, 2, 1)]:
        online = OnlineKernel(6, rank=3, start=points, update="gnmds", margin=100.0, step_size=1e-6)
        moved = online.partial_fit(np.array([answer])).points_ - points
        i, j, k = answer[0], answer[1], answer[-1]
        l = answer[2] if len(answer) == 4 else i
        gradient = np.zeros_like(points)
        for row, sign, first, second in ((i, 1, i, j), (j, -1, i, j), (l, -1, l, k), (k, 1, l, k)):
            gradient[row] += sign * 2 * (points[first] - points[second])
        np.testing.assert_allclose(moved, -1e-6 * gradient, atol=1e-12)
        bold = OnlineKernel(6, rank=3, start=points, margin=1e-3, step_size=1.0)
        near, far = bold.partial_fit(np.array([answer]))._compared(np.array([answer]))
        start_near, start_far = compared_distances(points, np.array([answer]))
        if start_near - start_far > 0:
            assert near - far < start_near - start_far


@pytest.mark.parametrize("few", [0, 300])
@pytest.mark.parametrize("name", FORMS)
def test_chunks_make_no_difference(name, few, answers, monkeypatch):
    monkeypatch.setattr(_full, "_FEW", few)
    whole = form(name).partial_fit(answers[:300])
    parts = form(name)
    for start, stop in ((0, 1), (1, 2), (2, 77), (77, 300)):
        parts.partial_fit(answers[start:stop])
    np.testing.assert_array_equal(whole.kernel_, parts.kernel_)
    assert (whole.n_seen_, whole.n_steps_, whole.n_projections_) == (
        parts.n_seen_,
        parts.n_steps_,
        parts.n_projections_,
    )


@pytest.mark.parametrize("few", [0, 300])
@pytest.mark.parametrize("name", FORMS)
def test_save_and_load_resume_bit_for_bit(name, few, answers, tmp_path, monkeypatch):
    monkeypatch.setattr(_full, "_FEW", few)  # 0: the resolvent and the low space are saved, too
    online = form(name).partial_fit(answers[:301])
    loaded = nearer.load(nearer.save(online, tmp_path / "online.nearer"))
    np.testing.assert_array_equal(loaded.kernel_, online.kernel_)
    np.testing.assert_array_equal(loaded.predict(answers), online.predict(answers))
    for model in (online, loaded):
        model.partial_fit(answers[301:600])
    np.testing.assert_array_equal(loaded.kernel_, online.kernel_)
    np.testing.assert_array_equal(form(name).partial_fit(answers[:600]).kernel_, online.kernel_)
    assert loaded.n_seen_ == online.n_seen_ == 600
    assert loaded.n_skipped_ == online.n_skipped_


@pytest.mark.parametrize("name", FORMS)
def test_psd_finite_and_better_than_chance(name, answers):
    online = form(name).fit(answers[:700])
    values = np.linalg.eigvalsh(online.kernel_)
    assert values[0] >= -1e-10 * max(1, values[-1])
    assert online.score(answers[700:]) > 0.6
    assert online.n_projections_ + online.n_skipped_ == (0 if online.rank else online.n_steps_)


def test_planted_points_come_back():
    train, truth = planted(40, 2, 12_000, random_state=3)
    online = OnlineKernel(40, random_state=0).partial_fit(train)
    assert nearer.metrics.procrustes_distance(online.embedding(2), truth) < 0.1
    factored = OnlineKernel(40, rank=2, random_state=0)
    for _ in range(5):
        factored.partial_fit(train)
    assert nearer.metrics.procrustes_distance(factored.points_, truth) < 0.05


def test_contradictions_stay_finite_and_bounded(answers):
    flipped = Comparisons(answers.indices[:, [0, 2, 1]], 25)
    for name in FORMS:
        online = form(name)
        for _ in range(3):
            online.partial_fit(answers[:100]).partial_fit(flipped[:100])
        assert np.isfinite(online.kernel_).all()


def test_objects_can_be_added(answers):
    for name in ("whole", "factored", "whole, bound"):
        online = form(name).partial_fit(answers[:400])
        before = online.kernel_
        with pytest.raises(
            InputError, match="28 objects but the model knows 25: add the others with add_objects"
        ):
            online.partial_fit([(26, 3, 7), (27, 26, 25)])
        online.add_objects(3)
        np.testing.assert_allclose(online.kernel_[:25, :25], before, atol=1e-12)
        online.partial_fit([(26, 3, 7), (27, 26, 25)])
        assert online.kernel_.shape == (28, 28)
        assert np.linalg.eigvalsh(online.kernel_)[0] > -1e-10


def test_names():
    named = Comparisons([("cat", "dog", "car"), ("car", "bus", "dog")])
    online = OnlineKernel().partial_fit(named)
    assert online.names_ == named.names
    online.add_objects(names=["train"])
    online.partial_fit([("train", "bus", "cat")])
    assert online.predict([("train", "bus", "cat")]).all()
    with pytest.raises(InputError, match="does not know the object 'plane': add it with add_objects first"):
        online.partial_fit([("plane", "bus", "cat")])
    with pytest.raises(InputError, match="'bus' is taken"):
        online.add_objects(names=["bus"])
    with pytest.raises(InputError, match="name the new ones"):
        online.add_objects(2)
    assert online.n_seen_ == 3


def test_quadruplets_need_the_minimal_direction():
    quadruplets = [(0, 1, 2, 3), (0, 2, 1, 2), (3, 1, 0, 2)]
    with pytest.raises(InputError, match='direction="minimal"'):
        OnlineKernel(4).partial_fit(quadruplets)
    online = OnlineKernel(4, direction="minimal").partial_fit(quadruplets * 5)
    assert np.linalg.eigvalsh(online.kernel_)[0] > -1e-12


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"update": "sgd"}, ["update", "'sgd'", "'passive-aggressive', 'ste', 'gnmds'"]),
        ({"step": "1/j2"}, ["step", "'1/j2'", "'1/j'"]),
        ({"direction": "up"}, ["direction", "'up'", "'minimal'"]),
        ({"skip": "all"}, ["skip", "'all'", "'local'"]),
        ({"passes": 0}, ["passes", "0"]),
        ({"rank": 1.5}, ["rank", "1.5"]),
        ({"step_size": -1}, ["step_size", "-1"]),
        ({"trace_penalty": float("nan")}, ["trace_penalty", "nan"]),
        ({"max_step": 0}, ["max_step", "0"]),
        ({"max_seconds": 0}, ["max_seconds", "0"]),
        ({"callback": 3}, ["callback", "3"]),
        ({"start": 0}, ["start", "0"]),
        ({"start": np.diag([1.0, -1, 1])}, ["start", "eigenvalue -1"]),
        ({"start": np.eye(2)}, ["start", "(2, 2)", "(3, 3)"]),
        ({"start": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, ["start", "symmetric", "(start + start.T) / 2"]),
        ({"start": np.full((3, 3), np.inf)}, ["start", "infinity"]),
        ({"rank": 2, "start": np.eye(3)}, ["start", "(3, 3)", "(3, 2)"]),
        ({"update": "ste", "max_step": 1.0}, ["max_step", "'ste'"]),
        ({"soft": True}, ["soft", "set max_step"]),
        ({"rank": 2, "direction": "paper"}, ["rank", "leave direction out"]),
        ({"n_objects": 2}, ["2", "3 objects", "add_objects"]),
    ],
    ids=str,
)
def test_bad_settings_are_named_in_one_line(settings, named):
    with pytest.raises(InputError) as refused:
        OnlineKernel(**{"n_objects": 3, **settings}).partial_fit([(0, 1, 2)])
    message = str(refused.value)
    assert [text for text in named if text not in message] == []
    assert "\n" not in message


@pytest.mark.parametrize("weights", [None, np.full(900, 0.5)])
def test_kept_answers_are_not_moved_at_every_answer(answers, weights):
    given = Comparisons(answers.indices, 25, weights=weights)
    one_by_one, at_once = form("factored", passes=2), form("factored", passes=2).fit(given)
    homes = []
    for answer in range(900):
        one_by_one.partial_fit(given[answer : answer + 1])
        if not homes or one_by_one.kept_indices_.base is not homes[-1]:
            homes.append(one_by_one.kept_indices_.base)
    assert len(homes) < 10
    np.testing.assert_array_equal(one_by_one.kept_indices_, answers.indices)
    np.testing.assert_array_equal(one_by_one.kernel_, at_once.kernel_)


def test_copies_keep_answers_of_their_own(answers):
    online = form("factored", passes=2).fit(answers[:100])
    online.partial_fit(answers[100:110])  # leaves room behind
    for copied in (copy.copy(online), copy.deepcopy(online), pickle.loads(pickle.dumps(online))):
        assert not hasattr(copied, "_rooms")
        copied.partial_fit(answers[110:130])
        np.testing.assert_array_equal(copied.kept_indices_, answers.indices[:130])
    online.partial_fit(answers[200:220])
    expected = np.concatenate([answers.indices[:110], answers.indices[200:220]])
    np.testing.assert_array_equal(online.kept_indices_, expected)
    np.testing.assert_array_equal(copied.kept_indices_, answers.indices[:130])


def test_passes_cannot_begin_later(answers):
    online = OnlineKernel(25).partial_fit(answers[:10]).set_params(passes=2)
    with refused(2, "before", parameter="passes"):
        online.partial_fit(answers[10:20])


def test_what_a_whole_and_a_factored_kernel_can_say(answers):
    whole, factored = form("whole").fit(answers), form("factored").fit(answers)
    with pytest.raises(AttributeError, match="embedding"):
        _ = whole.points_
    assert factored.rank_ == 3
    np.testing.assert_allclose(factored.embedding(5)[:, 3:], 0)
    np.testing.assert_allclose(
        factored.embedding(3) @ factored.embedding(3).T, factored.points_ @ factored.points_.T, atol=1e-9
    )
    for model in (whole, factored):
        np.testing.assert_array_equal(model.predict_proba(answers) > 0.5, model.predict(answers))
    assert not hasattr(OnlineKernel(update="gnmds"), "predict_proba")


def test_the_rank_of_very_many_objects_needs_no_whole_kernel():
    online = OnlineKernel(300_000, rank=3, random_state=0).partial_fit([(0, 1, 2)])
    assert online.rank_ == 3  # a whole kernel of them would need 720 GB
    assert OnlineKernel(3, rank=5, random_state=0).partial_fit([(0, 1, 2)]).rank_ == 3


def test_no_answers_tell_no_objects():
    with pytest.raises(InputError, match="n_objects"):
        OnlineKernel().partial_fit(np.empty((0, 3), int))
    assert OnlineKernel(4).partial_fit(np.empty((0, 3), int)).kernel_.shape == (4, 4)


def test_a_singular_start_bears_tiny_steps(monkeypatch):
    """Answers that hold by far, under STE, and answers of next to no weight: steps of 1e-20 and below."""
    monkeypatch.setattr(_full, "_FEW", 0)
    points = 5 * np.random.default_rng(0).normal(size=(40, 3))
    triplets = planted(40, 3, 60, random_state=0).comparisons.indices
    near, far = compared_distances(points, triplets)
    held = np.where((near < far)[:, None], triplets, triplets[:, [0, 2, 1]])[np.argsort(-abs(near - far))]
    weights = np.where(np.arange(60) < 30, 1e-20, 1.0)
    for update, answers in (("ste", held), ("passive-aggressive", held[:, [0, 2, 1]])):
        online = OnlineKernel(40, update=update, start=points @ points.T)
        values = np.linalg.eigvalsh(online.fit(Comparisons(answers, 40, weights=weights)).kernel_)
        assert values[0] >= -1e-10 * values[-1]
        assert online.n_steps_ > 20


def test_scikit_learn_manners(answers):
    online = form("whole, bounded")
    assert clone(online).get_params() == online.get_params()
    fitted = online.fit(answers[:200])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).kernel_, fitted.kernel_)
    np.testing.assert_array_equal(clone(fitted).fit(answers[:200]).kernel_, fitted.kernel_)
    search = GridSearchCV(OnlineKernel(25), {"margin": [0.3, 1.0]}, cv=answers[:200].folds(3)).fit(
        answers[:200]
    )
    assert search.best_score_ > 0.6


def test_a_kernel_beyond_floating_point_learns_no_more():
    online = nearer.OnlineKernel(passes=2, random_state=0).fit(planted(6, 2, 30, random_state=0).comparisons)
    online.held_.held.matrix.base[:] = np.nan
    online.held_.held.definite, online.held_.held.certificate = False, None
    online.held_.held.low.crowded = True
    before = online.n_seen_
    online.held_.held.block = lambda rows: np.zeros((len(rows), len(rows)))
    with pytest.raises(InputError, match=r"not finite.* fit it again"):
        online.partial_fit([[0, 1, 2]])
    assert online.n_seen_ == len(online.kept_indices_) == before
