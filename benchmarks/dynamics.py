"""Dynamics against Pinocchio: batches on one core, Python calls, derivatives, large chains."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import zveno
from zveno import simulation

from .models import Pair
from .timing import Row, interleaved

MODELS = {
    "UR5": (("ur5_robot.urdf",), 25, 18),
    "Panda arm": (("panda.urdf", 1024, ("panda_finger_joint1",)), 25, 18),
    "TALOS": (("talos_reduced.urdf",), 12, 12),
}


def run() -> list[Row]:
    zveno.set_threads(1)
    rows = []
    for name, (arguments, bar_inverse, bar_forward) in MODELS.items():
        pair = Pair(*arguments)
        rows += _batches(name, pair, bar_inverse, bar_forward)
        rows += _python_loops(name, pair)
    rows += _held("UR5", Pair("ur5_robot.urdf"))
    rows += _held("Panda arm", Pair("panda.urdf", 1024, ("panda_finger_joint1",)))
    rows += _single_calls(Pair("ur5_robot.urdf"))
    rows += _long_chain()
    zveno.set_threads(None)
    return rows


def _batches(name: str, pair: Pair, bar_inverse: float, bar_forward: float) -> list[Row]:
    robot, n = pair.robot, pair.n
    q, v, a = pair.q, pair.v, pair.a
    out = np.empty_like(v)
    pool = pin.ModelPool(pair.model, 1)
    Q, V, A = (np.asfortranarray(x.T) for x in pair.pin_states)
    R = np.zeros_like(V)
    times = interleaved(
        {
            "id": lambda: robot.inverse_dynamics(q, v, a, out=out),
            "pin id": lambda: pin.rneaInParallel(1, pool, Q, V, A, R),
            "fd": lambda: robot.forward_dynamics(q, v, a, out=out),
            "pin fd": lambda: pin.abaInParallel(1, pool, Q, V, A, R),
        },
        n,
    )
    return [
        Row(
            f"{name}: inverse dynamics, batch, one core",
            times["id"],
            times["pin id"],
            "rneaInParallel",
            bar_inverse,
        ),
        Row(
            f"{name}: forward dynamics, batch, one core", times["fd"], times["pin fd"], "abaInParallel", bar_forward
        ),
    ]


def _python_loops(name: str, pair: Pair) -> list[Row]:
    """Functions Pinocchio has no batch call for: its Python call in a loop."""
    robot, model, data = pair.robot, pair.model, pair.data
    q, v, a = pair.q, pair.v, pair.a
    k = robot.n_v
    square = np.empty((pair.n, k, k))
    three = (square, np.empty_like(square), np.empty_like(square))
    W = np.empty((pair.n, k, 10 * len(robot.mechanism.joints)))
    few = [tuple(x[i] for x in pair.pin_states) for i in range(64)]

    def loop(function, *uses):
        def call():
            for state in few:
                function(model, data, *(state[i] for i in uses))

        return call

    cases = {
        "mass matrix": (lambda: robot.mass_matrix(q, out=square), loop(pin.crba, 0), 10),
        "inverse mass matrix": (lambda: robot.inverse_mass_matrix(q, out=square), loop(pin.computeMinverse, 0), 10),
        "regressor": (
            lambda: robot.regressor(q, v, a, out=W),
            loop(pin.computeJointTorqueRegressor, 0, 1, 2),
            8,
        ),
        "derivatives of inverse dynamics": (
            lambda: robot.inverse_dynamics_derivatives(q, v, a, out=three),
            loop(pin.computeRNEADerivatives, 0, 1, 2),
            10,
        ),
        "derivatives of forward dynamics": (
            lambda: robot.forward_dynamics_derivatives(q, v, a, out=three),
            loop(pin.computeABADerivatives, 0, 1, 2),
            10,
        ),
    }
    rows = []
    for what, (ours, theirs, bar) in cases.items():
        mine = interleaved({"ours": ours, "theirs": theirs}, 1, repeats=9)
        rows.append(
            Row(f"{name}: {what}, batch 1024", mine["ours"] / pair.n, mine["theirs"] / len(few), "Python call", bar)
        )
    return rows


def _held(name: str, pair: Pair) -> list[Row]:
    """Derivatives of constrained dynamics: the last joint's origin is held at its place."""
    model, data = pair.model, pair.data
    joint = model.joints[model.njoints - 1].id
    link = pair.robot.mechanism.joint(model.names[joint]).child
    contacts, states = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, joint, pin.LOCAL_WORLD_ALIGNED))
    states.append(contacts[0].createData())
    pin.initConstraintDynamics(model, data, contacts, states)
    settings = pin.ProximalSettings(1e-12, 0.0, 10)
    few = [tuple(x[i] for x in pair.pin_states) for i in range(64)]
    held = [simulation.BallJoint(link)]

    def theirs():
        for q, v, tau in few:
            pin.constraintDynamics(model, data, q, v, tau, contacts, states, settings)
            pin.computeConstraintDynamicsDerivatives(model, data, contacts, states, settings)

    def ours():
        return simulation.constrained_dynamics_derivatives(pair.robot, pair.q, pair.v, pair.a, held)

    times = interleaved({"ours": ours, "theirs": theirs}, 1, repeats=9)
    label = f"{name}: derivatives of constrained dynamics, batch 1024"
    return [Row(label, times["ours"] / pair.n, times["theirs"] / len(few), "Python call", 8)]


def _single_calls(pair: Pair) -> list[Row]:
    robot, model, data, kernel = pair.robot, pair.model, pair.data, pair.robot.kernel("inverse_dynamics")
    q, v, a = (x[0].copy() for x in (pair.q, pair.v, pair.a))
    times = interleaved(
        {
            "fd": lambda: robot.forward_dynamics(q, v, a),
            "pin fd": lambda: pin.aba(model, data, q, v, a),
            "id": lambda: robot.inverse_dynamics(q, v, a),
            "id kernel": lambda: kernel(q, v, a),
            "pin id": lambda: pin.rnea(model, data, q, v, a),
        },
        repeats=45,
    )
    aba, rnea = (times["pin fd"], "pinocchio.aba"), (times["pin id"], "pinocchio.rnea")
    return [
        Row("UR5: forward dynamics, one call from Python", times["fd"], *aba, 2.0),
        Row("UR5: inverse dynamics, one call from Python", times["id"], *rnea, 2.0),
        Row("UR5: inverse dynamics, one call of the kernel", times["id kernel"], *rnea, 4.0),
    ]


def _long_chain(n: int = 300) -> list[Row]:
    """Cost a link of a long chain; Pinocchio's data of 1000 links would need some 60 GB."""
    robot = zveno.load(f"chain({n})")
    model = pin.Model()
    parent = 0
    for k in range(n):
        step = pin.SE3.Identity() if k == 0 else pin.SE3(np.eye(3), np.array([1.0 / n, 0, 0]))
        parent = model.addJoint(parent, pin.JointModelRZ(), step, f"j{k}")
        model.appendBodyToJoint(
            parent, pin.Inertia(10 / n, np.array([0.5 / n, 0, 0]), np.eye(3) * 1e-5), pin.SE3.Identity()
        )
    data = model.createData()
    rng = np.random.default_rng(0)
    q, v, a = 0.1 * rng.normal(size=(3, 256, n))
    out = np.empty_like(v)
    times = interleaved(
        {
            "ours": lambda: robot.forward_dynamics(q, v, a, out=out),
            "pin": lambda: [pin.aba(model, data, q[i], v[i], a[i]) for i in range(16)],
        },
        repeats=5,
    )
    return [
        Row(f"chain of {n} links: forward dynamics", times["ours"] / 256, times["pin"] / 16, "pinocchio.aba", 5.0)
    ]
