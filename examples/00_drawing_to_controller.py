"""One robot from its drawing to code on its controller; `make demo` runs it.

A PUMA 560 is simulated as it was built, so that the truth is known. Each step sees no more of it than an engineer
would: a recording of positions and torques, and thirty readings of a laser tracker, two of them wrong. Everything
goes to out/demo, with one page that shows all results.

Usage: python examples/00_drawing_to_controller.py
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import textwrap
import time
from pathlib import Path

import numpy as np

import zveno
from zveno import MotionLimits, calibration, identification

FOLDER = Path("out") / "demo"
SEED = 560
LENGTH, ANGLE, MASS = 5e-4, 1.5e-3, 0.15
"""Standard deviations of the built robot about the drawn one: m, rad, and shares of masses."""
TORQUE_NOISE, ENCODER, RATE = 0.3, 1e-5, 250.0
"""N·m, rad, Hz."""
TRACKER = calibration.RelativePosition(sigma=5e-5)
"""A laser tracker with a standard deviation of 0.05 mm, standing anywhere."""
WRONG_ROWS = {7: (4e-3, 0.0, 0.0), 21: (0.0, -3e-3, 2e-3)}
"""Readings that went wrong: row, and by how much, m."""
READY = (20.0, -40.0, 30.0, 0.0, 60.0, 0.0)
"""Degrees; the tool is wanted where the drawing has it there."""


def main() -> None:
    started = time.perf_counter()

    def step(number: int, title: str) -> None:
        print(f"\n{number}. {title}  [{time.perf_counter() - started:.0f} s]", flush=True)

    step(1, "A robot, as drawn and as built")
    drawn = zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.05, 0.0, 0.15]))
    built = as_built(drawn)
    q = drawn.random(500, SEED)
    place = rms(drawn.forward_kinematics(q)[:, :3, 3] - built.forward_kinematics(q)[:, :3, 3])
    torque = rms(drawn.gravity_torque(q) - built.gravity_torque(q))
    say(f"tool off by {1e3 * place:.1f} mm, holding torques by {torque:.1f} N·m (rms); nobody knows it yet")

    step(2, "Base parameters: what torques can tell of the bodies")
    base = drawn.base_parameters()
    say(base.summary)

    step(3, "Ten seconds worth recording")
    motion = identification.plan_excitation(
        drawn, 10.0, harmonics=5, motion=MotionLimits(velocity=1.5, acceleration=4.0), torque_sigma=TORQUE_NOISE
    )
    say(motion.summary)

    step(4, "The built robot follows the motion; its dynamics are identified")
    log = identification.simulate_log(
        built, motion, rate=RATE, torque_sigma=TORQUE_NOISE, resolution=ENCODER, rng=SEED
    )
    identified = drawn.identify(log)
    say(identified.summary)

    step(5, "Thirty postures to measure in")
    plan = zveno.calibration.plan_poses(drawn, TRACKER, 30, candidates=1000)
    say(plan.summary)

    step(6, "Readings of the tracker, two of them wrong, and the true geometry")
    calibrated = drawn.calibrate(readings(built, plan.q))
    say(calibrated.summary.partition("\n")[0])
    say(f"rows named as wrong: {sorted(outlier.row for outlier in calibrated.outliers)}, counted from 1")
    other = calibration.simulate_dataset(built, TRACKER, drawn.random(500, SEED + 1), noise=0.0, rng=SEED)
    say(f"against the built robot in 500 other postures: {1e3 * calibrated.score(other)[0].rms:.3f} mm (rms)")

    step(7, "All configurations of the calibrated robot at a pose")
    solutions = calibrated.robot.ik(drawn.forward_kinematics(np.radians(READY)))
    say(solutions.summary)
    proof = solutions.prove()
    say(f"in ball arithmetic: {proof.status}")

    step(8, "C code for the controller")
    kinematics = drawn.export_c(("inverse_kinematics",), FOLDER / "c" / "kinematics", overwrite=True)
    dynamics = identified.robot.export_c(("inverse_dynamics",), FOLDER / "c" / "dynamics", overwrite=True)
    say(kinematics.summary)
    say(dynamics.summary)
    compare_with_c(drawn, identified.robot, kinematics, dynamics)

    step(9, "The report")
    page = FOLDER / "report.html"
    tool = rms(calibrated.robot.forward_kinematics(q)[:, :3, 3] - built.forward_kinematics(q)[:, :3, 3])
    left = rms(identified.robot.gravity_torque(q) - built.gravity_torque(q))
    truth = (
        "The built robot is simulated, so its true geometry and masses are known. In 500 random configurations, "
        f"the tool of the drawn robot is off by {1e3 * place:.2f} mm (rms) and that of the calibrated robot by "
        f"{1e3 * tool:.3f} mm, the place of the tracker included. Holding torques of the drawn robot are off by "
        f"{torque:.2f} N·m, those of the identified robot by {left:.3f} N·m."
    )
    dynamics_text = (
        "A motion is planned whose torques show the masses; the log of the built robot gives the dynamics."
    )
    geometry_text = "Thirty configurations are planned and measured with a tracker; two of the readings are wrong."
    pose_text = "The calibrated robot reaches the drawn pose in all of these configurations."
    story = [truth, base, dynamics_text, motion, identified, geometry_text, plan, calibrated, pose_text, solutions]
    zveno.write_report(story, page, title="PUMA 560, from drawing to controller")
    say(f"one page that needs no network: {page} ({page.stat().st_size / 1e6:.1f} MB)")


def say(text: str) -> None:
    print(textwrap.fill(text, 80, initial_indent="   ", subsequent_indent="   "), flush=True)


def as_built(drawn: zveno.Robot) -> zveno.Robot:
    """The drawn robot with small errors of its geometry and larger ones of its masses."""
    rng = np.random.default_rng(SEED)
    names = zveno.calibration.identifiability(drawn, TRACKER).chosen
    built = zveno.calibration.apply_deviations(
        drawn, {n: rng.normal() * (LENGTH if n.startswith("T") else ANGLE) for n in names}
    )
    links = built.mechanism.links[1:]
    return built.with_inertia({link.name: link.inertia * (1.0 + MASS * rng.normal()) for link in links})


def readings(built: zveno.Robot, q: np.ndarray) -> calibration.Dataset:
    """Positions that the tracker reads of the built robot."""
    exact = calibration.simulate_dataset(built, TRACKER, q, rng=SEED)
    y = exact.y.copy()
    for row, off in WRONG_ROWS.items():
        y[row] += off
    return calibration.Dataset(TRACKER, exact.q, y, name="tracker")


def compare_with_c(
    drawn: zveno.Robot, identified: zveno.Robot, kinematics: zveno.Export, dynamics: zveno.Export
) -> None:
    """Compile both exports and compare them with Python in 100 states."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        say("no C compiler was found to try them")
        return
    library, angle = shared_library(compiler, kinematics), 0.0
    memory = np.zeros(1 << 17)
    for T in drawn.forward_kinematics(drawn.random(100, SEED)):
        q, count, status = np.zeros((8, 6)), np.zeros(1), np.zeros(1)
        library.puma560_inverse_kinematics(*map(pointer, (memory, T, q, count, status)))
        expected = drawn.ik(T)
        assert int(count[0]) == expected.count
        angle = max(angle, float(abs(q[: int(count[0])] - expected.q).max()))
    library, torque = shared_library(compiler, dynamics), 0.0
    for q, v, a in np.random.default_rng(SEED).uniform(-1.0, 1.0, (100, 3, 6)):
        tau = np.zeros(6)
        library.puma560_inverse_dynamics(*map(pointer, (q, v, a, tau)))
        torque = max(torque, float(abs(tau - identified.inverse_dynamics(q, v, a)).max()))
    say(f"compiled, 100 states each: angles equal within {angle:.0e} rad, torques within {torque:.0e} N·m")


def shared_library(compiler: str, export: zveno.Export) -> ctypes.CDLL:
    source = next(file for file in export.files if file.suffix == ".c" and not file.name.startswith("example_"))
    library = source.with_suffix(".so")
    words = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    return ctypes.CDLL(str(library.resolve()))


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))


if __name__ == "__main__":
    main()
