"""Defaults on the API pages are those of the signature.

griffe takes the first choice in `{"a", "b"}` for the default, and gives names that share a line of a docstring
the default of the first. Where a docstring says `default=...` itself, its word stays.
"""

from __future__ import annotations

import re
from typing import Any

import griffe


class TrueDefaults(griffe.Extension):
    """Corrects the defaults of documented parameters once a package is loaded."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Walk through all that has parameters."""
        self._correct(pkg, set())

    def _correct(self, thing: Any, seen: set[str]) -> None:
        if thing.is_alias or thing.path in seen:
            return
        seen.add(thing.path)
        if thing.docstring is not None and (thing.is_class or thing.is_function):
            defaults = _defaults(thing)
            for section in thing.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    for entry in section.value:
                        if not _says_itself(thing.docstring.value, entry.name):
                            entry.value = entry.default = defaults.get(entry.name.lstrip("*"))
        for member in thing.members.values():
            self._correct(member, seen)


def _defaults(thing: Any) -> dict[str, Any]:
    """By name; a dataclass, whose signature is made later, has them as values of its fields."""
    if thing.is_class and any("dataclass" in str(mark.value) for mark in thing.decorators):
        return {name: member.value for name, member in thing.attributes.items()}
    return {parameter.name: parameter.default for parameter in thing.parameters}


def _says_itself(docstring: str, name: str) -> bool:
    return re.search(rf"^.*\b{re.escape(name)}\b.* : .*default=", docstring, re.MULTILINE) is not None
