"""The work on one robot from its drawing to code on its controller, step by step: what `zveno demo` tells.

The robot is simulated, so that the truth is known; every step sees no more of it than an engineer would.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    import zveno

SEED = 560
LENGTH, ANGLE, MASS = 5e-4, 1.5e-3, 0.15
"""Standard deviations of what was built about what was drawn: m, rad, and shares of masses."""
TORQUE_NOISE, ENCODER = 0.3, 1e-5
"""N·m; rad."""
TRACKER = 5e-5
"""Standard deviation of a laser tracker's reading, m."""
BAD_ROWS = {7: (4e-3, 0.0, 0.0), 21: (0.0, -3e-3, 2e-3)}
"""Readings that went wrong: posture, from 0, and by how much, m."""
POSTURES, RATE, SECONDS = 30, 250.0, 10.0
READY = (20.0, -40.0, 30.0, 0.0, 60.0, 0.0)
"""Degrees; the tool is asked to where the drawing has it there."""


class Story:
    """Each step is computed when it is first asked for, from those before it.

    Attributes:
        folder: where files go.
        page: the report.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self.page: Path = folder / "story.html"

    @cached_property
    def drawn(self) -> zveno.Robot:
        """The PUMA 560 of the literature, with a pen."""
        import zveno

        return zveno.load("puma560").with_tool(zveno.transforms.transform(None, [0.05, 0.0, 0.15]))

    @cached_property
    def built(self) -> zveno.Robot:
        """The same robot as it was built: nobody knows it."""
        import numpy as np

        rng = np.random.default_rng(SEED)
        names = self.drawn.identifiability("relative_position").chosen
        off = {name: rng.normal() * (LENGTH if name.startswith("T") else ANGLE) for name in names}
        robot = self.drawn.with_deviations(off)
        bodies = {link.name: link.inertia * (1.0 + MASS * rng.normal()) for link in robot.mechanism.links[1:]}
        return robot.with_inertia(bodies)

    @cached_property
    def difference(self) -> tuple[float, float]:
        """rms over 500 postures of the tool's position, m, and of the torques that hold it, N·m."""
        import numpy as np

        q = self.drawn.random(500, SEED)
        places = [robot.forward_kinematics(q)[:, :3, 3] for robot in (self.drawn, self.built)]
        torques = [robot.gravity_torque(q) for robot in (self.drawn, self.built)]
        place, torque = (float(np.sqrt(np.mean(np.sum((a - b) ** 2, axis=1)))) for a, b in (places, torques))
        return place, torque

    @cached_property
    def base(self) -> zveno.BaseParameters:
        """What torques can tell of the bodies."""
        return self.drawn.base_parameters()

    @cached_property
    def motion(self) -> zveno.Excitation:
        """The motion that is worth recording."""
        return self.drawn.plan_excitation(
            SECONDS, harmonics=5, starts=2, draws=64, velocity=1.5, acceleration=4.0, torque_sigma=TORQUE_NOISE
        )

    @cached_property
    def log(self) -> zveno.Log:
        """Positions and torques of the built robot along it, as a controller records them."""
        import zveno

        options = {"rate": RATE, "torque_sigma": TORQUE_NOISE, "resolution": ENCODER, "rng": SEED}
        return zveno.simulated_log(self.built, self.motion, **options)

    @cached_property
    def identified(self) -> zveno.Identification:
        """Bodies, friction and drives from the log."""
        return self.drawn.identify(self.log)

    @cached_property
    def plan(self) -> zveno.Plan:
        """Postures for the laser tracker."""
        import zveno

        return self.drawn.plan_poses(zveno.RelativePosition(sigma=TRACKER), POSTURES, candidates=1000)

    @cached_property
    def readings(self) -> zveno.Campaign:
        """What the tracker reads of the built robot; two rows went wrong."""
        import zveno

        kind = zveno.RelativePosition(sigma=TRACKER)
        exact = zveno.simulated_campaign(self.built, kind, self.plan.q, rng=SEED)
        y = exact.y.copy()
        for row, off in BAD_ROWS.items():
            y[row] += off
        return zveno.Campaign(kind, exact.q, y, name="tracker")

    @cached_property
    def calibrated(self) -> zveno.Calibration:
        """Geometry from the readings."""
        return self.drawn.calibrate(self.readings)

    @cached_property
    def true_error(self) -> float:
        """Of the calibrated robot in 500 other postures against the built one, both seen by one tracker, rms, m."""
        import zveno

        other = self.drawn.random(500, SEED + 1)
        exact = zveno.simulated_campaign(self.built, zveno.RelativePosition(), other, noise=0.0, rng=SEED)
        return self.calibrated.score(exact)[0].rms

    @cached_property
    def pose(self) -> np.ndarray:
        """Where the tool is wanted, (4, 4)."""
        import numpy as np

        return self.drawn.forward_kinematics(np.radians(READY))

    @cached_property
    def solutions(self) -> zveno.Solutions:
        """All configurations of the calibrated robot with the tool there."""
        return self.calibrated.robot.ik(self.pose)

    @cached_property
    def proof(self) -> zveno.IkVerdict | None:
        """That there is no other; None without python-flint."""
        import zveno

        try:
            return zveno.prove(self.solutions)
        except zveno.MissingExtraError:
            return None

    @cached_property
    def code(self) -> zveno.Export:
        """C of inverse kinematics as drawn and of the identified dynamics, for the controller."""
        kinematics = self.drawn.export_c(("inverse_kinematics",), self.folder / "c" / "kinematics")
        dynamics = self.identified.robot.export_c(("inverse_dynamics",), self.folder / "c" / "dynamics")
        from dataclasses import replace

        files, functions = kinematics.files + dynamics.files, kinematics.functions + dynamics.functions
        return replace(kinematics, directory=self.folder / "c", files=files, functions=functions)

    @cached_property
    def checked(self) -> dict[str, float] | None:
        """Largest difference between compiled C and Python, by function; None without a C compiler."""
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            return None
        sources = [file for file in self.code.files if file.suffix == ".c" and not file.name.startswith("example_")]
        return {
            "inverse_kinematics": self._kinematics_off(_library(compiler, sources[0])),
            "inverse_dynamics": self._dynamics_off(_library(compiler, sources[-1])),
        }

    def _dynamics_off(self, library: ctypes.CDLL) -> float:
        import numpy as np

        robot, worst = self.identified.robot, 0.0
        for q, v, a in np.random.default_rng(SEED).uniform(-1.0, 1.0, (100, 3, 6)):
            tau = np.zeros(6)
            library.puma560_inverse_dynamics(*(_pointer(x) for x in (q, v, a, tau)))
            worst = max(worst, float(abs(tau - robot.inverse_dynamics(q, v, a)).max()))
        return worst

    def _kinematics_off(self, library: ctypes.CDLL) -> float:
        import numpy as np

        memory, worst = np.zeros(1 << 17), 0.0
        for T in self.drawn.forward_kinematics(self.drawn.random(100, SEED)):
            q, count, status = np.zeros((8, 6)), np.zeros(1), np.zeros(1)
            library.puma560_inverse_kinematics(*(_pointer(x) for x in (memory, T, q, count, status)))
            here = self.drawn.ik(T)
            same = int(count[0]) == int(here.count)
            worst = max(worst, float(abs(q[: int(count[0])] - here.q).max()) if same else float("inf"))
        return worst

    @cached_property
    def report(self) -> Path:
        """One page with all of it."""
        import zveno

        results = [self.base, self.motion, self.identified, self.plan, self.calibrated, self.solutions]
        return zveno.write_report(results, self.page, title="PUMA 560, from drawing to controller")


def _library(compiler: str, source: Path) -> ctypes.CDLL:
    library = source.with_suffix(".so")
    words = [compiler, "-std=c99", "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
    return ctypes.CDLL(str(library.resolve()))


def _pointer(array: Any) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)
