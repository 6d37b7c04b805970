"""Laws of rotations: round trips near and far from the identity, exact right angles."""

import math

import numpy as np
import pytest

from zveno.spatial import rotations
from zveno.spatial.rotations import cos_sin, elementary
from zveno.spatial.vectors import cross, skew

ROUNDING = 4e-15
ANGLES = [0.0, 1e-12, 1e-8, 1e-4, 0.3, 0.999, 1.001, 2.0, 3.0, math.pi - 1e-7]


def axes(n=10):
    rng = np.random.default_rng(0)
    return [*np.eye(3), *-np.eye(3)] + [v / np.linalg.norm(v) for v in rng.normal(size=(n, 3))]


def test_cross_and_skew_agree_with_numpy():
    a, b = np.random.default_rng(1).normal(size=(2, 3))
    assert np.allclose(cross(a, b), np.cross(a, b))
    assert np.allclose(skew(a) @ b, np.cross(a, b))


@pytest.mark.parametrize("turns", range(-9, 10))
def test_right_angles_are_exact(turns):
    c, s = cos_sin(turns * math.pi / 2)
    assert (c, s) == [(1, 0), (0, 1), (-1, 0), (0, -1)][turns % 4]
    for letter in "xyz":
        assert set(np.unique(abs(elementary(letter, turns * math.pi / 2)))) <= {0.0, 1.0}


def test_typed_right_angle_is_left_as_typed():
    c, _ = cos_sin(1.5708)
    assert c == math.cos(1.5708)


@pytest.mark.parametrize("angle", ANGLES)
def test_exponential_equals_axis_and_angle(angle):
    for axis in axes():
        R = rotations.about_axis_by(axis, angle)
        assert rotations.is_rotation(R, ROUNDING)
        assert np.allclose(rotations.exp(axis * angle), R, atol=ROUNDING)
        assert np.allclose(rotations.from_quaternion(rotations.quaternion_exp(axis * angle)), R, atol=ROUNDING)


@pytest.mark.parametrize("angle", ANGLES)
def test_logarithm_inverts_the_exponential(angle):
    for axis in axes():
        q = rotations.quaternion_exp(axis * angle)
        assert np.linalg.norm(q) == pytest.approx(1, abs=ROUNDING)
        assert np.allclose(rotations.quaternion_log(q), axis * angle, rtol=1e-14, atol=1e-300)
        assert np.allclose(rotations.quaternion_log(-q), axis * angle, rtol=1e-14, atol=1e-300)
        assert np.allclose(rotations.log(rotations.exp(axis * angle)), axis * angle, atol=1e-14)


def test_quaternions_multiply_as_matrices():
    rng = np.random.default_rng(2)
    for p, q in rng.normal(size=(20, 2, 4)):
        p, q = p / np.linalg.norm(p), q / np.linalg.norm(q)
        product = rotations.quaternion_product(p, q)
        expected = rotations.from_quaternion(p) @ rotations.from_quaternion(q)
        assert np.allclose(rotations.from_quaternion(product), expected, atol=ROUNDING)
        back = rotations.quaternion_product(rotations.quaternion_conjugate(p), p)
        assert np.allclose(back, [1, 0, 0, 0], atol=ROUNDING)


def test_quaternion_of_a_matrix_in_every_branch():
    for axis in axes():
        for angle in [*ANGLES, math.pi]:
            R = rotations.about_axis_by(axis, angle)
            q = rotations.to_quaternion(R)
            assert q[0] >= 0
            assert np.allclose(rotations.from_quaternion(q), R, atol=ROUNDING)


@pytest.mark.parametrize("pitch", [0.0, 0.4, -1.2, math.pi / 2, -math.pi / 2])
def test_roll_pitch_yaw_round_trip(pitch):
    R = rotations.from_rpy((0.3, pitch, -2.0))
    assert np.allclose(R, elementary("z", -2.0) @ elementary("y", pitch) @ elementary("x", 0.3))
    assert np.allclose(rotations.from_rpy(rotations.to_rpy(R)), R, atol=ROUNDING)


def test_exp_coefficients_against_high_precision_series():
    for angle in [0.0, 1e-9, 1e-3, 0.5, 0.999999, 1.000001, 2.5]:
        x = angle * angle
        exact = [math.fsum((-x) ** k / math.factorial(2 * k + m) for k in range(30)) for m in range(1, 5)]
        assert np.allclose(rotations.exp_coefficients(x), exact, rtol=2e-15)


def test_nearest_rotation_is_never_a_reflection():
    rng = np.random.default_rng(3)
    for A in rng.normal(size=(50, 3, 3)):
        assert rotations.is_rotation(rotations.nearest_rotation(A), 1e-12)


def test_z_to_axis():
    for axis in axes():
        R = rotations.z_to(axis)
        assert rotations.is_rotation(R, 1e-12)
        assert np.allclose(R @ [0, 0, 1], axis, atol=ROUNDING)


def test_lists_are_arrays():
    vector, p, q = [0.3, -0.2, 0.5], [0.6, 0.0, 0.8, 0.0], [0.0, 1.0, 0.0, 0.0]
    R = rotations.exp(np.array(vector)).tolist()
    given = {
        "exp": (vector,),
        "log": (R,),
        "to_rpy": (R,),
        "from_rpy": (vector,),
        "to_quaternion": (R,),
        "from_quaternion": (p,),
        "quaternion_exp": (vector,),
        "quaternion_log": (p,),
        "quaternion_product": (p, q),
        "quaternion_conjugate": (p,),
        "nearest_rotation": (R,),
        "is_rotation": (R,),
        "z_to": ([0.0, 0.6, 0.8],),
    }
    for name, lists in given.items():
        function = getattr(rotations, name)
        np.testing.assert_array_equal(function(*lists), function(*map(np.array, lists)), err_msg=name)


def test_complex_step_through_exp_and_log():
    v, d = np.random.default_rng(4).normal(size=(2, 3))
    h = 1e-30
    q = rotations.quaternion_exp(v + 1j * h * d)
    assert np.allclose(np.imag(rotations.quaternion_log(q)) / h, d, atol=1e-13)
