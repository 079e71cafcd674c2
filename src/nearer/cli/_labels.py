"""Labels of rows on the command line: `nearer fit --model multilabel`, and `evaluate` and `predict` for its models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer._utils.text import counted, warn
from nearer.cli._label_files import LabelColumns, flags_of, texts_of
from nearer.cli._output import percent, show
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
from nearer.cli._row_features import Features, columns_behind, features_of, known_features, read_features
from nearer.cli._row_files import named_columns, places_of, read_rows
from nearer.cli._table_output import put_answers
from nearer.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from nearer.coembedding.classifier import CoEmbeddingClassifier

_HELD_OUT = 0.2
_MEASURES = {"micro_f1": "micro-F1", "macro_f1": "macro-F1", "hamming": "Hamming score"}


def fit(context: typer.Context, out: Path) -> None:
    """Learn the labels of rows, save the model, and print how well it predicts held-out rows."""
    given = context.params
    path: Path = given["answers"]
    estimator = typed_estimator(context)
    features, labels = _read(path, given)
    train, test = rows_of_parts(len(labels), given["test_size"], _HELD_OUT, given["seed"], path)
    known, asked = labels.take(train), labels.take(test)
    X = features.frame()

    def about() -> tuple[Facts, Lines]:
        facts = {
            **facts_of_result(estimator),
            "n_train": len(train),
            "n_test": len(test),
            "n_features": len(features.names),
            "n_labels": len(labels.names),
            "beta": estimator.beta_,
            "rank": estimator.label_embedding_.shape[1],
            "scores": _scores(estimator, X.take(test), asked) if len(test) else None,
            "most_frequent": _of_the_most_frequent(known, asked) if len(test) else None,
        }
        return facts, _lines(facts, estimator)

    learn(
        estimator,
        lambda: estimator.fit(X.take(train), known.target()),
        path,
        ["X", "y"],
        estimator.max_seconds,
    )
    remember_columns(estimator, labels.columns)
    if labels.separator is not None:
        estimator.label_separator_ = labels.separator
    save_and_show(context, estimator, out, about)


def evaluate(context: typer.Context, model: CoEmbeddingClassifier) -> None:
    """Print how well a model predicts the labels of the rows of a file."""
    given = context.params
    path: Path = given["answers"]
    features, labels = _read(path, given, model)
    scores = _scores(model, features.frame(), labels)
    lines = [("rows", f"{len(labels):,}"), *_shown(scores)]
    show({"scores": scores, "n_rows": len(labels)}, lines, as_json=given["as_json"])


def predict(context: typer.Context, model: CoEmbeddingClassifier) -> None:
    """Add predicted labels and their probabilities to the rows of a file."""
    given = context.params
    path: Path = given["questions"]
    names = known_features(model)
    table = read_rows(path, lambda header: columns_behind(names))
    X = features_of(path, table, [], names).frame()
    classes, probabilities = [str(name) for name in model.classes_], model.predict_proba(X)
    if model.single_:
        added = {"predicted": model.predict(X).astype(str), "probability": probabilities.max(axis=1)}
    else:
        predicted = _predicted(model, X)
        added = {f"predicted_{name}": predicted[:, at] for at, name in enumerate(classes)}
        added |= {f"probability_{name}": probabilities[:, at] for at, name in enumerate(classes)}
    put_answers(table, added, given["out"], "row", "predictions", given["as_json"])


# -- reading ----------------------------------------------------------------------------------------------------


def _read(
    path: Path, given: dict[str, Any], model: CoEmbeddingClassifier | None = None
) -> tuple[Features, LabelColumns]:
    """Return features and labels of the rows of a file, whose features may be in a file of their own."""
    known = None if model is None else known_features(model)
    beside: Path | None = given["features"]

    def as_text(header: list[str]) -> list[str]:
        columns = _label_columns(path, header, given, model)
        labels = columns if _are_texts(columns, model) else []
        return [*labels, *(header[:1] if beside is not None else ()), *columns_behind(known or ())]

    table = read_rows(path, as_text)
    columns = _label_columns(path, table.column_names, given, model)
    if _are_texts(columns, model):
        separator = given["separator"]
        if separator is None and given["labels"] is None:
            separator = getattr(model, "label_separator_", None)
        labels = texts_of(path, table, columns[0], separator)
    elif given["separator"] is not None:
        raise InputError(
            f"--separator is for one column with several labels per cell, but there are {len(columns)} columns of "
            "labels: leave it out"
        )
    else:
        labels = flags_of(path, table, columns)
    if model is not None and model.single_ and not labels.single:
        raise InputError(
            f"{path}: rows have several labels each, but the model predicts one: name its column"
        )
    if beside is not None:
        return read_features(beside, tuple(places_of(path, table)), table.num_rows, known), labels
    ignored = () if model is not None else _ignored(path, table.column_names, given)
    left = [name for name in table.column_names if name not in (*columns, *ignored)]
    return features_of(path, table, left, known), labels


def _ignored(path: Path, header: list[str], given: dict[str, Any]) -> list[str]:
    return [] if given["ignore"] is None else named_columns(path, header, given["ignore"], "--ignore")


def _are_texts(columns: list[str], model: CoEmbeddingClassifier | None) -> bool:
    """Return whether labels are texts of one column: one that was named, or the only one next to names of objects."""
    if len(columns) != 1:
        return False
    flag = model is not None and not model.single_ and columns[0] in map(str, model.classes_)
    return not flag


def _label_columns(
    path: Path, header: list[str], given: dict[str, Any], model: CoEmbeddingClassifier | None
) -> list[str]:
    if given["labels"] is not None:
        return named_columns(path, header, given["labels"], "--labels")
    if model is None and given["features"] is not None:
        return header[1:]  # after the names of objects, whose features are in the other file
    known = remembered_columns(model)
    if known and set(known) <= set(header):
        return known
    classes = () if model is None or model.single_ else tuple(str(name) for name in model.classes_)
    if not classes or not set(classes) <= set(header):
        raise InputError(
            f"{path}: say which columns hold labels, such as --labels genre or --labels 'sad,happy,mood_*'"
        )
    return list(classes)


# -- scores -----------------------------------------------------------------------------------------------------


def _scores(model: CoEmbeddingClassifier, X: Any, labels: LabelColumns) -> dict[str, float]:
    """Return how well labels are predicted; those that the model does not know cannot be."""
    import numpy as np

    known = [str(name) for name in model.classes_]
    strange = [
        name for at, name in enumerate(labels.names) if name not in known and labels.table[:, at].any()
    ]
    if strange:
        warn(f"labels that the model does not know, such as {strange[0]!r}, count as missed")
    if model.single_:
        return {"accuracy": float(np.mean(model.predict(X).astype(str) == labels.target()))}
    every = [*known, *strange]
    at = {name: number for number, name in enumerate(every)}
    wanted, predicted = (np.zeros((len(labels), len(every)), dtype=bool) for _ in range(2))
    for column, name in enumerate(labels.names):
        if name in at:
            wanted[:, at[name]] = labels.table[:, column]
    predicted[:, : len(known)] = _predicted(model, X)
    return _measures(wanted, predicted)


def _predicted(model: CoEmbeddingClassifier, X: Any) -> np.ndarray:
    """Return zeros and ones, also from a model that was fitted to a sparse table."""
    import numpy as np

    found = model.predict(X)
    return found.toarray() if model.sparse_ else np.asarray(found)


def _measures(wanted: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    from sklearn.metrics import f1_score

    micro, macro = (f1_score(wanted, predicted, average=how, zero_division=0) for how in ("micro", "macro"))
    return {
        "micro_f1": float(micro),
        "macro_f1": float(macro),
        "hamming": float((wanted == predicted).mean()),
    }


def _of_the_most_frequent(train: LabelColumns, test: LabelColumns) -> dict[str, float]:
    """Return the scores of the same labels for every row: the most frequent ones, as many as suit the training rows."""
    import numpy as np

    counts = train.table.sum(axis=0)
    order = np.argsort(-counts, kind="stable")
    if train.single:
        return {"accuracy": float(test.table[:, order[0]].mean())}
    numbers = np.arange(1, len(order) + 1)
    micro_f1 = 2 * np.cumsum(counts[order]) / (len(train) * numbers + counts.sum())
    predicted = np.zeros_like(test.table)
    predicted[:, order[: numbers[micro_f1.argmax()]]] = True
    return _measures(test.table, predicted)


def _lines(facts: Facts, model: CoEmbeddingClassifier) -> Lines:
    """Return the facts for people."""
    total = facts["n_train"] + facts["n_test"]
    size = f"{counted(facts['n_features'], 'feature')}, {counted(facts['n_labels'], 'label')}"
    lines = [
        ("rows", f"{total:,} with {size}"),
        ("space", f"{counted(facts['rank'], 'dimension')}, beta {facts['beta']:.3g}"),
        certificate_line(model),
        time_line(model),
    ]
    if facts["scores"] is not None:
        first, *others = _shown(facts["scores"])
        held_out = f" on {counted(facts['n_test'], 'row')} that the fit did not see"
        lines += [
            (f"held-out {first[0]}", first[1] + held_out),
            *((f"held-out {name}", v) for name, v in others),
        ]
        same = ", ".join(f"{name} {value}" for name, value in _shown(facts["most_frequent"]))
        lines.append(("frequent labels have", same))
    return lines


def _shown(scores: dict[str, float]) -> Lines:
    return [(_MEASURES.get(name, name), percent(value)) for name, value in scores.items()]
