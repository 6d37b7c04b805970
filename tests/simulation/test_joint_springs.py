"""Springs of joints and limits of ball joints: MuJoCo's own forces, energies, oscillations, and what is refused."""

import numpy as np
import pytest
from stepped import G, stepped

import zveno
from zveno.algorithms.springs import spring_energy, spring_torque
from zveno.mechanism import Joint, Limits, Link, Prismatic, Revolute, Spherical, Spring, assemble
from zveno.simulation import DOP853, TimeStepping
from zveno.spatial import inertia

SPRUNG = """
<mujoco><option gravity="0 0 -9.81"/><worldbody>
  <body name="a"><joint name="turn" type="hinge" axis="0 1 0" stiffness="30" springref="20" damping="0.2"/>
    <inertial pos="0.2 0 0" mass="1.5" diaginertia="0.01 0.02 0.02"/>
    <body name="b" pos="0.4 0 0"><joint name="slide" type="slide" axis="1 0 0" stiffness="200" springref="0.05"/>
      <inertial pos="0.1 0 0" mass="0.8" diaginertia="0.005 0.01 0.01"/>
      <body name="c" pos="0.2 0 0"><joint name="ball" type="ball" stiffness="4" range="0 40" limited="true"/>
        <inertial pos="0.1 0 0.02" mass="0.5" diaginertia="0.002 0.003 0.004"/>
      </body>
    </body>
  </body>
</worldbody></mujoco>
"""


@pytest.fixture(scope="module")
def sprung():
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(SPRUNG)
    return mujoco, model, zveno.load(model)


def test_springs_and_limits_are_read(sprung):
    _, _, robot = sprung
    turn, slide, ball = (robot.mechanism.joint(name) for name in ("turn", "slide", "ball"))
    assert (float(turn.spring.stiffness[0]), float(slide.spring.stiffness[0])) == (30.0, 200.0)
    assert abs(turn.spring.rest[0] - np.radians(20)) < 1e-12
    assert slide.spring.rest[0] == 0.05
    assert (ball.spring.stiffness == 4.0).all()
    assert abs(ball.limits.angle - np.radians(40)) < 1e-12
    assert not [note for note in robot.mechanism.notes if "spring" in note or "ball" in note]


def test_torques_are_those_of_mujoco_and_the_gradient_of_the_energy(sprung):
    mujoco, model, robot = sprung
    data, rng, mechanism = mujoco.MjData(model), np.random.default_rng(1), robot.mechanism
    for _ in range(20):
        q, v = robot.mechanism.normalized(rng.normal(size=robot.n_q)), rng.normal(size=robot.n_v)
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        torque = spring_torque(mechanism, q)
        np.testing.assert_allclose(torque, data.qfrc_spring, atol=1e-12)
        h = 1e-6
        slopes = [
            (
                spring_energy(mechanism, mechanism.integrate(q, h * unit))
                - spring_energy(mechanism, mechanism.integrate(q, -h * unit))
            )
            / (2 * h)
            for unit in np.eye(robot.n_v)
        ]
        np.testing.assert_allclose(slopes, -torque, atol=1e-6 * abs(torque).max())


@pytest.mark.laws
@pytest.mark.parametrize("integrator", [DOP853, TimeStepping])
def test_motions_are_those_of_mujoco(sprung, integrator):
    mujoco, model, robot = sprung
    q = np.array([0.3, -0.02, 1.0, 0.0, 0.0, 0.0])
    step, duration = 1e-4, 0.5
    chosen = TimeStepping(step) if integrator is TimeStepping else DOP853()
    run = robot.simulate(q, None, duration, integrator=chosen, joint_friction=True, sample_time=duration)
    model.opt.timestep, model.opt.integrator = step, int(mujoco.mjtIntegrator.mjINT_RK4)
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_step(model, data, round(duration / step))
    assert np.linalg.norm(data.qpos[3:]) < np.sin(np.radians(20)), "it stays away from its limit"
    order = {DOP853: 1e-6, TimeStepping: 50 * step}  # rad and m; the second is of first order
    assert abs(run.q[-1] - data.qpos).max() < order[integrator]


def oscillator(stiffness=400.0):
    links = [Link("base"), Link("b", inertia.parameters(1.0, np.zeros(3), 0.01 * np.eye(3)))]
    joint = Joint("x", "base", "b", Prismatic((1, 0, 0)), spring=Spring(stiffness, 0.1))
    return zveno.Robot(assemble("oscillator", links, [joint]))


def test_a_mass_on_a_spring_swings_about_its_rest_and_keeps_its_energy():
    run = oscillator().simulate([0.3], None, 1.0, integrator=DOP853(1e-10, atol=1e-12))
    np.testing.assert_allclose(run.q[:, 0], 0.1 + 0.2 * np.cos(20.0 * run.t), atol=1e-8)
    assert abs(run.energy - 0.5 * 400 * 0.2**2).max() < 1e-8
    assert not run.work.any(), "what a spring does is no work from outside"


def test_a_stiff_spring_does_not_limit_the_step():
    """A hundred periods a step: the swing dies out at once, and the energy that is lost is said."""
    run = oscillator(1e8).simulate([0.3], duration=0.5, integrator=TimeStepping(1e-2))
    assert "energy is off by 2e+06 J" in run.reason
    assert abs(run.q[-1] - 0.1) < 1e-9
    assert (np.diff(run.energy) < 1e-9).all()


def ball_pendulum(**options):
    links = [Link("base"), Link("b", inertia.parameters(1.0, np.array([0, 0, 0.5]), 0.02 * np.eye(3)))]
    joint = Joint("ball", "base", "b", Spherical(), **options)
    return zveno.Robot(assemble("ball pendulum", links, [joint]))


@pytest.mark.laws
@pytest.mark.parametrize("direction", [(1.0, 0.0), (0.6, -0.8)])
def test_a_ball_joint_stops_at_its_limit(direction):
    robot = ball_pendulum(limits=Limits(angle=0.7))
    v = np.array([*direction, 0.0])
    run = stepped(robot, [1.0, 0, 0, 0], v, 3.0, joint_limits=True)
    turn = 2 * np.arccos(run.q[:, 0])
    assert abs(turn[-1] - 0.7) < 1e-9
    assert turn.max() < 0.7 + 1e-9
    assert abs(run.v[-1]).max() < 1e-9
    moment = G * 0.5 * np.sin(0.7)
    assert abs(run.reactions[-1, 0] - moment) < 1e-6 * moment
    free = stepped(robot, [1.0, 0, 0, 0], v, 1.0)
    assert (2 * np.arccos(abs(free.q[:, 0]))).max() > 2.0


def test_a_spring_of_a_follower_acts_at_its_leader():
    own = inertia.parameters(1.0, np.zeros(3), np.eye(3))
    links = [Link("base"), Link("a", own), Link("b", own)]
    joints = [
        Joint("lead", "base", "a", Revolute((0, 0, 1))),
        Joint(
            "follow", "a", "b", Revolute((0, 0, 1)), mimic=zveno.Mimic("lead", -2.0, 0.1), spring=Spring(3.0, 0.4)
        ),
    ]
    mechanism = assemble("coupled", links, joints)
    torque = spring_torque(mechanism, np.array([0.5]))
    assert abs(torque[0] - (-2.0) * (-3.0) * (-2.0 * 0.5 + 0.1 - 0.4)) < 1e-12


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"spring": Spring(-1.0)}, "stiffness is negative"),
        ({"spring": Spring(np.nan)}, "not finite"),
        ({"spring": Spring(1.0, (0.0, 1.0))}, "shape"),
        ({"limits": Limits(angle=0.0)}, "limit angle of 0.0 is not allowed"),
    ],
)
def test_bad_springs_and_limits_are_refused(options, says):
    with pytest.raises(zveno.ZvenoError, match=says):
        ball_pendulum(**options)


def test_other_joints_and_integrators_refuse_what_they_do_not_know():
    links = [Link("base"), Link("b", inertia.parameters(1.0, np.zeros(3), np.eye(3)))]
    with pytest.raises(zveno.ZvenoError, match="limit angle"):
        assemble("x", links, [Joint("j", "base", "b", Revolute((0, 0, 1)), limits=Limits(angle=1.0))])
    with pytest.raises(zveno.ZvenoError, match="cannot have a spring"):
        assemble("x", links, [Joint("j", "base", "b", zveno.joints.Free(), spring=Spring(1.0))])
    with pytest.raises(zveno.ZvenoError, match="does not stop joints"):
        ball_pendulum(limits=Limits(angle=1.0)).simulate([1, 0, 0, 0], joint_limits=True, integrator=DOP853())


def test_springs_survive_files_scaling_and_writers_name_them(tmp_path):
    robot = oscillator()
    run = robot.simulate([0.3], None, 0.01)
    again = zveno.load_result(run.save(tmp_path / "run.npz"))
    assert again.mechanism.fingerprint == robot.mechanism.fingerprint
    assert zveno.edit.scaled(robot.mechanism, 2.0).joint("x").spring.rest[0] == pytest.approx(0.2)
    with pytest.warns(zveno.ZvenoWarning, match="springs of x"):
        robot.write(tmp_path / "x.urdf")
