"""What a command prints: lines for people, or one JSON object for machines."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from nearer._utils.files import is_stdout
from nearer._utils.text import counted


def show(facts: Mapping[str, Any], lines: Iterable[tuple[str, str]], *, as_json: bool) -> None:
    """Print the facts as JSON, or the lines as two columns; on stderr where a file of the facts is stdout itself."""
    err = any(isinstance(fact, Path) and is_stdout(fact) for fact in facts.values())
    if as_json:
        typer.echo(json.dumps(plain(facts), ensure_ascii=False, allow_nan=False), err=err)
        return
    rows = list(lines)
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        typer.echo(f"{name:<{width}}  {value}", err=err)


def plain(value: Any) -> Any:
    """Numpy scalars and arrays, paths and non-finite numbers as JSON knows them.

    >>> import numpy as np
    >>> plain({"error": np.float64(0.5), "steps": np.array([1, 2]), "objective": float("nan")})
    {'error': 0.5, 'steps': [1, 2], 'objective': None}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def percent(share: float) -> str:
    """
    >>> percent(0.93251)
    '93.3%'
    """
    return f"{share:.1%}"


def left_out(n_dropped: int) -> str:
    """What to add to a number of comparisons where rows of the file are not among them.

    >>> left_out(0), left_out(1)
    ('', ', 1 row left out (invalid or undecided)')
    """
    return f", {counted(n_dropped, 'row')} left out (invalid or undecided)" if n_dropped else ""


def number_or_name(text: str) -> float | str:
    """An option that takes a number or a word.

    >>> number_or_name("0.5"), number_or_name("auto")
    (0.5, 'auto')
    """
    try:
        return float(text)
    except ValueError:
        return text
