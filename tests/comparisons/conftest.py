"""Ways to get a table given as text into a file, or straight into comparisons."""

import pytest

from nearer.comparisons import Comparisons
from tests.tables import write_table


@pytest.fixture
def write(tmp_path):
    """Write text or bytes to a file and return its path."""

    def write(text, name="answers.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.fixture(params=["answers.csv", "answers.parquet", "answers.jsonl"])
def read(tmp_path, request):
    """Read a table given as csv, from a file of each format."""

    def read(text, **options):
        return Comparisons.read(write_table(tmp_path / request.param, text), **options)

    return read
