"""`nearer simulate --strategy`: simulate studies, with known points or recorded answers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nearer._utils.text import counted
from nearer.cli._options import refuse_idle
from nearer.cli._output import INTERRUPTED, check_outputs, check_picture, complain, show, write_all
from nearer.errors import InputError

if TYPE_CHECKING:
    import numpy as np

    from nearer.active import Oracle, Sitting, Study


class StrategyName(StrEnum):
    """How questions are chosen."""

    random = "random"
    round_robin = "round-robin"
    uncertainty = "uncertainty"
    information_gain = "information-gain"
    arr = "arr"
    adaptive = "adaptive"


_study = partial(typer.Option, rich_help_panel="Simulating a study")
Played = Annotated[
    list[StrategyName] | None,
    _study(
        "--strategy",
        metavar="<strategy>",
        show_default=False,
        help=f"How to choose questions: {', '.join(StrategyName)}. Repeat the option to compare several.",
    ),
]
AnswersAsked = Annotated[
    int | None,
    _study("--answers", min=1, show_default="10 per coordinate", help="Number of answers per study."),
]
Replay = Annotated[
    Path | None,
    _study(
        "--replay",
        show_default=False,
        help="Take answers from this file of recorded answers instead of points. A fifth is held out.",
    ),
]
Repeats = Annotated[int, _study("--repeats", min=1, help="Number of studies per strategy.")]
Batch = Annotated[int, _study("--batch", min=1, help="Number of questions per choice.")]
RandomShare = Annotated[float, _study("--random-share", min=0, max=1, help="Fraction of random questions.")]
Curves = Annotated[
    Path | None,
    _study(
        "--plot",
        show_default=False,
        help="Draw the held-out error against the number of answers: png, svg, pdf or jpg.",
    ),
]

_OF_STUDIES = ("answers", "replay", "repeats", "batch", "random_share", "plot")
_OF_FILES = ("comparisons", "kind", "truth")
_OF_POINTS = ("objects", "noise", "scale")
_MOST_REPLAYED = 0.6  # of the recorded answers, by default: strategies that ask everything cannot differ
_NEEDED = "answers_for_the_error_of_random"


def check_modes(context: typer.Context, *, studies: bool, replays: bool) -> None:
    """Refuse options without effect."""
    refuse_idle(
        context,
        (not studies, _OF_STUDIES, "is for studies: choose one with --strategy"),
        (studies, _OF_FILES, "is for files of answers: leave it or --strategy out"),
        (replays, _OF_POINTS, "is about planted points: leave it or --replay out"),
    )


def simulate_study(
    strategies: list[str],
    *,
    replay: Path | None,
    points: dict[str, Any],
    n_answers: int | None,
    settings: dict[str, Any],
    out: Path,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Simulate the studies, write the curves and the picture, and show the errors."""
    check_outputs([out, plot], inputs=[] if replay is None else [replay])
    if out.suffix.lower() != ".csv":
        raise InputError(f"{out}: the curves of a study are a csv file: give it a name that ends with .csv")
    check_picture(plot)
    oracle, n_objects, usual = _oracle(replay, points, settings["n_components"])
    n_answers = usual if n_answers is None else n_answers
    study = _play(oracle, strategies, n_answers, settings)
    writers: dict[Path, Callable[[Path], object]] = {out: study.write}
    lines = [("curves", f"{out} ({counted(n_answers, 'answer')} about {n_objects:,} objects)")]
    if plot is not None:
        figure = study.plot()
        writers[plot] = lambda path: figure.savefig(path, dpi=150)
        lines.append(("picture", str(plot)))
    write_all(writers)
    found = found_in(study)
    lines += [(name, _line(name, one, n_answers, study.finished)) for name, one in found.items()]
    facts = {"curves": out, "plot": plot, "n_objects": n_objects, "n_answers": n_answers, **settings}
    facts["seed"] = facts.pop("random_state")
    show({**facts, "finished": study.finished, "strategies": found}, lines, as_json=as_json)
    if not study.finished:
        complain(f"interrupted, the errors measured so far were written to {out}")
        raise typer.Exit(INTERRUPTED)


def _oracle(replay: Path | None, points: dict[str, Any], dim: int) -> tuple[Oracle, int, int]:
    """Return the oracle, the number of objects, and the default number of answers."""
    from nearer.active import PlantedOracle, RecordedOracle
    from nearer.comparisons import Comparisons

    if replay is None:
        n = points["n_objects"]
        return PlantedOracle(**points), n, 10 * n * dim
    recorded = Comparisons.read(replay)
    n, most = recorded.n_objects, int(_MOST_REPLAYED * len(recorded))
    try:
        return RecordedOracle(recorded), n, max(1, min(10 * n * dim, most))
    except InputError as error:
        raise error.within(replay) from None


def _play(oracle: Oracle, strategies: list[str], n_answers: int, settings: dict[str, Any]) -> Study:
    """Simulate the studies, with a progress bar if stderr is a terminal."""
    from nearer._utils.progress import counting_bar
    from nearer.active import play

    total = n_answers * len(strategies) * settings["repeats"]
    with counting_bar("answers", total, shown=sys.stderr.isatty()) as tell:
        return play(counted_by(tell, oracle), strategies, n_answers=n_answers, **settings)


def counted_by(tell: Callable[[int], object], oracle: Oracle) -> Oracle:
    """Return the same oracle, reporting how many questions it has answered in all repetitions."""
    from nearer.active import Oracle as AnyOracle

    class Counted(AnyOracle):
        n_answered = 0

        def begin(self, rng: np.random.Generator) -> Sitting:
            sitting = oracle.begin(rng)

            def answer(questions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
                self.n_answered += len(questions)
                tell(self.n_answered)
                return sitting.answer(questions, rng)

            return replace(sitting, answer=answer)

    return Counted()


def found_in(study: Study) -> dict[str, dict[str, Any]]:
    """Return per strategy the final median error, and the answers it needed to reach that of random questions."""
    import numpy as np

    found: dict[str, dict[str, Any]] = {}
    for name, errors in zip(study.strategies, study.errors, strict=True):
        enough = np.isfinite(errors).mean(axis=0) > 0.5  # a median of fewer would not represent the rest
        last = np.flatnonzero(enough)[-1:]
        median = np.nanmedian(errors[:, last], axis=0)
        found[name] = {
            "answers": next(iter(study.n_answers[last].tolist()), 0),
            "error": next(iter(median.tolist()), None),
        }
    if "random" in found:
        target = study.errors[study.strategies.index("random"), :, -1]
        for name, needed in study.answers_needed(np.nan_to_num(target, nan=-1.0)).items():
            middle = float(np.median(needed))
            found[name][_NEEDED] = middle if np.isfinite(middle) else None
    return found


def _line(name: str, found: dict[str, Any], n_answers: int, finished: bool) -> str:
    if found["error"] is None:
        return "nothing was measured"
    text = f"held-out error {found['error']:.3f} after {counted(found['answers'], 'answer')}"
    if finished and found["answers"] < n_answers:
        text += ", then the questions ran out"
    needed = found.get(_NEEDED)
    if name == "random" or needed is None:
        return text
    return f"{text}, reached the error of random questions after {round(needed):,}"
