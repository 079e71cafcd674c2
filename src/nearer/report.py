"""Write one self-contained HTML page about a fit: the map, how it was found, and how far to trust it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Mapping
from datetime import datetime
from html import escape
from importlib import import_module, resources
from string import Template
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nearer import __version__
from nearer._fitting import STOP_REASONS, at_chance, effort, is_kernel, is_online, map_of, share_on_map
from nearer._utils.files import replacing
from nearer._utils.text import counted, readable_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from nearer._fitting import Model
    from nearer.comparisons import Comparisons
    from nearer.kernels.online import OnlineKernel
    from nearer.kernels.relative import RelativeKernel
    from nearer.ordinal import OrdinalEmbedding
    from nearer.solvers import Result


class Fact(NamedTuple):
    """A number shown in large print, its name and a short explanation."""

    name: str
    value: str
    remark: str = ""


def write_report(
    path: str | os.PathLike[str],
    estimator: Model,
    *,
    train: Comparisons | None = None,
    test: Comparisons | None = None,
    title: str = "A map from comparisons",
    figures: Mapping[str, Figure] | None = None,
    n_components: int = 2,
) -> None:
    """Write one HTML file about a fitted estimator; it needs nothing else and opens anywhere.

    Parameters
    ----------
    path : path of the file
        Replaced only after the whole page has been written.
    estimator : fitted OrdinalEmbedding, RelativeKernel or OnlineKernel
        The model to describe.
    train, test : Comparisons, optional
        The comparisons it was fitted to (counts, conflicts, training accuracy) and those it has not seen
        (held-out accuracy).
    title : str
        Heading of the page.
    figures : dict of heading -> matplotlib Figure, optional
        Further pictures, shown before the map.
    n_components : int
        Dimensions in which a kernel is drawn; an embedding is drawn in those it has.

    Examples
    --------
    >>> import pathlib, tempfile, nearer
    >>> from nearer.report import write_report
    >>> answers, _ = nearer.datasets.planted(10, 2, 500, random_state=0)
    >>> train, test = answers.split(random_state=0)
    >>> fitted = nearer.OrdinalEmbedding(random_state=0, max_epochs=5).fit(train)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "report.html"
    ...     write_report(path, fitted, train=train, test=test)
    ...     page = path.read_text(encoding="utf-8")
    >>> "Held-out accuracy" in page
    True
    """
    page = render_report(
        estimator, train=train, test=test, title=title, figures=figures, n_components=n_components
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def render_report(
    estimator: Model,
    *,
    train: Comparisons | None = None,
    test: Comparisons | None = None,
    title: str = "A map from comparisons",
    figures: Mapping[str, Figure] | None = None,
    n_components: int = 2,
) -> str:
    """Return the page of `write_report` as a string."""
    template = resources.files("nearer").joinpath("templates", "report.html").read_text(encoding="utf-8")
    points = map_of(estimator, n_components)
    return Template(template).substitute(
        title=escape(title),
        summary=escape(f"{_size(estimator, points)}; {_ending(estimator)}."),
        facts="".join(map(_fact_html, _facts(estimator, points, train, test))),
        sections=_pictures(estimator, points, figures or {}) + _tables(estimator),
        version=escape(__version__),
        date=datetime.now().strftime("%Y-%m-%d %H:%M"),
    )


def _size(estimator: Model, points: np.ndarray) -> str:
    objects, dimensions = counted(len(points), "object"), counted(points.shape[1], "dimension")
    kernel = ", a kernel drawn" if is_kernel(estimator) else ""
    return f"{objects}{kernel} in {dimensions}"


def _ending(estimator: Model) -> str:
    if is_online(estimator):
        return f"{counted(estimator.n_seen_, 'answer')} learned, one at a time"
    reason = estimator.result_.stop_reason
    return STOP_REASONS.get(reason, reason)


def _facts(
    estimator: Model, points: np.ndarray, train: Comparisons | None, test: Comparisons | None
) -> Iterable[Fact]:
    if test is not None:
        unseen = f"of {counted(len(test), 'unseen comparison')}"
        accuracy = estimator.score(test)
        guessing = ", no better than guessing" if at_chance(accuracy, test) else ""
        yield Fact("Held-out accuracy", f"{accuracy:.1%}", unseen + guessing)
    if train is not None:
        about = f"of {counted(len(train), 'comparison')}"
        yield Fact("Training accuracy", f"{estimator.score(train):.1%}", about)
        conflicts = train.conflicts()
        remark = f"comparisons contradict another, on {counted(conflicts.n_questions, 'question')}"
        yield Fact("Conflicts", f"{conflicts.n_rows:,}", remark)
    judges = train if test is None else test
    if is_kernel(estimator) and judges is not None:
        which = "training" if test is None else "unseen"
        share = share_on_map(estimator, points, judges)
        yield Fact(
            "On the map", f"{share:.1%}", f"of the {which} comparisons hold for the points drawn below"
        )
    yield from _online_facts(estimator) if is_online(estimator) else _result_facts(estimator)


def _result_facts(estimator: OrdinalEmbedding | RelativeKernel) -> Iterable[Fact]:
    result = estimator.result_
    yield Fact("Objective", f"{result.objective:.4g}", f"{estimator.loss_.name} loss")
    yield Fact("Time", readable_seconds(result.seconds), effort(result).partition(", ")[2])


def _online_facts(estimator: OnlineKernel) -> Iterable[Fact]:
    yield Fact(
        "Steps",
        f"{estimator.n_steps_:,}",
        f"changed the kernel, for {counted(estimator.n_seen_, 'answer')}",
    )
    if estimator.rank is None:
        yield Fact(
            "Projections", f"{estimator.n_projections_:,}", f"{estimator.n_skipped_:,} steps needed none"
        )


def _fact_html(fact: Fact) -> str:
    remark = f"<small>{escape(fact.remark)}</small>" if fact.remark else ""
    return f"<div><dt>{escape(fact.name)}</dt><dd>{escape(fact.value)}{remark}</dd></div>\n"


def _pictures(estimator: Model, points: np.ndarray, figures: Mapping[str, Figure]) -> str:
    from nearer.plotting import plot_map

    further = "".join(f"<h2>{escape(name)}</h2>{_figure_html(one, name)}" for name, one in figures.items())
    caption = "Only which is nearer counts: it may be turned, mirrored and scaled at will."
    if is_kernel(estimator):
        caption += " The kernel may have more dimensions than are drawn."
    the_map = _figure_html(plot_map(points, estimator.names_), "The map", caption)
    course = "" if is_online(estimator) else _course(estimator.result_)
    return f"{further}<h2>Map</h2>{the_map}{course}"


def _course(result: Result) -> str:
    from nearer.plotting import plot_learning_curve, plot_step_sizes

    meaning = "The objective after each epoch; of mini-batches, the mean that they met in it."
    curve = _figure_html(plot_learning_curve(result, "epoch"), "The objective", meaning)
    steps = _figure_html(plot_step_sizes(result), "The step sizes", "The step size of each epoch.")
    return f"<h2>Fit</h2><div class='pair'>{curve}{steps}</div>"


def _figure_html(figure: Figure, description: str, caption: str = "") -> str:
    from nearer.plotting._svg import inline_svg

    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    kind = "wide" if figure.get_figwidth() > 8 else "plain"  # a wide one scrolls on a small screen
    return f"<figure class='{kind}'>{inline_svg(figure, description)}{below}</figure>\n"


def _tables(estimator: Model) -> str:
    settings = estimator.get_params(deep=False)
    tables = {"Settings": settings, **_outcome(estimator), "Versions": versions()}
    return "".join(f"<h2>{escape(title)}</h2>{_table_html(rows)}\n" for title, rows in tables.items())


def _outcome(estimator: Model) -> dict[str, dict[str, Any]]:
    if is_online(estimator):
        counts = {
            "answers": estimator.n_seen_,
            "steps": estimator.n_steps_,
            "projections": estimator.n_projections_,
            "steps known to need none": estimator.n_skipped_,
            "negative eigenvalues removed": estimator.n_negative_,
        }
        return {"What was learned": counts}
    chosen = dict(flattened(estimator.result_.details))
    chosen["stop reason"] = f"{estimator.result_.stop_reason} ({_ending(estimator)})"
    return {"What was chosen": chosen}


def _table_html(rows: Mapping[str, Any]) -> str:
    cells = (f"<tr><th>{escape(key)}</th><td>{escape(shown(rows[key]))}</td></tr>" for key in rows)
    return f"<table><tbody>{''.join(cells)}</tbody></table>"


def flattened(values: Mapping[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """Yield the rows of a table from nested dictionaries.

    >>> dict(flattened({"loss": "ste", "held out": {"ste": 0.1, "soe": 0.2}}))
    {'loss': 'ste', 'held out: ste': 0.1, 'held out: soe': 0.2}
    """
    for key, value in values.items():
        name = f"{before}{key}".replace("_", " ")
        if isinstance(value, Mapping) and value:
            yield from flattened(value, f"{name}: ")
        else:
            yield name, value


def shown(value: Any) -> str:
    """Return a setting as text: short numbers, names without quotes.

    >>> shown(0.123456789), shown(None), shown([1, "two"]), shown(1e-4)
    ('0.12346', 'none', '1, two', '0.0001')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.5g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return str(value)


def versions() -> dict[str, str]:
    """Return the versions of nearer, Python and the packages that compute.

    >>> sorted(versions())
    ['nearer', 'numba', 'numpy', 'platform', 'python', 'scikit-learn', 'scipy']
    """
    packages = {"numpy": "numpy", "scipy": "scipy", "scikit-learn": "sklearn", "numba": "numba"}
    found = {name: import_module(module).__version__ for name, module in packages.items()}
    return {
        "nearer": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **found,
    }
