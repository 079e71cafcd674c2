"""Pictures: what is drawn, what is refused, and that nothing global is touched."""

import io
import subprocess
import sys
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import nearer
from nearer import plotting
from nearer.plotting._lines import spread
from nearer.plotting._names import place_names
from nearer.plotting._svg import inline_svg
from nearer.plotting.maps import principal_axes
from nearer.report import render_report
from nearer.selection import DimensionChoice
from tests.refusals import refused


def png(figure):
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def texts(ax):
    return [text.get_text() for text in ax.texts]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def result(rng):
    epochs = np.arange(20)
    history = {
        "epoch": epochs,
        "objective": 0.05 + 2 * np.exp(-epochs / 3),
        "seconds": epochs * 0.01,
        "evaluations": epochs * 3000,
        "step": np.concatenate([[np.nan], 10 ** rng.normal(size=19)]),
    }
    return SimpleNamespace(history=history)


@pytest.mark.parametrize("n_components", [1, 2, 3, 4, 9])
def test_map_shows_every_name_in_every_dimension(rng, n_components):
    names = [f"thing {number}" for number in range(12)]
    figure = plotting.plot_map(rng.normal(size=(12, n_components)), names, title="A map")
    assert isinstance(figure, Figure)
    assert png(figure).startswith(b"\x89PNG")
    shown = {text.strip() for ax in figure.axes for text in texts(ax)}
    assert set(names) <= shown
    assert figure.axes[0].get_title(loc="left") == "A map"


def test_a_fitted_estimator_is_drawn_with_its_names():
    import nearer

    model = nearer.OrdinalEmbedding(2, random_state=0).fit([("tea", "coffee", "car"), ("bus", "car", "tea")])
    assert set(texts(plotting.plot_map(model).axes[0])) == {"tea", "coffee", "car", "bus"}
    assert set(texts(plotting.plot_map(model, names="abcd").axes[0])) == set("abcd")
    for draw in (plotting.plot_learning_curve, plotting.plot_step_sizes):
        assert png(draw(model)) == png(draw(model.result_))
    side_by_side = plotting.plot_comparison_of_maps({"one": model, "two": 2 * model.embedding_})
    assert side_by_side.axes[1].get_xlabel() == "Procrustes distance 0.0000"
    kernel = nearer.OnlineKernel(4).partial_fit([[0, 1, 2], [3, 2, 0]])
    assert png(plotting.plot_map(kernel)) == png(plotting.plot_map(kernel.embedding(2)))
    with refused("OrdinalEmbedding", "fitted", error=ValueError):
        plotting.plot_map(nearer.OrdinalEmbedding())


@pytest.mark.parametrize("n_components", [1, 2, 3, 4])
def test_objects_without_names_are_labelled_by_their_index(rng, n_components):
    points = rng.normal(size=(12, n_components))
    indices = {str(index) for index in range(12)}
    shown = {text.strip() for ax in plotting.plot_map(points).axes for text in texts(ax)}
    assert indices <= shown
    for bare in (plotting.plot_map(points, names=False), plotting.plot_map(points, labels=list("ab" * 6))):
        assert not any(texts(ax) for ax in bare.axes)


def test_estimators_without_names_and_maps_side_by_side_show_indices_too():
    import nearer

    answers, _ = nearer.datasets.planted(4, 2, 30, random_state=0)
    names = np.array(["tea", "coffee", "car", "bus"])
    model = nearer.OrdinalEmbedding(2, random_state=0).fit(answers)
    named = nearer.OrdinalEmbedding(2, random_state=0).fit(names[answers.indices])
    assert set(texts(plotting.plot_map(model).axes[0])) == set("0123")
    for maps, expected in (
        ({"one": model, "two": model.embedding_}, set("0123")),
        ({"one": model.embedding_, "two": named}, set(named.names_)),
    ):
        for ax in plotting.plot_comparison_of_maps(maps).axes:
            assert set(texts(ax)) == expected
    assert not texts(plotting.plot_comparison_of_maps({"one": model}, names=False).axes[0])
    page = render_report(model)
    assert all(f">{index}<" in page or f"<!-- {index} -->" in page for index in range(4))


def test_a_large_map_in_space_writes_what_stays_readable(rng):
    figure = plotting.plot_map(rng.normal(size=(150, 3)))
    written = [text.strip() for text in texts(figure.axes[0])]
    assert 20 < len(written) < 150
    assert written[-1] == f"{len(written) - 1} of 150 names fit"


def test_shares_of_axes_survive_numbers_whose_squares_overflow(rng):
    points = rng.normal(size=(30, 5))
    expected = principal_axes(points)[1]
    for scale in (2.0**600, 2.0**-600):
        np.testing.assert_allclose(principal_axes(scale * points)[1], expected)
    assert principal_axes(np.ones((3, 2)))[1].tolist() == [0.0, 0.0]


def test_map_beyond_three_dimensions_has_a_panel_a_pair_of_principal_axes(rng):
    points = rng.normal(size=(30, 5)) * [1, 1, 1, 9, 3]
    figure = plotting.plot_map(points)
    panels = [ax for ax in figure.axes if ax.axison]
    assert len(panels) == 6
    assert (
        "axis 1 (8" in panels[-3].get_xlabel()
    )  # the stretched dimension comes first and holds most variance


def test_map_draws_into_given_axes(rng):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert plotting.plot_map(rng.normal(size=(5, 2)), ax=left) is figure
    assert len(left.collections) == 1
    assert not right.collections


def test_map_classes_get_a_legend_entry_each_shown_as_they_are(rng):
    labels = np.array(["$price$", "_hidden", "plain", "plain"])
    figure = plotting.plot_map(rng.normal(size=(4, 2)), labels=labels)
    legend = figure.axes[0].get_legend()
    assert sorted(text.get_text() for text in legend.get_texts()) == sorted(set(labels))
    png(figure)  # a dollar sign that starts mathematics would fail here


def test_map_numbers_get_a_colour_bar(rng):
    figure = plotting.plot_map(rng.normal(size=(6, 2)), labels=np.linspace(0, 1, 6))
    assert len(figure.axes) == 2


def test_many_classes_differ_in_colour_or_marker(rng):
    figure = plotting.plot_map(rng.normal(size=(40, 2)), labels=np.arange(20).repeat(2))
    looks = {
        (tuple(one.get_facecolor()[0]), one.get_paths()[0].vertices.tobytes())
        for one in figure.axes[0].collections
    }
    assert len(looks) == 20


def overlaps(boxes):
    return [(a, b) for a in range(len(boxes)) for b in range(a) if boxes[a].overlaps(boxes[b])]


def test_names_do_not_cover_one_another(rng):
    figure = plotting.plot_map(rng.normal(size=(60, 2)), [f"quite a long name {n}" for n in range(60)])
    figure.draw_without_rendering()
    boxes = [matplotlib.text.Text.get_window_extent(text) for text in figure.axes[0].texts]
    assert len(boxes) > 30
    assert not overlaps(boxes)


def test_names_without_room_are_left_out_and_counted(rng):
    figure = plotting.plot_map(rng.normal(scale=1e-3, size=(300, 2)), ["a rather long name"] * 300)
    shown = texts(figure.axes[0])
    assert shown[-1] == f"{len(shown) - 1} of 300 names fit"


def test_a_map_of_one_object_or_of_equal_points_is_drawn():
    png(plotting.plot_map([[0.0, 0.0]], ["alone"]))
    png(plotting.plot_map(np.zeros((5, 2)), list("abcde")))
    png(plotting.plot_map(np.zeros((5, 1)), list("abcde")))
    png(plotting.plot_map(np.zeros((5, 6)), list("abcde")))


def test_place_names_counts_what_it_leaves_out():
    ax = Figure(figsize=(1, 1)).add_subplot()
    ax.plot([0, 1], [0, 1])
    assert place_names(ax, np.array([[0.5, 0.5]]), ["far too long for an axes of one inch" * 3]) == 1


def test_line_names_keep_order_and_distance():
    heights = spread(np.array([0.0, 0.0, 0.1, 3.0]), gap=0.5)
    assert (np.diff(heights) >= 0.5 - 1e-12).all()
    assert heights[-1] == 3.0


@pytest.mark.parametrize(
    ("arguments", "facts"),
    [
        ({"embedding": np.zeros(3)}, ["embedding", "(3,)", "one row per object"]),
        ({"embedding": np.zeros((0, 2))}, ["embedding", "(0, 2)", "one row per object"]),
        ({"embedding": [[0.0, np.nan]]}, ["NaN", "row 0", "finite"]),
        ({"embedding": np.zeros((3, 2)), "names": ["one"]}, ["1 names", "3 objects", "one name per object"]),
        ({"embedding": np.zeros((3, 2)), "labels": [1, 2]}, ["labels", "(2,)", "3 objects"]),
        ({"embedding": np.zeros((3, 5)), "ax": Figure().add_subplot()}, ["5 dimensions", "leave `ax` out"]),
        ({"embedding": np.zeros((3, 3)), "ax": Figure().add_subplot()}, ["`ax`", 'projection="3d"']),
    ],
)
def test_map_refuses_what_it_cannot_draw(arguments, facts):
    with refused(*facts, error=ValueError):
        plotting.plot_map(**arguments)


@pytest.mark.parametrize("against", ["seconds", "evaluations", "epoch"])
def test_learning_curve_against_each_scale(result, against):
    ax = plotting.plot_learning_curve(result, against).axes[0]
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), result.history[against])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), result.history["objective"])
    assert ax.get_yscale() == "log"


def test_learning_curve_stays_linear_within_a_decade_and_below_zero(result):
    result.history["objective"] = np.linspace(2, 1, 20)
    assert plotting.plot_learning_curve(result).axes[0].get_yscale() == "linear"
    result.history["objective"] = np.linspace(2, -1, 20)
    assert plotting.plot_learning_curve(result).axes[0].get_yscale() == "linear"


def test_a_fit_without_epochs_has_empty_charts():
    empty = SimpleNamespace(
        history={name: np.array([]) for name in ("epoch", "objective", "seconds", "step")}
    )
    png(plotting.plot_learning_curve(empty))
    png(plotting.plot_step_sizes(empty))


def test_several_learning_curves_are_named(result):
    ax = plotting.plot_learning_curve({"one": result, "two": result}).axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]


def test_learning_curve_refuses_an_unknown_scale(result):
    with refused("against", "'hours'", "'epoch'", error=ValueError):
        plotting.plot_learning_curve(result, "hours")


def test_step_sizes_leave_out_what_is_unknown(result):
    ax = plotting.plot_step_sizes(result).axes[0]
    assert len(ax.lines[0].get_xdata()) == 19
    assert ax.get_yscale() == "log"


def test_dimension_choice_marks_both_choices():
    errors = np.array([[0.30, 0.32, 0.31], [0.21, 0.19, 0.20], [0.20, 0.20, 0.19]])
    choice = DimensionChoice((1, 2, 4), errors)
    assert (choice.best, choice.smallest_within_one_se) == (4, 2)
    ax = plotting.plot_dimension_choice(choice).axes[0]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), errors.mean(axis=1))
    legend = " ".join(text.get_text() for text in ax.get_legend().get_texts())
    assert "lowest error: 4" in legend
    assert "one standard error: 2" in legend


def test_comparison_of_maps_turns_each_to_the_reference(rng):
    truth = rng.normal(size=(10, 2))
    turned = 5 * truth @ [[0.0, 1.0], [-1.0, 0.0]] + 3
    figure = plotting.plot_comparison_of_maps(
        {"ours": turned, "truth": truth}, list("abcdefghij"), reference="truth"
    )
    for ax in figure.axes:
        np.testing.assert_allclose(ax.collections[0].get_offsets(), truth, atol=1e-12)
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["ours", "truth"]
    assert [ax.get_xlabel() for ax in figure.axes] == ["Procrustes distance 0.0000", "reference"]


@pytest.mark.parametrize(
    ("maps", "reference", "facts"),
    [
        ({}, None, ["maps", "dictionary"]),
        ({"a": np.zeros((3, 2))}, "b", ["reference", "'b'", "a"]),
        ({"a": np.eye(3)[:, :2], "b": np.eye(4)[:, :2]}, None, ["'b'", "(4, 2)", "(3, 2)"]),
        ({"a": np.eye(3)}, None, ["'a'", "(3, 3)", "(3, 2)"]),
    ],
)
def test_comparison_of_maps_refuses(maps, reference, facts):
    with refused(*facts, error=ValueError):
        plotting.plot_comparison_of_maps(maps, reference=reference)


def test_svg_keeps_names_as_text_and_follows_the_page(rng):
    names = ["<script>alert(1)</script>", "a & b", "日本"]
    svg = inline_svg(plotting.plot_map(rng.normal(size=(3, 2)), names), 'the "map"')
    assert "<script" not in svg
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in svg
    assert "日本" in svg
    assert "var(--ink)" in svg
    assert 'aria-label="the &quot;map&quot;"' in svg
    assert svg == inline_svg(
        plotting.plot_map(np.random.default_rng(0).normal(size=(3, 2)), names), 'the "map"'
    )


def test_no_pyplot_is_imported():
    code = (
        "import sys, numpy as np; from nearer import plotting;"
        "plotting.plot_map(np.eye(3), list('abc')); sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- rows and labels in one space ---------------------------------------------------------------------------------


def labelled(**settings):
    from sklearn.datasets import make_multilabel_classification

    X, Y = make_multilabel_classification(80, n_features=6, n_classes=4, random_state=1)
    return nearer.CoEmbeddingClassifier(0.1, cv=0, random_state=0, **settings).fit(X, Y), X


def notes(figure):
    return " ".join(text.get_text() for text in figure.axes[0].texts)


def test_a_plane_of_two_dimensions_keeps_all_decisions():
    model, X = labelled(max_rank=2)
    assert "100% of the decisions" in notes(plotting.plot_coembedding(model, X))


def test_circles_hold_the_predicted_labels():
    from matplotlib.patches import Circle

    model, X = labelled(max_rank=2)
    figure = plotting.plot_coembedding(model, X, circles=[5, 40, 60])
    ax, predicted = figure.axes[0], model.predict(X)
    labels = np.asarray(ax.collections[1].get_offsets())
    circles = {tuple(patch.center): patch.radius for patch in ax.patches if isinstance(patch, Circle)}
    rows = np.asarray(ax.collections[0].get_offsets())
    for row in (5, 40, 60):
        radius = circles.get(tuple(rows[row]), 0.0)  # no circle: no label can be near enough
        inside = np.linalg.norm(labels - rows[row], axis=1) < radius
        np.testing.assert_array_equal(inside, predicted[row])
    assert predicted[[5, 40, 60]].any()


def test_a_plane_says_what_it_loses():
    model, _ = labelled()
    assert model.label_embedding_.shape[1] > 2
    figure = plotting.plot_coembedding(model)
    assert "of the spread" in notes(figure)
    assert {"0", "1", "2", "3"} <= {text.get_text() for text in figure.axes[0].texts}


def test_tags_users_and_items_are_drawn():
    posts = [("ann", "tea", "hot"), ("ann", "tea", "green"), ("bob", "milk", "cold"), ("bob", "tea", "hot")]
    figure = plotting.plot_coembedding(nearer.TagRecommender(beta=0.1).fit(posts))
    ax = figure.axes[0]
    assert [len(part.get_offsets()) for part in ax.collections] == [2, 2, 3]
    assert {"hot", "green", "cold"} <= {text.get_text() for text in ax.texts}
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["users", "items", "tags"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"circles": [80]}, "row numbers from 0 to 79"),
        ({"circles": -1}, "from 0"),
        ({"groups": [1, 2]}, "one label per object"),
    ],
)
def test_impossible_circles_and_groups_are_refused(options, says):
    model, X = labelled()
    with pytest.raises(ValueError, match=says):
        plotting.plot_coembedding(model, X, **options)


def linked(graph):
    rng = np.random.default_rng(0)
    places, others = rng.normal(size=(25, 2)), rng.normal(size=(25, 2))
    others = places if graph != "bipartite" else others[:12]
    pairs = np.argwhere(((places[:, None] - others) ** 2).sum(axis=2) < 0.8)
    pairs = pairs if graph == "bipartite" else pairs[pairs[:, 0] < pairs[:, 1]]
    names = [
        [f"{letter}{number}" for number in side]
        for letter, side in zip("ab" if graph == "bipartite" else "aa", pairs.T, strict=True)
    ]
    seen = nearer.Interactions(*names)
    return nearer.LinkPredictor(0.5, graph=graph, cv=0, max_rank=2, random_state=0).fit(seen)


@pytest.mark.parametrize(
    ("graph", "kinds"),
    [
        ("bipartite", ["left", "right", "threshold of left", "threshold of right"]),
        ("directed", ["sources", "targets", "threshold of sources", "threshold of targets"]),
        ("undirected", ["objects", "threshold"]),
    ],
)
def test_links_are_drawn_and_predicted_ones_lie_in_both_circles(graph, kinds):
    from matplotlib.patches import Circle

    model = linked(graph)
    figure = plotting.plot_coembedding(model, circles=list(range(len(model.left_embedding_))))
    ax, n_sides = figure.axes[0], len(kinds) // 2
    assert "100% of the decisions" in notes(figure)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [*kinds, "links"]
    assert {text.get_text() for text in ax.texts} & {*model.left_names_}
    sides = [np.asarray(ax.collections[at].get_offsets()) for at in (0, n_sides - 1)]
    ends = np.asarray(ax.collections[len(kinds)].get_segments())
    seen = np.argwhere(model._seen_matrix().toarray())
    seen = seen[seen[:, 0] < seen[:, 1]] if graph == "undirected" else seen
    expected = np.stack([sides[0][seen[:, 0]], sides[1][seen[:, 1]]], axis=1)
    assert sorted(map(str, ends)) == sorted(map(str, expected))
    radii = {tuple(patch.center): patch.radius for patch in ax.patches if isinstance(patch, Circle)}
    threshold = np.asarray(ax.collections[len(kinds) - 1].get_offsets())[0]
    for i, j in np.ndindex(*map(len, sides)):
        if graph != "bipartite" and i == j:
            continue
        distance = np.linalg.norm(sides[0][i] - sides[1][j])
        inside = distance < min(radii.get(tuple(sides[0][i]), 0.0), np.linalg.norm(sides[1][j] - threshold))
        assert inside == model.predict([[model.left_names_[i], model.right_names_[j]]])[0]


def test_of_very_many_links_some_are_drawn(monkeypatch):
    monkeypatch.setattr("nearer.plotting.coembedding._MOST_LINKS", 10)
    ax = plotting.plot_coembedding(linked("bipartite")).axes[0]
    assert ax.get_legend().get_texts()[-1].get_text().startswith("10 of ")
    with pytest.raises(ValueError, match="leave X out"):
        plotting.plot_coembedding(linked("undirected"), np.eye(3))


def test_other_models_are_refused():
    with pytest.raises(ValueError, match="plot_map"):
        plotting.plot_coembedding(nearer.OrdinalEmbedding())
