"""Metrics on the command line: `nearer fit --model metric`, and `evaluate` and `predict` for its models.

A metric is learned from rows with a label each, or from answers about objects whose features are in another file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer._utils.text import counted
from nearer.cli import _options as options
from nearer.cli._label_files import one_per_row
from nearer.cli._output import left_out, show
from nearer.cli._own_fits import (
    Facts,
    Lines,
    certificate_line,
    facts_of_result,
    learn,
    remember_columns,
    remembered_columns,
    rows_of_parts,
    save_and_show,
    time_line,
    typed_estimator,
)
from nearer.cli._row_features import columns_behind, features_of, known_features, read_features
from nearer.cli._row_files import named_columns, read_rows
from nearer.cli._table_output import put_answers
from nearer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from nearer.coembedding.metric import MetricLearner
    from nearer.comparisons import Comparisons

_HELD_OUT = 0.2
_OF_ANSWERS = ("columns", "header", "coding", "zero", "codes", "first_index", "invalid")


@dataclass(frozen=True)
class Known:
    """What a file says about rows of features: a label for each, or comparisons of them.

    Attributes
    ----------
    X : pyarrow.Table
        The features, one row per object.
    y : array (n,) or Comparisons
        Labels, or answers about the rows.
    n_dropped : int
        Rows of answers that were left out.
    column : str, optional
        The column of labels.
    """

    X: pa.Table
    y: np.ndarray | Comparisons
    n_dropped: int = 0
    column: str | None = None

    def __len__(self) -> int:
        return len(self.y)

    @property
    def compares(self) -> bool:
        """Return whether it holds answers."""
        return hasattr(self.y, "split")

    @property
    def noun(self) -> str:
        """Return what one of its parts is called."""
        return "answer" if self.compares else "row"

    @property
    def measure(self) -> str:
        """Return what the score is called."""
        return "accuracy" if self.compares else "AUC of nearness"

    def parts(self, share: float | None, seed: int, path: Path) -> tuple[Known, Known | None]:
        """Return what to learn from and what to hold out; answers of one trial stay together."""
        if self.compares:
            train, test = options.split_of(self.y, _HELD_OUT if share is None else share, seed, path)
            return replace(self, y=train), None if test is None else replace(self, y=test)
        rows, others = rows_of_parts(len(self), share, _HELD_OUT, seed, path)
        held_out = Known(self.X.take(others), self.y[others]) if len(others) else None
        return Known(self.X.take(rows), self.y[rows]), held_out


def fit(context: typer.Context, out: Path) -> None:
    """Learn a metric, save it, and print how well it agrees with what was held out."""
    given = context.params
    path: Path = given["answers"]
    estimator = typed_estimator(context)
    known = _read(context, path)
    train, test = known.parts(given["test_size"], given["seed"], path)

    def about() -> tuple[Facts, Lines]:
        facts = {
            **facts_of_result(estimator),
            "n_train": len(train),
            "n_test": 0 if test is None else len(test),
            "n_features": known.X.num_columns,
            "n_dropped": known.n_dropped,
            "beta": estimator.beta_,
            "rank": estimator.metric_factor_.shape[1],
            "measure": known.measure,
            "score": None if test is None else _score(estimator, test, path),
            "score_before": None if test is None else _plain_score(estimator, test),
        }
        return facts, _lines(facts, estimator, known)

    learn(estimator, lambda: estimator.fit(train.X, train.y), path, ["X", "y"], estimator.max_seconds)
    if known.column is not None:
        remember_columns(estimator, [known.column])
    save_and_show(context, estimator, out, about)


def evaluate(context: typer.Context, model: MetricLearner) -> None:
    """Print how well a metric agrees with the labels or answers of a file."""
    path: Path = context.params["answers"]
    known = _read(context, path, model)
    if not len(known):
        raise InputError(f"{path}: there is nothing to evaluate: give at least one {known.noun}")
    score, before = _score(model, known, path), _plain_score(model, known)
    facts = {
        "measure": known.measure,
        "score": score,
        "score_before": before,
        f"n_{known.noun}s": len(known),
        "n_dropped": known.n_dropped,
    }
    about = counted(len(known), known.noun) + left_out(known.n_dropped)
    lines = [(known.measure, f"{score:.4f} on {about}"), _plain_line(before)]
    show(facts, lines, as_json=context.params["as_json"])


def predict(context: typer.Context, model: MetricLearner) -> None:
    """Add coordinates to the rows of a file: their usual distances are the learned ones."""
    given = context.params
    path: Path = given["questions"]
    names = known_features(model)
    table = read_rows(path, lambda header: columns_behind(names))
    points = model.transform(features_of(path, table, [], names).frame())
    added = {f"dim{at + 1}": column for at, column in enumerate(points.T)}
    put_answers(table, added, given["out"], "row", "coordinates", given["as_json"])


def _read(context: typer.Context, path: Path, model: MetricLearner | None = None) -> Known:
    """Return what a file says, with the features of the rows; those that a model knows if there is one."""
    given = context.params
    if model is not None and given["features"] is None and given["labels"] is None:
        given = {**given, "labels": ",".join(remembered_columns(model)) or None}
    if (given["features"] is None) == (given["labels"] is None):
        raise InputError(
            f"{path}: give --labels with the column of labels if these are rows of features, or --features with a file "
            f"of features if these are answers{'' if given['labels'] is None else ', not both'}"
        )
    like = None if model is None else known_features(model)
    if given["features"] is not None:
        options.refuse_idle(context, (True, ["ignore"], "is for tables of labelled rows: leave it out"))
        return _compared(given, path, like)
    options.refuse_idle(context, (True, _OF_ANSWERS, "is for answers, not for labelled rows: leave it out"))
    return _labelled(given, path, like)


def _compared(given: dict[str, Any], path: Path, like: tuple[str, ...] | None) -> Known:
    answers = options.read_answers(path, **{name: given[name] for name in _OF_ANSWERS})
    features = read_features(given["features"], answers.names, answers.n_objects, like)
    # features are in the order of the objects, so their names are not needed any more
    return Known(features.frame(), answers._of(answers._fields._replace(names=None)), answers.n_dropped)


def _labelled(given: dict[str, Any], path: Path, like: tuple[str, ...] | None) -> Known:
    def label_column(header: list[str]) -> list[str]:
        columns = named_columns(path, header, given["labels"], "--labels")
        if len(columns) > 1:
            raise InputError(
                f"{path}: --labels names {len(columns)} columns, but rows have one label each: name one"
            )
        return columns

    table = read_rows(path, lambda header: [*label_column(header), *columns_behind(like or ())])
    (column,) = label_column(table.column_names)
    ignored = given.get("ignore")
    others = [] if ignored is None else named_columns(path, table.column_names, ignored, "--ignore")
    left = [name for name in table.column_names if name not in (column, *others)]
    labels = one_per_row(path, table, column)
    return Known(features_of(path, table, left, like).frame(), labels, column=column)


def _score(model: MetricLearner, known: Known, path: Path) -> float:
    try:
        return model.score(known.X, known.y)
    except InputError as error:
        raise error.but(parameter=None).within(path) from None


def _plain_score(model: MetricLearner, known: Known) -> float:
    """Return the score of the usual distance of columns with equal spread."""
    from nearer.coembedding.inputs import read

    rows, task = read(model, known.X, known.y)
    spread = rows.std(axis=0)
    return float(task.score(rows / (spread + (spread == 0))))


def _plain_line(score: float) -> tuple[str, str]:
    return ("plain distance has", f"{score:.4f}, with columns of equal spread")


def _lines(facts: Facts, model: MetricLearner, known: Known) -> Lines:
    """Return the facts for people."""
    total = f"{facts['n_train'] + facts['n_test']:,}{left_out(facts['n_dropped'])}"
    objects = f" about {counted(known.X.num_rows, 'object')}" if known.compares else ""
    lines = [
        (f"{known.noun}s", f"{total}{objects} with {counted(facts['n_features'], 'feature')}"),
        ("metric", f"rank {facts['rank']}, beta {facts['beta']:.3g}"),
        certificate_line(model),
        time_line(model),
    ]
    if facts["score"] is not None:
        n_test = counted(facts["n_test"], known.noun)
        held_out = f"{facts['score']:.4f} on {n_test} that the fit did not see"
        lines += [(f"held-out {known.measure}", held_out), _plain_line(facts["score_before"])]
    return lines
