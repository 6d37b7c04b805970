"""Constrained accelerations against MuJoCo: its rows as they stand, its soft constraints in the hard limit.

MuJoCo holds J a to `efc_aref` with a compliance proportional to (1 − d)/d for an impedance d of at most 0.9999, and
leaves out P = J̇ v. So J, M and H are compared as they are, and the accelerations for the same wanted J a, where
the difference has to die out in proportion to the compliance.
"""

from pathlib import Path

import numpy as np
import pytest

from mechanisms import random_mechanism, relative_error
from zveno.algorithms import constraints as algebra
from zveno.algorithms.factors import BodyFactors, MassFactors
from zveno.algorithms.forward_kinematics import frame_pose
from zveno.algorithms.inverse_dynamics import bias
from zveno.algorithms.mass_matrix import mass_matrix
from zveno.io.write import write_model
from zveno.mechanism import Mechanism
from zveno.simulation import BallJoint

mujoco = pytest.importorskip("mujoco", reason="the extra [mjcf] is not installed")

IMPEDANCES = (0.9996, 0.9998)
SOLVED = 1e-7
"""MuJoCo finds its forces by iterating; its inertias come from a file with 17 digits."""


def twin(mechanism: Mechanism, contacts: list[tuple[str, str | None]], q, folder: Path, impedance: float):
    """A MuJoCo model of the mechanism with `connect` constraints between the frames, and its data at q."""
    path = folder / "robot.urdf"
    write_model(mechanism, path)
    spec = mujoco.MjSpec.from_file(str(path))
    spec.compiler.fusestatic = False
    spec.option.gravity = mechanism.gravity
    spec.option.jacobian = mujoco.mjtJacobian.mjJAC_DENSE
    spec.option.tolerance = 0.0
    spec.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT) | int(mujoco.mjtDisableBit.mjDSBL_LIMIT)
    for frame, other in contacts:
        held = mechanism.frame(frame)
        equality = spec.add_equality(type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_BODY)
        equality.name1 = held.link
        equality.name2 = "" if other is None else mechanism.frame(other).link
        equality.data[:3] = held.T_link_frame[:3, 3]
        equality.solimp[:] = (impedance, impedance, 0.001, 0.5, 2)
        equality.solref[:] = (-30.0, -5.0)
    model = spec.compile()
    data = mujoco.MjData(model)
    order = [model.joint(name).qposadr[0] for name in mechanism.joint_names]
    data.qpos[order] = q
    return model, data, order


def independent_contacts(mechanism: Mechanism, q, rng, n: int) -> list[tuple[str, str | None]]:
    """n random pairs of links, or of a link and the world, whose rows do not depend on one another."""
    names = [link.name for link in mechanism.links[1:]]
    while True:
        pairs = [(str(rng.choice(names)), None if rng.random() < 0.5 else str(rng.choice(names))) for _ in range(n)]
        if any(a == b for a, b in pairs):
            continue
        state = algebra.Kinematics(mechanism, q, np.zeros(mechanism.n_v))
        J = np.concatenate([BallJoint(a, other=b).rows(state, 0.0, np.zeros(3)).J for a, b in pairs])
        sizes = np.linalg.svd(J, compute_uv=False)
        if sizes[-1] > 0.05 * sizes[0]:
            return pairs


def turning(model, data, mechanism: Mechanism, contacts) -> np.ndarray:
    """Return ω × r as rows (3 per contact, nv): ω of the second body, r the gap between the two points."""
    rows = np.zeros((3 * len(contacts), model.nv))
    for k, (_, other) in enumerate(contacts):
        if other is not None:
            omega = np.zeros((3, model.nv))
            mujoco.mj_jacBody(model, data, None, omega, model.body(mechanism.frame(other).link).id)
            rows[3 * k : 3 * k + 3] = np.cross(omega, data.efc_pos[3 * k : 3 * k + 3], axisa=0, axisc=0)
    return rows


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("seed", range(6))
def test_rows_and_accelerations(seed, tmp_path):
    mechanism = random_mechanism(500 + seed, n=12, kinds=("revolute", "prismatic"), mimic=0.0, branching=0.3)
    rng = np.random.default_rng(seed)
    q, v, tau = rng.normal(size=(3, mechanism.n_v))
    contacts = independent_contacts(mechanism, q, rng, 1 + seed % 3)
    differences = []
    for impedance in IMPEDANCES:
        model, data, order = twin(mechanism, contacts, q, tmp_path, impedance)
        data.qvel[order], data.qfrc_applied[order] = v, tau
        mujoco.mj_forward(model, data)
        # The same point of both bodies: MuJoCo anchors the second body where the two met at q = 0.
        rows = []
        state = algebra.Kinematics(mechanism, q, v)
        for frame, other in contacts:
            zero = [frame_pose(mechanism, np.zeros(mechanism.n_q), name) for name in (frame, other) if name]
            point = (np.linalg.inv(zero[-1]) @ zero[0])[:3, 3] if other else zero[0][:3, 3]
            one = BallJoint(frame, other=other, point=tuple(point))
            rows.append(one.rows(state, 0.0, one.anchor(mechanism, q)))
        rows = algebra.stacked(rows, mechanism.n_v)
        J = data.efc_J.reshape(-1, model.nv)[:, order]
        assert relative_error(rows.value, data.efc_pos) < 1e-9
        assert relative_error(J @ v, data.efc_vel) < 1e-9
        # MuJoCo subtracts the velocities of two points; the rows here are relative to the second body, which turns.
        assert relative_error(rows.J, J - turning(model, data, mechanism, contacts)[:, order]) < 1e-9
        M = np.zeros((model.nv, model.nv))
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        assert relative_error(mass_matrix(mechanism, q), M[np.ix_(order, order)]) < 1e-9
        assert relative_error(bias(mechanism, q, v), data.qfrc_bias[order]) < 1e-9
        factors = (MassFactors, BodyFactors)[seed % 2](mechanism, q)
        # With MuJoCo's own compliance added, the Schur complement gives its soft forces.
        free, W, A = algebra.schur(factors, factors.force(v, tau), J)
        soft = np.linalg.solve(A + np.diag(data.efc_R), data.efc_aref - J @ free)
        assert relative_error(soft, data.efc_force) < SOLVED
        assert relative_error(free + W @ soft, data.qacc[order]) < SOLVED
        ours = algebra.solve(factors, factors.force(v, tau), J, data.efc_aref)
        differences.append(
            (
                (data.qacc[order] - ours.a) / abs(ours.a).max(),
                (data.efc_force - ours.reactions) / abs(ours.reactions).max(),
            )
        )
    for soft, harder in zip(*differences, strict=True):
        (coarse, fine), scale = (soft, harder), abs(soft).max()
        assert scale < 0.05
        assert abs(2.0 * fine - coarse).max() < scale**2
        assert abs(fine).max() < 0.6 * scale
