"""What an `InputError` must say, field by field: a better sentence breaks no test, a lost field does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from nearer.errors import Explained, InputError, Suggestion


@contextmanager
def refused(
    *shown: object, error: type[Exception] = InputError, **fields: Any
) -> Iterator[pytest.ExceptionInfo[Any]]:
    """Expect an error that shows these values; an `InputError` with these fields, see `says`."""
    with pytest.raises(error) as caught:
        yield caught
    if issubclass(error, InputError):
        says(caught.value, *shown, **fields)
    missing = [value for value in shown if str(value) not in str(caught.value)]
    assert not missing, f"{missing} not named in: {caught.value}"


def says(
    error: Explained,
    *shown: object,
    parameter: str | None = None,
    offers: Sequence[str | tuple[str, Any]] = (),
    hides: Sequence[str] = (),
    **place: object,
) -> None:
    """Check one sentence that shows these values, about a parameter and a place, and the settings offered.

    `offers` are names of settings, or names with values; `hides` are settings that must not be offered.
    """
    sentence = str(error)
    assert sentence
    assert "\n" not in sentence
    for value in shown:
        assert str(value) in sentence
    if parameter is not None:
        assert error.parameter == parameter
        assert parameter in sentence
    for field, value in place.items():
        assert error.place is not None, sentence
        assert getattr(error.place, field) == value
        assert str(value) in sentence
    settings = [step for step in error.remedy if isinstance(step, Suggestion)]
    offered = [step.name for step in settings] + [(step.name, step.value) for step in settings]
    for setting in offers:
        assert setting in offered, sentence
    for name in hides:
        assert name not in offered, sentence
