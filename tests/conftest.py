"""Settings of every test run."""

import sys

import pytest


@pytest.fixture(scope="session", autouse=True)
def torch_on_one_thread():
    """Keep torch on one thread: tests run on every core already, and waiting threads take time from other tests."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
