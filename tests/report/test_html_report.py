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
from zveno.io.results import HOMES
from zveno.report.description import Scene
from zveno.report.html import bundle
from zveno.report.scene import numbers, scene_data
from zveno.simulation import RK4

WEB = Path(__file__).parents[2] / "web"
MOST_BYTES = 1_500_000
"""A page is sent by mail."""


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, zveno.Result]:
    return every_result(tmp_path_factory.mktemp("c"))


@pytest.fixture(scope="module")
def pages(results, tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    return {name: result.report(folder / f"{name}.html") for name, result in results.items()}


def scenes(text: str) -> dict:
    return json.loads(re.search(r'id="scenes">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.laws
@pytest.mark.parametrize("name", HOMES)
def test_a_report_is_one_page_that_needs_nothing_else(name, results, pages):
    text = pages[name].read_text(encoding="utf-8")
    assert pages[name].stat().st_size <= MOST_BYTES
    outside = text.replace(bundle("report.js"), "")
    links = re.findall(r"(?:src|href)=\"([^\"]*)|@import|url\(([^)]*)", outside)
    assert all(link.startswith(("#", "data:")) for pair in links for link in pair if link)
    assert "default-src 'none'" in text
    first = getattr(results[name], "verdict", results[name].summary).split()[0]
    assert first in text
    identifiers = re.findall(r' id="([^"]+)"', outside)
    assert len(identifiers) == len(set(identifiers))


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


@pytest.mark.laws
def test_a_page_of_a_long_motion_stays_small(tmp_path):
    robot = zveno.load("ur5")
    run = robot.simulate(robot.neutral(), duration=30.0, sample_time=0.005, integrator=RK4(0.005))
    assert run.report(tmp_path / "long.html").stat().st_size <= MOST_BYTES


def test_numbers_that_do_not_exist_are_null():
    assert numbers([1.0, np.nan, np.inf, 1 / 3]) == [1.0, None, None, 0.333333]
    assert numbers([[1.0], [np.nan]]) == [[1.0], [None]]


def test_several_results_make_one_page(results, tmp_path):
    both = [results["BaseParameters"], results["Solutions"]]
    text = zveno.write_report(both, tmp_path / "both.html", title="A robot").read_text(encoding="utf-8")
    assert "<title>A robot</title>" in text
    assert text.count("<h3 ") == 2


def test_a_page_has_contents_and_paragraphs(results, tmp_path):
    parts = ["Drawn & built.", results["BaseParameters"], results["Solutions"]]
    text = zveno.write_report(parts, tmp_path / "both.html").read_text(encoding="utf-8")
    assert '<p class="text">Drawn &amp; built.</p>' in text
    contents = text.partition("<nav")[2].partition("</nav>")[0]
    links = re.findall(r'href="#(\w+)"', contents)
    assert len(links) > 4
    assert all(f'id="{link}"' in text for link in links)
    alone = results["Solutions"].report(tmp_path / "one.html").read_text(encoding="utf-8")
    assert "Contents: <a" in alone


def test_what_cannot_be_reported_is_refused(results, tmp_path):
    with pytest.raises(zveno.ZvenoError, match=r"Use \.html"):
        results["Solutions"].report(tmp_path / "page.pdf")
    with pytest.raises(zveno.ZvenoError, match="at least one"):
        zveno.write_report([], tmp_path / "page.html")


def test_long_motions_are_thinned_out_evenly():
    robot = zveno.load("planar2")
    q = np.linspace(0.0, 1.0, 1001)[:, None] * [1.0, 2.0]
    data = scene_data(Scene("motion", robot.mechanism, q, [str(k) for k in range(1001)]))
    labels = [int(label) for label in data["labels"]]
    assert labels[0] == 0
    assert labels[-1] == 1000
    assert np.ptp(np.diff(labels)) <= 1
    poses = np.frombuffer(base64.b64decode(data["poses"]), "<f4").reshape(len(labels), -1, 4, 4)
    moved = robot.link_poses(q[labels[7]])
    assert np.allclose(poses[7, -1].T, moved[-1], atol=1e-6)


@pytest.mark.laws
def test_the_command_writes_a_report(tmp_path, capsys):
    from zveno.cli import main

    page = tmp_path / "base.html"
    assert main(["base", "planar2", "--report", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert main(["base", "planar2", "--report", str(page)]) == 0, "its own page is replaced"
    (tmp_path / "foreign.html").write_text("<html>mine</html>")
    assert main(["base", "planar2", "--report", str(tmp_path / "foreign.html")]) == 2
    assert main(["fk", "planar2", "--report", str(tmp_path / "fk.html")]) == 2
    assert "this command has no report" in capsys.readouterr().err


@pytest.fixture(scope="module")
def browser():
    yield from chromium()


@pytest.mark.attack
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
        drawn = scenes(file.read_text(encoding="utf-8"))
        assert page.locator(".view.scene canvas").count() == len(drawn)
        kept(page, f"report_{name}_{scheme}", full_page=True)
        context.close()


@pytest.mark.attack
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
