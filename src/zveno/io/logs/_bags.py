"""ROS logs: joint states in bags of ROS 1 (.bag), ROS 2 (.db3 or a folder) and MCAP, with rosbags.

Compressed chunks and messages are unpacked up to a bound; rosbags has none of its own.
"""

from __future__ import annotations

import bz2
import importlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...errors import MissingExtraError, ModelError, ZvenoError
from ..files import MAX_LOG_BYTES, MAX_TEXT_BYTES, opened, over_limit
from ._tables import LogTable, Piece

SUFFIXES = (".bag", ".db3", ".mcap")
JOINT_STATE = "sensor_msgs/msg/JointState"
PIECE_MESSAGES = 20_000
LOOKED_AT = 200
"""Number of messages scanned for joint names: several nodes may publish some joints each on one topic."""
MAX_CHUNK_BYTES = 128 * 2**20
"""Size limit of unpacked chunks and messages; writers make chunks of about 1 MB."""
MAX_UNPACKED_BYTES = 4 * 2**30
"""Size limit of ROS 2 bags that are compressed as a whole, once unpacked: rosbags unpacks them to disk."""
_ROLES = ("position", "velocity", "effort")


class _Stamp:
    sec, nanosec = 0, 0


class _Header:
    stamp = _Stamp


class _Nothing:
    """Placeholder for a message that cannot be read."""

    header = _Header
    name: tuple[str, ...] = ()
    position = velocity = effort = ()


NOTHING = _Nothing()


def is_bag(path: Path) -> bool:
    """Return True for a bag's suffix, or a folder with the metadata of one."""
    return path.suffix.lower() in SUFFIXES or (path.is_dir() and (path / "metadata.yaml").is_file())


def read_bag_table(path: Path, topic: str | None = None) -> LogTable:
    """Read joint states of a topic as columns `position elbow`, `velocity elbow`, `effort elbow`, and the time.

    Args:
        path: the bag.
        topic: name of the topic; by default the topic of joint states with the most messages.
    """
    folder = path.is_dir()
    with opened(path / "metadata.yaml" if folder else path, MAX_TEXT_BYTES if folder else MAX_LOG_BYTES):
        pass  # refused here if it cannot be read
    bag = _Bag(path, topic)
    columns, stamped = bag.columns()
    joints = {name.split(" ", 1)[1] for name in columns[1:]}

    def pieces(indices: list[int]) -> Iterator[Piece]:
        places = {columns[k]: place for place, k in enumerate(indices)}
        rows: list[np.ndarray] = []
        done = 0
        for time, message in bag.messages(stamped):
            if not joints <= set(message.name) and message is not NOTHING:
                continue  # of another publisher
            row = np.full(len(indices), np.nan)
            if "time" in places:
                row[places["time"]] = time
            for role in _ROLES:
                values = getattr(message, role)
                for name, value in zip(message.name, values, strict=False):
                    place = places.get(f"{role} {name}")
                    if place is not None:
                        row[place] = value
            rows.append(row)
            if len(rows) == PIECE_MESSAGES:
                yield np.arange(done + 1, done + len(rows) + 1), np.array(rows)
                done, rows = done + len(rows), []
        if rows:
            yield np.arange(done + 1, done + len(rows) + 1), np.array(rows)

    clock = "the time of the messages' headers" if stamped else "the time of recording, as headers have none"
    notes = [f"topic {bag.topic}, {clock}"]
    if bag.others:
        notes.append(
            f"other joint states, not read: {', '.join(bag.others)}; say which with columns={{'topic': …}} "
            "(--columns topic=NAME)"
        )
    return LogTable(str(path), tuple(columns), pieces, {"time": "s"}, notes=tuple(notes))


class _Bag:
    """Bag that is opened for every pass.

    Messages are decoded by the definitions of rosbags, never by those in the bag.
    """

    def __init__(self, path: Path, topic: str | None) -> None:
        try:
            from rosbags import rosbag1, rosbag2
            from rosbags.typesys import Stores, get_typestore
        except ImportError:
            raise MissingExtraError(
                "reading bags needs rosbags", file=path, remedy="pip install 'zveno[identify]'"
            ) from None
        _bound_unpacking()
        if path.is_dir():
            _check_packed_files(path)
        self.path = path
        self.first = path.suffix.lower() == ".bag"
        self.reader: Any = rosbag1.Reader if self.first else rosbag2.Reader
        store = get_typestore(Stores.ROS1_NOETIC if self.first else Stores.LATEST)
        self.deserialize = store.deserialize_ros1 if self.first else store.deserialize_cdr
        with self._opened() as bag:
            counts: dict[str, int] = {}
            others = set()
            for connection in bag.connections:
                if connection.msgtype == JOINT_STATE:
                    counts[connection.topic] = counts.get(connection.topic, 0) + connection.msgcount
                else:
                    others.add(str(connection.topic))
        if topic is not None and topic not in counts:
            raise ModelError(
                f"has no joint states on {topic}",
                file=path,
                remedy=f"Topics of joint states: {', '.join(counts) or 'none'}",
            )
        if not counts:
            raise ModelError(
                "has no messages of the type sensor_msgs/JointState",
                file=path,
                remedy=f"Its topics are {', '.join(sorted(others)[:20]) or 'none'}",
            )
        self.topic = topic if topic is not None else max(counts, key=lambda word: counts[word])
        self.others: tuple[str, ...] = tuple(word for word in counts if word != self.topic)

    def columns(self) -> tuple[list[str], bool]:
        """Return (time and the columns of the most complete messages, whether their headers hold times)."""
        kinds: dict[tuple[str, ...], int] = {}
        stamps = []
        for k, (_, message) in enumerate(self.messages(True)):
            stamps.append(message.header.stamp.sec * 10**9 + message.header.stamp.nanosec)
            its = tuple(f"{role} {name}" for role in _ROLES for name in message.name[: len(getattr(message, role))])
            kinds[its] = kinds.get(its, 0) + len(message.effort)
            if k >= LOOKED_AT:
                break
        names = max(kinds, key=lambda its: kinds[its], default=())
        if not names:
            raise ModelError(
                "its joint states are empty",
                file=self.path,
                element=f"topic {self.topic}",
                remedy="Record a topic with positions",
            )
        return ["time", *names], len(set(stamps)) > max(1, len(stamps) // 2)

    def messages(self, stamped: bool) -> Iterator[tuple[float, Any]]:
        """Yield (s, message) of every readable message, by its header's time or that of recording."""
        with self._opened() as bag:
            chosen = [each for each in bag.connections if each.topic == self.topic]
            for _, received, raw in self._guarded(bag.messages(connections=chosen)):
                try:
                    message: Any = self.deserialize(raw, JOINT_STATE)
                    stamp = message.header.stamp
                    time = stamp.sec + 1e-9 * stamp.nanosec if stamped else 1e-9 * received
                except Exception:  # a message that is cut off fails in any way; its row is left out and named
                    time, message = np.nan, NOTHING
                yield time, message

    def _opened(self) -> Any:
        return _Guard(self)

    def _guarded(self, messages: Any) -> Iterator[Any]:
        try:
            yield from messages
        except Exception as error:
            raise self.damaged(error) from None

    def damaged(self, error: Exception) -> ZvenoError:
        """Return our error for one of rosbags, of SQLite or of a decompressor."""
        if isinstance(error, ModelError):
            return error.located(file=self.path)
        words = f"{type(error).__name__}: {str(error)[:200]}"
        return ModelError(f"it is damaged, or no bag: {words}", file=self.path)


class _Guard:
    """Context that opens and closes the reader and converts its errors to ours."""

    def __init__(self, bag: _Bag) -> None:
        self.bag = bag

    def __enter__(self) -> Any:
        try:
            with _tables_only():
                self.reader = self.bag.reader(self.bag.path)
                self.reader.open()
        except Exception as error:
            raise self.bag.damaged(error) from None
        return self.reader

    def __exit__(self, *_: object) -> None:
        self.reader.close()


@contextmanager
def _tables_only() -> Iterator[None]:
    """Refuse databases whose tables are views or virtual: these are queries of the file, which need not end."""
    hooks = importlib.import_module("apsw").connection_hooks

    def check(connection: Any) -> None:
        query = "SELECT name FROM sqlite_master WHERE type = 'view' OR sql LIKE 'create virtual%'"
        computed = [str(name) for (name,) in connection.execute(query)]
        if computed:
            raise ModelError(
                f"{', '.join(computed[:8])} is the result of a query stored in the file",
                remedy="Record it again, or write it anew with `ros2 bag convert`",
            )

    hooks.append(check)
    try:
        yield
    finally:
        hooks.remove(check)


@cache
def _bound_unpacking() -> None:
    """Give rosbags decompressors that stop at `MAX_CHUNK_BYTES`; its own have no limit."""
    names = ("rosbag1.reader", "rosbag2.reader", "rosbag2.storage_mcap")
    modules: list[Any] = [importlib.import_module(f"rosbags.{name}") for name in names]
    first, second, mcap = modules
    lz4 = _bounded(importlib.import_module("lz4.frame").open)
    zstd = mcap.zstd
    first.decompressors.update(bz2=_bounded(bz2.open), lz4=lz4)
    mcap.DECOMPRESSORS.update(lz4=lz4, zstd=_bounded(zstd.open))
    second.zstd = SimpleNamespace(open=zstd.open, decompress=_bounded(zstd.open))


def _bounded(open_packed: Callable[..., Any]) -> Callable[..., bytes]:
    """Return a function that unpacks bytes, and raises a `ModelError` beyond the bound."""

    def unpack(data: bytes, *_: object) -> bytes:
        with open_packed(io.BytesIO(data), "rb") as stream:
            unpacked = stream.read(MAX_CHUNK_BYTES + 1)
        if len(unpacked) > MAX_CHUNK_BYTES:
            raise ModelError(
                f"a compressed chunk has more than {MAX_CHUNK_BYTES // 2**20} MB unpacked",
                remedy="Record it again with smaller chunks",
            )
        return unpacked

    return unpack


def _check_packed_files(folder: Path) -> None:
    """Refuse files of a bag that unpack to too much; nothing of it is kept."""
    zstd = importlib.import_module("rosbags.rosbag2.storage_mcap").zstd
    size = 0
    for file in (*folder.glob("*.zstd"), *folder.glob("*.zst")):
        with opened(file, MAX_LOG_BYTES) as packed, zstd.open(packed, "rb") as stream:
            while part := stream.read(2**20):
                size += len(part)
                if size > MAX_UNPACKED_BYTES:
                    raise over_limit(size, MAX_UNPACKED_BYTES, file)
