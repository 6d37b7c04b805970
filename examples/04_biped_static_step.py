"""Document 003's biped: it stands on two feet, shifts its weight over the left one, and lifts the right one.

The joints have geared motors behind servo drives with lag and saturation; the stance ankle also listens to the
pelvis' attitude. Feet are held flat by constraints, and the reactions say whether a real sole would stay down:
the centre of pressure has to be under the foot.

Run it with `python examples/04_biped_static_step.py`; the picture goes to out/.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zveno
from zveno import ops as zm
from zveno import simulation
from zveno.simulation import RK4

SHIFT, LIFT = 3.0, 2.0
"""Seconds of the two phases."""
LEAN = np.arcsin(0.13 / 0.8)
"""Roll of the hips that carries the centre of mass from between the feet to over one of them, rad."""
BEND = 0.35
"""Bend of the knees, rad."""
UNLOAD = 0.012
"""How much more the right knee bends to take the weight off its foot, rad."""
SOLE = np.array([0.12, 0.05])
"""Half length and half width of a sole, m."""


def machine() -> zveno.Robot:
    """The built-in biped with a motor of 0.3 kg·m², seen through its gear, at every joint."""
    mechanism = zveno.load("biped").mechanism
    motor = zveno.Drive(rotor_inertia=3e-5, gear_ratio=100.0, viscous=2.0)
    joints = [joint if joint.type.kind != "revolute" else replace(joint, drive=motor) for joint in mechanism.joints]
    return zveno.Robot(replace(mechanism, joints=tuple(joints)))


def posture(robot: zveno.Robot, lean, bend_left, bend_right):
    """Joint angles: knees bent with the soles level, hips and ankles rolled so that both stay level."""
    angles = {}
    for side, bend in (("left", bend_left), ("right", bend_right)):
        angles |= {f"{side}_hip_pitch": -bend, f"{side}_knee": 2 * bend, f"{side}_ankle_pitch": -bend}
        angles |= {f"{side}_hip_roll": -lean, f"{side}_ankle_roll": lean}
    order = [name for name in robot.joint_names if name != "floating_base"]
    return np.array([angles.get(name, 0.0) for name in order])


def smooth(t, start, duration):
    """From 0 to 1 with zero slope at both ends."""
    s = zm.minimum(zm.maximum((t - start) / duration, 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)


def controller(robot: zveno.Robot, lean_of, lift_of) -> simulation.Traced:
    """Stiff joints towards a posture that moves; the stance ankle corrects the pelvis' attitude."""
    order = [name for name in robot.joint_names if name != "floating_base"]
    pitch, roll = order.index("left_ankle_pitch"), order.index("left_ankle_roll")

    def law(t, q, v):
        tau = 3000.0 * (posture(robot, lean_of(t), BEND, BEND + lift_of(t)) - q[7:]) - 40.0 * v[6:]
        tilt = 2.0 * q[3] * q[4:6]  # small turns of the pelvis about x and y, from its quaternion
        tau[roll] = tau[roll] + 400.0 * tilt[0] + 20.0 * v[3]
        tau[pitch] = tau[pitch] + 400.0 * tilt[1] + 20.0 * v[4]
        return np.concatenate([np.zeros(6), tau])

    return simulation.Traced(law)


def pressure(wrench):
    """Centre of pressure (..., 2) in the sole's frame, and the normal force, from the reaction of a weld."""
    f, n = wrench[..., :3], wrench[..., 3:]
    return np.stack([-n[..., 1], n[..., 0]], axis=-1) / f[..., 2:], f[..., 2]


def main():
    robot = machine()
    q0 = robot.neutral()
    q0[7:] = posture(robot, 0.0, BEND, BEND)
    q0[2] -= robot.forward_kinematics(q0, "left_foot")[2, 3]
    drives = simulation.ServoDrive(gain=1.0, lag=0.003, saturation=150.0)
    options = {"drive": drives, "joint_friction": True, "integrator": RK4(1e-3), "sample_time": 5e-3}
    left, right = simulation.Weld("left_foot", name="left"), simulation.Weld("right_foot", name="right")

    shift = robot.simulate(
        q0,
        duration=SHIFT,
        control=controller(robot, lambda t: LEAN * smooth(t, 0.2, 2.0), lambda t: UNLOAD * smooth(t, 1.4, 1.2)),
        constraints=[left, right],
        **options,
    )
    print("shifting:", shift.summary)

    def lift_off(t):
        """The left hip gives way a little when it takes the leg's weight: a quick bend keeps the foot clear."""
        return UNLOAD + 0.06 * smooth(t, 0.0, 0.1) + 0.2 * smooth(t, 0.1, 1.2)

    lift = robot.simulate(
        shift.q[-1],
        shift.v[-1],
        duration=LIFT,
        control=controller(robot, lambda t: LEAN, lift_off),
        constraints=[left],
        tau0=shift.tau[-1],
        **options,
    )
    print("lifting:", lift.summary)

    runs = (shift, lift)
    t = np.concatenate([shift.t, SHIFT + lift.t])
    q = np.concatenate([run.q for run in runs])
    tilt = np.degrees(2 * np.arccos(np.clip(abs(q[:, 3]), 0, 1)))
    height = robot.forward_kinematics(q, "right_foot")[:, 2, 3]
    at, N = pressure(np.concatenate([run.reaction("left") for run in runs]))
    N_right = np.concatenate([shift.reaction("right")[:, 2], np.zeros(len(lift.t))])
    share = N / (N + N_right)
    print(f"the left foot carries {100 * share[0]:.0f} %, after the shift {100 * share[len(shift.t) - 1]:.0f} %")
    print(f"lowest point of the right foot {1000 * height.min():.1f} mm")
    print(f"right foot lifted by {100 * height.max():.1f} cm, pelvis tilted by at most {tilt.max():.1f} degrees")
    print(f"centre of pressure within {abs(at).max(axis=0)} m of the middle of the left sole")
    assert shift.finished
    assert lift.finished
    assert height[-1] > 0.02
    assert height.min() > -1e-3  # it does not pass through the floor
    assert tilt.max() < 5.0
    assert (N > 0).all()
    assert (abs(at) < SOLE).all()
    panels = {
        "height of the right foot, m": height,
        "normal forces, N": np.stack([N, N_right], 1),
        "centre of pressure of the left foot, m": at,
        "tilt of the pelvis, degrees": tilt,
    }
    names = {"normal forces, N": ("left", "right"), "centre of pressure of the left foot, m": ("x", "y")}
    figure, axes = plt.subplots(len(panels), sharex=True, figsize=(9, 2.2 * len(panels)), layout="constrained")
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        ax.plot(t, values, label=names.get(title))
        ax.set_title(title, loc="left")
        if title in names:
            ax.legend(fontsize="small")
    Path("out").mkdir(exist_ok=True)
    figure.savefig("out/biped_static_step.png")
    print("picture: out/biped_static_step.png")


if __name__ == "__main__":
    main()
