"""Settings of every test run."""

import importlib.util
import os
import signal
import sys

import pytest

#: before anything imports Triton: kernels for GPUs run on the CPU then, slowly. Set it to 0 where there is a GPU
os.environ.setdefault("TRITON_INTERPRET", "1")


@pytest.fixture(autouse=True)
def torch_on_one_thread():
    """Keep torch on one thread: tests run on every core already, and its waiting threads take time from the others."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def pytest_sessionstart():
    """Heed ctrl-C; import torch early in parallel runs, so that the first test that uses it runs on one thread too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells set it for jobs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if "PYTEST_XDIST_WORKER" in os.environ and importlib.util.find_spec("torch"):
        import torch  # noqa: F401
