"""The studio in a browser: sliders and a real mouse move things, a motion plays, a saved page opens."""

from __future__ import annotations

import time

import numpy as np
import pytest

import zveno
from browser import PATIENT, chromium, kept
from studio_client import until

pytest.importorskip("viser")
pytestmark = [pytest.mark.attack, pytest.mark.timeout(900)]

VIEWPORT = {"width": 900, "height": 560}


@pytest.fixture(scope="module")
def browser():
    yield from chromium()


@pytest.fixture
def opened(browser):
    """A function that opens a page and collects what goes wrong on it."""
    contexts = []

    def open_page(url: str, offline: bool = False):
        context = browser.new_context(viewport=VIEWPORT, offline=offline)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENT)
        page.faults, page.fetched = [], []
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        page.on("console", lambda said: page.faults.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: page.fetched.append(asked.url))
        page.goto(url)
        page.wait_for_selector("canvas")
        return page

    yield open_page
    for context in contexts:
        context.close()


def changed(page, before: bytes, what: str) -> bytes:
    """The next picture of the scene that differs."""
    end = time.monotonic() + PATIENT / 1000
    while time.monotonic() < end:
        now = scene(page)
        if now != before:
            return now
        page.wait_for_timeout(200)
    raise AssertionError(what)


def scene(page) -> bytes:
    """The left part of the page, where no panel is."""
    return page.screenshot(clip={"x": 0, "y": 170, "width": 560, "height": 390}, timeout=PATIENT)


def steady(page) -> bytes:
    """A picture of the scene that no longer changes."""
    last = scene(page)
    for _ in range(60):
        page.wait_for_timeout(400)
        now = scene(page)
        if now == last:
            return now
        last = now
    raise AssertionError("the scene does not come to rest")


def test_it_loads_a_slider_moves_the_robot_and_two_tabs_agree(opened):
    with zveno.open_studio(zveno.load("puma560")) as studio:
        page = opened(studio.url)
        until(lambda: len(studio.server.get_clients()) == 1, "a connection")
        assert page.url.endswith("/"), "the token has left the address"
        before = steady(page)
        box = page.get_by_role("textbox").first
        box.fill("70")
        box.press("Enter")
        waiting(page, lambda: abs(np.degrees(studio.stages[0].q[0]) - 70.0) < 0.1, "the slider")
        changed(page, before, "the robot does not move on the screen")
        kept(page, "studio_slider")
        other = opened(studio.url)
        waiting(other, lambda: len(studio.server.get_clients()) == 2, "the second tab")
        waiting(other, lambda: "70" in other.get_by_role("textbox").first.input_value(), "the same value there")
        for tab in (page, other):
            assert tab.faults == []
            assert all(url.startswith((studio.url.partition("?")[0], "blob:", "data:")) for url in tab.fetched)


def waiting(page, check, what: str) -> None:
    """Wait while the page goes on."""
    end = time.monotonic() + PATIENT / 1000
    while time.monotonic() < end:
        if check():
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{what} did not happen")


def test_a_mouse_drags_the_target_and_the_ghosts_follow(opened):
    with zveno.open_studio(zveno.load("puma560")) as studio:
        stage, target = studio.stages[0], studio.targets["/robot1"]
        page = opened(studio.url)
        waiting(page, lambda: studio.server.get_clients(), "a connection")
        page.get_by_role("tab", name="Target").click()
        steady(page)
        before, solved = target.T, target.solved
        for axis, share in ((0, 0.6), (1, 0.6), (2, 0.6), (0, 0.85), (1, 0.85), (2, 0.85)):
            arm = 0.24 * stage.size * before[:3, axis]  # an arrow of the target
            drag(page, on_screen(studio, before[:3, 3] + share * arm), on_screen(studio, before[:3, 3] + 1.3 * arm))
            if not np.allclose(target.T, before):
                break
        waiting(page, lambda: not np.allclose(target.T, before), "the drag")
        waiting(page, lambda: target.solved > solved and studio.worker.idle(), "the new answer")
        direct = stage.robot.ik(target.T)
        shown = int(direct.count) if int(direct.count) else 1
        assert target.ghosts.shown == min(shown, 16)
        page.get_by_text(direct.status, exact=True).wait_for()
        kept(page, "studio_target")
        assert page.faults == []


def drag(page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Press, move and let go, as a hand does."""
    page.mouse.move(*start)
    page.wait_for_timeout(300)
    page.mouse.down()
    for share in (0.4, 0.7, 1.0):
        page.mouse.move(*(np.array(start) + share * (np.array(end) - np.array(start))).tolist())
        page.wait_for_timeout(150)
    page.mouse.up()
    page.wait_for_timeout(500)


def on_screen(studio, point: np.ndarray) -> tuple[float, float]:
    """Pixels of a point of the first robot's world, by the camera that the page reports."""
    camera = next(iter(studio.server.get_clients().values())).camera
    towards = np.asarray(camera.look_at) - np.asarray(camera.position)
    towards = towards / np.linalg.norm(towards)
    right = np.cross(towards, np.asarray(camera.up_direction))
    right = right / np.linalg.norm(right)
    seen = point - np.asarray(camera.position)
    down = -np.cross(right, towards)
    depth = seen @ towards
    half = VIEWPORT["height"] / 2
    scale = half / np.tan(camera.fov / 2) / depth
    return VIEWPORT["width"] / 2 + scale * (seen @ right), half + scale * (seen @ down)


def test_a_motion_plays_and_its_page_opens_without_a_network(opened, tmp_path):
    arm = zveno.load("puma560")
    run = arm.simulate([0.3, -0.4, 0.5, 0.2, 0.7, 0.1], duration=1.0, sample_time=0.02)
    with zveno.open_studio(arm, run) as studio:
        page = opened(studio.url)
        waiting(page, lambda: studio.server.get_clients(), "a connection")
        before = steady(page)
        (_, playback), *_ = studio.playbacks
        page.get_by_role("button", name="Play").click()
        waiting(page, lambda: playback.at > 0, "playing")
        changed(page, before, "nothing moves on the screen")
        waiting(page, lambda: playback.at == len(playback.t) - 1, "the end")
        kept(page, "studio_motion")
        assert page.faults == []
        file = studio.save(tmp_path / "motion.html")
    alone = opened(file.as_uri(), offline=True)
    first = scene(alone)
    changed(alone, first, "the saved motion does not play")
    kept(alone, "studio_saved")
    assert alone.faults == []
    assert all(url.startswith(("file:", "blob:", "data:")) for url in alone.fetched)
