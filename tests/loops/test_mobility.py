"""Mobility: ranks, driven, idle and dependent coordinates, redundant rows, and loops that cannot close."""

from dataclasses import replace

import numpy as np
import pytest
from closed_machines import ankle
from closed_models import at, body, carried, four_bar

import zveno
from zveno import Frame, Joint, Link, Loop, ZvenoError, joints
from zveno.algorithms.loop_rows import loop_rows
from zveno.loops import mobility
from zveno.loops.selection import selection
from zveno.mechanism.edit import fix_joints, rebuilt


def mobility_of(mechanism, **options):
    return mobility(zveno.Robot(mechanism), **options)


def test_four_bar():
    result = mobility_of(four_bar())
    assert (result.status, result.mobility, result.driven) == ("regular", 1, ("crank",))
    assert result.dependent == ("coupler", "rocker")
    assert not result.idle
    assert not result.redundant_rows


@pytest.mark.parametrize(("locked", "redundant"), [("point", 1), ("hinge", 3)])
def test_redundant_rows_are_named(locked, redundant):
    result = mobility_of(four_bar(locked))
    assert (result.status, result.mobility, result.rank) == ("overconstrained", 1, 2)
    assert len(result.redundant_rows) == len(result.constant_rows) == redundant
    assert "loop end–top z" in result.redundant_rows


@pytest.mark.parametrize("tilt", [1e-7, 1e-5, 1e-4])
def test_rounding_does_not_make_a_loop_rigid(tilt):
    """An axis that is off by the rounding of a file leaves the mobility, and the state does not move away."""
    exact, rounded = selection(four_bar("hinge")), selection(four_bar("hinge", tilt=tilt))
    assert mobility_of(four_bar("hinge", tilt=tilt)).mobility == 1
    assert abs(exact.q - rounded.q).max() < 10 * tilt
    assert abs(rounded.left[rounded.rows]).max() < 1e-15
    assert 0 < abs(rounded.left[rounded.checked]).max() < 2 * tilt


def test_a_tilted_axis_locks_the_hinge():
    """Beyond rounding, the same tilt is a mechanism that does not move: the gap must not be infinitely wide."""
    result = mobility_of(four_bar("hinge", tilt=0.2))
    assert result.status in ("not closed", "cannot close") or result.mobility == 0


def test_carried():
    result = mobility_of(carried(four_bar("point")))
    assert (result.mobility, result.driven) == (3, ("yaw", "tilt", "crank"))
    assert len(result.redundant_rows) == 1


def test_surplus_motors():
    result = mobility_of(four_bar(motors=("crank", "rocker")))
    assert (result.mobility, len(result.driven), len(result.surplus_motors)) == (1, 1, 1)


def test_motors_drive_wherever_the_walk_begins():
    """Beside a singular state the columns of passive joints seem dependent; a motor must not take their place."""
    robot = ankle()
    q = zveno.loops.ClosedRobot(robot).random(12, rng=0)
    for start in q:
        found = mobility(robot, q0=start)
        assert (found.driven, found.idle) == (("motor0", "motor1"), ())


def test_no_motors_named():
    result = mobility_of(replace(four_bar(), motors=None))
    assert result.driven == ("crank",)
    assert "names no motors" in result.notes[0]


def test_idle():
    """A rod between two balls spins about its own line."""
    links = [Link(name, body()) for name in ("ground", "lever", "rod")]
    chain = [
        Joint("lever", "ground", "lever", joints.Revolute()),
        Joint("rod", "lever", "rod", joints.Spherical(), at(0.2)),
    ]
    frames = [Frame("end", "rod", at(0.5)), Frame("mate", "ground", at(0.4, 0.3, 0.3))]
    mechanism = zveno.assemble("rod", links, chain, frames, loops=[Loop("end", "mate")], motors=("lever",))
    result = mobility_of(mechanism)
    assert result.mobility == 1
    assert not result.driven, "a lever and a rod of fixed length: the lever cannot move"
    assert len(result.idle) == 1


def test_singular_reference():
    """A parallelogram whose bars lie on one line: two branches cross there."""
    flat = replace(four_bar(a=0.3, b=0.5, c=0.3, d=0.5), reference=np.zeros(3))
    result = mobility_of(flat)
    assert (result.status, result.mobility) == ("singular reference", 1)
    assert "branches meet" in result.reason


def test_a_loop_of_no_effect():
    """Two bodies that are already joined rigidly: nothing changes but redundant rows."""
    mechanism = four_bar()
    frames = [*mechanism.frames, Frame("here", "coupler", at(0.1)), Frame("there", "plate", at(0.1))]
    links = [*mechanism.links, Link("plate")]
    chain = [*mechanism.joints, Joint("plate", "coupler", "plate", joints.Fixed())]
    loops = [*mechanism.loops, Loop("here", "there", "weld")]
    result = mobility_of(rebuilt(mechanism, links=links, joints=chain, frames=frames, loops=loops))
    assert (result.mobility, result.driven) == (1, ("crank",))
    assert len(result.constant_rows) == 6


def test_a_loop_that_cannot_close():
    mechanism = four_bar("point")
    frames = [mechanism.frames[0], Frame("top", "rocker", at(0.4, 0.0, 0.04))]
    result = mobility_of(rebuilt(mechanism, frames=frames))
    assert (result.status, result.mobility) == ("cannot close", None)
    for part in ("loop end–top", "direction z", "0.04 m"):
        assert part in result.reason
    with pytest.raises(ZvenoError, match=r"direction z is off by 0\.04 m"):
        selection(rebuilt(mechanism, frames=frames))


def test_a_loop_that_does_not_reach():
    result = mobility_of(rebuilt(four_bar(c=0.1, a=0.1, b=0.1), reference=None))
    assert result.status == "not closed"
    assert 0.2 / 2**0.5 < result.residual < 0.2 + 1e-6, "the bars miss the base by 0.5 − 0.3 m"


def test_a_loop_cut_elsewhere():
    """The same four-bar cut at the crank's foot instead of the coupler's end has the same coordinates to give."""
    links = [Link(name, body()) for name in ("ground", "rocker", "coupler", "crank")]
    chain = [
        Joint("rocker", "ground", "rocker", joints.Revolute(), at(0.5)),
        Joint("top", "rocker", "coupler", joints.Revolute(), at(0.4)),
        Joint("elbow", "coupler", "crank", joints.Revolute(), at(-0.5)),
    ]
    frames = [Frame("foot", "crank", at(-0.3)), Frame("pivot", "ground")]
    other = zveno.assemble(
        "cut",
        links,
        chain,
        frames,
        loops=[Loop("foot", "pivot", "hinge")],
        motors=("rocker",),
        reference=[1.8, 0, 0],
    )
    assert mobility_of(other).mobility == mobility_of(four_bar("hinge")).mobility
    assert len(mobility_of(other).redundant_rows) == len(mobility_of(four_bar("hinge")).redundant_rows) == 3


def test_selected_rows_hold_along_the_branch():
    chosen = selection(carried(four_bar("point")))
    for q in chosen.states:
        rows = loop_rows(chosen.mechanism, q, np.zeros(chosen.mechanism.n_v))
        assert abs(rows.value).max() < 1e-12
        K = rows.J[np.ix_(chosen.rows, chosen.dependent)]
        assert np.linalg.cond(K) < 100
    assert sorted(row for row, _ in chosen.pivots) == chosen.rows.tolist()
    assert sorted(k for _, k in chosen.pivots) == chosen.dependent.tolist()


# --- what edits do with motors and reference


def test_edits_keep_motors_and_reference():
    mechanism = carried(four_bar())
    locked = fix_joints(mechanism, ["yaw"])
    assert locked.motors == ("tilt", "crank")
    assert locked.reference is not None
    assert locked.reference.shape == (4,)
    assert fix_joints(mechanism, {"crank": 0.3}).reference is None, "the loop is open there"
    assert rebuilt(mechanism, gravity=(0, 0, 0)).motors == mechanism.motors
    free = zveno.Robot(mechanism).with_base("free").mechanism
    assert free.motors == mechanism.motors
    assert free.reference is not None
    assert np.allclose(free.reference[7:], mechanism.reference)
    tree = zveno.Robot(mechanism).opened().mechanism
    assert (tree.loops, tree.reference, tree.motors) == ((), None, None)


def test_motors_are_part_of_the_fingerprint():
    mechanism = four_bar()
    others = [replace(mechanism, motors=None), replace(mechanism, reference=None), four_bar(motors=("rocker",))]
    assert len({m.fingerprint for m in (mechanism, *others)}) == 4
    with pytest.raises(ZvenoError, match="motors"):
        four_bar(motors=("crankshaft",))
    with pytest.raises(ZvenoError, match="reference"):
        rebuilt(mechanism, reference=[np.nan, 0, 0])


def test_saved(tmp_path):
    result = mobility_of(four_bar("point"))
    again = zveno.load_result(result.save(tmp_path / "mobility.json"))
    assert (again.status, again.redundant_rows) == (result.status, result.redundant_rows)
    assert "overconstrained" in str(again)
