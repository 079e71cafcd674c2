"""What the library says in Python, as it is typed on the command line."""

from __future__ import annotations

import re
from collections.abc import Collection

#: settings that have another name here
_RENAMED = {
    "n_components": "dim",
    "n_init": "restarts",
    "n_jobs": "jobs",
    "max_rank": "rank",
    "random_state": "seed",
}
_SETTING = re.compile(r"\b([a-z]\w*)=('[^']*'|\"[^\"]*\"|[\w.+-]+)")
_SUBJECT = re.compile(r"(?:^|(?<=: ))\w+(?:(?:, | and )\w+)*(?= (?:must|bounds|is for|are for|has the key))")
#: advice that ends a sentence, or a part of it, and is about a setting
_ADVICE = re.compile(r",? or pass \w+=(\[[^]]*\]|[^;,])*")


def in_options(message: str, options: Collection[str]) -> str:
    """A message of the library in terms of a command's options; advice on what it has no option for is left out.

    >>> in_options("row 3: correct it or pass invalid='drop' to leave it out", ["--invalid"])
    'row 3: correct it or pass --invalid drop to leave it out'
    >>> in_options("row 3: correct it or pass invalid='drop' to leave it out", ["--columns"])
    'row 3: correct it'
    >>> in_options("max_seconds must be a number above 0, not 0", ["--max-seconds"])
    '--max-seconds must be a number above 0, not 0'
    """
    message = re.sub(r", or header=False(?= if)", "; or pass --no-header", message)
    message = message.replace("header=False", "--no-header")
    if "--names" not in options:
        message = message.replace(" unless names=[...] lists them", "")
    message = re.sub(r"columns=\{([^}]*)\}", lambda found: f"--columns {_pairs(found[1])}", message)
    message = _SETTING.sub(lambda found: _as_option(found, options), message)
    message = _SUBJECT.sub(lambda subject: _each_option(subject[0], options), message)
    return _ADVICE.sub("", message)


def _option(name: str, options: Collection[str]) -> str | None:
    option = "--" + _RENAMED.get(name, name).replace("_", "-")
    return option if option in options else None


def _each_option(words: str, options: Collection[str]) -> str:
    return re.sub(r"\w+", lambda word: _option(word[0], options) or word[0], words)


def _as_option(found: re.Match[str], options: Collection[str]) -> str:
    option = _option(found[1], options)
    value = found[2].strip("'\"")
    return found[0] if option is None else f"{option} {value}"


def _pairs(entries: str) -> str:
    """
    >>> _pairs("'anchor': 0, 'near': ...")
    'anchor=0,near=COLUMN'
    """
    for python, typed in (("'", ""), (": ", "="), (", ", ","), ("...", "COLUMN")):
        entries = entries.replace(python, typed)
    return entries
