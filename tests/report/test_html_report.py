"""Reports are one offline page that says what the result says; in a browser all of it draws, nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import zveno
from browser import PATIENT, chromium, kept
from every_result import every_result
from zveno.report.html.blocks import Series, numbers, points, table
from zveno.report.html.page import MOST_BYTES, Chapter, bundle, page_text
from zveno.report.html.scene import robot_scene
from zveno.report.results import _REPORTED

WEB = Path(__file__).parents[2] / "web"


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, zveno.Result]:
    return every_result(tmp_path_factory.mktemp("c"))


@pytest.fixture(scope="module")
def pages(results, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    return {name: results[name].report(folder / f"{name}.html") for name in _REPORTED}


def sections(text: str) -> dict:
    return json.loads(re.search(r'id="sections">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.parametrize("name", _REPORTED)
def test_a_report_is_one_page_that_needs_nothing_else(name, results, pages):
    text = pages[name].read_text(encoding="utf-8")
    assert pages[name].stat().st_size <= MOST_BYTES
    outside = text.replace(bundle("report.js"), "")
    assert not re.findall(r"(?:src|href)=|@import|url\(", outside)
    assert "default-src 'none'" in text
    kinds = {section["kind"] for section in sections(text).values()}
    assert kinds <= {"points", "lines", "log", "bars", "histogram", "matrix", "map", "slices", "scene"}
    first = getattr(results[name], "verdict", results[name].summary).split()[0]
    assert first in text


def test_the_policy_allows_the_script_of_the_page_and_no_other(pages):
    text = next(iter(pages.values())).read_text(encoding="utf-8")
    script = re.search(r"<script>(.*?)</script></body>", text, re.DOTALL)[1]
    allowed = re.search(r"script-src 'sha256-([^']+)'", text)[1]
    assert allowed == base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert len(re.findall(r"<script", text)) == 2


def test_the_bundle_is_made_from_the_sources():
    files = [*(f"src/{path.name}" for path in sorted((WEB / "src").iterdir())), "build.mjs", "package-lock.json"]
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file}\n".encode() + (WEB / file).read_bytes())
    for name in ("report.js", "report.css"):
        assert digest.hexdigest() in bundle(name)[:200], "run `make web`"


def test_long_records_are_thinned_until_a_page_is_small(tmp_path):
    robot = zveno.load("ur5")
    run = robot.simulate(robot.neutral(), duration=30.0, sample=0.005, integrator="rk4", step=0.005)
    page = run.report(tmp_path / "long.html")
    text = page.read_text(encoding="utf-8")
    assert 0.9 * MOST_BYTES < page.stat().st_size <= MOST_BYTES, "as many samples as there is room for"
    assert re.search("One sample of [2-9] is shown", text)
    for section in sections(text).values():
        if section["kind"] == "log":
            assert all(len(series["y"]) == len(section["t"]) for series in section["series"])
            assert section["t"][0] == 0.0
            assert section["t"][-1] > 29.5


def test_names_of_strangers_are_text():
    nasty = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    blocks = (points(nasty, [Series(nasty, [1.0])], nasty, "y"), table(nasty, [nasty], [[nasty]], note=nasty))
    text = page_text(nasty, [Chapter(nasty, nasty, "good", ((nasty, nasty),), blocks)] * 2)
    assert "<script>alert" not in text
    assert "<img" not in text.replace(bundle("report.js"), "")
    assert sections(text)["s1"]["x"] == nasty


def test_numbers_that_do_not_exist_are_null():
    assert numbers([1.0, np.nan, np.inf, 1 / 3]) == [1.0, None, None, 0.333333]
    assert numbers([[1.0], [np.nan]]) == [[1.0], [None]]


def test_several_results_make_one_page(results, tmp_path):
    both = [results["BaseParameters"], results["Solutions"]]
    text = zveno.write_report(both, tmp_path / "both.html", title="A robot").read_text(encoding="utf-8")
    assert "<title>A robot</title>" in text
    assert text.count("<h3>") == 2


def test_what_cannot_be_reported_is_refused(results, tmp_path):
    with pytest.raises(zveno.ZvenoError, match=r"Use \.html"):
        results["Solutions"].report(tmp_path / "page.pdf")
    with pytest.raises(zveno.ZvenoError, match="no report of a Export"):
        results["Export"].report(tmp_path / "page.html")
    with pytest.raises(zveno.ZvenoError, match="at least one"):
        zveno.write_report([], tmp_path / "page.html")


def test_long_motions_are_thinned_out_evenly():
    robot = zveno.load("planar2")
    q = np.linspace(0.0, 1.0, 1001)[:, None] * [1.0, 2.0]
    scene = robot_scene("motion", robot.mechanism, q, [str(k) for k in range(1001)])
    labels = [int(label) for label in scene.data["labels"]]
    assert labels[0] == 0
    assert labels[-1] == 1000
    assert np.ptp(np.diff(labels)) <= 1
    poses = np.frombuffer(base64.b64decode(scene.data["poses"]), "<f4").reshape(len(labels), -1, 4, 4)
    moved = robot.link_poses(q[labels[7]])
    assert np.allclose(poses[7, -1].T, moved[-1], atol=1e-6)


def test_the_command_writes_a_report(tmp_path, capsys):
    from zveno.cli import main

    page = tmp_path / "base.html"
    assert main(["base", "planar2", "--report", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["base", "planar2", "--report", str(page)]) == 0, "its own page is replaced"
    (tmp_path / "foreign.html").write_text("<html>mine</html>")
    assert main(["base", "planar2", "--report", str(tmp_path / "foreign.html")]) == 2
    assert main(["fk", "planar2", "--report", str(tmp_path / "fk.html")]) == 2
    assert "this verb has no report" in capsys.readouterr().err


@pytest.fixture(scope="module")
def browser():
    yield from chromium()


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_draws_in_a_browser(browser, pages, scheme):
    for name, file in pages.items():
        context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        faults, fetched = [], []
        page.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
        page.on("console", lambda said, faults=faults: faults.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked, fetched=fetched: fetched.append(asked.url))
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-drawn=yes]", state="attached", timeout=PATIENT)
        assert faults == [], name
        assert [url for url in fetched if not url.startswith(("file:", "data:", "blob:"))] == [], name
        empty = page.evaluate(
            "[...document.querySelectorAll('.view')].filter(view => !view.children.length).length"
        )
        assert empty == 0, name
        drawn = sections(file.read_text(encoding="utf-8"))
        assert page.locator(".view.scene canvas").count() == sum(s["kind"] == "scene" for s in drawn.values())
        assert page.locator(".view.log .uplot").count() == sum(s["kind"] == "log" for s in drawn.values())
        kept(page, f"report_{name}_{scheme}", full_page=True)
        context.close()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_tables_sort_the_slider_moves_the_robot_and_the_button_turns_the_theme(browser, pages):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(pages["Solutions"].as_uri())
    page.wait_for_selector("html[data-drawn=yes]", state="attached", timeout=PATIENT)

    def column(k):
        return [float(text) for text in page.locator(f"tbody tr td:nth-child({k})").all_inner_texts()]

    page.locator("thead th").nth(2).click()
    assert column(3) == sorted(column(3))
    page.locator("thead th").nth(2).click()
    assert column(3) == sorted(column(3), reverse=True)
    before = page.locator(".view.scene canvas").screenshot()
    page.locator(".bar input").evaluate("s => { s.value = s.max; s.oninput(); }")
    assert page.locator(".view.scene canvas").screenshot() != before
    color = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(color)
    page.locator("#theme").click()
    assert page.evaluate(color) != light
    page.emulate_media(media="print")
    assert page.locator(".bar").is_hidden()
    kept(page, "report_Solutions_print", full_page=True)
    page.close()
