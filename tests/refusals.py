"""Check errors by what they name, not by how they are worded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nearer.errors import InputError


@contextmanager
def refused(*facts: object, error: type[Exception] = InputError) -> Iterator[None]:
    """Expect an error of one line that names all these facts: the parameter, the value, the row, the remedy."""
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    missing = [fact for fact in facts if str(fact) not in message]
    assert not missing, f"{missing} not named in: {message}"
    assert "\n" not in message
