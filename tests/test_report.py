"""The HTML page: complete, self-contained, and safe whatever the names are."""

import os
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

import nearer
from nearer.plotting import plot_map
from nearer.report import effort, render_report, write_report
from nearer.solvers import Result

NASTY = [
    '<script>alert("x")</script>',
    "a & b",
    "</title></style>",
    "'quoted\"",
    "$x^2$",
    "日本",
    "_hidden",
    "{{}} ${y}",
]


@pytest.fixture(scope="module")
def parts():
    answers, _ = nearer.datasets.planted(8, 2, 600, noise=0.1, random_state=0)
    named = nearer.Comparisons(answers.indices, names=NASTY)
    return named.split(test_size=0.25, random_state=0)


@pytest.fixture(scope="module")
def estimator(parts):
    return nearer.OrdinalEmbedding(2, random_state=0, max_epochs=20).fit(parts[0])


class Reader(HTMLParser):
    """Collects tags, attributes and text; complains about tags that are not closed."""

    VOID = ("meta", "br", "img", "link", "path", "use")

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data + " "


@pytest.fixture(scope="module")
def page(estimator, parts):
    return render_report(estimator, train=parts[0], test=parts[1], title="Things & <b>names</b>")


@pytest.fixture(scope="module")
def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def test_names_and_title_are_escaped(read):
    assert "script" not in read.tags
    assert "b" not in read.tags
    for name in NASTY:
        assert name in read.text
    assert "Things & <b>names</b>" in read.text


def test_the_page_loads_nothing(read, page):
    links = [value for name, value in read.attributes if name in ("src", "href", "xlink:href", "action")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not re.search(r"@import|url\((?!#)", page)
    assert not {"script", "link", "iframe", "object"} & set(read.tags)


def test_the_page_says_what_the_fit_says(read, estimator, parts):
    text = " ".join(read.text.split())
    train, test = parts
    assert f"Held-out accuracy {estimator.score(test):.1%} of {len(test):,} unseen" in text
    assert f"Training accuracy {estimator.score(train):.1%} of {len(train):,}" in text
    assert f"Conflicts {train.conflicts().n_rows:,} " in text
    assert f"Objective {estimator.result_.objective:.4g} {estimator.loss_.name} loss" in text
    for parameter in estimator.get_params():
        assert parameter in text
    assert "stop reason" in text
    for package in ("numpy", "scipy", "scikit-learn", "numba", "python"):
        assert package in text
    assert read.tags.count("svg") == 3


def test_effort_says_what_was_compiling():
    history = {"epoch": [], "objective": [], "seconds": [], "evaluations": [], "step": []}
    result = Result(0.1, "tolerance", 1, 10, 9.0, history, {"compile_seconds": 8.0})
    assert effort(result) == "9.0 s, 1 epoch; 8.0 s of it compiling, once on this machine"
    chosen = replace(result, n_epochs=20, seconds=0.5, details={"choice_seconds": 2.0})
    assert effort(chosen) == "500 ms, 20 epochs after 2.0 s of choosing"


def test_scores_appear_only_with_their_comparisons(estimator, parts):
    bare = render_report(estimator)
    assert "Held-out accuracy" not in bare
    assert "Training accuracy" not in bare
    assert "Held-out accuracy" in render_report(estimator, test=parts[1])


def test_further_figures_come_first(estimator):
    figure = plot_map([[0, 0], [1, 1]], ["only here", "and here"])
    page = render_report(estimator, figures={"Another <map>": figure})
    assert page.index("Another &lt;map&gt;") < page.index("<h2>Map</h2>")
    assert "only here" in page


def test_dark_screens_get_dark_figures(page):
    assert "prefers-color-scheme: dark" in page
    assert "#1f2328" not in page[page.index("<body>") :]


@pytest.mark.parametrize("n_components", [1, 3, 5])
def test_every_dimension_has_a_page(parts, n_components):
    fitted = nearer.OrdinalEmbedding(n_components, random_state=0, max_epochs=3).fit(parts[0])
    assert render_report(fitted).count("<svg") == 3


def test_a_failure_leaves_the_old_page(tmp_path, estimator, monkeypatch):
    path = tmp_path / "report.html"
    write_report(path, estimator)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(path, estimator, title="another")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["report.html"]
