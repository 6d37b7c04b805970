"""Soles with several corners in time stepping: contacts act where they close, and forces are found; and what a run
may still leave unsolved without saying so."""

import numpy as np
import pytest
from stepped import SIZE, G, box, stack

import zveno
from zveno import simulation
from zveno.simulation import TimeStepping
from zveno.simulation.time_stepping import stepping as parts_of_steps
from zveno.simulation.time_stepping._step import BOUNCE
from zveno.simulation.time_stepping.stepping import combined, stepping_of
from zveno.simulation.time_stepping.touching import MEETS, Rows

ROUNDING = 1e-14
"""m/s, of sums of some products of velocities about 0.1 m/s."""
MOST_LEFT = 1e-2
"""N, that forces may still change by."""
STEP = 1e-3


def _tangential(tilt: float, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """(speeds across the normals, gaps) of four corners below a box that tilts about two of them, on the ground."""
    radius, half = 0.005, SIZE / 2
    corners = [(x, y, radius - half[2]) for x in (-half[0], half[0]) for y in (-half[1], half[1])]
    soles = [
        simulation.Contact("b", simulation.Sphere(radius, corner), friction=0.5, name=str(k))
        for k, corner in enumerate(corners)
    ]
    # The corners at −x touch at z = 0; the box turns about y through the places there.
    turn = np.array([[np.cos(tilt), 0, -np.sin(tilt)], [0, 1, 0], [np.sin(tilt), 0, np.cos(tilt)]])
    place = np.array([0, 0, radius]) - turn @ np.array([-half[0], 0, radius - half[2]])
    q = np.array([*place, np.cos(tilt / 2), 0, -np.sin(tilt / 2), 0])
    w = np.array([0, rate, 0])
    v = np.concatenate([turn.T @ np.cross(w, place), turn.T @ w])
    stepping = stepping_of(box(), soles, False, None, None, False)
    rows = Rows(stepping, q, [], np.zeros(6))
    u = combined(stepping.sharing, np.concatenate(rows.S), np.array([one @ v for one in rows.B])).reshape(4, 3)
    return np.linalg.norm(u[:, 1:], axis=1), np.array(rows.gaps)


def test_corners_of_a_sole_that_turns_flat_do_not_slip():
    slip, gaps = _tangential(tilt=1e-4, rate=0.1)
    assert gaps.max() > 3e-5  # they are at different heights
    assert abs(gaps[:2]).max() < 1e-9
    assert slip.max() < ROUNDING


def test_a_far_corner_acts_on_the_shape():
    slip, gaps = _tangential(tilt=0.01, rate=0.1)
    far = gaps > MEETS
    assert far.sum() == 2
    np.testing.assert_allclose(slip[far], 0.1 * (gaps[far] - MEETS), atol=ROUNDING, rtol=0)


@pytest.mark.laws
def test_forces_of_bipeds_that_land_on_eight_corners_are_found():
    robot = zveno.load("biped")
    bent = {"knee": 0.5, "hip_pitch": -0.25, "ankle_pitch": -0.25}
    q = robot.pack({name: bent[end] for name in robot.joint_names for end in bent if name.endswith(end)})
    corners = [(x, y, 0.0) for x in (-0.12, 0.12) for y in (-0.05, 0.05)]
    soles = [
        simulation.Contact(f"{side}_foot", simulation.Sphere(0.005, corner), friction=0.8, name=f"{side} {k}")
        for side in ("left", "right")
        for k, corner in enumerate(corners)
    ]
    q[2] += 0.005 - robot.frame_poses(q, frames=["left_foot", "right_foot"])[:, 2, 3].min()
    v = 0.1 * np.random.default_rng(0).normal(size=(128, robot.n_v))
    hold = simulation.PD(q, 800.0, 20.0, gravity=False)
    options = {"control": hold, "constraints": soles, "integrator": TimeStepping(), "progress": False}
    run = robot.simulate(np.tile(q, (128, 1)), v, 0.05, sample_time=0.05, **options)
    assert run.residual is not None
    assert run.residual.max() <= MOST_LEFT


@pytest.mark.laws
@pytest.mark.parametrize("masses", [(1.0,), (1.0, 1.0, 1.0), (1.0, 10.0), (1.0, 1.0, 30.0)])
def test_a_run_that_says_nothing_creeps_slower_than_an_impact(masses, monkeypatch):
    """Sweeps that end too early: as long as the status does not say so, what should rest stays below `BOUNCE`."""
    robot, q, contacts = stack(masses)
    said = []
    for tolerance in np.geomspace(1e-5, 0.3, 10):
        monkeypatch.setattr(parts_of_steps, "TOLERANCE", float(tolerance))
        run = robot.simulate(q, None, 0.1, integrator=TimeStepping(STEP), constraints=contacts, sample_time=STEP)
        said.append(run.status == "undecided")
        creeps = abs(run.v[1:]).max()
        assert said[-1] or creeps < BOUNCE * G * STEP, (tolerance, creeps / (G * STEP))
    assert not said[0]
    assert said[-1]
