"""Towers on the command line: reading pairs, `nearer fit --model towers`, and `nearer evaluate` for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from nearer._utils.group import own_rank
from nearer._utils.text import counted
from nearer.cli._options import refuse_idle, split_of
from nearer.cli._output import show
from nearer.cli._own_fits import (
    Facts,
    Lines,
    facts_of_result,
    learn,
    save_and_show,
    time_line,
    typed_estimator,
)
from nearer.cli._pair_files import features_of_sides, read_new_pairs, read_pairs
from nearer.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_matrix

    from nearer.interactions import Interactions
    from nearer.towers.two_tower import TwoTower

_HELD_OUT = 0.1
#: what is measured, and how it is written
_MEASURES = {"map@5": "MAP@5", "recall@20": "recall@20", "ndcg@10": "NDCG@10", "hr@10": "HR@10"}
_RANKS = 20
#: what a search chooses
_SEARCHED = ("hidden", "inputs", "max_seconds", "validation")


def fit(context: typer.Context, out: Path) -> None:
    """Fit towers to the pairs of a file, save them, and print how well they rank held-out pairs."""
    given = context.params
    path, seconds = given["answers"], given["search"]
    searched = seconds is not None
    refuse_idle(context, (searched, _SEARCHED, "is chosen by --search: leave one of the two out"))
    estimator = typed_estimator(context, _value)
    pairs = read_pairs(path, given, shared=True)
    if "features" in (given["inputs"] or "") and given["left_features"] == given["right_features"] is None:
        raise InputError("--inputs asks for features: give them with --left-features or --right-features")
    features = features_of_sides(given, pairs)
    share = _HELD_OUT if given["test_size"] is None else given["test_size"]
    train, test = split_of(pairs, share, given["seed"], path)

    def work() -> None:
        if seconds is None:
            estimator.fit(train, *features)
        else:
            estimator.search(train, *features, seconds=seconds)

    def about() -> tuple[Facts, Lines]:
        facts = _facts(estimator, pairs, train, test)
        return facts, _lines(facts, estimator)

    learn(estimator, work, path, ["R"], seconds if searched else estimator.max_seconds)
    estimator.set_params(checkpoint=None)  # a saved model holds no files
    if own_rank() == 0:  # of several processes, the first writes and prints
        save_and_show(context, estimator, out, about)


def _value(option: str, value: Any) -> Any:
    """Return the value of a parameter from that of its option."""
    if option == "hidden":
        return hidden_widths(value)
    if option == "inputs":
        sides = tuple(side.strip() for side in value.split(","))
        return sides if len(sides) > 1 else sides[0]
    return str(value) if isinstance(value, Path) else value


def hidden_widths(text: str) -> tuple[int, ...]:
    """Return the widths of hidden layers.

    >>> hidden_widths("256,128"), hidden_widths("none")
    ((256, 128), ())
    """
    if text.strip() == "none":
        return ()
    widths = [width.strip() for width in text.split(",")]
    if not all(width.isdecimal() and int(width) for width in widths):
        raise InputError(f"--hidden {text!r}: write widths such as 256,256, or none")
    return tuple(int(width) for width in widths)


def _facts(
    model: TwoTower, pairs: Interactions, train: Interactions, test: Interactions | None
) -> dict[str, Any]:
    """Return what was found, for machines."""
    facts = {
        **facts_of_result(model),
        "n_left": pairs.n_left,
        "n_right": pairs.n_right,
        "n_components": model.n_components,
        "n_train": len(train),
        "n_test": 0 if test is None else len(test),
        "n_dropped": pairs.n_dropped,
        "ignored_columns": list(pairs.ignored_columns),
        "scores": None,
        "popularity": None,
    }
    if test is not None:
        facts["scores"], facts["popularity"] = (_means(of) for of in scores_of(model, test.csr()))
    return facts


def _lines(facts: dict[str, Any], model: TwoTower) -> list[tuple[str, str]]:
    """Return the same for people."""
    dropped = f", {counted(facts['n_dropped'], 'row')} left out" if facts["n_dropped"] else ""
    total = counted(facts["n_train"] + facts["n_test"], "pair")
    widths = "-".join(str(width) for width in (*model.hidden, model.n_components))
    inputs = " and ".join(facts["details"]["inputs"])
    trials = facts["details"].get("trials")
    lines = [
        ("pairs", f"{total} of {facts['n_left']:,} left and {facts['n_right']:,} right{dropped}"),
        ("columns not used", ", ".join(facts["ignored_columns"])),
        ("search", "" if trials is None else f"best of {counted(len(trials), 'trial')}"),
        ("towers", f"from {inputs}, {widths}, {model.loss} loss, objective {facts['objective']:.4g}"),
        time_line(model),
    ]
    if facts["scores"] is not None:
        lines += [
            (f"held-out {_MEASURES[name]}", f"{facts['scores'][name]:.4f} on {held_out}")
            for name, held_out in (
                ("map@5", f"{counted(facts['n_test'], 'pair')} that the fit did not see"),
                ("recall@20", "the same pairs"),
            )
        ]
        lines.append(("popularity has", _shown(facts["popularity"], ("map@5", "recall@20"))))
    return [line for line in lines if line[1]]


def _shown(scores: dict[str, float], names: tuple[str, ...]) -> str:
    return ", ".join(f"{_MEASURES[name]} {scores[name]:.4f}" for name in names)


def _means(scores: dict[str, np.ndarray]) -> dict[str, float]:
    return {name: float(values.mean()) for name, values in scores.items()}


def scores_of(model: TwoTower, held_out: csr_matrix) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the measures per row with held-out pairs: of the model, and of the most popular right entities."""
    import numpy as np

    from nearer.metrics import ranking_scores
    from nearer.towers.ranking import top_k

    rows = np.flatnonzero(np.diff(held_out.indptr))
    counts = np.bincount(model.seen_columns_, minlength=held_out.shape[1]).astype(float)
    popular = top_k(np.ones((len(rows), 1)), counts[:, None], _RANKS, model._seen_matrix()[rows])
    ranked = (model.recommend(rows, _RANKS).items, popular.items)
    ours, theirs = (ranking_scores(items, held_out[rows], _MEASURES, per_row=True) for items in ranked)
    return ours, theirs


def evaluate(context: typer.Context, model: TwoTower) -> None:
    """Print how well towers rank the pairs of a file; pairs of the fit do not count."""
    path = context.params["answers"]
    pairs, held_out, n_known = read_new_pairs(path, context.params, model)
    ours, theirs = scores_of(model, held_out)
    means, popular = _means(ours), _means(theirs)
    n_left = len(ours["map@5"])
    errors = {name: float(values.std() / n_left**0.5) for name, values in ours.items()}
    besides = f", and {n_known:,} of the fit, which do not count" if n_known else ""
    lines = [
        ("pairs", f"{held_out.nnz:,} of {n_left:,} left{besides}"),
        *((shown, f"{means[name]:.4f} ± {errors[name]:.4f}") for name, shown in _MEASURES.items()),
        ("popularity has", _shown(popular, tuple(_MEASURES))),
    ]
    facts = {
        **{"scores": means, "standard_errors": errors, "popularity": popular},
        **{"n_pairs": held_out.nnz, "n_left": n_left, "n_seen": n_known, "n_dropped": pairs.n_dropped},
    }
    show(facts, lines, as_json=context.params["as_json"])
