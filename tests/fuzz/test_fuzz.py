"""Damaged and hostile files are refused in one sentence or used; nothing crashes, hangs or fills the memory."""

import sys

import pytest

from tests.fuzz.harness import MOST_MEMORY, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits of memory are those of POSIX")


def test_damaged_files_are_refused_or_used(tmp_path):
    report = run(range(1000), keep=tmp_path, seconds=20, at_least=200)
    assert not report.failures, f"{len(report.failures)} of {report.n_cases}:\n" + "\n".join(
        report.failures[:5]
    )
    assert report.peak_memory < MOST_MEMORY
    # a harness in which everything is refused, or nothing is, would test nothing
    assert report.counts["refused"] > 20
    assert report.counts["used"] > 20
