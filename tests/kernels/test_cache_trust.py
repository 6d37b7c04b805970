"""Native code is loaded only from what this user or root owns and nobody else can change."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from pathlib import Path

import pytest

from kernels.programs import mixed
from zveno.errors import ZvenoError
from zveno.kernels import cache, threads, trust
from zveno.kernels.kernel import load_or_build

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")


def never():
    raise AssertionError("the program was made")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The directory of a cache with one entry, two directories below one of the test's own."""
    place = tmp_path / "above" / "cache"
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / "before"))
    load_or_build("another", mixed)  # what all kernels share is kept with the first of a process
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(place))
    load_or_build("key", mixed)
    assert load_or_build("key", never).from_cache
    return place


def is_taken():
    """Whether the entry is loaded; what else may be wrong, nothing is raised."""
    before = cache.info().entries
    taken = load_or_build("key", mixed).from_cache
    assert before or not taken
    return taken


def entry(place) -> Path:
    (file,) = place.glob("*.kernel")
    return file


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o707, 0o702, 0o777, 0o1777])
def test_a_directory_that_others_can_write(place, mode):
    place.chmod(mode)
    assert not is_taken()
    file = entry(place)
    assert file.exists()
    place.chmod(0o755)
    assert is_taken()


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_directory_above_that_others_can_write(place, mode):
    place.parent.chmod(mode)
    assert not is_taken()
    place.parent.chmod(mode | 0o1000)  # as /tmp: others can write there, but not touch what is ours
    assert is_taken()


@pytest.mark.parametrize("mode", [0o660, 0o606, 0o622])
def test_a_file_that_others_can_write(place, mode):
    entry(place).chmod(mode)
    assert not is_taken()  # and it is replaced by one that nobody else can write
    assert entry(place).stat().st_mode & 0o777 == 0o600
    assert is_taken()


@pytest.mark.parametrize("which", ["file", "directory", "above"])
def test_an_owner_who_is_neither_this_user_nor_root(place, monkeypatch, which):
    path = {"file": entry(place), "directory": place, "above": place.parent}[which]
    foreign = os.lstat(path).st_ino
    plain, plain_file = os.lstat, os.fstat

    def disowned(status):
        values = list(status)
        values[4] = os.getuid() + 12345  # st_uid
        return os.stat_result(values) if status.st_ino == foreign else status

    monkeypatch.setattr(os, "lstat", lambda path: disowned(plain(path)))
    monkeypatch.setattr(os, "fstat", lambda number: disowned(plain_file(number)))
    assert cache.read(entry(place).stem) is None


def test_what_root_owns_is_trusted(place, monkeypatch):
    if os.getuid() != 0:
        pytest.skip("only root can make files of root")
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert cache.read(entry(place).stem) is not None


def test_links(place, tmp_path, monkeypatch):
    # A link to a directory that nobody else can change is as good as that directory.
    link = tmp_path / "link"
    link.symlink_to(place)
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(link))
    assert is_taken()
    # One that leads through a directory of others is not.
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "inner").symlink_to(place)
    shared.chmod(0o777)
    link.unlink()
    link.symlink_to(shared / "inner")
    assert not is_taken()
    shared.chmod(0o755)
    assert is_taken()
    link.unlink()
    link.symlink_to(Path("shared") / ".." / "above" / "cache")
    assert is_taken()
    link.unlink()
    link.symlink_to(link)
    assert not is_taken()


def test_entries_that_are_links_are_neither_read_nor_written_through(place, tmp_path):
    file, elsewhere = entry(place), tmp_path / "elsewhere"
    file.rename(elsewhere)
    content = elsewhere.read_bytes()
    file.symlink_to(elsewhere)
    assert not is_taken()
    assert elsewhere.read_bytes() == content
    assert not entry(place).is_symlink()
    with pytest.raises(OSError, match="exists"):
        trust.write_private(entry(place), b"")


def test_a_pipe_does_not_block(place):
    file = entry(place)
    file.unlink()
    os.mkfifo(file)
    assert not is_taken()


def test_missing_directories_are_made_for_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / "a" / "b" / "c"))
    old = os.umask(0)
    try:
        load_or_build("key", mixed)
    finally:
        os.umask(old)
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("a", "a/b", "a/b/c")] == [0o700] * 3
    assert is_taken()


# --- where it is


@pytest.mark.parametrize("text", ["cache", "./cache", "~cache/x", "../x", ""])
def test_relative_directories_are_ignored(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cache.sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ZVENO_CACHE_DIR", text)
    monkeypatch.setenv("XDG_CACHE_HOME", text or "~/.cache")
    assert cache.directory() == tmp_path / "home" / ".cache" / "zveno"
    load_or_build("key", mixed)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


def test_home_directories(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ZVENO_CACHE_DIR", "~/kernels")
    assert cache.directory() == tmp_path / "kernels"
    monkeypatch.delenv("ZVENO_CACHE_DIR")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "relative")
    assert cache.directory().is_absolute()


# --- forged entries


def forged(place, change):
    """The entry with another header and a checksum that fits."""
    file = entry(place)
    data = file.read_bytes()
    start = len(cache.MAGIC) + 4
    end = start + struct.unpack("<I", data[len(cache.MAGIC) : start])[0]
    header = json.loads(data[start:end])
    text, code = json.dumps({**header, **change}).encode(), data[end:-32]
    if "length" in change:
        code, length = b"", change["length"]
    else:
        length = len(text)
    body = cache.MAGIC + struct.pack("<I", length) + text + code
    file.write_bytes(body + hashlib.sha256(body).digest())


@pytest.mark.parametrize(
    "change",
    [
        {"name": 3},
        {"name": None},
        {"inputs": None},
        {"inputs": [["q", [3]]]},
        {"inputs": [["q", [2**60]], ["p", []]]},
        {"inputs": [["q", [-1]], ["p", []]]},
        {"inputs": [["q", ["3"]], ["p", []]]},
        {"inputs": {"q": [3]}},
        {"outputs": [["y"]]},
        {"outputs": "y"},
        {"outputs": [[1, [2]]]},
        {"dtype": "<f4"},
        {"dtype": "O"},
        {"dtype": ["<f8"]},
        {"lanes": 64},
        {"lanes": "4"},
        {"lanes": None},
        {"operations": {}},
        {"operations": {"adds": 1, "more": 2}},
        {"operations": None},
        {"length": 0},
        {"length": 2**32 - 1},
    ],
    ids=str,
)
def test_forged_headers_mean_not_found(place, change):
    forged(place, change)
    program = mixed()
    inputs = {argument.name: argument.shape for argument in program.inputs}
    assert not load_or_build("key", mixed, inputs=inputs).from_cache
    assert load_or_build("key", never, inputs=inputs).from_cache


def test_deep_headers_mean_not_found(place):
    file = entry(place)
    text = b"[" * 100_000
    body = cache.MAGIC + struct.pack("<I", len(text)) + text + b"code"
    file.write_bytes(body + hashlib.sha256(body).digest())
    assert not is_taken()


# --- threads


@pytest.mark.parametrize("text", ["99999999", "1025", "9" * 5000, "0", "-1", "two"])
def test_numbers_of_threads_that_make_no_sense(monkeypatch, text):
    monkeypatch.setenv("ZVENO_THREADS", text)
    with pytest.raises(ZvenoError, match="from 1 to 1024"):
        threads.set_threads(None)
    with pytest.raises(ZvenoError, match="from 1 to 1024"):
        threads.set_threads(99999999)
