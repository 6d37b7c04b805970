"""Draws pictures of results for tutorials and gallery: `python docs/pictures/draw_results.py [NAME ...]`.

Every picture is what `result.plot(path)` draws; `report` is a page seen in Chromium, and is left as it is where
there is no browser.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import zveno

HERE = Path(__file__).resolve().parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def calibrated() -> zveno.Calibration:
    """A PUMA 560 that is not as drawn, seen by a tracker in 30 postures, two of them bad."""
    rng = np.random.default_rng(1)
    drawn = zveno.load("puma560").with_tool(zveno.transforms.transform(None, np.array([0.04, 0.03, 0.08])))
    sizes = {name: 1e-3 if name[0] == "T" else 3e-3 for name in drawn.identifiability("relative_position").chosen}
    built = drawn.with_deviations({name: size * rng.normal() for name, size in sizes.items()})
    q = drawn.random(30, rng)
    seen = built.forward_kinematics(q)[:, :3, 3] + 5e-5 * rng.normal(size=(30, 3))
    seen[[7, 21]] += 0.004
    return drawn.calibrate(zveno.Campaign(zveno.RelativePosition(), q, seen, name="tracker"))


def identified() -> zveno.Identification:
    """A UR5 that is a tenth heavier than drawn, with friction, recorded for ten seconds."""
    rng = np.random.default_rng(0)
    robot = zveno.load("ur5")
    links = {link.name: 1.1 * link.inertia for link in robot.mechanism.links}
    built = zveno.Robot(zveno.edit.with_inertia(robot.mechanism, links))
    motion = robot.plan_excitation(10.0, velocity=2.0, acceleration=8.0, starts=1, draws=64)
    t, q, v, a = motion.sample(200.0)
    tau = built.inverse_dynamics(q, v, a) + 5.0 * v + 3.0 * np.tanh(v / 0.005) + 0.3 * rng.normal(size=q.shape)
    return robot.identify(zveno.Log.of(robot, t, q, tau), friction="basic")


def all_solutions() -> zveno.Solutions:
    """Eight ways of a UR5 to one pose."""
    T = zveno.transforms.transform(zveno.rotations.from_rpy([np.pi, 0, 0]), np.array([0.4, 0.2, 0.5]))
    return zveno.load("ur5").ik(T)


def landing() -> zveno.Trajectory:
    """A robot with four legs that is dropped from 10 cm and stands."""
    dog = zveno.load("quadruped")
    bend = {name: -1.2 for name in dog.joint_names if name.endswith("knee")}
    bend |= {name: 0.6 for name in dog.joint_names if name.endswith("pitch")}
    q0 = np.array(dog.pack(bend))
    feet = [name for name in dog.frame_names if name.endswith("foot")]
    soles = [zveno.Contact(foot, zveno.Sphere(0.02), friction=0.6) for foot in feet]
    q0[2] += 0.12 - dog.forward_kinematics(q0, frames=feet)[:, 2, 3].min()
    stand = zveno.PD(q0, kp=300.0, kd=8.0, gravity=False)
    return dog.simulate(
        q0, duration=1.5, integrator="time-stepping", control=stand, constraints=soles, sample=0.005
    )


def plan() -> zveno.Plan:
    """Thirty postures for a tracker."""
    return zveno.load("panda").plan_poses("relative_position", 30, candidates=1000)


def smaller(file: Path) -> Path:
    """The same picture in 256 colours, half of the bytes."""
    Image.open(file).convert("RGB").quantize(256).save(file, optimize=True)
    return file


def report(path: Path) -> Path:
    """The top of a calibration's report, as a browser shows it."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = calibrated().report(Path(folder) / "report.html")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 1150})
        page.goto(page_file.resolve().as_uri())
        page.wait_for_timeout(3000)  # the robot is drawn by software
        page.screenshot(path=path)
        browser.close()
    return path


RESULTS = {
    "calibration": calibrated,
    "identification": identified,
    "all_solutions": all_solutions,
    "landing": landing,
    "plan": plan,
}


def main(names: list[str]) -> None:
    """Write the pictures of these names, or all of them, beside this file."""
    for name, result in RESULTS.items():
        if not names or name in names:
            print("drew", smaller(result().plot(HERE / f"{name}.png")))
    if not names or "report" in names:
        if CHROMIUM is None:
            print("report.png is left as it is: there is no Chromium")
        else:
            print("drew", smaller(report(HERE / "report.png")))


if __name__ == "__main__":
    main(sys.argv[1:])
