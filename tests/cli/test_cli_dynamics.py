"""The verbs `dynamics` and `export`: what they print is what the library gives."""

import json
import shutil
import warnings

import numpy as np
import pytest
from rich.console import Console

import zveno
from mechanisms import KINDS, random_mechanism
from zveno import simulation
from zveno.cli.configuration import parsed_velocities
from zveno.cli.dynamics import dynamics
from zveno.cli.export import export
from zveno.cli.options import Held, Model, Output
from zveno.errors import ModelError, ShapeError, UnknownNameError, ZvenoError, ZvenoWarning
from zveno.mechanism import Drive
from zveno.mechanism.base import with_base
from zveno.report.mechanism import dynamics_data, print_dynamics, velocity_names
from zveno.robots import biped, chain

JSON = Output(json=True)


def answer(capsys, *args, **options):
    dynamics(*args, **options, output=JSON)
    return json.loads(capsys.readouterr().out)


def test_torques_of_an_arm(capsys):
    robot = zveno.load("puma560")
    q, v, a = np.random.default_rng(0).uniform(-0.6, 0.6, size=(3, 6)).round(3)
    words = {name: tuple(str(x) for x in values) for name, values in (("q", q), ("v", v), ("a", a))}
    data = answer(capsys, "puma560", **words)
    assert np.allclose(data["tau"], robot.inverse_dynamics(q, v, a), rtol=1e-12)
    assert np.allclose(data["gravity_torque"], robot.gravity_torque(q), rtol=1e-12)
    assert np.allclose(data["bias"], robot.bias(q, v), rtol=1e-12)
    assert np.allclose(data["mass_matrix"], robot.mass_matrix(q), rtol=1e-12)
    assert [data["energy"]["kinetic"], data["energy"]["potential"]] == pytest.approx(list(robot.energy(q, v)))
    assert data["velocity_names"] == list(robot.joint_names)


def test_accelerations_undo_torques(capsys):
    one = answer(capsys, "puma560", q=("0.1", "−0.2", "0.3", "0", "0.5", "0"), a=("joint2=1.5",))
    two = answer(
        capsys, "puma560", q=("joint1=0.1", "joint2=-0.2", "joint3=0.3", "joint5=0.5"), tau=words(one["tau"])
    )
    assert np.allclose(two["a"], [0, 1.5, 0, 0, 0, 0], atol=1e-9)
    assert (one["given"], two["given"]) == ("a", "tau")


def words(values):
    return tuple(repr(float(x)) for x in values)


def test_degrees(capsys):
    degrees = answer(capsys, "puma560", q=("joint2=30",), v=("joint1=90",), a=("joint1=45",), model=Model(deg=True))
    radians = answer(
        capsys, "puma560", q=(f"joint2={np.pi / 6}",), v=(f"joint1={np.pi / 2}",), a=(f"joint1={np.pi / 4}",)
    )
    assert np.allclose(degrees["tau"], radians["tau"], rtol=1e-12)
    assert degrees["v"][0] == pytest.approx(np.pi / 2)
    dynamics("puma560", v=("joint1=90",), model=Model(deg=True))
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("joint1"))
    assert line.split()[2] == "90"
    assert "deg, N·m" in line


def test_friction():
    rods = chain(2)
    joints = tuple(
        type(joint)(
            joint.name, joint.parent, joint.child, joint.type, joint.T_parent_joint, drive=Drive(0.0, 1.0, 0.5, 0.2)
        )
        for joint in rods.joints
    )
    driven = zveno.Mechanism("driven", rods.links, joints, gravity=rods.gravity)
    q, v = np.zeros(2), np.array([1.0, -1.0])
    without, with_friction = dynamics_data(driven, q, v), dynamics_data(driven, q, v, friction=True)
    assert np.allclose(np.subtract(with_friction["tau"], without["tau"]), [0.7, -0.7])
    assert with_friction["friction_torque"] == pytest.approx([0.7, -0.7])
    back = dynamics_data(driven, q, v, tau=np.array(with_friction["tau"]), friction=True)
    assert np.allclose(back["a"], 0, atol=1e-9)


def test_loads_and_constraints(capsys):
    """Reactions are those of the library; a load and the reaction that carries it need the same torques."""
    robot, rng = zveno.load("torso"), np.random.default_rng(4)
    q, v = rng.uniform(0.0, 0.08, (2, 11)).round(3)
    tau = rng.normal(size=11).round(3)
    state = {"q": words(q), "v": words(v)}
    loads = ("left_hand=1,-2,3,0.1,0.2,0.3", "head=0,0,-5")
    held = Held(ball_joint=("left_hand",), weld=("right_hand",))
    data = answer(capsys, "torso", **state, tau=words(tau), wrench=loads, held=held)
    pull = robot.jacobian(q, "left_hand").T @ [1, -2, 3, 0.1, 0.2, 0.3] + robot.jacobian(q, "head")[2] * -5
    np.testing.assert_allclose(data["load_torque"], pull, atol=1e-12)
    constraints = [simulation.BallJoint("left_hand"), simulation.Weld("right_hand")]
    expected = simulation.constrained_dynamics(robot, q, v, tau + pull, constraints)
    np.testing.assert_allclose(data["a"], expected.a, rtol=1e-9)
    np.testing.assert_allclose(list(data["reactions"].values()), expected.reactions, rtol=1e-8)
    assert list(data["reactions"]) == list(expected.names)
    force = ",".join(repr(data["reactions"][f"BallJoint(left_hand)[{k}]"]) for k in range(3))
    wrench = ",".join(repr(data["reactions"][f"Weld(right_hand)[{k}]"]) for k in range(6))
    reactions = (*loads, f"left_hand={force}", f"right_hand={wrench}")
    back = answer(capsys, "torso", **state, a=words(data["a"]), wrench=reactions)
    np.testing.assert_allclose(back["tau"], tau, atol=1e-8)
    dynamics("torso", tau=("lift=400",), held=Held(ball_joint=("left_hand",)))
    assert "constraints solved; reactions" in capsys.readouterr().out


def test_velocities_have_names():
    mechanism = random_mechanism(3, n=9, kinds=KINDS, mimic=0)
    names = velocity_names(mechanism)
    assert len(names) == len(set(names)) == mechanism.n_v
    v = parsed_velocities(mechanism, [f"{name}={k}" for k, name in enumerate(names)], "v")
    assert np.array_equal(v, np.arange(mechanism.n_v))
    assert velocity_names(with_base(chain(1), "free")) == (
        *(f"floating_base.{part}" for part in ("vx", "vy", "vz", "wx", "wy", "wz")),
        "joint1",
    )


def test_wide_matrices_are_split_and_whole(capsys):
    """Every entry of the mass matrix is on the screen, however narrow it is."""
    data = dynamics_data(biped(), biped().neutral(), np.zeros(biped().n_v))
    print_dynamics(Console(width=60), data)
    out = capsys.readouterr().out
    assert "…" not in out.replace("columns 1 … ", "").replace(" … ", "")
    last = data["mass_matrix"][-1][-1]
    assert f"{last:.5g}" in out


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"a": ("1",) * 6, "tau": ("1",) * 6}, ZvenoError, "--a and --tau exclude each other"),
        ({"v": ("1", "2")}, ShapeError, "v: 2 numbers given where puma560 has 6 velocities"),
        ({"v": ("joint1=1", "2")}, ShapeError, "'2' stands among"),
        ({"tau": ("elbow=1",)}, UnknownNameError, "no velocity named 'elbow'"),
        ({"a": ("joint1=fast",)}, ShapeError, "'fast' is not a number"),
        ({"a": ("1",) * 6, "held": Held(weld=("link6",))}, ZvenoError, "--a: .*Give --tau"),
        ({"held": Held(ball_joint=("hand",))}, UnknownNameError, "no frame named 'hand'"),
        ({"wrench": ("hand=1,2,3",)}, UnknownNameError, "no frame named 'hand'"),
        ({"wrench": ("link6=1,2",)}, ShapeError, "--wrench link6: 2 numbers given"),
        ({"wrench": ("link6=1,2,nan",)}, ShapeError, "nan is not a finite number"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        dynamics("puma560", **options)


def test_singular_mechanisms_have_no_accelerations(capsys):
    with pytest.raises(ModelError, match=r"link link2 .* joint joint2.*rotor inertia"):
        dynamics("planar2", tau=("1", "1"))
    with pytest.warns(ZvenoWarning, match="planar2 has no masses: its torques are zeros"):
        dynamics("planar2")
    assert "planar2: torques" in capsys.readouterr().out


def test_export_prints_operations(tmp_path, capsys):
    output = Output(out=tmp_path / "c")
    export("planar2", functions="forward_kinematics, jacobian", no_measure=True, output=output)
    out = capsys.readouterr().out
    assert "planar2_jacobian" in out
    assert "not measured" in out
    assert (tmp_path / "c" / "planar2.h").exists()
    assert "in `double`" in (tmp_path / "c" / "README_planar2.md").read_text()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler on this machine")
def test_export_measures_and_writes_json(tmp_path, capsys):
    output = Output(out=tmp_path, json=True)
    export("planar2", functions="forward_kinematics", float=True, model=Model(frame="link1"), output=output)
    data = json.loads(capsys.readouterr().out)
    (one,) = data["functions"]
    assert one["name"] == "planar2_forward_kinematics"
    assert one["nanoseconds"] > 0
    assert one["operations"]["sincos"] == 1
    assert "float" in (tmp_path / "planar2_forward_kinematics.h").read_text()


def test_export_of_a_robot_without_masses_says_what_to_leave_out(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ZvenoError, match="leave forward_dynamics out of the functions"):
            export("planar2", no_measure=True, output=Output(out=tmp_path))


def test_export_names_the_functions_there_are(tmp_path):
    with pytest.raises(UnknownNameError, match=r"no function named 'dynamic'.*inverse_dynamics"):
        export("planar2", functions="dynamic", output=Output(out=tmp_path))
