"""What the library says in Python, as it is typed on the command line."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Collection

#: settings that have another name here
_RENAMED = {
    "n_components": "dim",
    "n_init": "restarts",
    "n_jobs": "jobs",
    "max_rank": "rank",
    "random_state": "seed",
}
#: options of the commands that take files as they are
_READING = frozenset(("--columns", "--codes", "--coding", "--zero", "--first-index", "--invalid", "--header"))
_READING_SETTING = re.compile(r"\bpass \w+=|\b(columns|codes|coding|zero|first_index|invalid|header)=")
_SETTING = re.compile(r"\b([a-z]\w*)=('[^']*'|\"[^\"]*\"|[\w.+-]+)")
_MAPPING = re.compile(r"\b(columns|codes)=(\{[^}]*\})")
_SUBJECT = re.compile(
    r"(?:^|(?<=: ))\w+(?:(?:, | and )\w+)*(?= (?:must|bounds|is for|are for|has the key|say all))"
)
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
    if not _READING & set(options) and _READING_SETTING.search(message):
        return f"{in_options(message, _READING)} (options of nearer convert: convert the file first)"
    message = re.sub(r", or header=False(?= if)", "; or pass --no-header", message)
    message = message.replace("header=False", "--no-header")
    if "--names" not in options:
        message = message.replace(" unless names=[...] lists them", "")
    message = _MAPPING.sub(lambda found: _as_pairs(found, options), message)
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


def _as_pairs(found: re.Match[str], options: Collection[str]) -> str:
    """A setting that is a mapping, as it is typed; what cannot be typed here stays as it is."""
    if f"--{found[1]}" not in options:
        return found[0]
    what = "COLUMN" if found[1] == "columns" else "CODE"
    return f"--{found[1]} {_pairs(found[2], what)}"


def _pairs(mapping: str, what: str) -> str:
    """
    >>> _pairs("{'anchor': 0, 'response': 'my choice', 'a': ...}", "COLUMN")
    "'anchor=0,response=my choice,a=COLUMN'"
    >>> _pairs("{'first': 'f', 'second': 'j'}", "CODE")
    'first=f,second=j'
    """
    entries = ast.literal_eval(mapping)
    pairs = (f"{part}={what if entry is ... else entry}" for part, entry in entries.items())
    return shlex.quote(",".join(pairs))
