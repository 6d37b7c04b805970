"""Energy as one loop over bodies."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..algorithms.mass_matrix import momentum
from ..algorithms.velocities import AT_REST, carried_motion
from ..kernels.structured.build import Builder
from .bodies import Bodies, Kind
from .tree_tables import tree_tables


def energy(program: Builder, bodies: Bodies) -> None:
    """Kinetic and potential energy at the state q (n_q,), v (n_v,), J, as `algorithms.energy`."""
    n = bodies.n
    q, v = program.input("q", (bodies.n_q,)), program.input("v", (bodies.n_v,))
    kinetic, potential = program.output("kinetic", (), zero=True), program.output("potential", ())
    tree = tree_tables(program, bodies)
    C, own, parent = tree.constants, tree.own, tree.parent
    base = program.table("base", bodies.base_inertia[None])
    pose = program.scratch("pose", tree.n_rows, 12)
    twist = program.scratch("twist", tree.n_rows, 6)
    moment = program.scratch("moment", 1, 3)

    pose[0], twist[0], moment[0] = program.step(at_base, base[0])
    with program.each(n) as i:
        for kind in program.switch(tree.kind[i], bodies.kinds):
            own_q, own_v = (tree.q[i], kind.n_q), (tree.v[i], kind.n_v)
            before = pose[parent[i]], twist[parent[i]], moment[0], kinetic[0]
            pose[own[i]], twist[own[i]], moment[0], kinetic[0] = program.step(
                partial(summed, kind), C[i], q[own_q], v[own_v], *before
            )
    potential[0] = program.step(lambda g, moment: -(tree.gravity_vector(g) @ moment), tree.gravity[0], moment[0])


def at_base(inertia: Any) -> Any:
    """Pose, twist and first moment of the links that do not move."""
    return np.concatenate([np.eye(3).ravel(), np.zeros(3)]), np.zeros(6), inertia[1:4]


def summed(kind: Kind, constants: Any, q: Any, v: Any, pose: Any, twist: Any, moment: Any, kinetic: Any) -> Any:
    """Pose and twist of the body, Σ m c and Σ ½ twist · momentum with it and with its rotors."""
    joint, c = kind.joint(constants), kind.constants(constants)
    T = joint.transform(q)
    R = pose[:9].reshape(3, 3)
    p = pose[9:] + R @ T[:3, 3]
    R = R @ T[:3, :3]
    parent = AT_REST._replace(v=twist[:3], w=twist[3:])
    motion = carried_motion(joint, q, v, np.zeros(kind.n_v), parent)
    own = np.concatenate([motion.v, motion.w])
    added = 0.5 * (own @ momentum(c.inertia, own)) + 0.5 * (c.rotor @ (v * v))
    first = moment + c.inertia[0] * p + R @ c.inertia[1:4]
    return np.concatenate([R.ravel(), p]), own, first, kinetic + added
