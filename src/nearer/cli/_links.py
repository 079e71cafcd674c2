"""Links on the command line: `nearer fit --model links`, and `evaluate` and `predict` for its models.

`nearer recommend` is that of towers.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer._utils.text import counted, warn
from nearer.cli._options import column_of, refuse_idle, split_of
from nearer.cli._output import show
from nearer.cli._own_fits import (
    Facts,
    Lines,
    certificate_line,
    facts_of_result,
    learn,
    save_and_show,
    time_line,
    typed_estimator,
)
from nearer.cli._pair_files import features_of_sides, read_new_pairs, read_pairs
from nearer.cli._row_files import read_rows
from nearer.cli._table_output import put_answers
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from nearer.coembedding.links import LinkPredictor
    from nearer.interactions import Interactions

_HELD_OUT = 0.1
_MEASURES = {"auc": "AUC", "ap": "average precision"}


def fit(context: typer.Context, out: Path) -> None:
    """Fit to the links of a file, save the model, and print how well it tells held-out links from other pairs."""
    given = context.params
    path: Path = given["answers"]
    estimator = typed_estimator(context, _value)
    advice = "is for two sets: give --left-features alone"
    refuse_idle(context, (estimator.graph != "bipartite", ["right_features"], advice))
    given_pairs = read_pairs(path, given)
    links, one_set = _each_once(given_pairs, estimator.graph, path)
    features = features_of_sides(given, links)
    share = _HELD_OUT if given["test_size"] is None else given["test_size"]
    train, test = split_of(links, share, given["seed"], path)

    def about() -> tuple[Facts, Lines]:
        if one_set:
            warn(
                f"{path}: every link is stored in both directions; pass --graph undirected if both columns are one set"
            )
        facts = {
            **facts_of_result(estimator),
            "graph": estimator.graph,
            "n_left": links.n_left,
            "n_right": links.n_right,
            "n_train": len(train),
            "n_test": 0 if test is None else len(test),
            "n_dropped": given_pairs.n_dropped,
            "ignored_columns": list(given_pairs.ignored_columns),
            "beta": estimator.beta_,
            "rank": estimator.left_embedding_.shape[1],
            "scores": None if test is None else _scores(estimator, test, path),
        }
        return facts, _lines(facts, estimator)

    learn(estimator, lambda: estimator.fit(train, *features), path, ["R"], estimator.max_seconds)
    save_and_show(context, estimator, out, about)


def evaluate(context: typer.Context, model: LinkPredictor) -> None:
    """Print how well a model tells the links of a file from all other pairs; links of the fit do not count."""
    path: Path = context.params["answers"]
    pairs, held_out, n_known = read_new_pairs(path, context.params, model)
    scores = _scores(model, held_out, path)
    besides = f", and {n_known:,} of the fit, which do not count" if n_known else ""
    lines = [("links", f"{held_out.nnz:,}{besides}"), *_shown(scores)]
    facts = {"scores": scores, "n_links": held_out.nnz, "n_seen": n_known, "n_dropped": pairs.n_dropped}
    show(facts, lines, as_json=context.params["as_json"])


def predict(context: typer.Context, model: LinkPredictor) -> None:
    """Add to the pairs of a file whether they are predicted to be linked, and the probability."""
    from nearer.interactions.columns import pair_layout

    given = context.params
    path: Path = given["questions"]
    named = {side: column for side in ("left", "right") if (column := column_of(given[side])) is not None}

    def sides(header: list[str]) -> list[str]:
        return [header[at] for at in pair_layout(header, named or None, Place(str(path))).objects]

    table = read_rows(path, sides)
    columns = sides(table.column_names)
    pairs = _numbers(path, table, columns, model)
    try:
        added: dict[str, Any] = {"predicted_link": model.predict(pairs).astype(int)}
    except InputError as error:
        raise error.but(parameter=None).within(path) from None
    if model.calibration_ is not None:
        added["probability"] = model.predict_proba(pairs)
    put_answers(table, added, given["out"], "pair", "predictions", given["as_json"])


def _value(option: str, value: Any) -> Any:
    """Return the value of a parameter from that of its option."""
    if option == "balance" and value == "none":
        return None
    return int(value) if option == "negatives" and value.isdecimal() else value


def _each_once(pairs: Interactions, graph: str, path: Path) -> tuple[Interactions, bool]:
    """Return links, and whether two sets look like one.

    In an undirected graph none is left in both directions: the one that is held out would be known from the other.
    """
    from nearer.coembedding.link_rows import is_symmetric, read_links
    from nearer.interactions import Interactions

    try:
        links = read_links(pairs, graph)
    except InputError as error:
        raise error.but(parameter=None).within(path) from None
    lefts, rights = links.pairs.T
    each = Interactions(
        lefts,
        rights,
        links.weights,
        n_left=links.shape[0],
        n_right=links.shape[1],
        left_names=links.seen.names[0],
        right_names=links.seen.names[1],
    )
    return each, graph == "bipartite" and is_symmetric(links)


def _numbers(path: Path, table: pa.Table, columns: list[str], model: LinkPredictor) -> np.ndarray:
    """Return the pairs of a table by the indices of a model."""
    import numpy as np

    found = []
    sides = (model.left_names_, len(model.left_embedding_)), (model.right_names_, len(model.right_embedding_))
    for column, (names, count) in zip(columns, sides, strict=True):
        place = {name: at for at, name in enumerate(names or map(str, range(count)))}
        cells = table.column(column).to_pylist()
        strange = next((row for row, cell in enumerate(cells) if cell not in place), None)
        if strange is not None:
            raise InputError(
                f"the model does not know {cells[strange]!r}",
                "give names of the fit" if names else f"give indices from 0 to {count - 1}",
                place=Place(str(path), row=strange, column=column),
            )
        found.append(np.array([place[cell] for cell in cells], dtype=np.int64))
    return np.stack(found, axis=1)


def _scores(model: LinkPredictor, links: Any, path: Path) -> dict[str, float]:
    try:
        return {"auc": model.score(links), "ap": model.average_precision(links)}
    except InputError as error:
        raise error.but(parameter=None).within(path) from None


def _shown(scores: dict[str, float]) -> Lines:
    return [(shown, f"{scores[name]:.4f}") for name, shown in _MEASURES.items()]


def _lines(facts: Facts, model: LinkPredictor) -> Lines:
    """Return the facts for people."""
    dropped = f", {counted(facts['n_dropped'], 'row')} left out" if facts["n_dropped"] else ""
    between = f"between {facts['n_left']:,} left and {facts['n_right']:,} right objects"
    within = f"within {counted(facts['n_left'], 'object')}, {facts['graph']}"
    total = counted(facts["n_train"] + facts["n_test"], "link")
    lines = [
        ("links", f"{total} {between if facts['graph'] == 'bipartite' else within}{dropped}"),
        ("columns not used", ", ".join(facts["ignored_columns"])),
        ("space", f"{counted(facts['rank'], 'dimension')}, beta {facts['beta']:.3g}"),
        certificate_line(model),
        time_line(model),
    ]
    if facts["scores"] is not None:
        (first, value), *others = _shown(facts["scores"])
        held_out = f"{value} on {counted(facts['n_test'], 'link')} that the fit did not see"
        lines += [(f"held-out {first}", held_out), *((f"held-out {name}", v) for name, v in others)]
    return [line for line in lines if line[1]]
