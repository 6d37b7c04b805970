"""Identification of a seven-joint arm from a long recording in a file: CPU time and memory of one process.

`python -m benchmarks.identification_long --samples 1e7` writes the recording (0.85 GB) into a temporary folder,
then reads and identifies it in a process that may use one thread. Seconds are those of the process and of the one
that tries the file before it.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import zveno

RATE = 1000.0
"""Samples a second."""
NOISE, RESOLUTION = 0.3, 1e-5
"""Of torques, N·m, and of encoders, rad."""
AT_ONCE = 200_000


def write_recording(path: Path, samples: int) -> None:
    """A motion of a Panda that never repeats, with viscous, Coulomb and |v|^⅓ friction, as Parquet."""
    import polars

    robot = zveno.load("panda")
    limits = [joint.limits for joint in robot.mechanism.joints]
    low, high = (np.array([float(getattr(each, end)[0]) for each in limits]) for end in ("lower", "upper"))
    rng, n, waves = np.random.default_rng(0), robot.n_v, 5
    w = 2.0 * np.pi * rng.uniform(0.05, 0.5, (waves, n))
    phase = rng.uniform(0.0, 2.0 * np.pi, (waves, n))
    size = 0.25 * (high - low) / waves
    blocks = []
    for first in range(0, samples, AT_ONCE):
        t = np.arange(first, min(samples, first + AT_ONCE)) / RATE
        angle = t[:, None, None] * w + phase
        q = 0.5 * (low + high) + size * np.sin(angle).sum(axis=1)
        v = (size * w * np.cos(angle)).sum(axis=1)
        a = -(size * w**2 * np.sin(angle)).sum(axis=1)
        friction = 0.5 * v + np.tanh(v / 0.005) + 0.3 * np.cbrt(v)
        tau = robot.inverse_dynamics(q, v, a) + friction + NOISE * rng.normal(size=q.shape)
        blocks.append(np.concatenate([t[:, None], np.round(q / RESOLUTION) * RESOLUTION, tau], axis=1))
    names = ["time", *(f"q{j + 1}" for j in range(n)), *(f"tau{j + 1}" for j in range(n))]
    table = np.concatenate(blocks)
    polars.DataFrame({name: table[:, k] for k, name in enumerate(names)}).write_parquet(path)


def identify(path: Path, friction: str) -> None:
    """Print what one identification of the file costs."""
    zveno.set_threads(1)
    robot = zveno.load("panda")
    found = robot.identify(zveno.identification.read_log(path, robot), friction_terms=friction)
    own, tried = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = own.ru_utime + own.ru_stime
    trial = tried.ru_utime + tried.ru_stime
    print(
        f"{found.choices.samples} samples, friction {friction}: {seconds:.1f} s, trial of the file {trial:.1f} s, "
        f"{_most_memory():.2f} GB, held out {found.validation.overall['identified']:.3%}"
    )


def _most_memory() -> float:
    """GB that this process held at most (Linux); getrusage would count the one that started it too."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 2**20
    return float("nan")


def main() -> None:
    """Write the recording and identify it with each model of friction, in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=float, default=1e7)
    parser.add_argument("--log", type=Path, help="identify this file only")
    parser.add_argument("--friction", default="auto")
    options = parser.parse_args()
    if options.log:
        identify(options.log, options.friction)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.parquet"
        write_recording(path, int(options.samples))
        for friction in ("default", "auto"):
            command = ["-m", "benchmarks.identification_long", "--log", str(path), "--friction", friction]
            subprocess.run([sys.executable, *command], check=True)


if __name__ == "__main__":
    main()
