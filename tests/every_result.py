"""A small result of every kind, for tests of what all results can do."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import zveno


def every_result(directory: Path) -> dict[str, zveno.Result]:
    """One result of every class, by the name of the class; C code goes to the directory."""
    from zveno.documents.calibration_001 import plan_study

    robot = zveno.load("planar2").with_tool(zveno.transforms.transform(None, [0.05, 0.02, 0.0]))
    robot = robot.with_inertia({name: [1.0, 0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1] for name in robot.link_names[1:]})
    puma = zveno.load("puma560")
    q = robot.random(30, 1)
    T = robot.forward_kinematics(q[0])
    tracker = zveno.Position(sigma=1e-4)
    campaign = zveno.Campaign(tracker, q, robot.with_deviations({"Tx1": 1e-3}).forward_kinematics(q)[:, :3, 3])
    calibration = robot.calibrate(campaign, folds=3)
    plan = robot.plan_poses(tracker, 8, candidates=60, refine=False)
    t = np.linspace(0.0, 8.0, 1600)
    motion = np.stack([np.sin(2.0 * t) + 0.3 * np.sin(5.0 * t), np.cos(3.0 * t)], axis=1)
    v = np.gradient(motion, t, axis=0)
    torques = robot.inverse_dynamics(motion, v, np.gradient(v, t, axis=0)) + 0.2 * np.sign(v) + 0.1 * v
    log = zveno.Log.of(robot, t, motion, torques)
    dog = zveno.load("quadruped")
    bent = {name: 0.6 if "pitch" in name else -1.2 for name in dog.joint_names if name.endswith(("pitch", "knee"))}
    paws = [name for name in dog.frame_names if name.endswith("_foot")]
    found = [
        zveno.plan_walk(dog, paws, dog.pack(bent), cycles=1, samples=2, stride=(0.05, 0.0)),
        zveno.simulate_walk(dog, paws, dog.pack(bent), zveno.StaticGait(steps=1), duration=0.05),
        puma.ik(puma.forward_kinematics(puma.random((), 2))),
        zveno.prove(puma.ik(puma.forward_kinematics(puma.random((), 2)))),
        robot.ik_path(np.stack([T, T]), task="position"),
        robot.ik({"tool": T[:3, 3]}),
        robot.simulate(q[0], duration=0.05),
        robot.constrained_dynamics(q[0], 0 * q[0], 0 * q[0], [zveno.PointOnPlane("tool")]),
        robot.base_parameters(),
        robot.identifiability("position"),
        calibration,
        robot.identify(log, friction="basic"),
        zveno.identify_payload(robot, log, frame=robot.link_names[-1], friction="basic"),
        zveno.drive_gains(robot, log, log, 0.1, friction="basic"),
        calibration.accuracy_map(50),
        zveno.accuracy_cells(calibration, 50),
        zveno.workspace_map(puma, cell=0.5, orientations=2),
        zveno.ik_map(puma, puma.forward_kinematics(puma.random(5, 3)), directory / "map"),
        calibration.compensate(q),
        plan,
        zveno.accuracy_curve(robot, tracker, 20, candidates=60),
        zveno.calibration_trials(robot, plan, 3),
        robot.plan_excitation(2.0, harmonics=3, starts=1, draws=16),
        robot.export_c(("gravity_torque",), directory, timed=False),
        plan_study.simulate_study(plan_study.proposed_plan(), 3),
    ]
    return {type(one).__name__: one for one in found}
