"""Fits run with BLAS on one thread and leave the user's setting as it was."""

import threading

import numpy as np
import pytest

import nearer
from nearer._utils import runtime


class Library:
    """A BLAS that only remembers how many threads it was told to use."""

    def __init__(self, num_threads=8):
        self.num_threads, self.told = num_threads, []

    def set_num_threads(self, count):
        self.num_threads = count
        self.told.append(count)


@pytest.fixture
def library(monkeypatch):
    made = Library()
    monkeypatch.setattr(runtime, "_libraries", lambda: [made])
    return made


def test_the_libraries_of_numpy_and_scipy_are_found_and_obey():
    names = {library.filepath for library in runtime._libraries()}
    assert names
    with runtime.one_thread():
        assert {library.num_threads for library in runtime._libraries()} == {1}


def test_the_setting_comes_back(library):
    with runtime.one_thread():
        assert library.num_threads == 1
        with runtime.one_thread():
            assert library.num_threads == 1
        assert library.num_threads == 1
    assert library.told == [1, 8]


def test_the_setting_comes_back_after_an_error(library):
    with pytest.raises(RuntimeError, match="inside"), runtime.one_thread():
        raise RuntimeError("inside")
    assert library.num_threads == 8


def test_large_decompositions_get_the_threads_back(library):
    with runtime.one_thread():
        with runtime.threads_for(runtime.LARGE):
            assert library.num_threads == 8
        assert library.num_threads == 1
        with runtime.threads_for(runtime.LARGE - 1):
            assert library.num_threads == 1
    assert library.num_threads == 8


def test_decompositions_outside_a_fit_follow_the_same_rule(library):
    with runtime.threads_for(10):
        assert library.num_threads == 1
    with runtime.threads_for(runtime.LARGE):
        assert library.num_threads == 8
    assert library.num_threads == 8


def test_fits_that_overlap_share_the_limit(library):
    """The one that began first ends first: the other must stay limited, and the last one restores."""
    first_began, second_began, first_ended = (threading.Event() for _ in range(3))
    seen = []

    def first():
        with runtime.one_thread():
            first_began.set()
            second_began.wait(10)
        first_ended.set()

    def second():
        first_began.wait(10)
        with runtime.one_thread():
            second_began.set()
            first_ended.wait(10)
            seen.append(library.num_threads)

    threads = [threading.Thread(target=run) for run in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert seen == [1]
    assert library.num_threads == 8


def _answers():
    return nearer.datasets.planted(12, 2, 200, random_state=0)[0]


def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] > 0).astype(int)


def _told_selector():
    selector = nearer.active.Selector(12, random_state=0)
    selector.tell(_answers())
    selector.next(2)


FITS = {
    "OrdinalEmbedding": lambda: nearer.OrdinalEmbedding(2, random_state=0).fit(_answers()),
    "RelativeKernel": lambda: nearer.RelativeKernel(trace_penalty=0.01).fit(_answers()),
    "OnlineKernel": lambda: nearer.OnlineKernel(12).partial_fit(_answers()),
    "AUCClassifier": lambda: nearer.AUCClassifier(random_state=0).fit(*_rows()),
    "AUCClassifier stream": lambda: nearer.AUCClassifier(random_state=0).partial_fit(*_rows(), [0, 1]),
    "PairwiseLearner": lambda: nearer.PairwiseLearner(random_state=0).fit(*_rows()),
    "FeatureMap": lambda: nearer.FeatureMap().fit(_rows()[0], _rows()[0][:, :2]),
    "Selector": _told_selector,
}


@pytest.mark.parametrize("name", FITS)
def test_every_estimator_limits_blas_while_it_learns(name, library):
    FITS[name]()
    assert 1 in library.told
    assert library.num_threads == 8


def test_a_fit_is_limited_all_the_way_through(library):
    seen = set()
    callback = lambda progress: seen.add(library.num_threads)  # noqa: E731 - must return None
    nearer.OrdinalEmbedding(2, random_state=0, callback=callback).fit(_answers())
    assert seen == {1}


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_jobs_return_in_order_and_one_that_fails_does_not_stop_the_others(n_jobs):
    assert runtime.in_threads([lambda k=k: k * k for k in range(7)], n_jobs) == [0, 1, 4, 9, 16, 25, 36]
    ran = []

    def job(k):
        ran.append(k)
        if k in (2, 4):
            raise ValueError(f"job {k}")

    with pytest.raises(ValueError, match="job 2"):
        runtime.in_threads([lambda k=k: job(k) for k in range(7)], n_jobs)
    assert sorted(ran) == list(range(7))


def test_two_jobs_run_at_the_same_time():
    meeting = threading.Barrier(2, timeout=20)
    assert sorted(runtime.in_threads([meeting.wait, meeting.wait], n_jobs=2)) == [0, 1]


@pytest.mark.parametrize("where", ["here", "helper"])
def test_an_interruption_ends_all_jobs_and_is_raised(where):
    here, meeting, ended = threading.current_thread(), threading.Barrier(2, timeout=20), []

    def job():
        meeting.wait()
        if (threading.current_thread() is here) == (where == "here"):
            raise KeyboardInterrupt
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        runtime.in_threads([job, job], n_jobs=2)
    assert ended == [True]


def test_jobs_do_not_wait_for_threads_that_others_keep_busy():
    free = threading.Event()
    try:
        runtime._pool(1).submit(free.wait)
        assert runtime.in_threads([lambda: 1, lambda: 2], n_jobs=2) == [1, 2]
    finally:
        free.set()
