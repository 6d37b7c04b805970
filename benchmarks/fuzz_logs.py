"""Seeds of recordings for fuzzing, and what must hold of what is read."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import numpy as np

import zveno

SAMPLES = 40
T = 1e-3 * np.arange(SAMPLES)
WAVES = np.sin(np.outer(T, np.arange(1, 7)))


@cache
def _robot() -> zveno.Robot:
    return zveno.load("planar2")


def read_log(path: Path) -> str | None:
    """What is wrong with a log that was read, or None."""
    log = zveno.identification.read_log(path, _robot(), gains=1.0)
    whole = log.arrays()
    if not all(np.isfinite(x).all() for x in (whole.t, whole.q, whole.tau)):
        return "numbers are not finite"
    if not (np.diff(whole.t) > 0).all():
        return "time does not increase"
    return None if len(whole.t) == len(log) else "rows are lost between passes"


def _columns() -> dict[str, np.ndarray]:
    names = ("q1", "q2", "dq1", "dq2", "tau1", "tau2")
    return {"t": T} | dict(zip(names, WAVES.T, strict=True))


def text_seeds() -> list[bytes]:
    """CSV with commas, semicolons and blanks."""
    columns = _columns()
    rows = [[f"{x:.6g}" for x in row] for row in zip(*columns.values(), strict=True)]
    comma = "\n".join(",".join(row) for row in [list(columns), *rows])
    semicolon = "# angle = deg\n" + comma.replace(",", ";").replace(".", ",")
    return [text.encode() for text in (comma, semicolon, comma.replace(",", " "))]


def npz_seeds() -> list[bytes]:
    """Arrays of NumPy, packed and not."""
    seeds = []
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, t=T, q=WAVES[:, :2], tau=WAVES[:, 2:4])
        seeds.append(stream.getvalue())
    return seeds
