"""Rows of contacts that share the motion of a body: the same numbers as from the rows themselves."""

import numpy as np
import pytest

from zveno.simulation.time_stepping.stepping import SHARED, about, along, combined, effects, gathered, sharing

ROUNDING = 1e-12
"""Sums of some tens of products of numbers about one."""
BODIES = {
    "two soles and a point": [*[("left", 3)] * 4, ("hand", 3), *[("right", 3)] * 4],
    "a wheel with moments": [("wheel", 6), *[("hub", 6)] * 2],
    "two points": [("a", 3), ("b", 3)],
    "a body in turns with another": [("a", 3), ("b", 1), ("a", 3), ("b", 6), ("a", 3)],
}


def _case(name, n_single=2, n_v=9, seed=0):
    """(sharing, S, B, J): J is written row by row, without the code that is tested."""
    rng = np.random.default_rng(seed)
    known = sharing(BODIES[name], n_single)
    B = rng.normal(size=(known.n_motions, n_v))
    S = rng.normal(size=SHARED * known.n_shared)
    J = np.zeros((len(known.places), n_v))
    for i, place in enumerate(known.places):
        if place.shared is None:
            J[i] = B[place.first]
        else:
            for k in range(SHARED):
                J[i] += S[SHARED * place.shared + k] * B[place.first + k]
    return known, S, B, J


@pytest.mark.parametrize("name", BODIES)
def test_what_impulses_do_is_that_of_all_rows(name):
    known, S, B, J = _case(name)
    rng = np.random.default_rng(1)
    r = rng.uniform(0.5, 2.0, size=B.shape[1])
    W = J @ np.diag(r) @ J.T
    lower = effects(known, S, list(B), r)
    np.testing.assert_allclose(lower, W[np.tril_indices(len(J))], rtol=0, atol=ROUNDING * abs(W).max())


@pytest.mark.parametrize("name", BODIES)
def test_velocities_are_combined_and_impulses_gathered(name):
    known, S, B, J = _case(name)
    rng = np.random.default_rng(2)
    v, impulses = rng.normal(size=B.shape[1]), rng.normal(size=len(J))
    np.testing.assert_allclose(combined(known, S, B @ v), J @ v, rtol=0, atol=ROUNDING * 100)
    np.testing.assert_allclose(B.T @ gathered(known, S, impulses), J.T @ impulses, rtol=0, atol=ROUNDING * 100)


def test_bodies_share_only_where_it_saves_rows():
    assert sharing([("foot", 3)] * 2, 0).n_shared == 0  # six rows of contacts, six of motion
    assert sharing([("foot", 3)] * 3, 0).n_motions == SHARED
    known = sharing(BODIES["two soles and a point"], 5)
    assert (known.n_motions, known.n_shared, len(known.places)) == (6 + 3 + 6 + 5, 24, 32)
    assert [place.first for place in known.places[-5:]] == [15, 16, 17, 18, 19]


def test_rows_of_a_point_on_a_turning_body():
    rng = np.random.default_rng(3)
    v, w, arm, direction = rng.normal(size=(4, 3))
    twist = np.concatenate([v, w])
    assert abs(along(direction, arm) @ twist - direction @ (v + np.cross(w, arm))) < ROUNDING
    assert abs(about(direction) @ twist - direction @ w) < ROUNDING
