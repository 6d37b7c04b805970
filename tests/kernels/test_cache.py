"""The disk cache: a hit compiles nothing, and no damage, race or missing permission is ever an error."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import pickle
import stat
import struct
from pathlib import Path

import numpy as np
import pytest

from kernels.programs import compile, evaluate, load_or_build, mixed, random_program
from zveno.kernels import _host as host
from zveno.kernels import _lower as lower
from zveno.kernels import cache, kernel

Q, P = np.random.default_rng(0).normal(size=(9, 3)), np.eye(2)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    compile(mixed())  # so that the code all kernels share is loaded from elsewhere
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("ZVENO_CACHE_SIZE", raising=False)
    return tmp_path / "cache"


def never():
    raise AssertionError("the program was made although the kernel is in the cache")


def assert_right(made: kernel.Kernel) -> None:
    for result, expected in zip(made(Q, P), evaluate(mixed(), Q, P), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-13, atol=1e-15)


def kernels_in(place):
    """Entries that are kernels, not code that kernels share."""
    return [path for path in place.glob("*.kernel") if b'"operations"' in path.read_bytes()]


def only_entry(place):
    (path,) = place.glob("*.kernel")
    return path


def test_a_hit_neither_traces_nor_compiles(monkeypatch):
    first = load_or_build("key", mixed)
    monkeypatch.setattr(lower, "lower", never)
    monkeypatch.setattr(host, "compile_object", never)
    second = load_or_build("key", never)
    assert_right(first)
    assert_right(second)
    assert not first.from_cache
    assert second.from_cache
    for name in ("name", "inputs", "outputs", "operations", "lanes", "dtype"):
        assert getattr(first, name) == getattr(second, name)
    assert "loaded from the cache" in repr(second)


def test_keys_dtypes_and_lanes_are_different_entries(place):
    load_or_build("a", mixed)
    load_or_build("b", mixed)
    load_or_build("a", mixed, np.float32)
    load_or_build("a", mixed, lanes=2)
    assert len(kernels_in(place)) == 4
    assert load_or_build("a", never, lanes=2).lanes == 2
    assert load_or_build("a", never, np.float32).dtype == np.float32


def test_another_machine_or_version_is_another_entry(monkeypatch):
    load_or_build("key", mixed)
    for change in ({"cpu": "other"}, {"features": "+other"}):
        changed = type(host.host())(**{**vars(host.host()), **change})
        with monkeypatch.context() as patch:
            patch.setattr(host.Host, "fingerprint", lambda self, other=changed: str(vars(other)))
            with pytest.raises(AssertionError, match="was made"):
                load_or_build("key", never)
    for name, value in (("ROOT", Path(kernel.__file__).parent), ("__version__", "0")):
        with monkeypatch.context() as patch:
            patch.setattr(cache, name, value)
            with pytest.raises(AssertionError, match="was made"):
                load_or_build("key", never)
    assert load_or_build("key", never).from_cache


def test_digest_keeps_parts_apart():
    assert cache.digest("ab", "c") != cache.digest("a", "bc")
    assert cache.digest("a") == cache.digest(b"a")


def test_pickle_of_a_cached_kernel(place):
    load_or_build("key", mixed)
    data = pickle.dumps(load_or_build("key", mixed))
    assert pickle.loads(data).from_cache
    cache.clear()
    copy = pickle.loads(data)
    assert not copy.from_cache
    assert_right(copy)


# ------------------------------------------------------------------------------------ damage


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def long_header(data: bytes) -> bytes:
    at = len(cache.MAGIC)
    return data[:at] + struct.pack("<I", 2**31) + data[at + 4 :]


DAMAGE = {
    "truncated": truncated,
    "flipped bit": flipped,
    "long header": long_header,
    "empty": lambda data: b"",
    "short": lambda data: data[:20],
    "random": lambda data: np.random.default_rng(0).bytes(len(data)),
    "text": lambda data: b"not a kernel\n" * 100,
    "without checksum": lambda data: data[:-32],
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_entries_are_built_anew(place, damage):
    load_or_build("key", mixed)
    path = only_entry(place)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    again = load_or_build("key", mixed)
    assert not again.from_cache
    assert_right(again)
    assert load_or_build("key", never).from_cache


def test_an_entry_under_a_foreign_name_is_not_taken(place):
    load_or_build("other", lambda: random_program(0, 10))
    foreign = only_entry(place).read_bytes()
    cache.clear()
    load_or_build("key", mixed)
    only_entry(place).write_bytes(foreign)
    again = load_or_build("key", mixed)
    assert not again.from_cache
    assert_right(again)


def test_a_header_that_is_no_object(place):
    load_or_build("key", mixed)
    path = only_entry(place)
    text = json.dumps([1]).encode()
    body = cache.MAGIC + struct.pack("<I", len(text)) + text
    path.write_bytes(body + hashlib.sha256(body).digest())
    assert not load_or_build("key", mixed).from_cache


def test_an_entry_that_is_a_directory(place):
    load_or_build("key", mixed)
    path = only_entry(place)
    path.unlink()
    path.mkdir()
    assert not load_or_build("key", mixed).from_cache
    assert not list(place.glob("*.partial"))


# ------------------------------------------------------------------------------------ the directory


def test_directory_is_private(place):
    load_or_build("key", mixed)
    if os.name != "nt":
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_read_only_directory(place, monkeypatch):
    load_or_build("key", mixed)

    def refuse(*_, **__):
        raise PermissionError(13, "read-only")

    monkeypatch.setattr(os, "utime", refuse)  # permissions do not bind root, so refuse by hand
    monkeypatch.setattr(os, "replace", refuse)
    monkeypatch.setattr(type(place), "mkdir", refuse)
    assert load_or_build("key", never).from_cache
    assert not load_or_build("new", mixed).from_cache


@pytest.mark.parametrize("where", ["file", "file/below", "x" * 5000])
def test_directory_that_cannot_exist(tmp_path, monkeypatch, where):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(tmp_path / where))
    assert not load_or_build("key", mixed).from_cache
    assert not load_or_build("key", mixed).from_cache
    assert cache.info().entries == 0
    assert cache.clear() == 0


def test_default_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("ZVENO_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert "zveno" in str(cache.directory())
    monkeypatch.setattr(cache.sys, "platform", "linux")
    assert cache.directory() == tmp_path / ".cache" / "zveno"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache.directory() == tmp_path / "x" / "zveno"


def test_the_oldest_entries_go_first(place, monkeypatch):
    made = [f"entry{k}" for k in range(4)]
    for age, name in enumerate(made):
        cache.write(name, {}, bytes(300_000))
        os.utime(place / f"{name}.kernel", (1000 + age, 1000 + age))
    assert cache.read("entry0") is not None  # used: now the youngest
    (place / "crashed.partial").write_bytes(b"x")
    os.utime(place / "crashed.partial", (1, 1))
    (place / "notes.txt").write_text("not ours")
    monkeypatch.setenv("ZVENO_CACHE_SIZE", "1")
    cache.write("new", {}, bytes(300_000))
    left = {path.name for path in place.iterdir()}
    assert left == {"entry0.kernel", "entry3.kernel", "new.kernel", "notes.txt"}
    assert cache.info().size < 2**20


@pytest.mark.parametrize("text", ["", "much", "-1", "nan", "inf"])
def test_limits_that_make_no_sense(monkeypatch, text):
    monkeypatch.setenv("ZVENO_CACHE_SIZE", text)
    assert cache.limit() in (0, 512 * 2**20)


def test_info_and_clear(place):
    assert cache.info().entries == 0
    load_or_build("a", mixed)
    load_or_build("b", mixed)
    info = cache.info()
    assert (info.directory, info.entries) == (place, 2)
    assert info.size == sum(path.stat().st_size for path in place.iterdir())
    assert cache.clear() == 2
    assert cache.info().entries == 0


# ------------------------------------------------------------------------------------ several processes


def _build(barrier, queue):
    barrier.wait()
    for key in ("a", "b", "a", "c"):
        made = load_or_build(key, mixed)
        queue.put(np.asarray(made(Q, P)[0]))


@pytest.mark.laws
def test_two_processes_at_once(place):
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(2), context.Queue()
    builders = [context.Process(target=_build, args=(barrier, queue)) for _ in range(2)]
    for builder in builders:
        builder.start()
    results = [queue.get(timeout=250) for _ in range(8)]
    for builder in builders:
        builder.join(timeout=250)
        assert builder.exitcode == 0
    for result in results:
        np.testing.assert_allclose(result, evaluate(mixed(), Q, P)[0], rtol=1e-13)
    assert len(kernels_in(place)) == 3
    assert not list(place.glob("*.partial"))
    assert load_or_build("a", never).from_cache
