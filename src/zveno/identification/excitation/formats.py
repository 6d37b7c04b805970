"""Sampled motions as files for controllers and other programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ...errors import ZvenoError
from ...mechanism.units import with_unit


class Samples(NamedTuple):
    """Motion at equidistant times: t (n,), q, v and a (n, joints)."""

    names: Sequence[str]
    units: Sequence[str]
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray


def csv_text(samples: Samples) -> str:
    """Return one row per sample: t, q, v and a, every column with its unit."""
    header = [with_unit("t", "s")]
    for letter, per in (("q", ""), ("v", "/s"), ("a", "/s^2")):
        header += [
            with_unit(f"{letter}.{name}", f"{unit}{per}")
            for name, unit in zip(samples.names, samples.units, strict=True)
        ]
    rows = np.column_stack([samples.t, samples.q, samples.v, samples.a])
    return "\n".join([",".join(header), *(",".join(f"{x:.12g}" for x in row) for row in rows)]) + "\n"


def joint_trajectory(samples: Samples) -> dict[str, object]:
    """Return the fields of a ROS message trajectory_msgs/JointTrajectory."""
    points = [
        {
            "positions": q.tolist(),
            "velocities": v.tolist(),
            "accelerations": a.tolist(),
            "time_from_start": _duration(t),
        }
        for t, q, v, a in zip(samples.t, samples.q, samples.v, samples.a, strict=True)
    ]
    return {"joint_names": list(samples.names), "points": points}


def json_text(samples: Samples) -> str:
    """Return JointTrajectory as JSON."""
    return json.dumps(joint_trajectory(samples), indent=1) + "\n"


def yaml_text(samples: Samples) -> str:
    """Return JointTrajectory as the YAML that `ros2 topic pub` and `ros2 action send_goal` take."""

    def row(values: np.ndarray) -> str:
        return "[" + ", ".join(f"{x:.12g}" if x % 1 else f"{x:.1f}" for x in values.tolist()) + "]"

    lines = ["joint_names: [" + ", ".join(json.dumps(name) for name in samples.names) + "]", "points:"]
    for t, q, v, a in zip(samples.t, samples.q, samples.v, samples.a, strict=True):
        at = _duration(t)
        lines += [
            f"- positions: {row(q)}",
            f"  velocities: {row(v)}",
            f"  accelerations: {row(a)}",
            f"  time_from_start: {{sec: {at['sec']}, nanosec: {at['nanosec']}}}",
        ]
    return "\n".join(lines) + "\n"


def urscript_text(samples: Samples) -> str:
    """Return a URScript program: a slow move to the first posture, then `servoj` once per sample."""
    if samples.q.shape[1] != 6 or any(unit != "rad" for unit in samples.units):
        raise ZvenoError("a URScript moves six revolute joints", remedy="Write .csv, .json or .yaml")
    step = float(samples.t[1] - samples.t[0])
    if step < 0.002 - 1e-9:
        raise ZvenoError(
            f"a controller takes servoj at most every 2 ms, not every {1e3 * step:.3g} ms",
            remedy="Give a rate of 500 Hz or less",
        )

    def posture(q: np.ndarray) -> str:
        return "[" + ", ".join(f"{x:.9f}" for x in q) + "]"

    lines = ["def excitation():", f"  movej({posture(samples.q[0])}, a=0.5, v=0.3)", "  sleep(1.0)"]
    lines += [f"  servoj({posture(q)}, t={step:.6g}, lookahead_time=0.03, gain=300)" for q in samples.q]
    return "\n".join([*lines, "  stopj(2.0)", "end", ""])


WRITERS: dict[str, Callable[[Samples], str]] = {
    ".csv": csv_text,
    ".json": json_text,
    ".yaml": yaml_text,
    ".yml": yaml_text,
    ".script": urscript_text,
}
"""Writers by suffix: a table, JointTrajectory as JSON and YAML, and a URScript program."""


def _duration(t: float) -> dict[str, int]:
    nanoseconds = round(float(t) * 1e9)
    return {"sec": nanoseconds // 10**9, "nanosec": nanoseconds % 10**9}
