"""What a browser may send: few kinds of messages, finite numbers, short texts. Others end the connection."""

from __future__ import annotations

import asyncio
import importlib
import math
from functools import cache
from typing import Any

MOST_TEXT = 1000
MOST_NUMBERS = 64
_REFUSED = 1008
"""Code of websockets for a message that breaks the rules."""
_KINDS = {
    "ViewerCameraMessage": (),
    "GuiUpdateMessage": ("uuid", "updates"),
    "TransformControlsUpdateMessage": ("name", "wxyz", "position"),
    "TransformControlsDragStartMessage": ("name",),
    "TransformControlsDragEndMessage": ("name",),
    "SceneNodeClickMessage": (),
    "FileTransferPartAck": (),
}
"""Kinds that reach the studio, and fields they must have. Other kinds of viser are read and dropped."""


class Malformed(ValueError):
    """A message that no page of the studio sends."""


class Checked:
    """A connection that hands on only messages that are well formed; at the first other one it ends."""

    def __init__(self, connection: Any):
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> bytes:
        """The next message of a kind that is known."""
        while True:
            raw = await self._connection.recv()
            try:
                wanted = is_wanted(raw)
            except Malformed as error:
                closing = asyncio.ensure_future(self._connection.close(_REFUSED, str(error)[:100]))
                try:
                    while True:  # what else was sent stands before the answer to the closing
                        await self._connection.recv()  # raises that it is closed, which ends the handler quietly
                finally:
                    await closing
            if wanted:
                return raw


def is_wanted(raw: Any) -> bool:
    """Whether a message is one for the studio; raises `Malformed` for what viser's page never sends."""
    if not isinstance(raw, bytes):
        raise Malformed("text instead of bytes")
    decode, message_class = _reader()
    try:
        message = decode(raw)
        kind = message["type"]
        known = kind in message_class._subclass_from_type_string()
    except Exception:  # a decoder of foreign bytes raises whatever it likes
        raise Malformed("it cannot be read") from None
    if not known:
        raise Malformed("its kind is not known")
    if kind not in _KINDS:
        return False
    if any(field not in message for field in _KINDS[kind]):
        raise Malformed("a field is missing")
    _check(message, 0)
    if kind == "TransformControlsUpdateMessage":
        _check_pose(message["wxyz"], message["position"])
    if kind == "GuiUpdateMessage":
        return _is_value(message["updates"])
    try:
        message_class.deserialize(raw)
    except Exception:  # what viser cannot read would end its own reader
        raise Malformed("its fields do not fit") from None
    return True


@cache
def _reader() -> tuple[Any, Any]:
    return importlib.import_module("msgspec.msgpack").decode, importlib.import_module("viser._messages").Message


def _check(value: Any, depth: int) -> None:
    """Numbers are finite, texts short, lists few."""
    if depth > 4:
        raise Malformed("it is too deep")
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        if not (math.isfinite(value) and abs(value) < 1e12):
            raise Malformed("a number is not finite")
    elif isinstance(value, str):
        if len(value) > MOST_TEXT:
            raise Malformed("a text is too long")
    elif isinstance(value, dict | list):
        items = list(value.items()) if isinstance(value, dict) else value
        if len(items) > MOST_NUMBERS:
            raise Malformed("a list is too long")
        for item in items:
            _check(list(item) if isinstance(item, tuple) else item, depth + 1)
    else:
        raise Malformed("a value is of no known kind")


def _check_pose(wxyz: Any, position: Any) -> None:
    for numbers, count in ((wxyz, 4), (position, 3)):
        if not (isinstance(numbers, list) and len(numbers) == count and all(map(_is_number, numbers))):
            raise Malformed("a pose is incomplete")
    if not 0.5 < math.hypot(*wxyz) < 2.0:
        raise Malformed("a quaternion has no length")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_value(updates: Any) -> bool:
    """Whether a page changed the value of an input: other properties are the server's alone."""
    if not isinstance(updates, dict):
        raise Malformed("updates are no mapping")
    if not isinstance(updates.get("value", ""), bool | int | float | str):
        raise Malformed("no input of the studio has such a value")
    return set(updates) == {"value"}
