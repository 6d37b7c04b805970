"""Walks of the biped on random ground: falls, percentiles of margins and tilts, and speed against real time.

    python -m benchmarks.walks [--runs 50] [--only dynamic] [--first 0] [--last 10]

The number of a run is the seed of its ground, push and noise: `--first 5000` walks on other ones. Every run has
noisy sensors and the base-state estimator; a fall is judged relative to the feet that stand.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import zveno
from zveno import walking

STATIC = walking.StaticGait((0.2, 0.0), steps=5)
DYNAMIC = walking.DynamicGait((0.24, 0.0), steps=8)


def cases(runs: int):
    """(name, gait, ground of a run, pushes of a run)."""

    def tiles(seed):
        # Lengths of tiles are random too, so that edges come to lie under soles everywhere.
        rng = np.random.default_rng([seed, 1])
        return walking.uneven_ground(0.02, tile=float(rng.uniform(0.2, 0.4)), rng=rng)

    def slope(seed):
        angle = np.radians(np.linspace(-5.0, 5.0, runs)[seed % runs])
        return walking.uneven_ground(0.0, slope=float(angle), rng=seed)

    def push(seed):
        # Any direction at any moment of the walk.
        rng = np.random.default_rng([seed, 77])
        angle, when = float(rng.uniform(0.0, 2 * np.pi)), float(rng.uniform(1.5, 6.0))
        return [walking.Push(when, (10 * np.cos(angle), 10 * np.sin(angle), 0.0))]

    level = walking.uneven_ground(0.0)
    for name, gait in (("static", STATIC), ("dynamic", DYNAMIC)):
        yield f"{name}, tiles of ±20 mm", gait, tiles, lambda seed: []
        yield f"{name}, slopes to 5°", gait, slope, lambda seed: []
    yield "dynamic, pushes of 10 N·s", DYNAMIC, lambda seed: level, push


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", default="", help="part of a case's name")
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument(
        "--last", type=int, default=None, help="number after the last run; as many as --runs if not given"
    )
    options = parser.parse_args()
    robot = zveno.load("biped")
    stance = walking.default_stance(robot)
    walking.simulate_walk(robot, *stance, STATIC, ground=walking.uneven_ground(0.0), duration=0.1)  # kernels
    heads = [("falls", 8), ("margin 0/1/5/50 %, mm", 24), ("tilt 50/95/99/100 %, deg", 26)]
    heads += [("torque", 7), ("beyond limits", 14)]
    print(f"{'case':28}", *(f"{head:>{width}}" for head, width in heads), "× real time")
    for name, gait, ground, pushes in cases(options.runs):
        if options.only not in name:
            continue
        walks, cpu, seconds = [], 0.0, 0.0
        for seed in range(options.first, options.last or options.first + options.runs):
            sensors = walking.Sensors(seed=seed)
            started = time.process_time()
            walk = walking.simulate_walk(
                robot, *stance, gait, ground=ground(seed), sensors=sensors, pushes=pushes(seed), progress=False
            )
            cpu += time.process_time() - started
            seconds += float(walk.trajectory.t[-1])
            walks.append(walk)
            if len(walks) % 5 == 0:
                print(f"    {name}: {sum(not one.walked for one in walks)} falls in {len(walks)}", flush=True)
            if not walk.walked:
                print(f"    run {seed}: {walk.status}", flush=True)
        margin = np.concatenate([walk.margin for walk in walks])
        tilt = np.degrees(np.concatenate([walk.tilt for walk in walks]))
        falls = sum(not walk.walked for walk in walks)
        margins = "/".join(f"{1e3 * x:.0f}" for x in np.nanpercentile(margin, (0, 1, 5, 50)))
        tilts = "/".join(f"{x:.1f}" for x in np.nanpercentile(tilt, (50, 95, 99, 100)))
        share = max(float(walk.torque_share.max()) for walk in walks)
        beyond = 1e3 * max(_beyond_limits(robot, walk) for walk in walks)
        numbers = f"{falls:3} of {len(walks):2} {margins:>24} {tilts:>26} {100 * share:5.0f} % {beyond:9.2f} mrad"
        numbers += f" {seconds / cpu:5.2f}"
        print(f"{name:28} {numbers}", flush=True)


def _beyond_limits(robot, walk) -> float:
    """rad, by which a joint was beyond its limits at most; below 0 if none was."""
    q = walk.trajectory.q[:, 7:]
    return float(np.maximum(robot.mechanism.lower[7:] - q, q - robot.mechanism.upper[7:]).max())


if __name__ == "__main__":
    main()
