"""Denavit–Hartenberg tables: conventions, units, snapping, trees, inertia; the writer."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dh_tables import ROW, TOP

from mechanisms import random_inertia, random_mechanism, relative_error
from zveno.algorithms.forward_kinematics import frame_pose, link_poses
from zveno.errors import ModelError, ZvenoWarning
from zveno.io.dh import dh_mechanism, read_dh, to_dh
from zveno.io.elementary import elementary_mechanism
from zveno.io.write import write_model
from zveno.mechanism import Frame, Joint, Link, Revolute, assemble
from zveno.spatial import inertia
from zveno.spatial.rotations import elementary as rotation
from zveno.spatial.transforms import transform

POSE = 1e-12


def R(axis, angle):
    return transform(rotation(axis, angle))


def T(x=0.0, y=0.0, z=0.0):
    return transform(None, np.array([x, y, z], dtype=float))


# --- reading


def test_standard_rows_are_the_textbook_product():
    text = TOP + ROW + 'theta = 30\n[[joint]]\ntype = "prismatic"\ntheta = 40\nd = 5\na = -7\nalpha = 15\n'
    m = dh_mechanism(text)
    q = np.array([0.3, 0.2])
    deg = math.radians
    first = R("z", deg(30) + q[0]) @ T(z=0.02) @ T(x=0.01) @ R("x", deg(-90))
    second = R("z", deg(40)) @ T(z=0.005 + q[1]) @ T(x=-0.007) @ R("x", deg(15))
    poses = link_poses(m, q)
    assert abs(poses[1] - first).max() < POSE
    assert abs(poses[2] - first @ second).max() < POSE


def test_modified_rows_are_craigs_product():
    text = TOP.replace("standard", "modified") + ROW + "theta = 30\n" + ROW.replace("-90", "75")
    q = np.array([0.3, -0.2])
    deg = math.radians
    first = R("x", deg(-90)) @ T(x=0.01) @ R("z", deg(30) + q[0]) @ T(z=0.02)
    second = R("x", deg(75)) @ T(x=0.01) @ R("z", q[1]) @ T(z=0.02)
    poses = link_poses(dh_mechanism(text), q)
    assert abs(poses[1] - first).max() < POSE
    assert abs(poses[2] - first @ second).max() < POSE


def test_one_chain_in_three_forms():
    rng = np.random.default_rng(3)
    theta, d, a, alpha = rng.normal(size=(4, 5)).tolist()
    rows = list(zip(theta, d, a, alpha, strict=True))
    top = 'unit = "m"\nangle = "rad"\n'
    standard = f'convention = "standard"\n{top}base = "Tx(0.3) Ry(0.2)"\ntool = "Rx(0.4) Ty(1)"\n' + "".join(
        f"[[joint]]\ntheta = {t!r}\nd = {d!r}\na = {a!r}\nalpha = {al!r}\n" for t, d, a, al in rows
    )
    # The same product with every bracket moved by one: the last standard (a, α) goes into the tool.
    shifted = [(0.0, 0.0), *((a, al) for _, _, a, al in rows)]
    modified = (
        f'convention = "modified"\n{top}base = "Tx(0.3) Ry(0.2)"\n'
        f'tool = "Tx({shifted[-1][0]!r}) Rx({shifted[-1][1]!r}) Rx(0.4) Ty(1)"\n'
    ) + "".join(
        f"[[joint]]\ntheta = {t!r}\nd = {d!r}\na = {a!r}\nalpha = {al!r}\n"
        for (t, d, _, _), (a, al) in zip(rows, shifted[:-1], strict=True)
    )
    product = "Tx(0.3) Ry(0.2) " + " ".join(
        f"Rz(q{k} + {t!r}) Tz({d!r}) Tx({a!r}) Rx({al!r})" for k, (t, d, a, al) in enumerate(rows)
    )
    robots = [dh_mechanism(standard), dh_mechanism(modified), elementary_mechanism(product + " Rx(0.4) Ty(1)")]
    for _ in range(5):
        q = rng.normal(size=5)
        poses = [frame_pose(m, q) for m in robots]
        assert max(abs(pose - poses[0]).max() for pose in poses) < POSE


def test_units_signs_and_limits():
    text = TOP + ROW + 'sign = -1\nlimits = [-10, "pi/2"]\nvelocity = 90\neffort = 3\n'
    text += '[[joint]]\ntype = "prismatic"\ntheta = 0\na = "1cm"\nalpha = "0.5rad"\nlimits = [-inf, 100]\n'
    m = dh_mechanism(text)
    first, second = m.joints
    assert frame_pose(m, np.array([0.3, 0.0]), "link1")[:3, 0] == pytest.approx([math.cos(0.3), -math.sin(0.3), 0])
    assert first.limits.lower == pytest.approx(math.radians(-10))
    assert first.limits.upper == pytest.approx(math.pi / 2)
    assert first.limits.velocity == pytest.approx(math.pi / 2)
    assert first.limits.effort == 3
    assert second.limits.lower == -np.inf
    assert second.limits.upper == 0.1
    assert second.T_joint_child[0, 3] == 0.01


def test_right_angles_have_exact_entries():
    m = dh_mechanism(TOP + ROW)
    assert set(np.unique(m.joints[0].T_joint_child[:3, :3])) <= {-1.0, 0.0, 1.0}


def test_near_exact_angles_are_snapped_and_listed():
    text = 'convention = "standard"\nunit = "m"\nangle = "rad"\n'
    text += "[[joint]]\nalpha = 1.5708\na = 0\nd = 0\ntheta = 0.5236\n"
    m = dh_mechanism(text)
    assert len(m.notes) == 2
    assert "joint 1, alpha: 1.5708 rad was taken to be 90°" in m.notes
    assert m.joints[0].T_joint_child[2, 1] == 1.0
    for literal in (dh_mechanism(text, snap=False), dh_mechanism("snap = false\n" + text)):
        assert literal.notes == ()
        assert literal.joints[0].T_joint_child[2, 1] == math.sin(1.5708)
    assert dh_mechanism(text.replace("1.5708", "1.57").replace("0.5236", "0.52")).notes == ()


def test_branches_with_auxiliary_transforms():
    text = TOP + '[base_link]\nname = "body"\n' + ROW + 'link = "arm"\n' + ROW
    text += (
        ROW + 'name = "other"\nparent = "arm"\nat = "Rz(90deg) Tz(5)"\n' + ROW + 'parent = "body"\nat = "Tx(1)"\n'
    )
    text += '[[frame]]\nname = "camera"\nlink = "arm"\nat = "Ty(3)"\n'
    m = dh_mechanism(text)
    assert m.tree.parents == (-1, 0, 1, 1, 0)
    q = np.array([0.1, 0.2, 0.3, 0.4])
    poses = link_poses(m, q)

    def row(q):
        return R("z", q) @ T(z=0.02) @ T(x=0.01) @ R("x", -math.pi / 2)

    assert abs(poses[3] - row(0.1) @ R("z", math.pi / 2) @ T(z=0.005) @ row(0.3)).max() < POSE
    assert abs(poses[4] - T(x=0.001) @ row(0.4)).max() < POSE
    assert abs(frame_pose(m, q, "camera") - row(0.1) @ T(y=0.003)).max() < POSE
    assert abs(m.auxiliary_transform(1, 2) - R("z", math.pi / 2) @ T(z=0.005)).max() < POSE


def test_three_forms_of_inertia_are_the_same_body():
    p = random_inertia(np.random.default_rng(0))
    c = (1000 * inertia.center_of_mass(p)).tolist()
    pseudo = inertia.pseudo_inertia(p)[:3, :3]
    forms = {"center": inertia.tensor_at_center(p), "frame": inertia.tensor(p), "pseudo": pseudo}
    for form, I in forms.items():
        six = [float(I[i, j]) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
        text = TOP + ROW + f'mass = {p[0]}\ncenter_of_mass = {c}\ninertia = {six}\ninertia_about = "{form}"\n'
        assert relative_error(dh_mechanism(text).links[1].inertia, p) < 1e-14, form


def test_drives_and_transmission():
    text = (
        "transmission = [[2, 0], [1, 3]]\n" + TOP + ROW + "drive = { rotor_inertia = 0.1, gear_ratio = 2 }\n" + ROW
    )
    m = dh_mechanism(text)
    assert m.transmission is not None
    assert m.transmission.tolist() == [[2, 0], [1, 3]]
    drive = m.joints[0].drive
    assert drive is not None
    assert (drive.rotor_inertia[0], drive.gear_ratio[0], drive.viscous[0]) == (0.1, 2.0, 0.0)


def test_missing_inertia_warns_only_if_some_is_given():
    dh_mechanism(TOP + ROW)
    with pytest.warns(ZvenoWarning, match="link2"):
        dh_mechanism(TOP + ROW + "mass = 1\n" + ROW)
    with pytest.warns(ZvenoWarning, match="triangle"):
        dh_mechanism(TOP + ROW + "mass = 1\ninertia = [1, 1, 3]\n")


# --- writing


@pytest.mark.parametrize("seed", range(40))
def test_written_tables_reproduce_every_frame_and_the_dynamics(seed, tmp_path):
    kinds = ("revolute", "prismatic", "continuous", "fixed", "revolute")
    m = random_mechanism(seed, n=6, kinds=kinds, branching=0.0, mimic=0.0, drives=True)
    path = tmp_path / "robot.toml"
    write_model(m, path)
    back = read_dh(path)
    rng = np.random.default_rng(seed)
    assert back.joint_names == m.joint_names
    assert back.gravity.tolist() == m.gravity.tolist()
    assert back.lower == pytest.approx(m.lower)
    for _ in range(4):
        q = m.random(rng)
        for frame in ("tool", "mark"):
            assert abs(frame_pose(back, q, frame) - frame_pose(m, q, frame)).max() < POSE
        # The whole mechanism's inertia about the world's origin: every merged link moved with its own frame.
        assert relative_error(_whole(back, q), _whole(m, q)) < 1e-12
    for joint in back.joints:
        drive, own = joint.drive, m.joint(joint.name).drive
        assert (drive is None) == (own is None)
        assert drive is None or own is None or drive.coulomb[0] == own.coulomb[0]


def _whole(m, q):
    poses = link_poses(m, q)
    return sum(inertia.moved(link.inertia, T) for link, T in zip(m.links, poses, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_tables_of_right_angles_come_back_as_they_were(seed):
    rng = np.random.default_rng(seed)
    rows = [
        (int(rng.choice([-90, 90])), float(rng.choice([-0.2, 0.3])), float(rng.choice([0.0, 0.4])))
        for _ in range(5)
    ]
    text = 'convention = "standard"\nunit = "m"\nangle = "deg"\n' + "".join(
        f"[[joint]]\nalpha = {alpha}\na = {a}\nd = {d}\n" for alpha, a, d in rows
    )
    m = dh_mechanism(text)
    back = dh_mechanism(to_dh(m))
    for mine, its in zip(m.joints, back.joints, strict=True):
        assert abs(mine.T_joint_child - its.T_joint_child).max() < 1e-15
    assert [frame.name for frame in back.frames] == []


def test_a_near_exact_angle_survives_writing():
    m = elementary_mechanism("Rz(q1) Tx(1) Rx(1.570800) Rz(q2) Tx(1)", snap=False)
    text = to_dh(m)
    assert "snap = false" in text
    q = np.array([0.3, 0.4])
    assert abs(frame_pose(dh_mechanism(text), q) - frame_pose(m, q)).max() < POSE


def test_chains_that_no_table_describes_are_refused_with_the_reason():
    tree = random_mechanism(1, n=4, kinds=("revolute",), branching=1.0, mimic=0.0)
    with pytest.raises(ModelError, match="branches"):
        to_dh(tree)
    with pytest.raises(ModelError, match="spherical joint has no"):
        to_dh(random_mechanism(1, n=1, kinds=("spherical",), mimic=0.0))
    with pytest.raises(ModelError, match="follows another"):
        to_dh(elementary_mechanism("Rz(q1) Tx(1) Rz(q1)"))
    with pytest.raises(ModelError, match="nearly parallel"):
        to_dh(elementary_mechanism("Rz(q1) Tx(0.71) Ty(0.33) Tz(0.12) Rx(1.1e-5) Ry(2.3e-9) Rz(q2)", snap=False))


def test_awkward_names_survive_writing():
    links = [Link(name, inertia_given=False) for name in ("ба\tза", 'a "b" \\ c')]
    m = assemble(
        'x"\n\x7fy', links, [Joint("j #1", "ба\tза", 'a "b" \\ c', Revolute())], [Frame("tool", 'a "b" \\ c')]
    )
    back = dh_mechanism(to_dh(m))
    assert (back.name, back.link_names, back.frame_names) == (m.name, m.link_names, m.frame_names)


def test_table_of_the_world_frame_needs_no_base():
    m = dh_mechanism(TOP + ROW)
    assert "base =" not in to_dh(m)
