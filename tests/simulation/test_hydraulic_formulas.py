"""Hydraulic drives against closed forms: natural frequency, speed under load, dead zone, end stops, supply."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hydraulic_machines import CYLINDER, MASS, PRESSURE, VALVE, drive_of, slides, started_at

from zveno.simulation import DOP853, Event, HydraulicSupply, Traced
from zveno.simulation.hydraulics.drive import capacity
from zveno.simulation.simulate import simulate

FORMULA = 1e-3
"""Formulas neglect that volumes change with the motion and that roots are smooth through zero: 0.1 %."""
K = VALVE.conductance
DAMPER = 2e4
"""N·s/m: speeds settle within some hundredths of a second."""


@pytest.mark.laws
@pytest.mark.parametrize("leakage", [0.0, 5e-13, 2e-12])
def test_natural_frequency_and_decay_of_a_closed_valve(leakage):
    # m ẍ = A p_L and ṗ_L = −(2β/V)(A ẋ + leakage · p_L): s² + (2β leakage/V) s + 2βA²/(V m) = 0
    cylinder = replace(CYLINDER, leakage=leakage)
    V = cylinder.dead_volume + cylinder.area * cylinder.stroke / 2
    decay = cylinder.bulk_modulus * leakage / V
    natural = cylinder.area * np.sqrt(2 * cylinder.bulk_modulus / (V * MASS))
    frequency = np.sqrt(natural**2 - decay**2)
    turns = Event(lambda t, q, v: v[0], "turns", traced=True)
    speed, duration = 1e-3, 10.2 * np.pi / frequency
    run = simulate(
        slides(),
        [0.0],
        [speed],
        duration,
        control=[0.0],
        drive=drive_of(cylinder),
        integrator=DOP853(1e-10),
        events=[turns],
    )
    times = np.array([event.t for event in run.events])
    assert len(times) == 10
    assert abs(np.diff(times) * frequency / np.pi - 1).max() < FORMULA
    # ẋ falls with e^(−decay t) between one extreme of it and the next, half a period later.
    between = [abs(run.v[(run.t > a) & (run.t < b), 0]).max() for a, b in pairwise(times)]
    assert np.log(between[0] / between[-1]) == pytest.approx(decay * 8 * np.pi / frequency, abs=FORMULA)


def steady_speed(cylinder, opening, load=0.0):
    """Speed at a constant opening against a force, 20 ms after it has settled, far from the ends."""
    control = Traced(lambda t, q, v: np.array([opening]))
    robot = slides().with_gravity((load / MASS, 0.0, 0.0))
    run = simulate(robot, [0.0], duration=0.3, control=control, drive=drive_of(cylinder), integrator=DOP853(1e-8))
    assert run.finished
    late = run.t > 0.28
    assert np.ptp(run.v[late, 0]) < 3e-4 * abs(run.v[-1, 0])
    return run.v[-1, 0]


@pytest.mark.parametrize(("load", "leakage"), [(0.0, 0.0), (-4000.0, 0.0), (-4000.0, 2e-12), (3000.0, 2e-12)])
def test_speed_under_load(load, leakage):
    # p_L = −load/A; K s √((P − p_L)/2) = A v + leakage · p_L
    cylinder = started_at(-0.03, replace(CYLINDER, leakage=leakage, viscous=DAMPER))
    speed = steady_speed(cylinder, 0.2, load)
    pressure = (-load + DAMPER * speed) / cylinder.area
    flow = K * 0.2 * np.sqrt((PRESSURE - pressure) / 2)
    assert speed == pytest.approx((flow - leakage * pressure) / cylinder.area, rel=FORMULA)


@pytest.mark.parametrize("opening", [0.2, -0.2])
def test_speed_of_a_cylinder_with_one_rod(opening):
    # Edges in series: A P − F = (A³ + B³)(v/K s)² when it extends, B P + F with the same sum when it retracts.
    cylinder = started_at(-0.03 * np.sign(opening), replace(CYLINDER, rod_area=2.5e-4, viscous=DAMPER))
    speed = steady_speed(cylinder, opening)
    A, B = cylinder.areas
    pushed = (A if opening > 0 else B) * PRESSURE - abs(DAMPER * speed)
    assert abs(speed) == pytest.approx(K * abs(opening) * np.sqrt(pushed / (A**3 + B**3)), rel=FORMULA)


def test_dead_zone_holds_still_and_leaves_full_opening_as_it_is():
    overlapped = replace(CYLINDER, viscous=DAMPER, valve=replace(VALVE, dead_zone=0.1))
    run = simulate(slides(), [0.0], duration=0.1, control=[0.095], drive=drive_of(overlapped))
    assert run.finished
    assert abs(run.q).max() < 1e-15
    assert 0.09 < run.drive_state("slide0.spool")[-1] < 0.1
    plain = replace(CYLINDER, viscous=DAMPER)
    middle = steady_speed(started_at(-0.03, overlapped), 0.1 + 0.9 * 0.2)
    assert middle == pytest.approx(steady_speed(started_at(-0.03, plain), 0.2), rel=FORMULA)


@pytest.mark.laws
def test_end_stops_hold_the_piston():
    cylinder = started_at(0.04, replace(CYLINDER, viscous=DAMPER))
    run = simulate(slides(), [0.0], duration=0.3, control=[0.5], drive=drive_of(cylinder), integrator=DOP853(1e-8))
    beyond = run.q[:, 0] + 0.04 - cylinder.stroke / 2
    held = cylinder.area * PRESSURE / cylinder.stop_stiffness  # full pressure on one side, none on the other
    assert beyond[-1] == pytest.approx(held, rel=1e-2)
    assert beyond.max() < 1e-3
    assert abs(run.v[-1, 0]) < 1e-4
    back = simulate(
        slides(), [0.0], duration=0.2, control=[-0.3], drive=drive_of(cylinder), integrator=DOP853(1e-8)
    )
    assert back.q[-1, 0] < -0.03


@pytest.mark.laws
def test_two_drives_share_the_flow_of_a_pump():
    small = 4 / 60000  # m³/s, less than two open valves take
    cylinder = started_at(-0.045, replace(CYLINDER, viscous=DAMPER))
    supply = {"pump_flow": small, "accumulator": 0.0, "line_volume": 2e-4}
    both = simulate(
        slides(2),
        [0.0, 0.0],
        duration=0.25,
        control=[0.4, 0.4],
        drive=drive_of(cylinder, 2, **supply),
        integrator=DOP853(1e-8),
    )
    alone = simulate(
        slides(2),
        [0.0, 0.0],
        duration=0.25,
        control=[0.4, 0.0],
        drive=drive_of(cylinder, 2, **supply),
        integrator=DOP853(1e-8),
    )
    pressure = both.drive_state("supply.pressure")[-1]
    assert pressure < 0.9 * alone.drive_state("supply.pressure")[-1] < PRESSURE
    assert both.v[-1].sum() * cylinder.area == pytest.approx(small, rel=FORMULA)
    assert both.v[-1, 0] == pytest.approx(both.v[-1, 1], rel=1e-9)
    assert alone.v[-1, 0] > 1.2 * both.v[-1, 0]
    assert alone.v[-1, 1] == pytest.approx(0.0, abs=1e-9)


def test_an_accumulator_follows_the_gas_law():
    supply = HydraulicSupply(PRESSURE, pump_flow=1e-9, accumulator=2e-4, precharge=10e6, line_volume=1e-9)
    cylinder = started_at(-0.045, replace(CYLINDER, viscous=DAMPER))
    drive = replace(drive_of(cylinder), supply=supply)
    run = simulate(slides(), [0.0], duration=0.3, control=[0.3], drive=drive, integrator=DOP853(1e-8))
    pressure = run.drive_state("supply.pressure")
    gas = supply.accumulator * (supply.gas_pressure / pressure) ** (1 / supply.exponent)
    swept = cylinder.area * run.q[:, 0]
    chamber = cylinder.dead_volume + cylinder.area * (cylinder.stroke / 2 - 0.045 + run.q[:, 0])
    squeezed = chamber * (run.drive_state("slide0.pressure_a") - PRESSURE / 2) / cylinder.bulk_modulus
    # Oil that left the accumulator fills the chamber and is squeezed there; the volume changes while it is, 1 %.
    assert gas[-1] - gas[0] == pytest.approx(swept[-1] + squeezed[-1], rel=1e-2)
    step = 1.0
    numerical = -(
        supply.accumulator
        * ((supply.gas_pressure / (15e6 + step)) ** (1 / 1.4) - (supply.gas_pressure / (15e6 - step)) ** (1 / 1.4))
        / (2 * step)
    )
    assert capacity(supply, 15e6) == pytest.approx(numerical + 1e-18, rel=1e-5)
