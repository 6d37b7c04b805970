"""Compiled DOP853: the steps, the dense output and events of SciPy's."""

import numpy as np
import pytest
from runs import COMPILED, assert_same_run, equations_of, limited_pendulum
from scipy.integrate import DOP853 as Solver

import zveno
from zveno.simulation import DOP853, Event, Traced, _dop853
from zveno.simulation._dop853 import Dop853
from zveno.simulation._rates import Rates
from zveno.simulation.simulate import simulate

RTOL, ATOL = 1e-6, 1e-9
ROUNDING = 1e-11
"""Relative difference of one step: sums are taken in another order."""
SIZE_ROUNDING = 1e-4
"""Relative difference of the next step size where the error is well above rounding: it is a difference of rates."""
DENSE_ROUNDING = 1e-8
"""The dense output weights rates by up to 1e4, which nearly cancel; rates of held arms carry 1e-12 of rounding."""


def scipys(monkeypatch, *arguments, **options):
    """A run by SciPy's own solver."""
    with monkeypatch.context() as patch:
        patch.setattr(Dop853, "_compiled_steps", lambda self, count: None)
        return simulate(*arguments, **options)


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("kind", COMPILED)
def test_steps_and_dense_output_are_those_of_scipy(kind):
    equations, Y = equations_of(kind)
    y = Y[0]
    c = [equations.settings(y[equations.q])] if equations.constraints else []
    rates = Rates(equations, *(c or [None]))
    start = Solver(rates, 0.1, y, 0.5, rtol=RTOL, atol=ATOL)
    limits = np.array([0.5, RTOL, ATOL, np.inf])
    made = equations.dop853(8)(0.1, y, start.f, start.h_abs, limits, *c)
    ends, sizes, states, dense = made[:4]
    n = int(np.count_nonzero(sizes))
    assert n >= 3
    t, scale, compared = 0.1, max(1.0, abs(states).max()), 0
    for k in range(n):  # the same step from the same state, whose size is not rejected
        solver = Solver(rates, t, y, 0.5, rtol=RTOL, atol=ATOL, first_step=sizes[k])
        solver.step()
        assert ends[k] == pytest.approx(solver.t, rel=1e-14)
        assert abs(states[k] - solver.y).max() < ROUNDING * scale
        assert abs(dense[k] - solver.dense_output().F).max() < DENSE_ROUNDING * scale
        growth = solver.h_abs / sizes[k]
        if k + 1 < n and growth < 2.0 and ends[k] + solver.h_abs < 0.5 and made[7] == 15 * n:
            assert sizes[k + 1] == pytest.approx(solver.h_abs, rel=SIZE_ROUNDING)
            compared += 1
        t, y = ends[k], states[k]
    assert abs(made[4] - rates(t, y)).max() < ROUNDING * abs(made[4]).max()
    assert compared or made[7] > 15 * n or ends[-1] == 0.5


def test_states_side_by_side_take_their_own_steps():
    """Lanes that have arrived, or wait for others which are rejected, keep their numbers."""
    equations, Y = equations_of("revolute")
    Y = np.concatenate([Y, 5.0 * Y])
    t, ends = np.linspace(0.0, 0.4, 6), np.array([0.5, 0.45, 1.0, 0.55, 0.6, 0.401])
    limits = np.stack([ends, np.full(6, 1e-8), np.full(6, 1e-11), np.full(6, np.inf)], axis=-1)
    sizes = np.array([1.0, 1e-3, 0.3, 1e-4, 0.1, 0.05])
    kernel, rates = equations.dop853(8), equations.rhs(t, Y)
    together = kernel(t, Y, rates, sizes, limits)
    assert len({int(n) for n in together[7]}) > 2
    for k in range(6):
        alone = kernel(t[k], Y[k], rates[k], sizes[k], limits[k])
        for one, of_all in zip(alone, together, strict=True):
            assert np.array_equal(one, of_all[k])


RUNS = {
    "free": (lambda: zveno.load("chain(3)"), [0.5, 0.1, -0.4], {}),
    "events": (
        lambda: zveno.load("chain(2)"),
        [0.1, 0.2],
        {
            "events": [
                Event(lambda t, q, v: q[0] + 1.5, "down"),
                Event(lambda t, q, v: v[1], "turns", 1, traced=True),
                Event(lambda t, q, v: t - 1.21, "late", terminal=True),
            ]
        },
    ),
    "projected": (lambda: zveno.load("ur5"), np.full(6, 0.3), {"constraints": "hold", "projection": True}),
    "controlled": (limited_pendulum, [0.5], {"control": Traced(lambda t, q, v: np.sin(5.0 * t) - 0.1 * v)}),
}


@pytest.mark.laws
@pytest.mark.parametrize("name", RUNS)
def test_runs_are_those_of_scipy(name, monkeypatch):
    make, q0, options = RUNS[name]
    if options.get("constraints") == "hold":
        options = options | {"constraints": [zveno.simulation.BallJoint("wrist_1_link")]}
    robot, options = make(), {"duration": 1.5, "integrator": DOP853(1e-10)} | options
    compiled = simulate(robot, q0, **options)
    assert_same_run(compiled, scipys(monkeypatch, robot, q0, **options), 1e-6, steps=False)
    if name == "events":
        assert compiled.events
    if name == "free":
        assert compiled.energy_drift < 1e-6


def test_how_many_steps_a_call_takes_changes_no_bit(monkeypatch):
    robot, options = zveno.load("chain(3)"), {"duration": 2.0, "integrator": DOP853(1e-9)}
    together = simulate(robot, [0.5, 0.1, -0.4], **options)
    monkeypatch.setattr(_dop853, "BLOCKS", (1,))
    alone = simulate(robot, [0.5, 0.1, -0.4], **options)
    assert np.array_equal(together.q, alone.q)
    assert together.n_steps == alone.n_steps > 64


def test_a_motion_that_ends_in_finite_time_is_reported(monkeypatch):
    """ω̇ = ω³ reaches infinity at t = 1/(2 ω²) = 0.125 s."""
    robot = limited_pendulum().with_gravity((0.0, 0.0, 0.0))
    inertia_about_axis = float(robot.mass_matrix(np.zeros(1))[0, 0])
    control = Traced(lambda t, q, v: inertia_about_axis * v * v * v)
    run = simulate(robot, [0.0], [2.0], duration=1.0, control=control)
    assert run.status == "diverged"
    assert run.reason == scipys(monkeypatch, robot, [0.0], [2.0], duration=1.0, control=control).reason
    assert run.t[-1] == pytest.approx(0.125, abs=1e-3)
