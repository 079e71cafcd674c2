"""Online and batch kernels on people's answers: Figure 3 of the ERKLE paper, and conflicts.

*Music*: 9,090 triplets of a web survey about 412 artists (17 degenerate rows dropped; its publishers have cleaned it of
contradictions, and the paper's raw answers are not to be had), 80 % to learn from, 20 % to be judged by. Batch: STE,
GNMDS and CKL at convergence, the trace penalty by cross-validation within the answers learned from. Online: PA and STE
with step 1, from the identity, with 1 and 10 passes (nine more steps on earlier answers after each new one), and of low
rank. The paper does not say how it counts ranks; shown are MATLAB's `rank`, and how many eigenvalues hold 95 and 99 %
of the trace, all of the centred kernel.

*Conflicts*: strange fruit, food and material, where people contradict each other. To keep the runs short, each split
takes a random sample: of the single answers about 30 strange fruit, of the screens about 25 of 100 dishes, of the
questions about 50 of 100 materials (several votes each). Steps are plain (PA), bounded (PA-I) or softened (PA-II; with
weights of 1 that is PA with a smaller `step_size`), or those of STE; bound and factor are those of least held-out error
on another sample and split. Whole groups (screens, questions) are held out; of strange fruit, single answers. Seconds
are processor time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _conflicts, _data
from benchmarks._figures import bars, grid, legend_below, looks, tidy_chart
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table, best_in_bold, checks, digits, median, quartiles, spread
from nearer import Comparisons, OnlineKernel, RelativeKernel
from nearer.datasets import planted
from nearer.kernels.base import KernelModel

Rows = list[dict[str, Any]]

SETTINGS: dict[str, Any] = {
    "test_share": 0.2,
    "checkpoints": [1000, 3000],  # and the end
    "batch": ["ste", "gnmds", "ckl"],
    "updates": {"PA": "passive-aggressive", "STE": "ste"},
    "music_passes": [1, 10],
    "ranks": [5, 20],
    "fewer_seeds": {"PA-ERKLE, 10": 3, "STE-ERKLE, 10": 2},  # slow ones
    "conflicts": {  # a sample of the objects, and most rows among them (of material, questions)
        "fruit": {"objects": 30, "rows": 8000},
        "food": {"objects": 25, "rows": 5000},
        "material": {"objects": 50, "rows": 2000},
    },
    "grids": {
        "PA": [],
        "PA-I": [0.003, 0.01, 0.03, 0.1],
        "PA-II": [0.001, 0.003, 0.01, 0.03],
        "STE": [0.01, 0.03, 0.1, 0.3],
    },
    "rank_grids": {"PA": [], "PA-I": [0.01, 0.03, 0.1, 0.3], "PA-II": [0.003, 0.01, 0.03, 0.1, 0.3]},
    "several_passes": ["PA", "PA-I"],
    "passes": [1, 3],
    "rank": 5,
    "seeds": 10,
    "conflict_seeds": 10,
    "tuning_seeds": [1000],
}
QUICK = {
    "seeds": 1,
    "conflict_seeds": 1,
    "checkpoints": [500],
    "conflicts": {"fruit": {"objects": 30, "rows": 500}, "material": {"objects": 30, "rows": 100}},
    "music_passes": [1, 2],
    "fewer_seeds": {"STE-ERKLE, 2": 0},
}

MUSIC = "music"


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Tuning; then a split of the music and one of every data set with conflicts, and so on."""
    tuning = _conflicts.tuning_cells(settings)
    return tuning + [
        cell
        for seed in range(settings["seeds"])
        for cell in ({"part": MUSIC, "seed": seed}, *_conflicts.cells(settings, seed))
        if cell["part"] == MUSIC or seed < settings["conflict_seeds"]
    ]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile and touch everything."""
    answers, _ = planted(20, 2, 300, random_state=0)
    for loss in settings["batch"]:
        RelativeKernel(loss, random_state=0).fit(answers)
    OnlineKernel(20, passes=2, random_state=0).fit(answers)
    OnlineKernel(20, rank=2, passes=2, random_state=0).fit(answers)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a cell asks for, on one thread."""
    with threadpool_limits(1):
        yield from (_music if cell["part"] == MUSIC else _conflicts.measure)(cell, job)


def rivals(settings: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Names and arguments of the music's rivals; those with a loss are batch."""
    batch: dict[str, dict[str, Any]] = {f"{loss.upper()}-Batch": {"loss": loss} for loss in settings["batch"]}
    online = {
        f"{name}-ERKLE, {passes}": {"update": update, "passes": passes}
        for name, update in settings["updates"].items()
        for passes in settings["music_passes"]
    }
    low = {
        f"PA, rank {rank}, {passes}": {"rank": rank, "passes": passes}
        for rank in settings["ranks"]
        for passes in settings["music_passes"]
    }
    return batch | online | low


def _music(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    settings, seed = job.settings, cell["seed"]
    train, test = _data.music().split(test_size=settings["test_share"], random_state=seed)
    train = train.shuffled(random_state=seed)
    named = rivals(settings)
    for rival in rotated(list(named), seed):
        if rival not in job.done and seed < settings["fewer_seeds"].get(rival, settings["seeds"]):
            course = _batch_course if "loss" in named[rival] else _online_course
            yield rival, course(named[rival], train, test, settings, seed)


def _batch_course(
    arguments: dict[str, Any], train: Comparisons, test: Comparisons, settings: dict[str, Any], seed: int
) -> dict[str, Any]:
    """A fit from scratch to the answers so far at every checkpoint."""
    found: list[dict[str, Any]] = []
    for count in [*settings["checkpoints"], len(train)]:
        began = time.process_time()
        model = RelativeKernel(**arguments, random_state=seed).fit(train[:count])
        found.append(_looked_at(model, train[:count], test, time.process_time() - began))
        found[-1]["penalty"] = model.trace_penalty_
    return {key: [one[key] for one in found] for key in found[0]}


def _online_course(
    arguments: dict[str, Any], train: Comparisons, test: Comparisons, settings: dict[str, Any], seed: int
) -> dict[str, Any]:
    """One kernel that learns on, looked at on the way."""
    model = OnlineKernel(train.n_objects, **arguments, random_state=seed)
    found: list[dict[str, Any]] = []
    seconds, last = 0.0, 0
    for count in [*settings["checkpoints"], len(train)]:
        began = time.process_time()
        model.partial_fit(train[last:count])
        seconds, last = seconds + time.process_time() - began, count
        found.append(_looked_at(model, train[:count], test, seconds))
    return {key: [one[key] for one in found] for key in found[0]}


def _looked_at(model: KernelModel, train: Comparisons, test: Comparisons, seconds: float) -> dict[str, Any]:
    return {
        "answers": len(train),
        "error": round(1 - model.score(test), 5),
        "train_error": round(1 - model.score(train), 5),
        **ranks(model.kernel_),
        "seconds": round(seconds, 3),
    }


def ranks(kernel: np.ndarray) -> dict[str, int]:
    """MATLAB's rank of the centred kernel, and how many eigenvalues hold 95 and 99 % of its trace.

    >>> ranks(np.diag([5.0, 5, 5, 0]))["rank"]
    3
    """
    centred = kernel - kernel.mean(axis=0)
    centred -= centred.mean(axis=1)[:, None]
    values = np.sort(np.linalg.eigvalsh((centred + centred.T) / 2))[::-1]
    share = np.cumsum(np.maximum(values, 0)) / max(np.maximum(values, 0).sum(), 1e-300)
    numerical = int(np.sum(values > len(values) * np.finfo(float).eps * values[0]))
    return {
        "rank": numerical,
        **{f"rank_{percent}": int(np.searchsorted(share, percent / 100 - 1e-12) + 1) for percent in (95, 99)},
    }


# -- what is shown ----------------------------------------------------------------------------------------------------


def _of_music(rows: Rows) -> list[dict[str, Any]]:
    return [row["results"] for row in rows if row["cell"]["part"] == MUSIC]


def _last(found: list[dict[str, Any]], rival: str, what: str, at: int = -1) -> list[float]:
    return [results[rival][what][at] for results in found if rival in results]


def summarise(rows: Rows, settings: dict[str, Any]) -> list[Table]:
    """The checks, the music, and a table for each data set with conflicts."""
    found = _of_music(rows)
    shown = [checks([*_music_checks(found, settings), *_conflict_checks(rows, settings)])]
    if found:
        shown += [_music_table(found, settings), _course_table(found, settings)]
    return [*shown, *_conflicts.tables(rows, settings)]


def _music_checks(
    found: list[dict[str, Any]], settings: dict[str, Any]
) -> Iterator[tuple[str, str, str, bool | None]]:
    if not found:
        return
    last = settings["music_passes"][-1]
    batch = {
        name: median(_last(found, name, "error")) for name, what in rivals(settings).items() if "loss" in what
    }
    best = min(batch, key=lambda name: batch[name] or 1.0)
    pa = median(_last(found, f"PA-ERKLE, {last}", "error"))
    if pa is None or batch[best] is None:
        return
    what = f"music: PA-ERKLE with {last} passes against the best batch method ({best})"
    yield what, "as low or lower (paper)", f"{digits(pa)} against {digits(batch[best])}", pa <= batch[best]  # type: ignore[operator]
    for passes in settings["music_passes"]:
        pa, ste = (median(_last(found, f"{name}-ERKLE, {passes}", "error")) for name in ("PA", "STE"))
        if pa is not None and ste is not None:
            what = f"music: STE-ERKLE against PA-ERKLE, {passes} pass{'es' * (passes > 1)}"
            yield what, "higher (paper)", f"{digits(ste)} against {digits(pa)}", ste > pa


def _conflict_checks(rows: Rows, settings: dict[str, Any]) -> Iterator[tuple[str, str, str, bool | None]]:
    """Whether a careful step is better than a plain one on every split but one at most."""
    for name in settings["conflicts"]:
        found = _conflicts.of(rows, name)
        for passes in settings["passes"] if found else ():
            plain = f"PA / each / {passes}"
            for form in ("PA-I", "PA-II"):
                if f"{form} / each / {passes}" not in found[0]:
                    continue
                points, better = _conflicts.gain(found, f"{form} / each / {passes}", plain)
                what = f"{name}: {form} helps, {passes} pass{'es' * (passes > 1)}"
                measured = f"{points} points, lower on {better}/{len(found)}"
                yield what, "lower on all splits but one", measured, better >= max(len(found) - 1, 1)


def _music_table(found: list[dict[str, Any]], settings: dict[str, Any]) -> Table:
    heads = ["held-out error", "training error", "rank", "for 95 % of the trace", "for 99 %", "seconds"]
    names = list(rivals(settings))
    count = found[0][names[0]]["answers"][-1]
    title = f"Music: all {count:,} answers, medians of {len(found)} splits (quartiles)"
    table = Table(title, ["method, passes", *heads])
    texts = best_in_bold(
        [spread(_last(found, name, "error")) for name in names],
        [median(_last(found, name, "error")) for name in names],
    )
    for name, text in zip(names, texts, strict=True):
        parts = ("train_error", "rank", "rank_95", "rank_99", "seconds")
        count = len(_last(found, name, "error"))
        label = name if count == len(found) else f"{name} ({count} splits)"
        table.add(label, text, *(spread(_last(found, name, part)) for part in parts))
    table.note = "Seconds of a batch method include the choice of the penalty."
    return table


def _course_table(found: list[dict[str, Any]], settings: dict[str, Any]) -> Table:
    first = found[0][next(iter(found[0]))]["answers"]
    heads = [f"{what}, {count:,}" for what in ("error", "rank") for count in first]
    table = Table("Music: along the way, medians", ["method, passes", *heads])
    for name in rivals(settings):
        texts = [
            digits(median(_last(found, name, what, at)))
            for what in ("error", "rank_95")
            for at in range(len(first))
        ]
        table.add(name, *texts)
    table.note = "Ranks here: eigenvalues that hold 95 % of the trace."
    return table


def draw(rows: Rows, settings: dict[str, Any]) -> dict[str, Figure]:
    """Music along the way (Fig. 3), and forms of the step on conflicting answers."""
    figures: dict[str, Figure] = {}
    if found := _of_music(rows):
        figures["music"] = _draw_music(found, settings)
    measured = [name for name in settings["conflicts"] if _conflicts.of(rows, name)]
    if measured:
        figures["conflicts"] = _draw_conflicts(rows, measured, settings)
    return figures


def _draw_music(found: list[dict[str, Any]], settings: dict[str, Any]) -> Figure:
    parts = {
        "error": "held-out error",
        "train_error": "training error",
        "rank_95": "rank for 95 % of the trace",
    }
    figure, axes = grid(3, columns=3, size=(3.9, 3.6))
    for ax, (part, label) in zip(axes, parts.items(), strict=True):
        for name, look in looks(list(rivals(settings))).items():
            some = [results[name] for results in found if name in results]
            if not some:
                continue
            values, x = [one[part] for one in some], some[0]["answers"]
            ax.plot(x, np.median(values, axis=0), label=name, linewidth=1.5, markersize=4, **look)
        tidy_chart(ax, "answers", label, label)
    axes[2].set_yscale("log")
    legend_below(figure, axes[0], columns=4)
    return figure


def _draw_conflicts(rows: Rows, measured: list[str], settings: dict[str, Any]) -> Figure:
    figure, axes = grid(len(measured), columns=3, size=(4.6, 5.6))
    names = _conflicts.rivals(settings)
    for ax, data in zip(axes, measured, strict=True):
        found = _conflicts.of(rows, data)
        spreads = [quartiles(_conflicts.errors(found, name)) for name in names]
        by_form = looks(list(settings["grids"]))
        colours = [str(by_form[name.split(" / ")[0]]["color"]) for name in names]
        lows, middles, highs = (list(part) for part in zip(*spreads, strict=True))
        bars(ax, names, middles, lows, highs, colours)
        ax.axvline(float(np.median(_conflicts.errors(found, _conflicts.BATCH))), linestyle=":", color="grey")
        tidy_chart(ax, "held-out error", "", f"{data} (dotted: batch STE)")
    return figure
