"""Laws of rigid transforms, twists, wrenches and inertia."""

import numpy as np
import pytest

from mechanisms import random_inertia
from zveno.spatial import inertia, rotations, transforms
from zveno.spatial.angles import is_near_exact, off_exact, snapped
from zveno.spatial.transforms import adjoint, inverse, move_twist, move_wrench, transform

rng = np.random.default_rng(0)


def any_transform():
    return transform(rotations.exp(rng.normal(size=3)), rng.normal(size=3))


def test_inverse_and_composition():
    T, U = any_transform(), any_transform()
    assert np.allclose(T @ inverse(T), np.eye(4), atol=1e-15)
    assert np.allclose(inverse(T @ U), inverse(U) @ inverse(T), atol=1e-14)
    assert transforms.is_transform(T @ U, 1e-14)
    assert not transforms.is_transform(np.diag([1.0, 1, -1, 1]))
    assert not transforms.is_transform(np.full((4, 4), np.nan))


def test_twists_move_as_the_adjoint_and_power_is_kept():
    T, twist, wrench = any_transform(), rng.normal(size=6), rng.normal(size=6)
    assert np.allclose(move_twist(T, twist), adjoint(T) @ twist)
    assert move_twist(T, twist) @ move_wrench(T, wrench) == pytest.approx(twist @ wrench)


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 0.5, 1.0, 3.0])
def test_screw_exponential_and_logarithm(scale):
    for _ in range(20):
        twist = rng.normal(size=6)
        twist[3:] *= scale / np.linalg.norm(twist[3:])
        T = transforms.exp(twist)
        # A constant twist moves by the same displacement every second.
        assert np.allclose(transforms.exp(2 * twist), T @ T, atol=1e-13)
        back = transforms.log(rotations.log(T[:3, :3]), T[:3, 3])
        assert np.allclose(back, twist, atol=1e-13)


def test_exponential_solves_its_differential_equation():
    twist = rng.normal(size=6)
    h = 1e-30
    rate = np.imag(transforms.exp(twist * (1 + 1j * h))) / h
    body = inverse(transforms.exp(twist)) @ rate
    assert np.allclose(body[:3, 3], twist[:3], atol=1e-13)
    assert np.allclose(body[:3, :3] @ [1, 2, 3], np.cross(twist[3:], [1, 2, 3]), atol=1e-13)


def test_lists_are_arrays():
    T, vector, six = any_transform().tolist(), [0.3, -0.2, 0.5], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    given = {
        "transform": (rotations.exp(vector).tolist(), vector),
        "inverse": (T,),
        "adjoint": (T,),
        "move_twist": (T, six),
        "move_wrench": (T, six),
        "exp": (six,),
        "log": (vector, vector),
        "is_transform": (T,),
    }
    for name, lists in given.items():
        function = getattr(transforms, name)
        np.testing.assert_array_equal(function(*lists), function(*map(np.array, lists)), err_msg=name)


def test_inertia_views_round_trip():
    p = random_inertia(rng)
    back = inertia.parameters(p[0], inertia.center_of_mass(p), inertia.tensor_at_center(p))
    assert np.allclose(back, p)
    assert np.allclose(inertia.from_pseudo_inertia(inertia.pseudo_inertia(p)), p)


def test_moved_inertia_has_the_same_kinetic_energy():
    p, T, twist = random_inertia(rng), any_transform(), rng.normal(size=6)

    def energy(p, twist):
        v, w = twist[:3], twist[3:]
        return 0.5 * p[0] * v @ v + v @ np.cross(w, p[1:4]) + 0.5 * w @ inertia.tensor(p) @ w

    assert energy(inertia.moved(p, T), move_twist(T, twist)) == pytest.approx(energy(p, twist))


def test_inertia_of_point_masses_about_another_point():
    points, masses = rng.normal(size=(4, 3)), rng.uniform(1, 2, 4)
    T = any_transform()

    def parameters(points):
        H = np.einsum("n,ni,nj->ij", masses, points, points)
        return inertia.from_moments(masses.sum(), masses @ points, np.trace(H) * np.eye(3) - H)

    assert np.allclose(inertia.moved(parameters(points), T), parameters(points @ T[:3, :3].T + T[:3, 3]))


@pytest.mark.parametrize(
    ("moments", "mass", "word"),
    [
        ([1, 1, 1], 1, None),
        ([1, 1, 2], 1, None),
        ([1, 1, 2.1], 1, "triangle"),
        ([-1, 1, 1], 1, "negative"),
        ([1, 1, 1], 0, "no mass"),
        ([1, 1, 1], -1, "mass is negative"),
        ([0, 0, 0], 0, None),
    ],
)
def test_bodies_that_cannot_exist(moments, mass, word):
    found = inertia.problems(inertia.parameters(mass, np.array([0.1, 0.2, 0.3]) * (mass != 0), np.diag(moments)))
    assert found == [] if word is None else word in found[0]


def test_near_exact_angles():
    assert snapped(1.5708) == np.pi / 2
    assert snapped(-0.785398) == -np.pi / 4
    assert snapped(1.571) == 1.571
    assert is_near_exact(3.14159)
    assert not is_near_exact(np.pi)
    assert off_exact(np.pi / 12 * 7) == 0
