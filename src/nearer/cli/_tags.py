"""Tags of posts on the command line: `nearer fit --model tags`, and `evaluate` and `recommend` for its models."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer._utils.text import counted, warn
from nearer.cli._options import column_of, split_of
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
from nearer.cli._ranked_output import ranked_table, show_lists, write_lists
from nearer.cli._row_files import read_rows
from nearer.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa

    from nearer.coembedding.tags import TagRecommender
    from nearer.interactions import Posts

_SIDES = ("user", "item", "tag")
#: how lists of five are measured
_MEASURE = "F1@5"


def fit(context: typer.Context, out: Path) -> None:
    """Fit to the posts of a file, save the model, and print how well it finds the tags of held-out posts."""
    given = context.params
    path: Path = given["answers"]
    estimator = typed_estimator(context)
    posts = _read(path, given)
    train, test = split_of(posts, given["test_size"], given["seed"], path)

    def about() -> tuple[Facts, Lines]:
        facts = {
            **facts_of_result(estimator),
            **{f"n_{side}s": count for side, count in zip(_SIDES, posts.shape, strict=True)},
            "n_train": train.n_posts,
            "n_test": 0 if test is None else test.n_posts,
            "n_dropped": posts.n_dropped,
            "ignored_columns": list(posts.ignored_columns),
            "beta": estimator.beta_,
            "rank": estimator.tag_embedding_.shape[1],
            "f1": None if test is None else estimator.score(test),
            "most_frequent": None if test is None else _score_of_the_most_frequent(estimator, test),
        }
        return facts, _lines(facts, estimator)

    learn(estimator, lambda: estimator.fit(train), path, ["posts"], estimator.max_seconds)
    save_and_show(context, estimator, out, about)


def evaluate(context: typer.Context, model: TagRecommender) -> None:
    """Print how well a model finds the tags of the posts of a file."""
    path: Path = context.params["answers"]
    posts = _read(path, context.params, model)
    try:
        score, frequent = model.score(posts), _score_of_the_most_frequent(model, posts)
    except InputError as error:
        raise error.but(parameter=None).within(path) from None
    facts = {"f1": score, "most_frequent": frequent, "n_posts": posts.n_posts, "n_dropped": posts.n_dropped}
    about = f"{counted(posts.n_posts, 'post')}{_left_out(posts.n_dropped)}"
    lines = [(_MEASURE, f"{score:.4f} on {about}"), _frequent_line(frequent)]
    show(facts, lines, as_json=context.params["as_json"])


def recommend(context: typer.Context, model: TagRecommender) -> None:
    """Rank the tags for the users and items of a file."""
    given = context.params
    path: Path | None = given["rows"]
    if path is None:
        raise InputError(
            "say for whom with --rows: a table with a user and an item in each row, such as --rows pairs.csv"
        )
    users, items = _asked(path, given, model)
    known = [_known(path, column, model, side) for side, column in (("user", users), ("item", items))]
    found = model.recommend(known[0], known[1], given["k"], exclude_seen=not given["include_seen"])
    table = ranked_table({"user": users, "item": items}, found, "tag", model.tag_names_)
    facts = {"n_pairs": len(users), "k": given["k"]}
    if given["out"] is None:
        show_lists(table, facts, given["as_json"])
    else:
        write_lists(table, given["out"], facts, counted(len(users), "pair"), given["as_json"])


# -- reading ----------------------------------------------------------------------------------------------------


def _read(path: Path, given: dict[str, Any], model: TagRecommender | None = None) -> Posts:
    """Return the posts of a file; with a model, numbers are read as the kind that it knows."""
    from nearer.interactions import Posts

    columns: dict[str, Any] = {role: column_of(given[role]) for role in (*_SIDES, "weight")}
    chosen = {name: given[name].value for name in ("ids", "duplicates", "invalid") if given[name] is not None}
    if model is not None:
        named = {getattr(model, f"{side}_names_") is not None for side in _SIDES}
        if len(named) == 1:
            chosen = {"ids": "names" if named.pop() else "indices", **chosen}
    posts = Posts.read(path, header=given["header"], **columns, **chosen)
    if not posts.n_posts:
        raise InputError(f"{path}: no posts are left: check what was left out")
    return posts


def _asked(path: Path, given: dict[str, Any], model: TagRecommender) -> tuple[pa.Array, pa.Array]:
    """Return users and items of the rows of a file, as they are written."""
    from nearer.interactions.post_tables import positions_of

    table = read_rows(path, lambda header: header)
    named = {side: column for side in ("user", "item") if (column := column_of(given[side])) is not None}
    users, items = positions_of(table.column_names, named, Place(str(path)), ("user", "item"))
    return table.column(users).combine_chunks(), table.column(items).combine_chunks()


def _known(path: Path, column: pa.Array, model: TagRecommender, side: str) -> list[Any]:
    """Return users or items as the model takes them, None for those without posts in the fit; say so."""
    names: tuple[str, ...] | None = getattr(model, f"{side}_names_")
    counts = getattr(model, f"{side}_counts_").tolist()
    place = {name: number for number, name in enumerate(names or map(str, range(len(counts))))}
    featured = getattr(model, f"{side}_factor_") is not None
    cells = column.to_pylist()
    numbers = [place.get(cell) for cell in cells]
    known = [number if number is not None and (featured or counts[number]) else None for number in numbers]
    strange = list(
        dict.fromkeys(cell for cell, at in zip(cells, known, strict=True) if at is None and cell.strip())
    )
    if strange:
        warn(
            f"{path}: {counted(len(strange), side)} without posts in the fit, such as {strange[0]!r}: tags are ranked "
            "by what is known"
        )
    return known


# -- scores -----------------------------------------------------------------------------------------------------


def _score_of_the_most_frequent(model: TagRecommender, posts: Posts) -> float:
    """Return the score of the same list for every post: that of users and items that nobody knows."""
    import numpy as np

    unaware = copy.copy(model)
    unaware.user_counts_, unaware.item_counts_ = (
        np.zeros_like(counts) for counts in (model.user_counts_, model.item_counts_)
    )
    unaware.user_factor_ = unaware.item_factor_ = None
    return unaware.score(posts)


def _frequent_line(score: float) -> tuple[str, str]:
    return ("frequent tags have", f"{_MEASURE} {score:.4f}")


def _left_out(n_dropped: int) -> str:
    return f", {counted(n_dropped, 'row')} left out" if n_dropped else ""


def _lines(facts: Facts, model: TagRecommender) -> Lines:
    """Return the facts for people."""
    total = counted(facts["n_train"] + facts["n_test"], "post")
    sizes = [counted(facts[f"n_{side}s"], side) for side in _SIDES]
    lines = [
        ("posts", f"{total} of {sizes[0]}, {sizes[1]} and {sizes[2]}{_left_out(facts['n_dropped'])}"),
        ("columns not used", ", ".join(facts["ignored_columns"])),
        ("space", f"{counted(facts['rank'], 'dimension')}, beta {facts['beta']:.3g}"),
        certificate_line(model),
        time_line(model),
    ]
    if facts["f1"] is not None:
        held_out = counted(facts["n_test"], "post")
        lines += [
            (f"held-out {_MEASURE}", f"{facts['f1']:.4f} on {held_out} that the fit did not see"),
            _frequent_line(facts["most_frequent"]),
        ]
    return [line for line in lines if line[1]]
