"""A bare client of the studio, as a browser's page is one: a cookie, then a websocket."""

from __future__ import annotations

import contextlib
import http.client
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

PATIENCE = 40.0
"""Seconds that something may take on a busy machine."""


def asked(url: str, path: str = "/", headers: dict[str, str] | None = None, method: str = "GET") -> Any:
    """The answer to a request, with its body in `text`."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=PATIENCE)
    try:
        connection.putrequest(method, path, skip_host=True)
        for name, value in ({"Host": place.netloc} | (headers or {})).items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        answer.text = answer.read().decode(errors="replace")
        return answer
    finally:
        connection.close()


def cookie(url: str) -> str:
    """What the link's token becomes."""
    place = urlsplit(url)
    return asked(url, f"{place.path}?{place.query}").getheader("Set-Cookie").partition(";")[0]


@contextlib.contextmanager
def connected(url: str, **options: Any) -> Iterator[Any]:
    """A websocket as viser's page opens it."""
    import viser
    from websockets.sync.client import connect

    place = urlsplit(url)
    options = {"additional_headers": {"Cookie": cookie(url)}, "origin": f"http://{place.netloc}"} | options
    with connect(
        f"ws://{place.netloc}/", subprotocols=[f"viser-v{viser.__version__}"], max_size=None, **options
    ) as client:
        yield client


def message(kind: str, **fields: Any) -> bytes:
    """A message as a page sends it."""
    import msgspec

    return msgspec.msgpack.encode({"type": kind, **fields})


def camera() -> bytes:
    """The message with which a page says that it is there."""
    return message(
        "ViewerCameraMessage",
        wxyz=(1.0, 0.0, 0.0, 0.0),
        position=(3.0, 0.0, 0.0),
        fov=1.0,
        near=0.01,
        far=1000.0,
        image_height=800,
        image_width=1200,
        look_at=(0.0, 0.0, 0.0),
        up_direction=(0.0, 0.0, 1.0),
    )


def until(check: Callable[[], Any], what: str) -> Any:
    """What a check returns once it is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := check():
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not happen in {PATIENCE} s")
