"""Every URDF of the package `example-robot-data` against Pinocchio: poses, Jacobians, masses and inertias."""

from __future__ import annotations

import warnings
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest
from urdf_models import PinocchioTwin

from tiers import every
from zveno.algorithms.forward_kinematics import link_poses
from zveno.algorithms.jacobian import twist_columns
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.io.urdf import read_urdf
from zveno.io.write_urdf import to_urdf
from zveno.mechanism.plausibility import rigid_clusters
from zveno.spatial import inertia
from zveno.spatial.transforms import inverse

TOLERANCE = 1e-10
"""m and rad, the project's promise."""

CANNOT_BE_READ = {
    "ur3.urdf": ("has no links", "an empty robot, left over from an expanded xacro file without content"),
    "alex_psyonic_hands.urdf": (
        "there is no joint named 'index_q1'",
        "its mimic joints follow joints that do not exist",
    ),
}
"""File: what the error says, and why it is right."""

URDFS = sorted(
    Path(str(file.locate()))
    for file in files("example-robot-data") or ()
    if file.suffix == ".urdf" and "robots" in file.parts
)
READABLE = [path for path in URDFS if path.name not in CANNOT_BE_READ]


def identity(path: Path) -> str:
    return f"{path.parts[-3]}-{path.stem}"


def test_the_package_is_complete():
    assert len(URDFS) >= 69
    assert set(CANNOT_BE_READ) <= {path.name for path in URDFS}


def quiet(path: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        return read_urdf(path)


@pytest.mark.parametrize(
    "path", every([path for path in URDFS if path.name not in CANNOT_BE_READ], 8), ids=identity
)
def test_poses_jacobians_and_inertia_agree_with_pinocchio(path):
    mechanism = quiet(path)
    twin = PinocchioTwin(mechanism, path.read_text(encoding="utf-8"))
    rng = np.random.default_rng(7)
    for k in range(4):
        q = rng.uniform(-3.0, 3.0, mechanism.n_q)
        twin.move(q)
        T = link_poses(mechanism, q)
        for name, pose in zip(mechanism.link_names, T, strict=True):
            assert abs(pose - twin.link_pose(name)).max() < TOLERANCE, name
        if k == 0:
            G = twin.velocity_map(q)
            for i, name in enumerate(mechanism.link_names):
                J = twist_columns(mechanism, q, T, i, T[i][:3, 3])
                assert abs(J - twin.jacobian(name) @ G).max(initial=0.0) < TOLERANCE, name
    check_inertia(mechanism, twin, T)


def check_inertia(mechanism, twin, T):
    for cluster in rigid_clusters(mechanism)[1:]:
        lead = cluster[0]
        ours = sum(inertia.moved(mechanism.links[i].inertia, inverse(T[lead]) @ T[i]) for i in cluster)
        joint = twin.model.getJointId(mechanism.joint_of(lead).name)
        theirs = twin.model.inertias[joint].toDynamicParameters()
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12 * max(1.0, abs(theirs).max()))


@pytest.mark.parametrize("path", [path for path in URDFS if path.name in CANNOT_BE_READ], ids=identity)
def test_files_that_are_wrong_say_so(path):
    words, _ = CANNOT_BE_READ[path.name]
    with pytest.raises(ZvenoError, match=words):
        read_urdf(path)


@pytest.mark.laws(after=3)
@pytest.mark.parametrize("name", ["talos_full_v2", "panda", "pr2", "tiago_dual", "baxter"])
def test_written_and_read_again(name, tmp_path):
    (path,) = [path for path in URDFS if path.stem == name]
    one = quiet(path)
    copy = tmp_path / "copy.urdf"
    copy.write_text(to_urdf(one), encoding="utf-8")
    two = quiet(copy)
    assert one.joint_names == two.joint_names
    assert one.link_names == two.link_names
    q = np.random.default_rng(3).uniform(-3.0, 3.0, one.n_q)
    np.testing.assert_allclose(link_poses(one, q), link_poses(two, q), rtol=0, atol=1e-12)
    for a, b in zip(one.links, two.links, strict=True):
        assert a.inertia_given == b.inertia_given
        np.testing.assert_allclose(a.inertia, b.inertia, rtol=0, atol=1e-12 * max(1e-3, abs(a.inertia).max()))
    for a, b in zip(one.joints, two.joints, strict=True):
        assert a.mimic == b.mimic
        np.testing.assert_array_equal(a.limits.lower, b.limits.lower)
        np.testing.assert_array_equal(a.limits.effort, b.limits.effort)
        assert (a.drive is None) == (b.drive is None)
