"""Native code is loaded only from a directory of this user with mode 0700."""

from __future__ import annotations

import hashlib
import json
import os
import struct
from pathlib import Path

import pytest

from kernels.programs import load_or_build, mixed
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.kernels import cache, threads

pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")


def never():
    raise AssertionError("the program was made")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The directory of a cache with one entry."""
    place = tmp_path / "cache"
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


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o702, 0o1777])
def test_a_directory_with_another_mode_is_not_used(place, mode):
    place.chmod(mode)
    cache._warn_once.cache_clear()
    with pytest.warns(ZvenoWarning, match=f"not kept: {place} must be yours alone .chmod 700"):
        assert not is_taken()
    assert not is_taken()  # said once
    place.chmod(0o700)
    assert is_taken()


def test_a_directory_of_another_owner_is_not_read(place, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 12345)
    assert cache.read(entry(place).stem) is None


def test_a_missing_directory_is_made_for_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / "a" / "b"))
    old = os.umask(0)
    try:
        load_or_build("key", mixed)
    finally:
        os.umask(old)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700
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


@pytest.mark.laws(after=6)
@pytest.mark.parametrize(
    "change",
    [
        {"outputs": [["y"]]},
        {"outputs": "y"},
        {"outputs": [[1, [2]], 3]},
        {"operations": [{"adds": 1, "more": 2}]},
        {"operations": 3},
        {"n_slots": None},
        {"direct": 3},
        {"unread": ["x"]},
        {"patterns": []},
        {"length": 0},
        {"length": 2**32 - 1},
    ],
    ids=str,
)
def test_headers_that_make_no_sense_mean_not_found(place, change):
    forged(place, change)
    assert not load_or_build("key", mixed).from_cache
    assert load_or_build("key", never).from_cache


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
