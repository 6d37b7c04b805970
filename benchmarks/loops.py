"""Closed loops in independent coordinates against Pinocchio and MuJoCo, and their cost in C.

Pinocchio has no batch call for constraints: its Python call is timed, of which about 1 µs is the binding. MuJoCo's
loops are soft, and `mj_forward` computes more than accelerations.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

import zveno
from zveno.simulation import constrained_dynamics

from .timing import Row, interleaved

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "loops"))
from closed_machines import ankle, five_bar, four_bar, palletiser

from pinocchio_oracle import Oracle

BATCH = 512
BARS = 20, 4
"""Ratios to `constraintDynamics`: of a batch on one core, and of one call."""
C_BAR = 3e-6
"""Seconds of a call of the ankle's inverse dynamics in C, closure included."""
ANKLE = """<mujoco><compiler angle="radian"/><worldbody>
<body><joint name="pitch" axis="0 1 0"/><joint name="roll" axis="1 0 0"/>
<inertial pos="0.03 0 -0.02" mass="1.1" diaginertia="0.002 0.004 0.004"/>
<site name="pin0" pos="-0.05 0.05 0.02"/><site name="pin1" pos="-0.05 -0.05 0.02"/></body>{legs}</worldbody>
<equality><connect site1="end0" site2="pin0"/><connect site1="end1" site2="pin1"/></equality></mujoco>"""
LEG = """<body pos="0.02 {y} {z}"><joint axis="0 1 0"/><inertial pos="-0.025 0 0" mass="0.15"
diaginertia="5e-5 5e-5 5e-5"/><body pos="-0.05 0 0"><joint axis="0 1 0"/><joint axis="1 0 0"/>
<inertial pos="0 0 -{half}" mass="0.1" diaginertia="{I} {I} 1e-5"/>
<site name="end{k}" pos="0 0 -{length}"/></body></body>"""


class Rival:
    """The same machine in Pinocchio, its loops as points or welds."""

    def __init__(self, mechanism):
        self.oracle = Oracle(replace(mechanism, loops=(), motors=None, reference=None))
        model = self.model = self.oracle.model
        self.data, self.other = model.createData(), model.createData()
        self.constraints, self.datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for loop in mechanism.loops:
            ends = [model.frames[self.oracle.frames[name]] for name in (loop.frame, loop.other)]
            placed = [part for frame in ends for part in (frame.parentJoint, frame.placement)]
            kind = pin.ContactType.CONTACT_3D if len(loop.locked) == 3 else pin.ContactType.CONTACT_6D
            self.constraints.append(pin.RigidConstraintModel(kind, model, *placed, pin.ReferenceFrame.LOCAL))
        for constraint in self.constraints:
            self.datas.append(constraint.createData())
        pin.initConstraintDynamics(model, self.data, self.constraints, self.datas)
        self.settings = pin.ProximalSettings(1e-12, 1e-10, 20)
        self.others, self.softer = pin.StdVec_RigidConstraintData(), pin.ProximalSettings(1e-12, 1e-6, 20)
        for constraint in self.constraints:
            self.others.append(constraint.createData())
        pin.computeJointMinimalOrdering(model, self.other, self.constraints)

    def state(self, q, v, tau):
        return self.oracle.q(q), self.oracle.v(q, v), tau

    def constraint_dynamics(self, q, v, tau):
        return pin.constraintDynamics(self.model, self.data, q, v, tau, self.constraints, self.datas, self.settings)

    def lcaba(self, q, v, tau):
        return pin.lcaba(self.model, self.other, q, v, tau, self.constraints, self.others, self.softer)


def states(closed, n):
    """Closed configurations along the branch, independent velocities, and torques."""
    rng = np.random.default_rng(0)
    q = [closed.q]
    while len(q) < 16:
        q.append(closed.integrate(q[-1], 0.02 * rng.normal(size=closed.n_v)))
    q = np.resize(np.array(q), (n, closed.n_q))
    return q, rng.normal(size=(n, closed.n_v)), rng.normal(size=(n, len(closed.torque_names)))


def run() -> list[Row]:
    zveno.set_threads(1)
    rows = []
    for make in (four_bar, five_bar, palletiser, ankle):
        rows += _machine(make())
    zveno.set_threads(None)
    return rows


def _machine(robot) -> list[Row]:
    closed = zveno.loops.ClosedRobot(robot)
    q, v, tau = states(closed, BATCH)
    a = closed.forward_dynamics(q, v, tau)
    whole, torques = closed.velocities(q, v), np.zeros((BATCH, robot.n_v))
    torques[:, list(closed.division.torques)] = tau
    rival = Rival(robot.mechanism)
    theirs = [rival.state(q[k], whole[k], torques[k]) for k in range(16)]
    answers = np.array([rival.constraint_dynamics(*state)[: robot.n_v].copy() for state in theirs])
    reference = constrained_dynamics(robot, q[:16], whole[:16], torques[:16], []).a
    scale = abs(a).max()
    one, ours = theirs[3], tuple(x[3].copy() for x in (q, v, tau))
    out = np.empty_like(a)
    calls = {
        "forward": lambda: closed.forward_dynamics(q, v, tau, out=out),
        "inverse": lambda: closed.inverse_dynamics(q, v, a, out=tau_out),
        "pin": lambda: [rival.constraint_dynamics(*state) for state in theirs],
        "lcaba": lambda: [rival.lcaba(*state) for state in theirs],
    }
    tau_out = np.empty_like(tau)
    batch = interleaved(calls, 1)
    single = interleaved(
        {
            "forward": lambda: closed.forward_dynamics(*ours),
            "pin": lambda: rival.constraint_dynamics(*one),
            "lcaba": lambda: rival.lcaba(*one),
        }
    )
    name = robot.name
    rows = [
        Row(f"{name}: forward, batch", batch["forward"] / BATCH, batch["pin"] / 16, "constraintDynamics", BARS[0]),
        Row(f"{name}: forward, batch", batch["forward"] / BATCH, batch["lcaba"] / 16, "lcaba"),
        Row(f"{name}: inverse, batch", batch["inverse"] / BATCH, batch["pin"] / 16, "constraintDynamics"),
        Row(f"{name}: forward, one call", single["forward"], single["pin"], "constraintDynamics", BARS[1]),
        Row(f"{name}: forward, one call", single["forward"], single["lcaba"], "lcaba"),
        Row(
            f"{name}: error beside constrained_dynamics",
            max(abs(closed.independent(reference) - a[:16]).max() / scale, 1e-16),
            max(abs(answers - reference).max() / scale, 1e-16) if robot.n_q == rival.model.nq else np.nan,
            "constraintDynamics",
            unit="share",
        ),
    ]
    if name == "ankle":
        rows += [_mujoco(closed, ours[0], whole[3]), _in_c(closed)]
    return rows


def _mujoco(closed, q, v) -> Row:
    legs = [(0.06, 0.3, 0.28), (-0.06, 0.22, 0.2)]
    bodies = "".join(
        LEG.format(k=k, y=y, z=z, length=length, half=length / 2, I=0.1 * length**2 / 12)
        for k, (y, z, length) in enumerate(legs)
    )
    model = mujoco.MjModel.from_xml_string(ANKLE.format(legs=bodies))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, v
    u = np.ones(2)
    times = interleaved(
        {"ours": lambda: closed.forward_dynamics(q, u, u), "mujoco": lambda: mujoco.mj_forward(model, data)}
    )
    return Row("ankle: forward, one call", times["ours"], times["mujoco"], "mj_forward")


def _in_c(closed) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        (function,) = closed.export_c(["inverse_dynamics"], folder).functions
    seconds = np.nan if function.nanoseconds is None else function.nanoseconds * 1e-9
    return Row("ankle: inverse dynamics in C with two closure steps", seconds, C_BAR, "the bar", 1.0)
