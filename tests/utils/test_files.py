"""Writing files: whole or not at all, through links, into devices and pipes, with nothing left behind."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import nearer
from nearer._utils import files as _files
from nearer._utils.files import is_stdout, replacing
from nearer.errors import InputError

pytestmark = pytest.mark.skipif(
    not hasattr(os, "mkfifo"), reason="links, pipes and permissions as POSIX has them"
)

SMALL = nearer.Comparisons([["a", "b", "c"], ["b", "c", "a"]])
ENDINGS = [".csv", ".tsv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet", ".npz"]


def write(path, text="new"):
    with replacing(path) as temporary:
        temporary.write_text(text)


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "store").mkdir()
    target, link, second = tmp_path / "store" / "old.csv", tmp_path / "link.csv", tmp_path / "second.csv"
    target.write_text("old")
    link.symlink_to("store/old.csv")
    second.symlink_to(link)
    write(second)
    assert (link.is_symlink(), second.is_symlink(), target.read_text()) == (True, True, "new")
    assert os.listdir(tmp_path / "store") == ["old.csv"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link.csv").symlink_to("later.csv")
    write(tmp_path / "link.csv")
    assert (tmp_path / "later.csv").read_text() == "new"
    assert (tmp_path / "link.csv").is_symlink()


def test_links_in_a_circle_are_an_error_that_names_them(tmp_path):
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    with pytest.raises(OSError, match=r"a\.csv"):
        write(tmp_path / "a.csv")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
def test_an_existing_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "private.csv"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as temporary:
        assert not stat.S_IMODE(temporary.stat().st_mode) & ~mode & 0o077  # never more open on the way
        temporary.write_text("new")
    assert (stat.S_IMODE(path.stat().st_mode), path.read_text()) == (mode, "new")


def test_a_new_file_has_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        write(tmp_path / "new.csv")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new.csv").stat().st_mode) == 0o640


def test_devices_are_written_into(tmp_path):
    (tmp_path / "null.npz").symlink_to(os.devnull)
    SMALL.write(tmp_path / "null.npz")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert stat.S_ISCHR((tmp_path / "null.npz").stat().st_mode)


@pytest.mark.parametrize("ending", ENDINGS)
def test_pipes_are_written_into(tmp_path, ending):
    pipe, got = tmp_path / f"pipe{ending}", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    SMALL.write(pipe)
    reader.join(30)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    (tmp_path / f"copy{ending}").write_bytes(got[0])
    assert nearer.Comparisons.read(tmp_path / f"copy{ending}") == SMALL


def test_our_own_output_is_written_into_where_it_is_a_file(tmp_path):
    code = (
        "from pathlib import Path; from nearer._utils.files import replacing\n"
        "print('before', flush=True)\n"
        "with replacing('/dev/stdout') as temporary: temporary.write_text('written\\n')\n"
        "print('after')\n"
    )
    with (tmp_path / "out.txt").open("wb") as stream:
        subprocess.run([sys.executable, "-c", code], stdout=stream, check=True)
    assert (tmp_path / "out.txt").read_text() == "before\nwritten\nafter\n"
    assert not is_stdout(tmp_path / "out.txt")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_full_disk_names_the_file(tmp_path, ending):
    path = tmp_path / f"full{ending}"
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as caught:
        SMALL.write(path)
    assert caught.value.filename == str(path)


def test_an_error_without_a_name_gets_the_one_that_was_asked_for(tmp_path):
    with pytest.raises(OSError, match="No space left") as caught, replacing(tmp_path / "a.csv"):
        raise OSError(28, "No space left on device")
    assert caught.value.filename == str(tmp_path / "a.csv")
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "no" / "a.csv"):
        pass
    assert caught.value.filename == str(tmp_path / "no" / "a.csv")
    with pytest.raises(IsADirectoryError) as caught, replacing(tmp_path):
        pass
    assert caught.value.filename == str(tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path):
    def fail():
        with replacing(tmp_path / "a.csv") as temporary:
            temporary.write_text("half")
            raise InputError("no")

    (tmp_path / "a.csv").write_text("old")
    with pytest.raises(InputError):
        fail()
    assert os.listdir(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


def test_the_longest_name_can_be_written(tmp_path):
    name = "ä" * 125 + ".csv"
    SMALL.write(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


def test_a_writer_within_a_writer_renames_once(tmp_path):
    with replacing(tmp_path / "a.csv") as outer:
        with replacing(outer) as inner:
            assert inner == outer
            inner.write_text("new")
        assert not (tmp_path / "a.csv").exists()
    assert (tmp_path / "a.csv").read_text() == "new"


KILLED = """
import sys, time
from nearer._utils.files import replacing
with replacing(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print(temporary.name, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    """Start a process that is in the middle of writing a file; gives it and its temporary file."""
    started = []

    def start(target):
        one = subprocess.Popen([sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, text=True)
        started.append(one)
        return one, target.parent / one.stdout.readline().strip()

    yield start
    for one in started:
        one.kill()
        one.wait()
        one.stdout.close()


def made_earlier(path, seconds=10.0):
    os.utime(path, (time.time() - seconds,) * 2)


def test_what_a_killed_writer_left_is_deleted_by_the_next(tmp_path, writer):
    killed, leftover = writer(tmp_path / "a.csv")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    made_earlier(leftover)
    write(tmp_path / "b.csv")  # another file is none of its business
    assert leftover.exists()
    write(tmp_path / "a.csv")
    assert sorted(os.listdir(tmp_path)) == ["a.csv", "b.csv"]


def test_what_another_process_is_writing_stays(tmp_path, writer):
    _, living = writer(tmp_path / "a.csv")
    made_earlier(living, 10 * 3600)
    write(tmp_path / "a.csv")
    assert living.read_text() == "half"


def test_files_that_are_not_ours_stay(tmp_path):
    prefix = _files._prefix(tmp_path / "a.csv")
    others = [f"{prefix}notes.csv", f"{prefix}1234567", f"x{prefix}12345678.csv", ".nearer", ".a.csv.swp"]
    for name in others:
        (tmp_path / name).write_text("mine")
        made_earlier(tmp_path / name, 10 * 3600)
    (tmp_path / f"{prefix}12345678.csv").symlink_to("elsewhere")
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / f"{prefix}87654321").mkdir()
    write(tmp_path / "a.csv")
    assert {*others, "elsewhere", f"{prefix}12345678.csv", f"{prefix}87654321"} <= set(os.listdir(tmp_path))


def test_without_locks_only_old_files_are_deleted(tmp_path, monkeypatch):
    monkeypatch.setattr(_files, "fcntl", None)
    old, young = (
        tmp_path / f"{_files._prefix(tmp_path / 'a.csv')}{hexes}.csv" for hexes in ("0" * 8, "1" * 8)
    )
    for leftover, age in ((old, 2 * 3600), (young, 60)):
        leftover.write_text("half")
        made_earlier(leftover, age)
    write(tmp_path / "a.csv")
    assert sorted(os.listdir(tmp_path)) == sorted(["a.csv", young.name])


def test_content_is_on_the_disk_before_its_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    events = []
    sync, rename = os.fsync, os.replace
    monkeypatch.setattr(
        os,
        "fsync",
        lambda fd: (events.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))), sync(fd)),
    )
    monkeypatch.setattr(os, "replace", lambda *paths: (events.append("rename"), rename(*paths)))
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs to know the file behind a descriptor")
    with replacing(tmp_path / "a.csv") as temporary:
        temporary.write_text("new")
    assert events == [temporary.name, "rename", tmp_path.name]
