"""Record of a simulated walk, and detection of falls."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ..simulation.time_stepping.run import trajectory_of
from ._torques import Felt
from ._walker import Walker
from .dynamic_gait import SOLES_APART
from .machine import Machine
from .result import Walk, WalkStatus
from .support import overlapping
from .terrain import normals_below

FALLEN = 0.6
"""Share of the body's initial height above the standing feet below which the robot has fallen."""
UPRIGHT = 0.76
"""Cosine of the tilt of the body, 0.7 rad, beyond which it has fallen."""


class Record:
    """Samples of a walk."""

    def __init__(self, machine: Machine, walker: Walker, every: int):
        self.machine: Machine = machine
        self.walker: Walker = walker
        self.every: int = every
        self.end: tuple[WalkStatus, str] | None = None
        """status and reason of a walk that ended early"""
        self.times: list[float] = []
        self.samples: list[np.ndarray] = []
        self.standing: list[np.ndarray] = []
        self.seen: list[tuple[np.ndarray, np.ndarray, float]] = []
        self.height: float = float(walker.start.base[2, 3] - walker.start.feet[:, 2, 3].mean())

    def keep(self, t: float, q_seen: np.ndarray, v_seen: np.ndarray) -> None:
        """Keep a sample, with the estimate that the last torques came from."""
        machine, walker = self.machine, self.walker
        if not np.isfinite(machine.row).all():
            self.end = "unfinished", f"broke down at step {len(walker.footholds) + 1}, t = {t:.3g} s"
            return
        at = walker.torques.felt(machine.q, machine.v)
        stand = walker.standing if walker.standing.any() else np.ones_like(walker.standing)
        self.times.append(t)
        self.samples.append(machine.sample.copy())
        self.standing.append(stand.copy())
        self.seen.append((q_seen, v_seen, float(q_seen[2] - walker.placed[stand, 2].mean())))
        height = float(at.base[2, 3] - at.feet[stand, 2, 3].mean())
        if pair := self._overlap(at):
            self.end = "unfinished", f"soles of {pair} overlap at step {len(walker.footholds) + 1}, t = {t:.3g} s"
        if height < FALLEN * self.height or at.base[2, 2] < UPRIGHT:
            self.end = "fell", f"fell at step {len(walker.footholds) + 1}, t = {t:.3g} s"

    def _overlap(self, at: Felt) -> str:
        """Return the names of two feet whose soles overlap, seen from above, and are nearly level; or ""."""
        soles = [(foot, T) for foot, T in zip(self.machine.feet, at.feet, strict=True) if not foot.is_point]
        for (sole, S), (other, T) in combinations(soles, 2):
            corners = sole.points @ S[:3, :3].T + S[:3, 3], other.points @ T[:3, :3].T + T[:3, 3]
            if abs(S[2, 3] - T[2, 3]) < SOLES_APART and overlapping(*corners):
                return f"{sole.frame} and {other.frame}"
        return ""

    def finished(self, late: str, gait: str, inputs: str) -> Walk:
        """Return the walk."""
        machine, walker, n = self.machine, self.walker, self.machine.robot.n_v
        times, samples, standing = np.array(self.times), np.array(self.samples), np.array(self.standing)
        q, v = (np.ascontiguousarray(samples[:, part]) for part in (machine.stepping.q, machine.stepping.v))
        at = walker.torques.felt(q, v)
        tau = samples[:, machine.stepping.n_row + n : machine.stepping.n_row + 2 * n]
        n_steps = round(times[-1] / machine.h)
        end: tuple[WalkStatus, str] = self.end or (("unfinished", late) if late else ("walked", "walked"))
        trajectory = trajectory_of(
            machine.stepping,
            times,
            samples,
            np.full(len(times), machine.h),
            (),
            n_steps=n_steps,
            n_evaluations=n_steps,
            method=f"time-stepping, step {machine.h:g} s, control at every step",
            inputs_hash=inputs,
        )
        return Walk(
            machine.robot.name,
            *end,
            gait,
            tuple(foot.frame for foot in machine.feet),
            trajectory,
            standing,
            np.ascontiguousarray(at.feet[..., :3, 3]),
            at.center,
            np.array([place for _, _, place in walker.footholds]).reshape(-1, 3),
            np.array([foot for _, foot, _ in walker.footholds], dtype=int),
            np.array([t for t, _, _ in walker.footholds]),
            self._margins(at, samples, standing),
            self._tilts(at, standing),
            (abs(tau[:, 6:]) / machine.effort[6:]).max(axis=1),
            self._errors(at, v, standing),
            walker.torques.failures,
            inputs,
        )

    def _margins(self, at: Felt, samples: np.ndarray, standing: np.ndarray) -> np.ndarray:
        """Return the distance from the centre of pressure to the edge of the hull of the standing points, (n,).

        It is the minimum, over the lines through two of the points, of the extent of the hull beyond the pressure
        perpendicular to the line; the edges of the hull are among these lines.
        """
        machine = self.machine
        parts = [
            (foot.points @ np.swapaxes(at.feet[:, k, :3, :3], -1, -2) + at.feet[:, k, None, :3, 3])[..., :2]
            for k, foot in enumerate(machine.feet)
        ]
        points = np.concatenate(parts, axis=1)
        first = machine.stepping.impulses.start
        normal = samples[:, first : first + 3 * points.shape[1] : 3]
        total = normal.sum(axis=1)
        stands = standing[:, machine.owner]
        usable = (total > 0) & (stands.sum(axis=1) > 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            pressure = (normal[..., None] * points).sum(axis=1) / total[:, None]
            margin = np.full(len(points), np.inf)
            for i, j in combinations(range(points.shape[1]), 2):
                way = points[:, j] - points[:, i]
                across = np.stack([-way[:, 1], way[:, 0]], axis=1) / np.linalg.norm(way, axis=1)[:, None]
                beyond = ((points - pressure[:, None]) * across[:, None]).sum(axis=2)
                reach = np.minimum(
                    np.where(stands, beyond, -np.inf).max(axis=1), np.where(stands, -beyond, -np.inf).max(axis=1)
                )
                margin = np.where(stands[:, i] & stands[:, j], np.minimum(margin, reach), margin)
        return np.where(usable & np.isfinite(margin), margin, np.nan)

    def _tilts(self, at: Felt, standing: np.ndarray) -> np.ndarray:
        """Return the largest angle of a standing sole to the ground below it, (n,)."""
        worst = np.full(len(standing), np.nan)
        for k, foot in enumerate(self.machine.feet):
            if not foot.is_point:
                normals = normals_below(self.machine.ground, at.feet[:, k, :2, 3], 2 * foot.radius)
                cosine = (at.feet[:, k, :3, 2] * normals).sum(axis=1)
                angle = np.where(standing[:, k], np.arccos(np.clip(cosine, -1.0, 1.0)), np.nan)
                worst = np.fmax(worst, angle)
        return worst

    def _errors(self, at: Felt, v: np.ndarray, standing: np.ndarray) -> np.ndarray:
        """Return the estimation errors: height above the standing feet, tilt, speed of the base, (n, 3)."""
        q_seen, v_seen, height_seen = (np.array(part) for part in zip(*self.seen, strict=True))
        heights = at.feet[:, :, 2, 3]
        mean = np.where(standing, heights, 0.0).sum(axis=1) / standing.sum(axis=1)
        w, x, y, z = q_seen[:, 3:7].T
        up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
        tilt = np.linalg.norm(np.cross(up, at.base[:, 2, :3]), axis=1)
        speed = np.linalg.norm(v_seen[:, :3] - v[:, :3], axis=1)
        return np.stack([height_seen - (at.base[:, 2, 3] - mean), tilt, speed], axis=1)
