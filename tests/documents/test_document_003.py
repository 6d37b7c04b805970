"""Document 003: its recursions against the library, and what each misprint changes."""

from __future__ import annotations

import numpy as np
import pytest
from reproduction import trees as printed

import zveno
from mechanisms import random_mechanism, random_state
from zveno.algorithms.velocities import body_motions, child_frame_motion, world_motions
from zveno.documents.trees import (
    Reading,
    absolute_motions,
    absolute_torques,
    auxiliary_motion,
    example_tree,
    mass_matrix,
    motions,
    torques,
)


def test_every_misprint_matters():
    tree = example_tree()
    state = printed.Q, printed.V, printed.A
    np.testing.assert_allclose(torques(tree, *state), printed.TAU, rtol=1e-10)
    for misprint in (
        "own_outside_turn",
        "arm_is_c",
        "own_inside_sum",
        "sum_stops_early",
        "turned_twice",
        "backward_runs_forward",
    ):
        off = torques(tree, *state, reading=Reading(**{misprint: True}))
        assert abs(off - printed.TAU).max() > 1e-2, misprint


@pytest.mark.parametrize("seed", range(4))
def test_recursions_of_any_tree(seed):
    mechanism = random_mechanism(seed, n=6, kinds=("revolute", "prismatic"), mimic=0.0)
    robot = zveno.Robot(mechanism)
    q, v, a = random_state(mechanism, seed)
    expected = robot.inverse_dynamics(q, v, a)
    np.testing.assert_allclose(torques(mechanism, q, v, a), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(absolute_torques(mechanism, q, v, a), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(mass_matrix(mechanism, q), robot.mass_matrix(q), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_velocities_and_accelerations_of_every_frame(seed):
    mechanism = random_mechanism(seed, n=6, kinds=("revolute", "prismatic"), mimic=0.0)
    q, v, a = random_state(mechanism, seed)
    body, links = body_motions(mechanism, q, v, a), motions(mechanism, q, v, a)
    for i in range(1, mechanism.n_links):
        for k in range(1, mechanism.tree.out_degree(i) + 1):
            expected = child_frame_motion(mechanism, body, i, k)
            found = auxiliary_motion(mechanism, links, i, k)
            np.testing.assert_allclose(found, [expected.v, expected.a], atol=1e-10 * (1 + abs(expected.a).max()))
    absolute = absolute_motions(mechanism, q, v, a)
    for i, world in enumerate(world_motions(mechanism, q, v, a)):
        found = absolute.v[i], absolute.w[i], absolute.a[i], absolute.e[i]
        np.testing.assert_allclose(found, world, atol=1e-10 * (1 + abs(world.a).max()))
