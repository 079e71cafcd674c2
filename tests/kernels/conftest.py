"""BLAS on one thread: the plain references solve many small eigenproblems, which threads slow down."""

import pytest

from nearer._utils.runtime import one_thread


@pytest.fixture(autouse=True, scope="package")
def _one_thread():
    with one_thread():
        yield
