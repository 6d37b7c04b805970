"""Draws pictures of results for tutorials and gallery: `python docs/pictures/draw_results.py [NAME ...]`.

Every picture is what `result.plot()` draws; `report` and `studio` are pages seen in Chromium, and are left as
they are where there is no browser.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import zveno
from zveno import MotionLimits, calibration, identification, simulation
from zveno.report.figure import save
from zveno.simulation import TimeStepping

HERE = Path(__file__).resolve().parent
PATIENT = 180_000
"""Milliseconds that a page may take without a graphics card."""
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def calibrated() -> calibration.Calibration:
    """A PUMA 560 that is not as drawn, seen by a tracker in 30 postures, two of them bad."""
    rng = np.random.default_rng(1)
    drawn = zveno.load("puma560").with_tool(zveno.transforms.transform(None, np.array([0.04, 0.03, 0.08])))
    sizes = {
        name: 1e-3 if name[0] == "T" else 3e-3
        for name in zveno.calibration.identifiability(drawn, "relative_position").chosen
    }
    built = zveno.calibration.apply_deviations(drawn, {name: size * rng.normal() for name, size in sizes.items()})
    q = drawn.random(30, rng)
    seen = built.forward_kinematics(q)[:, :3, 3] + 5e-5 * rng.normal(size=(30, 3))
    seen[[7, 21]] += 0.004
    return drawn.calibrate(calibration.Dataset(calibration.RelativePosition(), q, seen, name="tracker"))


def identified() -> identification.Identification:
    """A UR5 that is a tenth heavier than drawn, with friction, recorded for ten seconds."""
    rng = np.random.default_rng(0)
    robot = zveno.load("ur5")
    links = {link.name: 1.1 * link.inertia for link in robot.mechanism.links}
    built = zveno.Robot(zveno.edit.with_inertia(robot.mechanism, links))
    motion = zveno.identification.plan_excitation(robot, 10.0, motion=MotionLimits(velocity=2.0, acceleration=8.0))
    t, q, v, a = motion.sample(200.0)
    tau = built.inverse_dynamics(q, v, a) + 5.0 * v + 3.0 * np.tanh(v / 0.005) + 0.3 * rng.normal(size=q.shape)
    return robot.identify(identification.Log.of(robot, t, q, tau), friction_terms="basic")


def all_solutions() -> zveno.ik.Solutions:
    """Eight ways of a UR5 to one pose."""
    T = zveno.transforms.transform(zveno.rotations.from_rpy([np.pi, 0, 0]), np.array([0.4, 0.2, 0.5]))
    return zveno.load("ur5").ik(T)


def landing() -> simulation.Trajectory:
    """A robot with four legs that is dropped from 10 cm and stands."""
    dog = zveno.load("quadruped")
    bend = {name: -1.2 for name in dog.joint_names if name.endswith("knee")}
    bend |= {name: 0.6 for name in dog.joint_names if name.endswith("pitch")}
    q0 = np.array(dog.pack(bend))
    feet = [name for name in dog.frame_names if name.endswith("foot")]
    soles = [simulation.Contact(foot, simulation.Sphere(0.02), friction=0.6) for foot in feet]
    q0[2] += 0.12 - dog.frame_poses(q0, frames=feet)[:, 2, 3].min()
    stand = simulation.PD(q0, kp=300.0, kd=8.0, gravity=False)
    return dog.simulate(
        q0, duration=1.5, integrator=TimeStepping(), control=stand, constraints=soles, sample_time=0.005
    )


def plan() -> calibration.MeasurementPlan:
    """Thirty postures for a tracker."""
    return zveno.calibration.plan_poses(zveno.load("panda"), "relative_position", 30, candidates=1000)


def smaller(file: Path) -> Path:
    """The same picture in 256 colours, half of the bytes."""
    Image.open(file).convert("RGB").quantize(256).save(file, optimize=True)
    return file


@contextlib.contextmanager
def opened(url: str, width: int, height: int) -> Iterator[Any]:
    """A page as a browser shows it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_default_timeout(PATIENT)
        page.goto(url)
        page.wait_for_timeout(3000)  # the robot is drawn by software
        yield page
        browser.close()


def report(path: Path) -> Path:
    """The top of a calibration's report."""
    with tempfile.TemporaryDirectory() as folder:
        page_file = calibrated().report(Path(folder) / "report.html")
        with opened(page_file.resolve().as_uri(), 1000, 1150) as page:
            page.screenshot(path=path, timeout=PATIENT)
    return path


def studio(path: Path) -> Path:
    """The studio with a UR5 in one of the eight ways to a target, the others as ghosts."""
    robot = zveno.load("ur5")
    with zveno.open_studio(robot) as shown, opened(shown.url, 1200, 720) as page:
        target = next(iter(shown.targets.values()))
        target.move(robot.forward_kinematics(np.radians([35, -75, 95, -50, 70, 10])))
        page.get_by_role("tab", name="Target").click()
        page.locator(".mantine-Notification-closeButton").click()  # it says that there is no graphics card
        page.get_by_text("8 solutions").wait_for()
        camera = next(iter(shown.server.get_clients().values())).camera
        camera.position, camera.look_at = (1.35, -0.85, 0.95), (0.25, 0.3, 0.2)  # left of the panel
        page.get_by_text("1", exact=True).first.click()
        page.wait_for_timeout(3000)
        page.screenshot(path=path, timeout=PATIENT)
    return path


RESULTS = {
    "calibration": calibrated,
    "identification": identified,
    "all_solutions": all_solutions,
    "landing": landing,
    "plan": plan,
}
PAGES = {"report": report, "studio": studio}


def main(names: list[str]) -> None:
    """Write the pictures of these names, or all of them, beside this file."""
    for name, result in RESULTS.items():
        if not names or name in names:
            print("drew", smaller(save(result().plot(), HERE / f"{name}.png")))
    for name, page in PAGES.items():
        if names and name not in names:
            continue
        if CHROMIUM is None:
            print(f"{name}.png is left as it is: there is no Chromium")
        else:
            print("drew", smaller(page(HERE / f"{name}.png")))


if __name__ == "__main__":
    main(sys.argv[1:])
