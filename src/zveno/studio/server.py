"""Secured viser server: one address, a token, checks of Host and Origin, and bounded message sizes.

By default, viser 1.1 listens on all interfaces without authentication, accepts connections from any page, takes the
next port if one is busy, and opens a public tunnel on request of a client.
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

LOOPBACK = "127.0.0.1"
MOST_BYTES = 1 << 20
"""Maximum size of one message from a browser, bytes."""
CLOSING = 2.0
"""Time limit for a page to answer when its connection is closed, s."""
_POLICY = {
    "Content-Security-Policy": "default-src 'self' 'unsafe-inline' 'unsafe-eval' data: blob:; "
    "connect-src 'self' data: blob:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_starting = threading.Lock()
log: logging.Logger = logging.getLogger("zveno.studio")


class Guarded(NamedTuple):
    """Server and the link that opens it."""

    server: Any
    url: str


def guarded_server(host: str, port: int, label: str) -> Guarded:
    """Start a viser server at an address that is bound in advance; port 0 selects a free port."""
    viser = _viser()
    bound = _bind(host, port)
    number = bound.getsockname()[1]
    token = secrets.token_urlsafe(24)
    guard = _Guard(host, number, token)
    quiet = logging.getLogger("websockets.server")
    quiet.setLevel(logging.CRITICAL)  # otherwise every rejected or broken connection prints a traceback
    module: Any = importlib.import_module("websockets.asyncio.server")
    with _starting:
        real = module.serve

        def serve(handler: Callable[..., Any], *_: Any, process_request: Callable[..., Any], **options: Any) -> Any:
            options |= {
                "max_size": MOST_BYTES,
                "close_timeout": CLOSING,
                "process_request": guard.checking(process_request),
            }
            return real(handler, sock=bound, **options)

        module.serve = serve
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                server = viser.ViserServer(host=host, port=number, label=label, verbose=False)
        except BaseException:
            bound.close()
            raise
        finally:
            module.serve = real
    _disable_tunnel(server)
    loop = server.get_event_loop()
    loop.call_soon_threadsafe(loop.set_exception_handler, _note)
    return Guarded(server, f"http://{_url_host(host)}:{number}/?token={token}")


def _note(loop: Any, context: dict[str, Any]) -> None:
    """Log exceptions of viser's own tasks, for example for values of the wrong type, at debug level."""
    log.debug("a message failed: %s", context.get("exception") or context.get("message"))


def _viser() -> Any:
    try:
        viser = importlib.import_module("viser")
    except ImportError:
        raise MissingExtraError("the studio needs viser", remedy="pip install 'zveno[studio]'") from None
    if tuple(viser.__version__.split(".")[:2]) != ("1", "1"):
        raise MissingExtraError(
            f"the studio is not tested with viser {viser.__version__}",
            remedy="pip install 'zveno[studio]'",
        )
    return viser


def _bind(host: str, port: int) -> socket.socket:
    """Bind a socket to the address; raise if it is in use or does not belong to this machine."""
    if not isinstance(port, int) or not 0 <= port <= 65535:
        raise ZvenoError(f"must be an integer from 0 to 65535, got {port!r}", element="port")
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        remedy = "Give an address of this machine, such as 127.0.0.1"
        raise ZvenoError(f"must be an IP address, got {host!r}", element="host", remedy=remedy) from None
    if not address.is_loopback:
        warnings.warn(
            f"the studio is open to everybody who reaches {host} and has its link, and it is not encrypted",
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


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _disable_tunnel(server: Any) -> None:
    """Disable public tunnels, and hide the button that requests one."""
    messages = importlib.import_module("viser._messages")
    for kind in (messages.ShareUrlRequest, messages.ShareUrlDisconnect):
        server._websock_server.unregister_handler(kind)
    server.request_share_url = lambda verbose=True: None
    server.gui.configure_theme(show_share_button=False, show_logo=False)


class _Guard:
    """Access control: the token of the link, later a cookie, and only pages of this server."""

    def __init__(self, host: str, port: int, token: str):
        self.token = token
        self.cookie = f"zveno-{port}"  # cookies are shared by all ports of a host
        names = {_url_host(host), "localhost", LOOPBACK} if _is_own(host) else {_url_host(host)}
        self.hosts = {f"{name}:{port}" for name in names}
        self.any_host = host in ("0.0.0.0", "::")
        self.port = port

    def checking(self, answer: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a request handler with the access checks."""
        headers_class: Any = importlib.import_module("websockets").Headers
        response_class: Any = importlib.import_module("websockets.http11").Response

        def reject(status: HTTPStatus, why: str) -> Any:
            headers = headers_class({"Content-Type": "text/plain; charset=utf-8", **_POLICY})
            return response_class(int(status), status.phrase, headers, why.encode())

        def check(connection: Any, request: Any) -> Any:
            if not self._host_is_ours(request.headers.get_all("Host")):
                return reject(HTTPStatus.FORBIDDEN, "wrong Host")
            if not self._origin_is_ours(request.headers.get_all("Origin"), request.headers.get("Host")):
                return reject(HTTPStatus.FORBIDDEN, "foreign Origin")
            given = parse_qs(urlsplit(request.path).query).get("token", [""])[0]
            if not (self._is_token(given) or any(map(self._is_token, self._cookies(request)))):
                return reject(HTTPStatus.UNAUTHORIZED, "Open the link that zveno printed.")
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return None
            if given:  # removes the token from the address bar and the history
                cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                headers = headers_class({"Location": "/", "Set-Cookie": cookie, **_POLICY})
                return response_class(303, HTTPStatus.SEE_OTHER.phrase, headers, b"")
            response: Any = answer(connection, request)
            if response is not None:
                response.headers.update(_POLICY)
            return response

        return check

    def _host_is_ours(self, hosts: list[str]) -> bool:
        """Return True if the Host header names this server; other names indicate DNS rebinding."""
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
