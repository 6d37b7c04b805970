"""viser behind a guard: bound to one address, a token, Host and Origin checked, messages bounded and checked.

As it comes, viser 1.1 listens on all interfaces, asks nobody who they are, lets any page connect, takes the next
port where one is busy, and opens a public tunnel when a client asks for it.
"""

from __future__ import annotations

import contextlib
import hmac
import importlib
import io
import ipaddress
import logging
import secrets
import socket
import threading
import warnings
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from ..errors import MissingExtraError, ZvenoError, ZvenoWarning
from .messages import Checked

LOOPBACK = "127.0.0.1"
MOST_BYTES = 1 << 20
"""Of one message from a browser."""
CLOSING = 2.0
"""Seconds that a page has to answer when its connection is closed."""
_POLICY = {
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "connect-src 'self' data: blob:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_starting = threading.Lock()
log = logging.getLogger("zveno.studio")


class Guarded(NamedTuple):
    """A server, and the link that opens it."""

    server: Any
    url: str


def guarded_server(host: str, port: int, label: str) -> Guarded:
    """A viser server at an address that was bound before it started; with port 0, at any free port."""
    viser = _viser()
    bound = _bound(host, port)
    number = bound.getsockname()[1]
    token = secrets.token_urlsafe(24)
    door = _Door(host, number, token)
    quiet = logging.getLogger("websockets.server")
    quiet.setLevel(logging.CRITICAL)  # every refused or broken connection would be a traceback
    module: Any = importlib.import_module("websockets.asyncio.server")
    with _starting:
        real = module.serve

        def serve(handler: Callable[..., Any], *_: Any, process_request: Callable[..., Any], **options: Any) -> Any:
            async def checked(connection: Any) -> None:
                await handler(Checked(connection))

            options |= {
                "max_size": MOST_BYTES,
                "close_timeout": CLOSING,
                "process_request": door.checking(process_request),
            }
            return real(checked, sock=bound, **options)

        module.serve = serve
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                server = viser.ViserServer(host=host, port=number, label=label, verbose=False)
        except BaseException:
            bound.close()
            raise
        finally:
            module.serve = real
    _without_tunnel(server)
    loop = server.get_event_loop()
    loop.call_soon_threadsafe(loop.set_exception_handler, _note)
    return Guarded(server, f"http://{_spelled(host)}:{number}/?token={token}")


def _note(loop: Any, context: dict[str, Any]) -> None:
    """A value of the wrong kind fails in viser's own task: that is for those who look for it."""
    log.debug("a message failed: %s", context.get("exception") or context.get("message"))


def _viser() -> Any:
    try:
        viser = importlib.import_module("viser")
    except ImportError:
        raise MissingExtraError("the studio needs viser", remedy="pip install 'zveno[studio]'") from None
    if tuple(viser.__version__.split(".")[:2]) != ("1", "1"):
        raise MissingExtraError(
            f"viser {viser.__version__} is not one that the studio's guard was tested with",
            remedy="pip install 'zveno[studio]'",
        )
    return viser


def _bound(host: str, port: int) -> socket.socket:
    """A socket bound to the address; that it is busy or not one of this machine is an error."""
    if not isinstance(port, int) or not 0 <= port <= 65535:
        raise ZvenoError(f"{port!r} is no port", element="port", remedy="Give a number from 0 to 65535")
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        remedy = "Give an address of this machine, such as 127.0.0.1"
        raise ZvenoError(f"{host!r} is no address", element="host", remedy=remedy) from None
    if not address.is_loopback:
        warnings.warn(
            f"the studio is open to everybody who reaches {host} and has its link, and not encrypted",
            ZvenoWarning,
            stacklevel=2,
        )
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((str(address), port))
        bound.listen()
    except OSError as error:
        bound.close()
        remedy = "Give another port, or 0 for any that is free" if port else "Give an address of this machine"
        raise ZvenoError(f"{host}:{port} cannot be used: {error.strerror}", element="host", remedy=remedy) from None
    return bound


def _spelled(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _without_tunnel(server: Any) -> None:
    """No client can ask for a public address, and nobody is offered one."""
    messages = importlib.import_module("viser._messages")
    for kind in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(kind)
    server.request_share_url = lambda verbose=True: None
    server.gui.configure_theme(show_share_button=False, show_logo=False)


class _Door:
    """Who may come in: the link's token, later a cookie; and only pages of this server."""

    def __init__(self, host: str, port: int, token: str):
        self.token = token
        self.cookie = f"zveno-{port}"  # cookies are shared by all ports of a host
        names = {_spelled(host), "localhost", LOOPBACK} if _is_own(host) else {_spelled(host)}
        self.hosts = {f"{name}:{port}" for name in names}
        self.any_host = host in ("0.0.0.0", "::")
        self.port = port

    def checking(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        """What answers a request, after the request was found good."""
        headers_class: Any = importlib.import_module("websockets").Headers
        response_class: Any = importlib.import_module("websockets.http11").Response

        def refused(status: HTTPStatus, why: str) -> Any:
            headers = headers_class({"Content-Type": "text/plain; charset=utf-8", **_POLICY})
            return response_class(int(status), status.phrase, headers, why.encode())

        def check(connection: Any, request: Any) -> Any:
            if not self._host_is_ours(request.headers.get_all("Host")):
                return refused(HTTPStatus.FORBIDDEN, "wrong Host")
            if not self._origin_is_ours(request.headers.get_all("Origin"), request.headers.get("Host")):
                return refused(HTTPStatus.FORBIDDEN, "foreign Origin")
            given = parse_qs(urlsplit(request.path).query).get("token", [""])[0]
            if not (self._is_token(given) or any(map(self._is_token, self._cookies(request)))):
                return refused(HTTPStatus.UNAUTHORIZED, "Open the link that zveno printed.")
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return None
            if given:  # the token leaves the address bar, and with it the history
                cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                headers = headers_class({"Location": "/", "Set-Cookie": cookie, **_POLICY})
                return response_class(303, HTTPStatus.SEE_OTHER.phrase, headers, b"")
            response: Any = answer(connection, request)
            if response is not None:
                response.headers.update(_POLICY)
            return response

        return check

    def _host_is_ours(self, hosts: list[str]) -> bool:
        """A name of another kind is a page that had its name point here (DNS rebinding)."""
        if len(hosts) != 1:
            return False
        if not self.any_host:
            return hosts[0] in self.hosts
        name, _, port = hosts[0].rpartition(":")
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return hosts[0] in self.hosts
        return port == str(self.port)

    def _origin_is_ours(self, origins: list[str], host: str) -> bool:
        return all(origin == f"http://{host}" for origin in origins)

    def _is_token(self, word: str) -> bool:
        return hmac.compare_digest(word.encode(), self.token.encode())

    def _cookies(self, request: Any) -> list[str]:
        pairs = [
            part.strip().partition("=") for line in request.headers.get_all("Cookie") for part in line.split(";")
        ]
        return [value for name, _, value in pairs if name == self.cookie]


def _is_own(host: str) -> bool:
    return host == "localhost" or ipaddress.ip_address(host).is_loopback or host in ("0.0.0.0", "::")
