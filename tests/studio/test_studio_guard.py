"""The studio lets nobody in but the reader of its link."""

from __future__ import annotations

import functools
import signal
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import numpy as np
import pytest

import zveno
from studio_client import asked, camera, connected, cookie, message, until

viser = pytest.importorskip("viser")
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402


@pytest.fixture(scope="module")
def studio():
    with zveno.open_studio(zveno.load("puma560")) as opened:
        yield opened


def netloc(studio) -> str:
    return urlsplit(studio.url).netloc


def test_it_listens_on_this_machine_only(studio):
    place = urlsplit(studio.url)
    assert place.hostname == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others - {a for a in others if a.startswith("127.")}:
        with socket.socket() as probe:
            probe.settimeout(2.0)
            assert probe.connect_ex((address, place.port)) != 0


def test_without_the_token_nothing_is_told(studio):
    for path in ("/", "/?token=", "/?token=wrong", "/index.html", "/?token=%00"):
        answer = asked(studio.url, path)
        assert (answer.status, answer.text) == (401, "Open the link that zveno printed.")
    name = cookie(studio.url).partition("=")[0]
    assert asked(studio.url, headers={"Cookie": f"{name}=wrong"}).status == 401
    with pytest.raises(InvalidStatus, match="401"), connected(studio.url, additional_headers={}):
        pass


def test_the_token_becomes_a_cookie_and_leaves_the_address(studio):
    place = urlsplit(studio.url)
    answer = asked(studio.url, f"/?{place.query}")
    assert (answer.status, answer.getheader("Location")) == (303, "/")
    given = answer.getheader("Set-Cookie")
    assert f"zveno-{place.port}=" in given
    assert {"HttpOnly", "SameSite=Strict"} <= {part.strip() for part in given.split(";")}
    page = asked(studio.url, headers={"Cookie": cookie(studio.url)})
    assert page.status == 200
    assert "<html" in page.text
    assert "frame-ancestors 'none'" in page.getheader("Content-Security-Policy")
    assert page.getheader("Cache-Control") == "no-store"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "localhost"]
)
def test_another_host_is_refused(host, studio):
    headers = {"Host": host.format(port=urlsplit(studio.url).port), "Cookie": cookie(studio.url)}
    assert asked(studio.url, headers=headers).status == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://{netloc}", "http://{netloc}.evil.example"]
)
def test_another_origin_is_refused(origin, studio):
    origin = origin.format(netloc=netloc(studio))
    assert asked(studio.url, headers={"Origin": origin, "Cookie": cookie(studio.url)}).status == 403
    with pytest.raises(InvalidStatus, match="403"), connected(studio.url, origin=origin):
        pass


@pytest.mark.parametrize(
    "path", ["/../guard.py", "/%2e%2e/%2e%2e/_viser.py", "/etc/passwd", "//etc/passwd", "/..\\x"]
)
def test_only_the_page_is_served(path, studio):
    assert asked(studio.url, path, {"Cookie": cookie(studio.url)}).status == 404


def test_nobody_can_ask_for_a_tunnel(studio):
    assert studio.server.request_share_url() is None
    handlers = studio.server._websock_server._incoming_handlers
    assert not [kind for kind in handlers if kind.__name__.startswith("ShareUrl")]
    with connected(studio.url) as client:
        client.send(message("ShareUrlRequest"))
        client.send(camera())
        assert client.recv(timeout=10)
    assert studio.server._share_tunnel is None


def test_a_message_that_cannot_be_read_ends_its_connection_and_no_other(studio):
    with connected(studio.url) as honest:
        honest.send(camera())
        for raw in (b"\xc1", "text", message("NoSuchMessage")):
            with connected(studio.url) as client:
                client.send(camera())
                client.send(raw)
        seen, slider = studio.stages[0].placed, _slider(studio)
        honest.send(message("GuiUpdateMessage", uuid=slider._impl.uuid, updates={"value": 12.5}))
        until(lambda: studio.stages[0].placed > seen, "an update after the garbage")
        assert np.degrees(studio.stages[0].q[0]) == pytest.approx(12.5)


def _slider(studio):
    handles = studio.server.gui._gui_input_handle_from_uuid.values()
    return next(h for h in handles if getattr(h, "label", "").startswith("joint1"))


def test_a_message_that_is_too_large_ends_its_connection(studio):
    with connected(studio.url) as client:
        client.send(camera())
        client.send(b"\x00" * (2 << 20))
        with pytest.raises(ConnectionClosed):
            list(client)
    assert asked(studio.url, headers={"Cookie": cookie(studio.url)}).status == 200


@pytest.mark.parametrize("value", [1e9, -1e9, "nonsense", True])
def test_values_are_taken_to_their_limits(value, studio):
    stage, slider = studio.stages[0], _slider(studio)
    until(lambda: not studio.server.get_clients(), "the end of earlier connections")
    with connected(studio.url) as client:
        client.send(camera())
        until(studio.server.get_clients, "a connection")
        client.send(message("GuiUpdateMessage", uuid=slider._impl.uuid, updates={"value": value}))
        client.send(message("GuiUpdateMessage", uuid=slider._impl.uuid, updates={"value": 3.0}))
        until(lambda: abs(np.degrees(stage.q[0]) - 3.0) < 1e-6, "the second update")
        client.send(message("GuiUpdateMessage", uuid=slider._impl.uuid, updates={"value": 1e11}))
        until(lambda: stage.q[0] == pytest.approx(stage.mechanism.upper[0], abs=1e-5), "the limit")
    assert (stage.q <= stage.mechanism.upper + 1e-12).all()
    assert (stage.q >= stage.mechanism.lower - 1e-12).all()


def test_two_pages_share_what_is_shown(studio):
    slider = _slider(studio)
    until(lambda: not studio.server.get_clients(), "the end of earlier connections")
    with connected(studio.url) as one, connected(studio.url) as other:
        for client in (one, other):
            client.send(camera())
        until(lambda: len(studio.server.get_clients()) == 2, "two connections")
        one.send(message("GuiUpdateMessage", uuid=slider._impl.uuid, updates={"value": -7.5}))
        until(lambda: abs(np.degrees(studio.stages[0].q[0]) + 7.5) < 1e-6, "the robot's motion")
        seen = []
        reader = threading.Thread(target=lambda: seen.extend(other.recv(timeout=10) for _ in range(3)))
        reader.start()
        reader.join(15)
        assert seen


def test_a_busy_port_or_a_bad_host_is_an_error():
    robot = zveno.load("planar2")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(zveno.ZvenoError, match=r"cannot be used: Address already in use\. Give another port"):
            zveno.open_studio(robot, port=taken.getsockname()[1])
    for host, why in (
        ("192.0.2.1", "cannot be used"),
        ("nonsense", "must be an IP address"),
        ("example.com", "must be an IP address"),
    ):
        with pytest.raises(zveno.ZvenoError, match=why), pytest.warns() if host[0] == "1" else _nothing():
            zveno.open_studio(robot, host=host)
    with pytest.raises(zveno.ZvenoError, match="must be an integer from 0 to 65535"):
        zveno.open_studio(robot, port=70000)


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_another_address_is_opened_with_a_warning():
    robot = zveno.load("planar2")
    with pytest.warns(zveno.ZvenoWarning, match="open to everybody"):
        opened = zveno.open_studio(robot, host="0.0.0.0")
    with opened:
        port = urlsplit(opened.url).port
        local = opened.url.replace("0.0.0.0", "127.0.0.1")
        assert asked(local).status == 401
        assert asked(local, headers={"Cookie": cookie(local)}).status == 200
        refused = {"Host": f"evil.example:{port}", "Cookie": cookie(local)}
        assert asked(local, headers=refused).status == 403


def test_after_the_end_the_port_is_free():
    before = set(threading.enumerate())
    with zveno.open_studio(zveno.load("planar2")) as opened:
        port = urlsplit(opened.url).port
    with zveno.open_studio(zveno.load("planar2"), port=port) as again:
        assert urlsplit(again.url).port == port
    assert not [thread for thread in set(threading.enumerate()) - before if thread.name == "zveno studio"]


@pytest.mark.laws
def test_ctrl_c_ends_it_cleanly():
    command = [sys.executable, "-m", "zveno", "studio", "planar2"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # Where the tests themselves run in the background of a shell, their children would ignore the signal.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, **pipes, preexec_fn=heard) as run:
        try:
            line, hint = run.stdout.readline(), run.stdout.readline()
            run.send_signal(signal.SIGINT)
            out, err = run.communicate(timeout=60)
        finally:
            run.kill()
    assert line.startswith("open http://127.0.0.1:")
    assert (hint, out, err, run.returncode) == ("Ctrl-C ends it.\n", "", "ended\n", 0)


def test_another_viser_is_not_trusted(monkeypatch):
    monkeypatch.setattr(viser, "__version__", "1.2.0")
    with pytest.raises(zveno.errors.MissingExtraError, match=r"not tested with viser 1\.2\.0"):
        zveno.open_studio(zveno.load("planar2"))
