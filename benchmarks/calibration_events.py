"""A tool that moved during simulated campaigns, and what calibration says of it: detection and false alarms.

Every campaign has two halves. Between them nothing moves, or the tool, the measuring system, a target or the zero
of a joint does, or two of them; or single rows are bad. A line of the table: how many campaigns, in how many a tool
that moved is named, and is dated to two rows; and in how many campaigns joint terms, errors of groups or rows that
do not belong are found.

`python -m benchmarks.calibration_events 100` runs as many campaigns of each, `… 300 nothing` those whose name has a
word.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import zveno
from zveno import calibration
from zveno.calibration.models import redundant_model
from zveno.calibration.simulated import simulated_places
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

from .timing import Row

ROBOTS = ("puma560", "ur5", "ur10", "panda")
SIZES = {"m": 1e-3, "rad": 2e-3}
SIGMA = 1e-4
TOOL = transform(exp(np.array([-0.2, 0.3, 0.1])), np.array([0.06, -0.03, 0.09]))
ROWS = 6
THREE_SIGMA = 3.0 * np.sqrt(3.0) * SIGMA / np.sqrt(ROWS)
"""m: a shift of three standard deviations of a mean of six positions, by length."""


@dataclass(frozen=True)
class Scenario:
    """A campaign in which something moves.

    Attributes:
        kind: what is measured.
        n: postures, half of them after the change.
        moved: what: "tool", "reference", "joint" or a target's label; two joined by " and "; "" for nothing.
        size: of the displacement, m, or rad for a joint.
        groups: places that postures touch in turns of six rows; or named groups of rows of a kind that reads.
        group_error: of readings, shared by the rows of a group, m.
        bad: rows that are off by millimetres.
        mixed: whether groups are measured in turns, not one after the other.
    """

    kind: calibration.Measurement
    n: int = 60
    moved: str = ""
    size: float = THREE_SIGMA
    groups: bool = False
    group_error: float = 0.0
    bad: int = 0
    mixed: bool = False


POSITION = calibration.RelativePosition()
SOCKET = calibration.FixedPoint()
SHARED = 3.0 * np.sqrt(3.0) * np.sqrt(SIGMA**2 / ROWS + (3 * SIGMA) ** 2)
SCENARIOS = {
    "nothing, positions": Scenario(POSITION),
    "nothing, 25 positions": Scenario(POSITION, n=25),
    "nothing, 150 positions": Scenario(POSITION, n=150),
    "nothing, named groups": Scenario(POSITION, groups=True),
    "nothing, poses": Scenario(calibration.RelativePose()),
    "nothing, camera": Scenario(calibration.Camera()),
    "nothing, sockets": Scenario(SOCKET, n=120, groups=True),
    "nothing, planes": Scenario(calibration.Plane(group_planes=True), n=120, groups=True),
    "nothing, distances": Scenario(calibration.Distance(centres=[[1, 1, 0], [1, -1, 0], [1, 0, 1]])),
    "nothing, errors of groups": Scenario(POSITION, groups=True, group_error=3 * SIGMA, n=90),
    "bad rows, positions": Scenario(POSITION, bad=3),
    "bad rows, sockets": Scenario(SOCKET, n=120, groups=True, bad=4),
    "tool by 3 σ of a mean of six, positions": Scenario(POSITION, moved="tool"),
    "tool by 3 σ of a mean of six, named groups": Scenario(POSITION, moved="tool", groups=True),
    "tool by 3 σ of a mean of six, poses": Scenario(calibration.RelativePose(), moved="tool"),
    "tool by 3 σ, errors of groups": Scenario(
        POSITION, moved="tool", groups=True, group_error=3 * SIGMA, size=SHARED, n=90
    ),
    "tool by 1 mm, sockets": Scenario(SOCKET, n=120, moved="tool", size=1e-3, groups=True),
    "measuring system by 3 σ of a mean of six": Scenario(POSITION, moved="reference"),
    "measuring system by 1 mm, three bad rows": Scenario(POSITION, moved="reference", size=1e-3, bad=3),
    "zero of joint 3 by 1 mrad": Scenario(POSITION, moved="joint", size=1e-3),
    "zero of joint 3 by 1 mrad, poses": Scenario(calibration.RelativePose(), moved="joint", size=1e-3),
    "zero of joint 3 by 3 mrad, sockets": Scenario(SOCKET, n=120, moved="joint", size=3e-3, groups=True),
    "a socket by 1 mm, touched in turns": Scenario(
        SOCKET, n=120, moved="target", size=1e-3, groups=True, mixed=True
    ),
    "tool by 1 mm and zero of joint 3 by 1 mrad": Scenario(POSITION, moved="tool and joint", size=1e-3, n=90),
    "tool and measuring system by 1 mm": Scenario(POSITION, moved="tool and reference", size=1e-3, n=90),
}


@dataclass
class Outcome:
    """Counts over campaigns."""

    runs: int = 0
    named: int = 0
    dated: int = 0
    terms: int = 0
    groups: int = 0
    flagged: int = 0

    @property
    def text(self) -> str:
        """A line of the table."""
        counts = [self.runs, self.named, self.dated, self.terms, self.groups, self.flagged]
        return " | ".join(map(str, counts))


def judged(name: str, runs: int, seed: int = 0, **options: Any) -> Outcome:
    """Campaigns of a scenario, numbered from `seed`."""
    scenario, total = SCENARIOS[name], Outcome()
    for number in range(seed, seed + runs):
        robot, data, at = simulated(scenario, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", zveno.ZvenoWarning)
            found = robot.calibrate(data, folds=0, progress=False, **options)
        total.runs += 1
        total.named += found.tool_moved is not None
        total.dated += found.tool_moved is not None and any(abs(found.tool_moved.row - 1 - row) <= 2 for row in at)
        total.terms += bool(found.joint_terms)
        total.groups += bool(found.group_sigma)
        total.flagged += bool(found.outliers)
    return total


def simulated(scenario: Scenario, seed: int) -> tuple[zveno.Robot, calibration.Dataset, list[int]]:
    """Nominal robot, campaign, and numbers of the postures before which something moves."""
    rng = np.random.default_rng([seed, 230])
    robot = zveno.load(ROBOTS[seed % len(ROBOTS)]).with_tool(TOOL)
    model = redundant_model(robot.mechanism)
    off = {term.name: float(rng.normal() * SIZES[term.unit]) for term in model.terms}
    kind = replace(scenario.kind, sigma=None)
    n = scenario.n
    moves = [word for word in scenario.moved.split(" and ") if word]
    at = [n * (k + 1) // (len(moves) + 1) for k in range(len(moves))]
    place = np.arange(n) % (n // ROWS) if scenario.mixed else np.arange(n) // ROWS
    groups = tuple(f"place{k + 1}" for k in place) if scenario.groups else ()
    q = robot.random(n, rng)
    frames = simulated_places(robot, kind.with_groups(groups), q, groups, int(rng.integers(1 << 30)))
    pieces, again = [], []
    for k, (first, last) in enumerate(zip([0, *at], [*at, n], strict=True)):
        if k:
            label = _move(moves[k - 1], scenario.size, model, off, frames, rng)
            if moves[k - 1] == "target":  # it is seen where it is touched again
                touches = [row for row in range(at[k - 1], n) if groups[row] == label.partition(":")[2]]
                again = [touches[0]]
        true = zveno.calibration.apply_deviations(robot, off)
        rows = slice(first, last)
        pieces.append(
            calibration.simulate_dataset(true, kind, q[rows], groups=groups[rows], frames=frames, rng=rng)
        )
    y = None if kind.implicit else np.concatenate([piece.y for piece in pieces])
    read, touched = np.concatenate([piece.q for piece in pieces]), sum((piece.groups for piece in pieces), ())
    at = again or np.cumsum([len(piece) for piece in pieces])[:-1].tolist()
    if scenario.group_error and y is not None:
        numbers = np.unique(touched, return_inverse=True)[1]
        y = y + scenario.group_error * rng.normal(size=(numbers.max() + 1, 1, 3))[numbers]
    if scenario.bad:
        rows = rng.choice(len(read), scenario.bad, replace=False)
        if y is None:
            read[rows] += 3e-3 * rng.normal(size=read[rows].shape)
        else:
            y[rows] += 3e-3 * rng.normal(size=y[rows].shape)
    return robot, calibration.Dataset(kind, read, y, groups=touched), at  # type: ignore[arg-type]  (contacts have no y)


def _move(what: str, size: float, model, off: dict[str, float], frames: dict[str, np.ndarray], rng) -> str:
    """Displace something, in place, of the deviations or the frames, and say which frame."""
    step = rng.normal(size=3)
    step *= size / np.linalg.norm(step)
    if what == "tool":
        tool = next(block for block in model.blocks if block.frame is not None)
        for k in range(3):
            off[model.terms[tool.first + k].name] += float(step[k])
    elif what == "joint":
        off[model.terms[model.offset_terms[2]].name] += size
    else:
        labels = [label for label in frames if label.startswith("socket" if what == "target" else "")]
        label = labels[int(rng.integers(len(labels)))]
        frames[label] = frames[label] @ transform(None, step)
        return label
    return ""


def run(runs: int = 20) -> list[Row]:
    """Share of campaigns in which a tool that moved is named, beside the share promised."""
    rows = []
    for name, scenario in SCENARIOS.items():
        if scenario.moved == "tool":
            rows.append(Row(name, judged(name, runs).named / runs, 0.9, "promised", None, "1"))
    return rows


def main(arguments: list[str], options: Mapping[str, Any]) -> None:
    """Print the table."""
    runs, words = int(arguments[0]), arguments[1:]
    print("scenario | runs | named | dated | terms | groups | flagged")
    for name in SCENARIOS:
        if all(word in name for word in words):
            print(f"{name} | {judged(name, runs, **options).text}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:], {})
