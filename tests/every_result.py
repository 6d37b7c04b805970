"""A small result of every kind, for tests of what all results can do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import zveno
from zveno import identification, ik, simulation, walking


def every_result(directory: Path) -> dict[str, zveno.Result]:
    """One result of every class, by the name of the class; C code goes to the directory."""

    robot = zveno.load("planar2").with_tool(zveno.transforms.transform(None, [0.05, 0.02, 0.0]))
    robot = robot.with_inertia({name: [1.0, 0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1] for name in robot.link_names[1:]})
    puma = zveno.load("puma560")
    q = robot.random(30, 1)
    T = robot.forward_kinematics(q[0])
    swings = np.array([*((x, 0.0) for x in (-0.5, 0.0, 0.6)), *((0.0, x) for x in (-0.4, 0.7, 0.9))])
    tracker = zveno.calibration.Position(sigma=1e-4)
    campaign = zveno.calibration.Dataset(
        tracker, q, zveno.calibration.apply_deviations(robot, {"Tx1": 1e-3}).forward_kinematics(q)[:, :3, 3]
    )
    calibration = robot.calibrate(campaign, folds=3)
    plan = zveno.calibration.plan_poses(robot, tracker, 8, candidates=60)
    t = np.linspace(0.0, 8.0, 1600)
    motion = np.stack([np.sin(2.0 * t) + 0.3 * np.sin(5.0 * t), np.cos(3.0 * t)], axis=1)
    v = np.gradient(motion, t, axis=0)
    torques = robot.inverse_dynamics(motion, v, np.gradient(v, t, axis=0)) + 0.2 * np.sign(v) + 0.1 * v
    log = identification.Log.of(robot, t, motion, torques)
    dog = zveno.load("quadruped")
    bent = {name: 0.6 if "pitch" in name else -1.2 for name in dog.joint_names if name.endswith(("pitch", "knee"))}
    paws = [name for name in dog.frame_names if name.endswith("_foot")]
    slider = robot.mechanism  # its tool slides along a line of the base
    guide = zveno.Loop("tool", slider.links[0].name, ("y",))
    slider = zveno.Robot(
        zveno.edit.rebuilt(slider, loops=[guide], motors=slider.joint_names[:1], reference=[0.5, -1])
    )
    found = [
        zveno.loops.mobility(slider),
        zveno.loops.close(slider, [[0.5], [0.6]]),
        zveno.loops.assembly_modes(slider, [0.5]),
        walking.simulate_walk(dog, paws, dog.pack(bent), walking.StaticGait(steps=1), duration=0.05),
        puma.ik(puma.forward_kinematics(puma.random((), 2))),
        puma.ik(puma.forward_kinematics(puma.random((), 2))).prove(),
        robot.ik_path(np.stack([T, T]), task="position"),
        ik.whole_body(robot, {"tool": T[:3, 3]}),
        ik.local(puma, puma.forward_kinematics(puma.random((), 2)), puma.neutral()),
        robot.simulate(q[0], duration=0.05),
        simulation.constrained_dynamics(robot, q[0], 0 * q[0], 0 * q[0], [simulation.PointOnPlane("tool")]),
        robot.base_parameters(),
        zveno.calibration.identifiability(robot, "position"),
        zveno.calibration.identify_axes(swings, robot.forward_kinematics(swings, "tool")[:, :3, 3]),
        calibration,
        robot.identify(log, friction_terms="basic"),
        identification.identify_payload(robot, log, frame=robot.link_names[-1], friction_terms="basic"),
        identification.identify_drive_gains(robot, log, log, 0.1, friction_terms="basic"),
        calibration.accuracy_map(50),
        zveno.calibration.accuracy_cells(calibration, 50),
        ik.workspace_map(puma, cell=0.5, orientations=2),
        calibration.compensate(q),
        plan,
        zveno.identification.plan_excitation(robot, 2.0, harmonics=3),
        robot.export_c(("gravity_torque",), directory, timed=False),
    ]
    return {type(one).__name__: one for one in found}
