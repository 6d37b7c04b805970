"""Number of poses per worker call: fixed by the problem and the method, never by the workers."""

from __future__ import annotations

from ..ik_problem import IkProblem
from ..native.answer import native_solver
from ..solve import solver_for

COMPILED, CLOSED, SCANNED, PROVED = 1 << 16, 1 << 12, 1 << 8, 1 << 6
"""Poses a piece: a fifth of a second at 3 µs a pose, of one program from the pose to its solutions; a tenth to some
seconds by other closed forms; a few seconds to half a minute of slices and scans at 10 to 100 ms; proofs."""
PIECES, LEAST = 128, 1 << 7
"""Work is cut into about so many pieces, unless they would have fewer poses than this."""


def poses_a_piece(problem: IkProblem, method: str, n: int) -> int:
    """Return the number of poses solved at a time, of n: few enough for many chunks, enough to be worth a call."""
    most = _most(problem, method)
    return min(most, max(LEAST, -(-n // PIECES)))


def _most(problem: IkProblem, method: str) -> int:
    if method == "certified":
        return PROVED
    if method == "local" or problem.redundancy:
        return SCANNED
    if method == "auto" and native_solver(problem) is not None:
        return COMPILED
    return SCANNED if solver_for(problem, method).name == "scan" else CLOSED
