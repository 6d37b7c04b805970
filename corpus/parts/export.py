"""Exported C, compiled here: its numbers, not its text."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import zveno

from .. import api
from ..cases import Case
from ..robots import load
from ..store import Archive

FUNCTIONS = (
    "forward_kinematics",
    "jacobian",
    "inverse_dynamics",
    "forward_dynamics",
    "mass_matrix",
    "inverse_dynamics_derivatives",
    "energy",
)
SOLUTIONS = 1e-9


def cases(archive: Archive) -> Iterator[Case]:
    """Functions of arms and of a tree, and all solutions of inverse kinematics."""
    if shutil.which("gcc") is None:
        return
    for name in ("ur5", "panda", "quadruped"):
        robot = load(name)
        q = archive.given(f"{name}/q", lambda robot=robot: api.random_postures(robot, 3, 71))
        for function in FUNCTIONS[2 * (name == "quadruped") :]:  # a tree has no default frame
            yield Case(f"functions/{name}, {function}", lambda r=robot, f=function, q=q: _values(r, f, q), 1e-11)
    for name, redundant in (("ur5", None), ("scara", None), ("panda", "joint7")):
        robot = load(name)
        q = archive.given(f"{name}/q ik", lambda robot=robot: api.random_postures(robot, 20, 72))
        yield Case(f"ik/{name}", lambda r=robot, q=q, j=redundant: _solutions(r, q, j), SOLUTIONS)


def _values(robot: zveno.Robot, function: str, q: np.ndarray) -> dict[str, Any]:
    v, a, tau = np.random.default_rng(73).standard_normal((3, len(q), robot.n_v))
    code = Compiled(robot, function)
    given = {"q": q, "v": v, "a": a, "tau": tau}
    return code([{name: given[name][k] for name in code.inputs} for k in range(len(q))])


def _solutions(robot: zveno.Robot, q: np.ndarray, redundant: str | None) -> dict[str, Any]:
    code = Compiled(robot, "inverse_kinematics", redundant)
    T = robot.forward_kinematics(q)
    given = [{"T": T[k]} for k in range(len(q))]
    if redundant is not None:
        (other,) = [name for name in code.inputs if name != "T"]
        place = robot.joint_names.index(redundant)
        given = [state | {other: q[k, place]} for k, state in enumerate(given)]
    out = code(given)
    count = out["count"][:, 0].astype(int)
    listed = out["q"].reshape(len(q), -1, robot.n_q)
    rows = [x[:n][np.lexsort(np.round(x[:n], 6).T[::-1])] for x, n in zip(listed, count, strict=True)]
    return {"count": count, "status": out["status"][:, 0], "q": np.concatenate(rows)}


class Compiled:
    """A C function as its header declares it."""

    def __init__(self, robot: zveno.Robot, function: str, redundant: str | None = None):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            api.export_c(robot, [function], place, redundant)
            (header,) = place.glob(f"*_{function}.h")
            found = re.search(r"void (\w+)\(([^)]*)\);", header.read_text())
            assert found is not None
            self.name, arguments = found[1], found[2].split(", ")
            self.memory = "*" in arguments[0]
            self.sizes: dict[str, int] = {}
            self.inputs, self.outputs = [], []
            for text in arguments[self.memory :]:
                parts = re.fullmatch(r"(const )?double (\w+)\[(\d+)\]", text)
                assert parts is not None, text
                self.sizes[parts[2]] = int(parts[3])
                (self.inputs if parts[1] else self.outputs).append(parts[2])
            size = f"sizeof({self.name}_memory)" if self.memory else "1"
            shim = f'#include "{header.name}"\nunsigned long memory_size(void) {{ return {size}; }}\n'
            (place / "shim.c").write_text(shim)
            sources = [f"{self.name}.c", "shim.c"]
            command = ["gcc", "-std=c99", "-O0", "-shared", "-fPIC", *sources, "-lm", "-o", "all.so"]
            subprocess.run(command, cwd=place, check=True)
            self.library = ctypes.CDLL(str(place / "all.so"))
        self.library.memory_size.restype = ctypes.c_ulong

    def __call__(self, states: list[dict[str, Any]]) -> dict[str, np.ndarray]:
        """Outputs (n, size) of every state."""
        kept = ctypes.create_string_buffer(self.library.memory_size())
        rows: dict[str, list[np.ndarray]] = {name: [] for name in self.outputs}
        for state in states:
            arrays = {name: np.ascontiguousarray(state[name], dtype=float).ravel() for name in self.inputs}
            arrays |= {name: np.zeros(self.sizes[name]) for name in self.outputs}
            pointers = [arrays[name].ctypes.data_as(ctypes.c_void_p) for name in (*self.inputs, *self.outputs)]
            getattr(self.library, self.name)(*([kept] if self.memory else []), *pointers)
            for name in self.outputs:
                rows[name].append(arrays[name])
        return {name: np.array(values) for name, values in rows.items()}
