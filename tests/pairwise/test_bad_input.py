"""What a new user may give to the estimators of pairs: a right answer, or one sentence that says what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from nearer import AUCClassifier, PairwiseLearner
from nearer.errors import InputError
from nearer.pairwise import AdaDSG, Network, RandomFourier
from tests.pairwise.test_names import WALKING
from tests.refusals import refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] + RNG.normal(size=300) > 1).astype(int)
TENS = np.arange(300) // 10


def auc(**settings):
    return AUCClassifier(random_state=0, **settings)


def learner(**settings):
    return PairwiseLearner(random_state=0, **settings)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.where(np.arange(300) == 7, np.nan, 1.0), "groups hold nan in row 7"),
        (np.array([*["a"] * 4, None, *["b"] * 295], dtype=object), "groups hold None in row 4"),
        (pd.Series([1, pd.NA] * 150, dtype="Int64").to_numpy(dtype=object), "groups hold <NA> in row 1"),
        (
            np.array([1, "a"] * 150, dtype=object),
            r"groups hold 1 \(number\) in row 0 and 'a' \(text\) in row 1",
        ),
        (np.arange(300), "no group has rows of different grades"),
        (Y, "no group has rows of different grades"),
        ([], r"groups has shape \(0,\), but X has 300 rows"),
    ],
)
def test_groups_that_cannot_be(groups, message):
    with pytest.raises(InputError, match=message):
        learner(pair="ranking").fit(X, Y, groups=groups)


@pytest.mark.parametrize(
    ("model", "y", "parameter", "facts"),
    [
        (learner(pair="ranking"), np.ones(300), None, ["y", "grades"]),
        (learner(pair="ranking"), np.full(300, "no"), None, ["pair='ranking'", "grades", "'no'"]),
        (auc(model=RandomFourier), Y, "model", ["RandomFourier(...)"]),
        (auc(solver=AdaDSG), Y, "solver", ["AdaDSG()"]),
        (auc(callback=3), Y, "callback", ["function", 3]),
    ],
)
def test_settings_and_grades_that_cannot_be(model, y, parameter, facts):
    with refused(*facts, parameter=parameter):
        model.fit(X, y)


@pytest.mark.parametrize("pair", ["auc", "metric"])
def test_a_score_does_not_ignore_groups(pair):
    model = learner(pair=pair).fit(X, Y)
    with pytest.raises(InputError, match=f"groups are for pair='ranking', but pair is '{pair}'"):
        model.score(X, Y, groups=TENS)


CELLS = {
    "text and numbers": (
        [1, "a"] * 150,
        r"y holds 1 .* in row 0 and 'a' .* in row 1: give labels of one type",
    ),
    "none": ([0, 1, None, *[0, 1] * 148, 0], r"y holds None in row 2: leave out rows without a label"),
    "none beside text": (["a", "b", None] * 100, r"y holds None in row 2: leave out rows"),
    "only none": ([None] * 300, r"y holds None in row 0"),
    "nan": (np.where(np.arange(300) == 7, np.nan, 1.0), r"y holds nan in row 7: leave out rows"),
    "nan beside text": ([*["a", "b"] * 149, "a", np.nan], r"y holds nan in row 299"),
    "pandas NA": (pd.Series([*["a", "b"] * 149, "a", None], dtype="string"), r"y holds <NA> in row 299"),
    "tuples": ([(0,), (1, 2)] * 150, r"y holds \(0,\) \(tuple\) in row 0: give numbers or strings"),
}


@pytest.mark.parametrize("pair", ["auc", "metric", "ranking", None])
@pytest.mark.parametrize("case", CELLS)
def test_labels_of_several_types_and_missing_ones(pair, case):
    labels, message = CELLS[case]
    given = [labels] if isinstance(labels, pd.Series | np.ndarray) else [labels, as_objects(labels)]
    for y in given:
        model = auc() if pair is None else learner(pair=pair)
        with pytest.raises(InputError, match=message):
            model.fit(X, y)
        with pytest.raises(InputError, match=message):
            model.partial_fit(X, y)
        with pytest.raises(InputError, match=message):
            model.fit(X, Y).score(X, y)


def as_objects(labels):
    y = np.empty(len(labels), dtype=object)
    y[:] = labels
    return y


@pytest.mark.parametrize("labels", [[0, 1.0], [np.int64(0), 1], [True, np.bool_(False)], ["a", np.str_("b")]])
def test_labels_that_are_alike_in_all_but_type(labels):
    y = as_objects([labels[i] for i in Y])
    assert auc().fit(X, y).classes_.tolist() == sorted(labels)
    assert learner(pair="metric").fit(X, y).score(X, y) > 0


@pytest.mark.parametrize("classes", [[0, None], [None, None], ["a", 1], [0, np.nan], [(0, 1), (1,)]])
def test_classes_that_cannot_be(classes):
    with refused("classes", "in row"):
        auc().partial_fit(X, Y, classes=classes)


@pytest.mark.parametrize("model", [auc, learner])
def test_one_class_only(model):
    for method, remedy in (("fit", "rows of both"), ("partial_fit", "classes=")):
        with refused("class", 0, remedy, parameter="y"):
            getattr(model(), method)(X, np.zeros(300, int))


@pytest.mark.parametrize("model", [auc, learner])
def test_classes_that_change_in_a_stream(model):
    stream = model().partial_fit(X, Y, classes=[0, 1]).partial_fit(X, Y, classes=[1, 0])
    with refused("1, 2", "0, 1", parameter="classes"):
        stream.partial_fit(X, Y, classes=[1, 2])


@pytest.mark.parametrize("solver", [*WALKING, "exact"])
@pytest.mark.parametrize("scale", [1e100, 1e140])
def test_units_of_any_size(solver, scale):
    settings = {"loss": "square", "solver": solver, "held_out": 0}
    plain, scaled = auc(**settings).fit(X, Y), auc(**settings).fit(X * scale, Y)
    assert scaled.score(X * scale, Y) == pytest.approx(plain.score(X, Y), abs=0.01)
    assert np.isfinite(scaled.predict_proba(X * scale)).all()


def test_small_units():  # the L2 term then outweighs the loss, but the order stays
    assert auc().fit(X * 1e-100, Y).score(X * 1e-100, Y) == pytest.approx(
        auc().fit(X, Y).score(X, Y), abs=0.01
    )


@pytest.mark.parametrize("form", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize("scale", [1e-200, 1e200, 1e300])
def test_numbers_whose_squares_are_none(form, scale):
    size = "large" if scale > 1 else "small"
    for model in (auc(), learner(pair="metric"), learner(pair="ranking", solver="exact")):
        with pytest.raises(
            InputError, match=f"in size, too {size} to work with its square: scale the features"
        ):
            model.fit(form(X * scale), Y)
    with pytest.raises(InputError, match=f"too {size}"):
        auc().partial_fit(form(X * scale), Y)


def test_single_precision_has_large_numbers_too():
    scaled = (X * 1e25).astype(np.float32)  # their squares are infinite in single precision alone
    assert auc().fit(scaled, Y).score(scaled, Y) == pytest.approx(auc().fit(X, Y).score(X, Y), abs=0.01)


@pytest.mark.parametrize("solver", WALKING)
def test_a_stream_of_dense_and_sparse_chunks(solver):
    stream, dense = (auc(loss="square", solver=solver) for _ in range(2))
    for number, start in enumerate(range(0, 300, 20)):
        rows, labels = X[start : start + 20], Y[start : start + 20]
        dense.partial_fit(rows, labels, classes=[0, 1])
        stream.partial_fit(sparse.csr_matrix(rows) if number % 2 else rows, labels, classes=[0, 1])
    np.testing.assert_allclose(stream.coef_, dense.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"pair": "auc"}, {"pair": "metric"}),
        ({"pair": "metric"}, {"pair": "auc"}),
        ({"model": "linear"}, {"model": "rff"}),
        ({"model": RandomFourier(10)}, {"model": RandomFourier(20)}),
        ({"model": ["linear", "rff"]}, {"model": ["linear"]}),
        ({"model": "rff"}, {"model": ["rff", "linear"]}),
    ],
)
def test_a_stream_keeps_its_pairs_and_its_model(before, after):
    stream = learner(**before).partial_fit(X, Y)
    with refused("stream", "model", "pair", "fit"):
        stream.set_params(**after).partial_fit(X, Y)


@pytest.mark.parametrize("n_rows", [2, 3, 4])
def test_few_rows_of_which_one_is_positive(n_rows):
    labels = (np.arange(n_rows) == 0).astype(int)
    model = auc().fit(X[:n_rows], labels)
    assert model.score(X[:n_rows], labels) == 1
    called = model.predict(X[:n_rows])
    assert called[0] == 1
    assert called.mean() <= 0.5


class TestNetworks:
    @pytest.fixture
    def nn(self):
        return pytest.importorskip("torch").nn

    @pytest.mark.parametrize(
        ("make", "rows", "facts"),
        [
            (lambda nn: nn.Linear, X, ["model", "Linear(...)"]),
            (lambda nn: nn.Linear(3, 1), X, ["module", "4 features", "mat1"]),
            (lambda nn: Network(nn.Linear(4, 1), device="moon"), X, ["device", "'moon'", "'cpu'"]),
            (lambda nn: nn.Linear(4, 1), X * 1e100, ["features", "3e+38", "scale"]),
        ],
        ids=["class", "shape", "device", "precision"],
    )
    def test_modules_and_rows_that_cannot_be(self, nn, make, rows, facts):
        with refused(*facts):
            learner(model=make(nn)).fit(rows, Y)

    def test_a_network_that_diverges_keeps_its_parameters(self, nn):
        model = learner(model=Network(nn.Sequential(nn.Linear(4, 1), Steep())), solver=AdaDSG(stages=2)).fit(
            X, Y
        )
        assert model.result_.stop_reason == "diverged"
        module = model.learned_.row_map.module
        assert all(np.isfinite(p.detach().numpy()).all() for p in module.parameters())

    def test_a_stream_keeps_to_its_network(self, nn):
        stream = learner(model=nn.Linear(4, 1)).partial_fit(X, Y)
        with refused("stream", "model", "fit"):
            stream.set_params(model="linear").partial_fit(X, Y)


def Steep():
    """A module with gradients that are no numbers."""
    from torch import nn

    class Power(nn.Module):
        def forward(self, x):
            return (x * 1e30) ** 3

    return Power()
