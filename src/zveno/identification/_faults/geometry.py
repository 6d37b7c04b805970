"""Geometry faults from torques: the recording is another robot's, or the model's axes are wrong.

Torques are linear in small displacements of the joint axes, at the parameters that were found. If the geometry is
right, these columns explain nothing of blocks that were not fitted; if it is not, they explain much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...kernels.kernel import Kernel
from ...mechanism import Mechanism
from ...mechanism.reduce import reduced
from ...robot_functions import RobotFunctions
from ...spatial.rotations import skew
from .._estimate import RANK, Normal, normals, pseudo_inverse, solve, total
from .._fitting import Fit
from .._rows import accumulate, rows_of
from .._survey import Survey
from ..model import TorqueFunction, TorqueModel
from .fault import Fault
from .samples import Samples, misfit

WORTH = 0.2
"""Decrease of the mean log of squared residuals in held-out blocks from which another geometry is reported:
residuals 10 % smaller on all joints together. Of recordings of 8 simulated and 3 real robots none gains more than
0.01; of 18 that were read as another robot's 13 gain more than 0.2, and the others leave joints that are not
explained anyway."""
LEAST = 0.1
"""Displacement, rad and m, below which calibration, not another robot, is the cause."""
MOST_OF_IT = 0.9
"""Share of what displacements explain that determines their size: weak directions are noise."""
STEP = 1e-4
"""Step, rad and m, of the finite differences."""


def geometry_faults(surveyed: Survey, chosen: TorqueModel, fit: Fit, names: Sequence[str]) -> list[Fault]:
    """Report the recording of another robot, if torques require other joint axes.

    Args:
        surveyed, fit: survey and fit of the recording.
        chosen: the model with the friction to consider.
        names: joints.
    """
    displaced = axis_torques(chosen.mechanism, fit.whole.consistent.p)
    model = replace(chosen, user_torques={**chosen.user_torques, **displaced})
    rows = rows_of(surveyed.preparation.thinned, model, surveyed.rest, surveyed.loads[:, :1])
    parts = normals(accumulate(model, rows, surveyed.edges))
    sigma, whole = fit.whole.estimate.sigma, total(parts)
    before = held_out(parts, np.arange(chosen.n_columns), sigma)
    # A block left out is predicted worse than it is fitted: what fits do not gain, predictions do not gain either.
    least = whole.squares(solve(whole, sigma, iterations=1).x)
    if gains_of(before, least) @ whole.counts < WORTH * whole.counts.sum():
        return []
    gains = gains_of(before, held_out(parts, np.arange(model.n_columns), sigma))
    worth = float(gains @ whole.counts / whole.counts.sum())
    size = _displacement(whole, chosen.n_columns, sigma)
    if worth < WORTH or size < LEAST:
        return []
    most = names[int(np.argmax(gains))]
    text = (
        f"torques do not fit the geometry of this robot: with joint axes displaced by {size:.1g} rad or m, "
        f"residuals would be {1.0 - np.exp(-0.5 * worth):.0%} smaller, most at {most}. Is it a recording of this "
        "robot, with the joints' zeros of its model?"
    )
    return [Fault("geometry", (most,), size, text, worth)]


def worth_on(samples: Samples, mechanism: Mechanism, parameters: np.ndarray) -> float:
    """Return the worth of axis displacements on samples, to compare with other explanations."""
    columns = [torques(samples.q, samples.v, samples.a) for torques in axis_torques(mechanism, parameters).values()]
    moved = samples.normal(np.stack(columns, axis=2))
    return misfit(moved.columns(np.arange(moved.H.shape[1] - len(columns)))) - misfit(moved)


def _displacement(whole: Normal, first: int, sigma: np.ndarray) -> float:
    """Return the largest displacement, rad or m, of those that explain most, from column `first` on."""
    weight = (whole.counts > 0) / sigma**2
    H, g = np.einsum("j,jpq->pq", weight, whole.H), weight @ whole.g
    shared = H[first:, :first] @ pseudo_inverse(H[:first, :first])
    w, V = np.linalg.eigh(H[first:, first:] - shared @ H[:first, first:])
    along = V.T @ (g[first:] - shared @ g[:first])
    seen = w > RANK * w.max(initial=0.0)
    w, V, along = w[seen], V[:, seen], along[seen]
    order = np.argsort(-(along**2) / w)
    explained = np.cumsum((along**2 / w)[order])
    kept = order[: int(np.searchsorted(explained, MOST_OF_IT * explained[-1])) + 1] if len(order) else order
    return float(abs(V[:, kept] @ (along[kept] / w[kept])).max(initial=0.0))


def gains_of(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the decrease (n,) of the logarithm of squared residuals; 0 where there are none."""
    used = before > 0
    gains = np.zeros(len(before))
    gains[used] = np.log(before[used] / np.maximum(after[used], 1e-12 * before[used]))
    return gains


def held_out(parts: Sequence[Normal], columns: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """Return the squared residuals (n,) of every block by the fit to the others, summed."""
    used = [part.columns(columns) for part in parts]
    fits = [solve(total(used, [k]), sigma, iterations=1) for k in range(len(used))]
    return np.sum([part.squares(fit.x) for part, fit in zip(used, fits, strict=True)], axis=0)


def axis_torques(mechanism: Mechanism, parameters: np.ndarray) -> dict[str, TorqueFunction]:
    """Return torques by displacement of every joint axis across itself: two rotations and two translations each.

    Args:
        mechanism: with the recorded joints only.
        parameters: all that were found, ten of every link first.
    """
    n = len(mechanism.joints)
    bodies = parameters[: 10 * n].reshape(n, 10)
    links = [
        mechanism.links[0],
        *(replace(link, inertia=p) for link, p in zip(mechanism.links[1:], bodies, strict=True)),
    ]
    tree = reduced(mechanism).mechanism
    inertia = np.stack([link.inertia for link in reduced(replace(mechanism, links=tuple(links))).mechanism.links])
    kernel = RobotFunctions(tree).kernel("inverse_dynamics", inputs=("geometry", "inertia"))
    geometry = np.stack([joint.T_parent_joint for joint in tree.joints])
    return {
        f"{joint.name}, axis {k}": _torque_of(kernel, geometry, inertia, i, twist)
        for i, joint in enumerate(tree.joints)
        for k, twist in enumerate(_across(joint.subspace(np.zeros(joint.type.n_q))))
    }


def _across(subspace: np.ndarray) -> list[np.ndarray]:
    """Return twists (6,) that move a joint's axis: rotations and shifts across it. `subspace` is (6, 1)."""
    shift, turn = subspace[:3, 0], subspace[3:, 0]
    axis = turn if turn.any() else shift
    sides = np.linalg.svd(axis[None])[2][1:]
    none = np.zeros(3)
    return [*(np.concatenate([none, side]) for side in sides), *(np.concatenate([side, none]) for side in sides)]


def _torque_of(
    kernel: Kernel, geometry: np.ndarray, inertia: np.ndarray, joint: int, twist: np.ndarray
) -> TorqueFunction:
    """Return the torques by a displacement of one joint's frame along a twist, to first order."""
    by_twist = np.zeros_like(geometry)
    by_twist[joint, :3, :3] = geometry[joint, :3, :3] @ skew(twist[3:])
    by_twist[joint, :3, 3] = geometry[joint, :3, :3] @ twist[:3]
    ahead, behind = geometry + STEP * by_twist, geometry - STEP * by_twist

    def torques(q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        later = kernel(q, v, a, ahead, inertia)
        earlier = kernel(q, v, a, behind, inertia)
        return (later - earlier) / (2.0 * STEP)

    return torques
