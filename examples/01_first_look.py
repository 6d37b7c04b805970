"""First look: load a robot, ask where it is, how it can move and what its motors do, for one state and for many.

Run it with `python examples/01_first_look.py`.
"""

from __future__ import annotations

import numpy as np

import zveno


def main():
    np.set_printoptions(precision=3, suppress=True)
    robot = zveno.load("puma560")
    print(f"{robot.name} has {robot.n_q} coordinates: {', '.join(robot.joint_names)}")

    q = np.radians([20.0, -40.0, 30.0, 0.0, 60.0, 0.0])
    T_world_flange = robot.forward_kinematics(q)
    print("the flange is at", T_world_flange[:3, 3], "m")

    # By name, the order of the joints does not matter; joints that are not named stay where `default` has them.
    q_straight = robot.pack({"joint5": 0.0}, default=q)
    for name, state in (("here", q), ("wrist straight", q_straight)):
        smallest = np.linalg.svd(robot.jacobian(state), compute_uv=False)[-1]
        print(f"smallest singular value of the Jacobian, {name}: {smallest:.4f}")

    print("torques that hold it still:", robot.gravity_torque(q), "N·m")

    # Batch axes lead: a thousand states in one call, each row the same as if computed alone.
    rng = np.random.default_rng(0)
    states, velocities, accelerations = rng.uniform(-1.0, 1.0, (3, 1000, robot.n_v))
    torques = robot.inverse_dynamics(states, velocities, accelerations)
    alone = robot.inverse_dynamics(states[7], velocities[7], accelerations[7])
    print("torques of 1000 states:", torques.shape, "the same one by one:", bool(np.allclose(torques[7], alone)))


if __name__ == "__main__":
    main()
