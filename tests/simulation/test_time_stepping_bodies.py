"""Time stepping of spinning, rolling and stacked bodies, and of ground that is not flat."""

import numpy as np
import pytest
from stepped import RADIUS, SIZE, G, box, free_body, sphere, stack, stepped

import zveno
from zveno import simulation
from zveno.spatial.rotations import from_quaternion

ROUNDING = 1e-11
"""Share of the weight: a step of 1 ms divides roundings of velocities of cm/s by h; some hundred of them add up."""


def test_a_spinning_top_precesses_steadily():
    mass, length, across, along, spin, tilt = 0.5, 0.1, 0.001, 0.0008, 150.0, 0.3
    about_tip = across + mass * length**2
    # I_tip Ω² cos θ − I_3 ω_3 Ω + m g l = 0, the slow one of its two solutions.
    root = np.sqrt((along * spin) ** 2 - 4 * about_tip * np.cos(tilt) * mass * G * length)
    rate = (along * spin - root) / (2 * about_tip * np.cos(tilt))
    w = [0.0, rate * np.sin(tilt), spin]
    q = [0, 0, 0, np.cos(tilt / 2), np.sin(tilt / 2), 0, 0]
    top = free_body([across, across, along], mass, (0, 0, length))
    run = stepped(top, q, [0, 0, 0, *w], 1.0, constraints=[simulation.Contact("b", friction=2.0)], step=2e-4)
    axis = np.array([from_quaternion(row[3:])[:, 2] for row in run.q])
    turned = np.unwrap(np.arctan2(axis[:, 1], axis[:, 0]))
    assert abs((turned[-1] - turned[0]) - rate) < 5e-3 * rate
    assert abs(np.arccos(axis[:, 2]) - tilt).max() < 5e-3
    assert abs(run.q[:, :3]).max() < 1e-7
    assert abs(run.energy - run.energy[0]).max() < 1e-4 * run.energy[0]


def test_rolling_and_torsional_resistance_slow_a_ball_at_constant_rates():
    rolling, torsional = 2e-3, 1e-3
    contact = simulation.Contact("b", simulation.Sphere(RADIUS), friction=0.5, rolling=rolling, torsional=torsional)
    q = [0, 0, RADIUS, 1, 0, 0, 0]
    run = stepped(sphere(), q, [1.0, 0, 0, 0, 1.0 / RADIUS, 0], 0.5, constraints=[contact])
    speed = 1.0 - rolling * G / RADIUS / 1.4 * 0.5  # m r g = (7/5) m R a
    assert abs(np.linalg.norm(run.v[-1, :3]) - speed) < 1e-3 * speed
    spun = stepped(sphere(), q, [0, 0, 0, 0, 0, 3.0], 0.1, constraints=[contact])
    assert abs(spun.v[-1, 5] - (3.0 - torsional * G / (0.4 * RADIUS**2) * 0.1)) < 1e-6
    still = stepped(sphere(), q, [0, 0, 0, 0, 0, 3.0], 2.0, constraints=[contact])
    assert abs(still.v[-1]).max() < 1e-9


def test_a_disc_rolls_upright_without_slipping():
    disc = free_body([0.25 * RADIUS**2, 0.5 * RADIUS**2, 0.25 * RADIUS**2])
    contact = simulation.Contact("b", simulation.Wheel(RADIUS), friction=0.8)
    run = stepped(disc, [0, 0, RADIUS, 1, 0, 0, 0], [1.5, 0, 0, 0, 15.0, 0], 1.0, constraints=[contact])
    assert abs(run.q[-1, :3] - [1.5, 0, RADIUS]).max() < 1e-6
    assert abs(run.energy - run.energy[0]).max() < 1e-9


def test_a_leaning_disc_rolls_in_a_circle():
    # It leans by `tilt`, and its contact runs on a circle of radius `turn`.
    radius, tilt, turn = RADIUS, 0.2, 1.2
    across, along = 0.25 * radius**2, 0.5 * radius**2
    inner = turn - radius * np.sin(tilt)  # of the circle of its centre
    # Euler's equations about the contact for steady rolling with precession Ω: spin s = −Ω turn / radius.
    spin = turn / radius
    left = (along + radius**2) * spin * np.cos(tilt) + across * np.sin(tilt) * np.cos(tilt)
    left -= along * np.sin(tilt) * np.cos(tilt) + radius**2 * np.sin(tilt) * np.cos(tilt)
    rate = np.sqrt(G * radius * np.sin(tilt) / left)
    disc = free_body([across, along, across])
    quaternion = [
        np.cos(tilt / 2),
        np.sin(tilt / 2),
        0,
        0,
    ]  # about x: the top leans towards −y, the circle's middle
    R = from_quaternion(np.array(quaternion))
    center = np.array([0.0, -radius * np.sin(tilt), radius * np.cos(tilt)])
    w = R.T @ np.array([0.0, 0.0, -rate]) + np.array([0.0, rate * spin, 0.0])
    v = R.T @ np.array([rate * inner, 0.0, 0.0])
    contact = simulation.Contact("b", simulation.Wheel(radius), friction=0.8)
    run = stepped(disc, [*center, *quaternion], [*v, *w], 1.0, constraints=[contact], step=2e-4)
    tilts = [np.arcsin(abs(from_quaternion(row[3:])[2, 1])) for row in run.q]
    assert abs(np.array(tilts) - tilt).max() < 0.01
    middle = np.array([0.0, -turn])
    assert abs(np.linalg.norm(run.q[:, :2] - middle, axis=1) - inner).max() < 0.01


@pytest.mark.laws
@pytest.mark.parametrize("masses", [(1.0, 1.0, 1.0), (1.0, 1.0, 100.0), (1.0,) * 10])
def test_stacks_of_boxes_stand_and_carry_their_weight(masses):
    robot, q, contacts = stack(masses)
    run = stepped(robot, q, duration=0.5, constraints=contacts)
    h, half = run.t[1], len(run.t) // 2
    # A force that still changes by the residual leaves its row the speed that a force of that size gives:
    # at a corner 1/m + arm²/I a side. 12 rows of a face do so at once, in one face after the other up the stack.
    corner = 2 * (1.0 + 2 * 0.1**2 / (0.2**2 / 6)) / min(masses)
    speed = len(masses) * 12 * corner * h * run.residual
    turning = speed / 0.1
    assert (abs(run.v).max(axis=1) < turning + 1e-12).all()
    # Depths at which a share of 0.2 a step takes such a speed back.
    assert abs(run.q[-1] - q).max() < min(1e-4, len(masses) * h / 0.2 * abs(run.v).max())
    poses, twists = run.q.reshape(len(run.t), -1, 7), run.v.reshape(len(run.t), -1, 6)
    upwards = np.array(
        [
            [from_quaternion(q[3:])[2] @ v[:3] for q, v in zip(*one, strict=True)]
            for one in zip(poses, twists, strict=True)
        ]
    )
    tilt = 2 * np.linalg.norm(poses[:, :, 4:6], axis=2).max()
    for k, contact in enumerate(contacts):
        forces = run.reaction(contact.label).reshape(len(run.t), -1, 3)[1:]
        normal = forces[:, :, 0].sum(axis=1)
        carried = np.array(masses[k:])
        weight = carried.sum() * G
        # Impulses are changes of momentum in every step, whether forces are solved for or not: to rounding, but for
        # normals that lean with their boxes, whose forces are not all upwards.
        momentum = np.diff(upwards[:, k:], axis=0) @ carried
        leaning = tilt * np.linalg.norm(forces[:, :, 1:], axis=2).sum(axis=1) + tilt**2 * normal
        off = abs(normal - weight - momentum / h)
        assert (off <= 2 * leaning + ROUNDING * sum(masses) * G).all()
        # So forces differ from the weight by what the boxes' speeds say, and these are bounded by the residual.
        settled = normal[half:]
        spread = 2 * speed[half:].max()
        lasting = h * len(settled)
        assert abs(settled.mean() / weight - 1.0) < min(1e-5, spread / (G * lasting) + off.max() / weight)
        assert abs(normal[-1] / weight - 1.0) < min(1e-3, spread / (G * h) + off.max() / weight)


@pytest.mark.laws
def test_a_box_pushed_off_the_middle_falls_from_the_one_below():
    robot, q, contacts = stack((1.0, 1.0))
    for shift, falls in ((0.08, False), (0.12, True)):  # edges are 0.2 m long
        moved = q.copy()
        moved[7] += shift
        run = stepped(robot, moved, duration=0.5, constraints=contacts)
        assert (abs(run.q[-1] - moved).max() > 0.02) == falls


def test_balls_in_a_row_hand_on_their_momentum():
    robot, q, contacts = row_of_balls()
    v = np.zeros(12)
    v[0] = 1.0
    run = stepped(robot, q, v, 0.2, constraints=contacts)
    assert abs(run.v[-1, [0, 6]] - [0.0, 1.0]).max() < 1e-9


def row_of_balls():
    from zveno.mechanism import Free, Joint, Link, assemble
    from zveno.spatial import inertia

    own = inertia.parameters(1.0, np.zeros(3), 0.4 * RADIUS**2 * np.eye(3))
    links = [Link("base"), Link("b0", own), Link("b1", own)]
    joints = [Joint(f"f{k}", "base", f"b{k}", Free()) for k in range(2)]
    robot = zveno.Robot(assemble("balls", links, joints, gravity=np.zeros(3)))
    ball = simulation.Sphere(RADIUS)
    contact = simulation.Contact("b0", ball, other="b1", other_shape=ball, friction=0.0, restitution=1.0)
    q = np.array([0, 0, 0, 1, 0, 0, 0, 0.3, 0, 0, 1, 0, 0, 0], dtype=float)
    return robot, q, [contact]


def test_a_capsule_rests_on_its_two_ends():
    moments = np.full(3, 0.4 * RADIUS**2)
    capsule = simulation.Capsule(RADIUS, (-0.2, 0, 0), (0.2, 0, 0))
    run = stepped(
        free_body(moments),
        [0, 0, 0.3, 1, 0, 0, 0],
        duration=1.0,
        constraints=[simulation.Contact("b", capsule, friction=0.5)],
    )
    assert abs(run.q[-1, 2] - RADIUS) < 1e-6
    assert abs(run.reactions[-1, ::3] - 0.5 * G).max() < 1e-4


def test_a_point_stands_on_each_step_and_does_not_enter_the_riser():
    ground = simulation.GroundSteps([0.0, 0.5], [0.0, 0.1, 0.3])
    contact = simulation.Contact("b", simulation.Sphere(0.02), ground, friction=0.4)
    starts = [[-0.3, 0, 0.5], [0.2, 0, 0.5], [0.9, 0, 0.5]]
    q = np.array([[*start, 1, 0, 0, 0] for start in starts])
    run = stepped(sphere(), q, duration=1.0, constraints=[contact])
    assert abs(run.q[:, -1, 2] - [0.02, 0.12, 0.32]).max() < 1e-6
    against = stepped(sphere(), [-0.3, 0, 0.02, 1, 0, 0, 0], [2.0, 0, 0, 0, 0, 0], 1.0, constraints=[contact])
    assert against.q[:, 0].max() < -0.02 + 1e-3


def test_a_field_of_heights_is_the_plane_that_it_samples():
    slope = 0.2
    x = np.linspace(-3.0, 3.0, 61)
    field = simulation.HeightField(np.repeat(slope * x[:, None], 5, axis=1), (0.1, 1.0), (-3.0, -2.0))
    normal = np.array([-slope, 0, 1]) / np.hypot(slope, 1)
    q = [*(RADIUS * normal), 1, 0, 0, 0]
    runs = [
        stepped(
            sphere(),
            q,
            duration=0.5,
            constraints=[simulation.Contact("b", simulation.Sphere(RADIUS), ground, friction=0.5)],
        )
        for ground in (field, simulation.GroundPlane(normal))
    ]
    assert abs(runs[0].q - runs[1].q).max() < 1e-9


@pytest.mark.laws
def test_friction_never_does_positive_work():
    """λ_t · u_t ≤ 0 at the velocities after the step, from the step's own rows."""
    from zveno.simulation.time_stepping._step import prepared
    from zveno.simulation.time_stepping.stepping import stepping_of

    contact, h = simulation.Contact("b", simulation.Box(SIZE), friction=0.5), 2e-3
    rng = np.random.default_rng(3)
    quaternion = rng.normal(size=4)
    q = [0, 0, 0.4, *quaternion / np.linalg.norm(quaternion)]
    run = stepped(box(), q, [1.0, 0.5, 0, 2, 1, 0], 1.0, constraints=[contact], step=h)
    stepping = stepping_of(box(), [contact], False, None, None, False)
    slid = 0
    for k in range(0, len(run.t) - 1, 3):
        row = np.zeros(stepping.n_row)
        row[stepping.q], row[stepping.v] = run.q[k], run.v[k]
        problem = prepared(stepping, 0.0, h, row, stepping.settings, None, []).problem
        m = stepping.n_rows
        W = np.zeros((m, m))
        W[np.tril_indices(m)] = np.asarray(problem.W, dtype=float)
        W = W + np.tril(W, -1).T
        impulses = run.reactions[k + 1] * h
        u = W @ impulses + np.asarray(problem.b, dtype=float)
        for at in range(0, m, 3):
            two = slice(at + 1, at + 3)
            work = impulses[two] @ u[two]
            slid += work < -1e-6
            # λ' is the projection of λ − u/w, w the larger eigenvalue of the block: (u + w d) · λ' ≤ 0, d = λ' − λ.
            # After the sweep u has changed by the block times d, and by what other rows changed.
            others = np.delete(abs(W[two]), [at + 1, at + 2], axis=1).sum(axis=1)
            changed = np.sqrt(2) * run.residual[k + 1] * h
            unsettled = changed * (2 * np.linalg.eigvalsh(W[two, two])[-1] + np.linalg.norm(others))
            assert work <= unsettled * np.linalg.norm(impulses[two]) + 1e-15
            assert np.linalg.norm(impulses[at + 1 : at + 3]) <= 0.5 * impulses[at] + 1e-12
    assert slid > 3
