"""Which question next: answers needed by each strategy.

Studies played to the end, ten questions at a time, with every strategy of `nearer.active`.

- `planted-2` and `planted-5`: 100 points from a standard normal distribution in 2 or 5 dimensions, answers drawn
  from the STE model (about 15 % and 9 % of random answers are wrong), 10 answers for each of the n × d coordinates.
- `noisier-2`: the same with 28 % wrong answers. `flipped-2`: a tenth of the answers flipped, however clear they are.
- `fruit`, `material`, `food`, `music`: answers that people gave, a fifth of them held out. A strategy may ask only
  what people were asked, and gets one of their answers.

Held-out answers are without noise where points are planted, and as noisy as people elsewhere. All strategies of a
seed meet the same points and held-out answers, and all are judged alike: `OrdinalEmbedding(loss="ste")` with
automatic regularisation, fitted to the answers gathered so far (of our losses the one with which random questions do
best). The question is how many answers a strategy needs for the error that random questions have: from then on its
error must stay as low.

Cost: seconds to choose a question among 100 to 10,000 objects in 2 dimensions once there are 20 answers an object,
and to fit the selector's own map, which happens whenever there are 5 % more answers. All on one core.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from threadpoolctl import threadpool_limits

from benchmarks import _data
from benchmarks._figures import MUTED, band, grid, legend_below, looks, tidy_chart
from benchmarks._runner import Job, rotated
from benchmarks._store import Cell
from benchmarks._tables import Table, best_in_bold, checks, digits, median, spread
from nearer.active import STRATEGIES, PlantedOracle, RecordedOracle, Study, play, selector
from nearer.datasets import planted

SETTINGS: dict[str, Any] = {
    "strategies": list(STRATEGIES),
    "n_objects": 100,
    "planted": {
        "planted-2": {"d": 2, "noise": "ste", "scale": 1.0},
        "planted-5": {"d": 5, "noise": "ste", "scale": 1.0},
        "noisier-2": {"d": 2, "noise": "ste", "scale": 0.6},
        "flipped-2": {"d": 2, "noise": 0.1, "scale": 1.0},
    },
    "human": {"fruit": 2, "material": 3, "food": 3, "music": 5},  # dimensions
    "answers_per_coordinate": 10,
    "most_of_pool": 0.6,  # of recorded answers, where there are fewer
    "batch": 10,
    "checkpoints": 20,
    "seeds": 10,
    "cost_objects": [100, 1000, 10_000],
    "cost_answers": 20,  # an object
    "cost_repeats": 30,
}
QUICK = {
    "strategies": ["random", "arr", "adaptive"],
    "n_objects": 30,
    "planted": {"planted-2": {"d": 2, "noise": "ste", "scale": 1.0}},
    "human": {"fruit": 2},
    "checkpoints": 10,
    "seeds": 3,
    "cost_objects": [100, 1000],
    "cost_repeats": 5,
}

SHARES = (0.25, 0.5, 1.0)  # of the answers, shown in tables
TARGET = 0.6
MUST_HOLD = ("planted-2", "planted-5")


def cells(settings: dict[str, Any]) -> list[Cell]:
    """Costs, then a seed of every problem after the other."""
    cost = [{"problem": "cost", "objects": n} for n in settings["cost_objects"]]
    return cost + [
        {"problem": name, "seed": seed} for seed in range(settings["seeds"]) for name in problems(settings)
    ]


def problems(settings: dict[str, Any]) -> list[str]:
    """Names of the problems."""
    return [*settings["planted"], *settings["human"]]


def warm_up(settings: dict[str, Any]) -> None:
    """Compile and touch everything."""
    play(PlantedOracle(10), settings["strategies"], n_answers=60, checkpoints=[60], random_state=0)


def measure(cell: Cell, job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    """All strategies on one problem."""
    for name in rotated(job.settings["strategies"], cell.get("seed", 0)):
        if name not in job.done:
            with threadpool_limits(1):
                cost = cell["problem"] == "cost"
                found = _cost(name, cell, job.settings) if cost else _played(name, cell, job)
            yield name, found


def _played(strategy: str, cell: Cell, job: Job) -> dict[str, Any]:
    """One study: errors along the way."""
    settings = job.settings
    oracle: PlantedOracle | RecordedOracle
    if cell["problem"] in settings["human"]:
        d, answers = settings["human"][cell["problem"]], _data.HUMAN[cell["problem"]]()
        oracle = RecordedOracle(answers)
        most = int(settings["most_of_pool"] * len(answers))
        n_answers = min(settings["answers_per_coordinate"] * answers.n_objects * d, most)
    else:
        d, noise, scale = settings["planted"][cell["problem"]].values()
        oracle = PlantedOracle(settings["n_objects"], d, noise=noise, scale=scale)
        n_answers = settings["answers_per_coordinate"] * settings["n_objects"] * d
    steps = np.arange(1, settings["checkpoints"] + 1) / settings["checkpoints"]
    study = play(
        oracle,
        strategy,
        n_answers=n_answers,
        n_components=d,
        batch=settings["batch"],
        checkpoints=np.round(n_answers * steps).astype(int).tolist(),
        random_state=cell["seed"],
    )
    return {
        "answers": study.n_answers.tolist(),
        "error": [None if np.isnan(error) else round(error, 5) for error in study.errors[0, 0].tolist()],
        "milliseconds_a_question": round(1000 * float(study.choosing_seconds[0, 0]) / n_answers, 4),
    }


def _cost(strategy: str, cell: Cell, settings: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds to choose a question alone and in a batch of 100; seconds of a first and of a later fit."""
    n = cell["objects"]
    asking = selector(strategy, n, n_components=2, random_state=0)
    asking.tell(planted(n, 2, settings["cost_answers"] * n, "ste", scale=1.0, random_state=0).comparisons)
    found: dict[str, Any] = {}
    if asking.strategy.uses_map:
        found = {name: round(_seconds(asking.refit), 4) for name in ("first_fit", "later_fit")}
    asking.next()
    single = [_seconds(asking.next) for _ in range(settings["cost_repeats"])]
    batch = _seconds(lambda: asking.next(100)) / 100
    return {**found, "single": round(1000 * float(np.median(single)), 3), "batch": round(1000 * batch, 3)}


def _seconds(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# -- what is shown ----------------------------------------------------------------------------------------------------


def results_of(rows: list[dict[str, Any]], problem: str) -> list[dict[str, Any]]:
    """Return the results of one problem, by seed."""
    return [row["results"] for row in rows if row["cell"]["problem"] == problem]


def _study(results: dict[str, Any]) -> Study:
    """The curves of one seed."""
    names = tuple(results)
    errors = np.array([results[name]["error"] for name in names], dtype=float)[:, None]
    return Study(names, np.array(results["random"]["answers"]), errors, np.zeros((len(names), 1)))


def shares_needed(rows: list[dict[str, Any]], problem: str, at: float) -> dict[str, list[float | None]]:
    """Answers until random's error after a share of its answers, as a share of those; None is never."""
    needed: dict[str, list[float | None]] = {}
    for results in results_of(rows, problem):
        study = _study(results)
        step = round(at * len(study.n_answers)) - 1
        target, asked = results["random"]["error"][step], study.n_answers[step]
        for name, found in study.answers_needed(target).items():
            share = float(found[0] / asked)
            needed.setdefault(name, []).append(share if np.isfinite(share) else None)
    return needed


def summarise(rows: list[dict[str, Any]], settings: dict[str, Any]) -> list[Table]:
    """The check, then a table a problem, then costs."""
    measured = [name for name in problems(settings) if results_of(rows, name)]
    tables = [checks(_check(rows, name) for name in measured if name in MUST_HOLD)]
    tables += [_table(rows, name, settings) for name in measured]
    if results_of(rows, "cost"):
        tables.append(_cost_table(rows, settings))
    return tables


def _check(rows: list[dict[str, Any]], problem: str) -> tuple[str, str, str, bool | None]:
    shares = {
        name: median(found) for name, found in shares_needed(rows, problem, 1.0).items() if name != "random"
    }
    best = min(shares, key=lambda name: np.inf if shares[name] is None else shares[name])
    share = shares[best]
    what = f"{problem}: answers for the error that random questions have in the end, best strategy"
    measured = f"{'never' if share is None else f'{share:.0%}'} ({best})"
    return what, f"at most {TARGET:.0%} of random's", measured, share is not None and share <= TARGET


def _table(rows: list[dict[str, Any]], problem: str, settings: dict[str, Any]) -> Table:
    found = results_of(rows, problem)
    last = found[0]["random"]["answers"][-1]
    needed = [shares_needed(rows, problem, at) for at in SHARES]
    heads = [f"error after {round(last * at):,}" for at in SHARES]
    heads += [f"answers for random's error at {round(last * at):,}" for at in SHARES]
    title = f"{problem}: medians of {len(found)} seeds (quartiles)"
    table = Table(title, ["strategy", *heads, "ms a question"])
    names = [name for name in settings["strategies"] if name in found[0]]
    columns = []
    for at in SHARES:
        step = round(at * settings["checkpoints"]) - 1
        errors = [[results[name]["error"][step] for results in found] for name in names]
        columns.append(best_in_bold([spread(one) for one in errors], [median(one) for one in errors]))
    for one in needed:
        shares = [one[name] for name in names]
        columns.append(
            best_in_bold([_percent(share) for share in shares], [median(share) for share in shares])
        )
    times = [digits(median(results[name]["milliseconds_a_question"] for results in found)) for name in names]
    for name, *texts in zip(names, *columns, times, strict=True):
        table.add(name, *texts)
    return table


def _percent(shares: list[float | None]) -> str:
    return "-" if median(shares) is None else f"{spread(shares, 100)} %"


def _cost_table(rows: list[dict[str, Any]], settings: dict[str, Any]) -> Table:
    sizes = [row["cell"]["objects"] for row in rows if row["cell"]["problem"] == "cost"]
    parts = {"single": "ms, one at a time", "batch": "ms, 100 at a time", "later_fit": "s, a fit of the map"}
    heads = [f"n = {n:,}: {part}" for n in sizes for part in parts.values()]
    table = Table("Cost of a question", ["strategy", *heads])
    for name in settings["strategies"]:
        table.add(
            name, *(digits(cost[name].get(part)) for cost in results_of(rows, "cost") for part in parts)
        )
    return table


def draw(rows: list[dict[str, Any]], settings: dict[str, Any]) -> dict[str, Figure]:
    """Held-out error against answers asked, a panel a problem."""
    measured = [name for name in problems(settings) if results_of(rows, name)]
    if not measured:
        return {}
    figure, axes = grid(len(measured))
    looked = looks(settings["strategies"])
    for ax, problem in zip(axes, measured, strict=True):
        found = results_of(rows, problem)
        for name, look in looked.items():
            curves = [[np.nan if error is None else error for error in one[name]["error"]] for one in found]
            band(ax, found[0][name]["answers"], curves, name, look)
        end = float(np.median([one["random"]["error"][-1] for one in found]))
        ax.axhline(end, color=MUTED, linewidth=0.8, linestyle=":")
        tidy_chart(ax, "answers", "held-out error", problem)
    legend_below(figure, axes[0], columns=3)
    return {"error": figure}
