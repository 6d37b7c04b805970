"""Recordings of ROS: joint states in bags of ROS 1 (.bag), ROS 2 (.db3 or a folder) and MCAP, with rosbags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import MissingExtraError, ModelError
from ..files import MAX_LOG_BYTES, opened
from .tables import LogTable, Piece

SUFFIXES = (".bag", ".db3", ".mcap")
JOINT_STATE = "sensor_msgs/msg/JointState"
PIECE_MESSAGES = 20_000
LOOKED_AT = 200
"""Messages from which names of joints are gathered: several nodes may publish some joints each on one topic."""
_ROLES = ("position", "velocity", "effort")


class _Stamp:
    sec, nanosec = 0, 0


class _Header:
    stamp = _Stamp


class _Nothing:
    """What is put in the place of a message that cannot be read."""

    header = _Header
    name: tuple[str, ...] = ()
    position = velocity = effort = ()


NOTHING = _Nothing()


def is_bag(path: Path) -> bool:
    """Whether it is a bag by its name, or a folder with the description of one."""
    return path.suffix.lower() in SUFFIXES or (path.is_dir() and (path / "metadata.yaml").is_file())


def read_bag_table(path: Path, topic: str | None = None) -> LogTable:
    """Joint states of a topic as columns `position elbow`, `velocity elbow`, `effort elbow` by joint, and the time.

    Args:
        path: the bag.
        topic: where they were published; by default the topic of joint states with the most messages.
    """
    if path.is_file() or not path.is_dir():
        with opened(path, MAX_LOG_BYTES):  # refused here if it cannot be read
            pass
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
    """A bag that is opened for every pass.

    Messages are understood by the definition that rosbags has of them, never by one that the bag brings.
    """

    def __init__(self, path: Path, topic: str | None) -> None:
        try:
            from rosbags import rosbag1, rosbag2
            from rosbags.typesys import Stores, get_typestore
        except ImportError:
            raise MissingExtraError(
                "reading bags needs rosbags", file=path, remedy="pip install 'zveno[identify]'"
            ) from None
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
                    others.add(connection.topic)
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
        """(time and the columns of the messages that say most, whether their headers hold times)."""
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
            raise ModelError("its joint states are empty", file=self.path, element=f"topic {self.topic}")
        return ["time", *names], len(set(stamps)) > max(1, len(stamps) // 2)

    def messages(self, stamped: bool) -> Iterator[tuple[float, Any]]:
        """(s, message) of every message that can be read, by its header's time or that of recording."""
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
        except ModelError:
            raise
        except Exception as error:
            raise self.damaged(error) from None

    def damaged(self, error: Exception) -> ModelError:
        """Our error for one of rosbags, of SQLite or of a decompressor."""
        words = f"{type(error).__name__}: {str(error)[:200]}"
        return ModelError(f"it is damaged, or no bag: {words}", file=self.path)


class _Guard:
    """Opens and closes the reader; its errors become ours."""

    def __init__(self, bag: _Bag) -> None:
        self.bag = bag

    def __enter__(self) -> Any:
        try:
            self.reader = self.bag.reader(self.bag.path)
            self.reader.open()
        except Exception as error:
            raise self.bag.damaged(error) from None
        return self.reader

    def __exit__(self, *_: object) -> None:
        self.reader.close()
