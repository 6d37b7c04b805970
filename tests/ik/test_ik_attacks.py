"""Something is taken away from an answer, and the status falls."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import robot_of
from ik_arms import known_arms

import zveno
from zveno.ik import _rows, scan
from zveno.ik.closed_form import forms
from zveno.ik.redundant import seven_revolute
from zveno.ik.redundant.slices import Sliced
from zveno.ik.solve import solve_ik

POSES = known_arms()["puma"].poses(6, seed=4)[1]


@pytest.mark.parametrize("which", range(3))
def test_a_missing_solution_breaks_the_balance_of_signs(monkeypatch, which):
    robot = robot_of(known_arms()["puma"])
    assert set(solve_ik(robot, POSES).status) == {"complete"}
    solve = forms.ClosedForm.solve

    def lacking(self, problem, T):
        raw = solve(self, problem, T)
        x = np.delete(raw.x, which, axis=1)
        return raw._replace(x=x, count=raw.count - 1)

    monkeypatch.setattr(forms.ClosedForm, "solve", lacking)
    found = solve_ik(robot, POSES, method="closed_form")
    assert set(found.status) == {"undecided"}
    assert "missing" in found.reason(0)


def test_a_candidate_that_does_not_close_is_told(monkeypatch):
    """The closed form itself is in doubt, and without another method the pose is not complete."""
    arm = known_arms()["puma"]
    polish = forms.polish

    def failing(*arguments, **options):
        q, closed = polish(*arguments, **options)
        closed[0] = False
        return q, closed

    monkeypatch.setattr(forms, "polish", failing)
    form = forms.form_of(arm.F.tobytes())
    assert form is not None
    before = np.linalg.inv(arm.F[0]) @ POSES @ np.linalg.inv(arm.tool)
    assert form.solve(before)[2].tolist() == [True] + [False] * 5


def test_a_solution_that_misses_is_dropped_and_told(monkeypatch):
    robot = robot_of(known_arms()["puma"])
    solve = forms.ClosedForm.solve

    def off(self, problem, T):
        raw = solve(self, problem, T)
        raw.x[:, 0] += 0.7
        return raw

    monkeypatch.setattr(forms.ClosedForm, "solve", off)
    monkeypatch.setattr(_rows, "newton", lambda problem, x, targets, tool, iterations: (x, np.ones(len(x))))
    assert set(solve_ik(robot, POSES, method="closed_form").status) == {"undecided"}


def test_a_method_that_finds_nothing_is_contradicted_by_a_solution(monkeypatch):
    """`unreachable` is not said where the nearest configuration is a solution."""
    robot = robot_of(known_arms()["puma"])

    def nothing(self, problem, T):
        return forms.as_raw(np.zeros(0, int), np.zeros((0, 6)), np.ones(len(T), bool))

    monkeypatch.setattr(forms.ClosedForm, "solve", nothing)
    found = solve_ik(robot, POSES, method="closed_form")
    assert set(found.status) == {"undecided"}
    assert (found.count == 1).all()


def test_a_start_less_is_noticed_by_a_scan(monkeypatch):
    """A solution that one start alone has reached leaves the set unstable."""
    robot = robot_of(known_arms()["puma"])
    hits = scan._hits
    monkeypatch.setattr(scan, "_hits", lambda *given: np.where(np.arange(len(given[2])) == 0, 1, hits(*given)))
    found = solve_ik(robot, POSES, method="scan")
    assert found.status[0] == "undecided"


@pytest.mark.parametrize(("slices", "whole"), [(None, "self-motion"), (48, "sampled")])
def test_without_its_slices_a_redundant_arm_is_undecided(monkeypatch, slices, whole):
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(4, 0))
    assert set(solve_ik(robot, T, samples=slices).status) == {whole}

    def no_slices(problem, T, coordinate, values):
        return Sliced(np.zeros(0, int), np.zeros(0, int), np.zeros((0, 7)))

    monkeypatch.setattr(seven_revolute, "solve_slices", no_slices)
    assert set(solve_ik(robot, T, samples=slices).status) == {"undecided"}


def lacking(dropped):
    """`solve_slices` without solutions that `dropped` names, from Sliced and the number of slices."""
    solve = seven_revolute.solve_slices

    def solve_less(problem, T, coordinate, values):
        sliced = solve(problem, T, coordinate, values)
        if len(values) == 1:  # one slice shows lines of coaxial joints; it is not among those of a curve
            return sliced
        kept = ~dropped(sliced, len(values))
        return Sliced(sliced.pose[kept], sliced.slice[kept], sliced.x[kept])

    return solve_less


def middle_slice(sliced, slices):
    return sliced.slice == slices // 2


def one_solution(sliced, slices):
    """The middle one of every pose."""
    dropped = np.zeros(len(sliced.pose), bool)
    for pose in np.unique(sliced.pose):
        rows = np.flatnonzero(sliced.pose == pose)
        dropped[rows[len(rows) // 2]] = True
    return dropped


def test_a_slice_less_takes_nothing_from_the_claim(monkeypatch):
    """What slices find is a sample, and its status says so: with one of them missing it is as true as before."""
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(3, 0))
    whole = solve_ik(robot, T, samples=48)
    monkeypatch.setattr(seven_revolute, "solve_slices", lacking(middle_slice))
    less = solve_ik(robot, T, samples=48)
    assert (less.count < whole.count).any()
    assert set(whole.status) == set(less.status) == {"sampled"}
    assert all("there may be others" in whole.reason(k) for k in range(3))


@pytest.mark.laws(after=3)
@pytest.mark.parametrize("name", ["panda", "iiwa14"])
@pytest.mark.parametrize("dropped", [middle_slice, one_solution])
def test_a_solution_of_a_slice_less_takes_the_claim_of_whole_self_motions(monkeypatch, name, dropped):
    """A curve that comes to a slice and finds nothing there is not followed to its ends, so others may be missing.

    Slices that no curve meets may be left out: the claim and the curves stay. The joint is named, so that no other
    is sliced instead.
    """
    robot = zveno.load(name)
    T = robot.forward_kinematics(robot.random(6, 0))
    whole, taken = solve_ik(robot, T), []

    def noted(sliced, slices):
        rows = dropped(sliced, slices)
        taken.append(int(rows.sum()))
        return rows

    monkeypatch.setattr(seven_revolute, "solve_slices", lacking(noted))
    less = solve_ik(robot, T, redundant_joint=whole.self_motions[0][0].joint)
    assert set(whole.status) == {"self-motion"}
    assert len(taken) == len(T)  # poses are solved one by one
    assert max(taken) > 0
    np.testing.assert_array_equal(less.status, np.where(np.array(taken) > 0, "sampled", "self-motion"))
    for k, n_taken in enumerate(taken):
        if n_taken:
            assert "could not be followed" in less.reason(k)
        else:
            np.testing.assert_array_equal(less.of(k), whole.of(k))
    # An end where following was lost is not said to be at a limit.
    assert any("unknown" in family.ends for self_motions in less.self_motions.values() for family in self_motions)


def test_a_continuum_less_takes_the_claim_away(monkeypatch):
    """Candidates of one elbow branch of an aligned wrist are dropped: what is left is not said to be all."""
    robot = robot_of(known_arms()["puma"])
    T = robot.forward_kinematics(np.array([0.4, -0.7, 0.3, 0.5, 0.0, -0.8]))
    assert solve_ik(robot, T).status == "self-motion"
    solve = forms.ClosedForm.solve

    def off(self, problem, T):
        raw = solve(self, problem, T)
        raw.x[:, 0] += 0.7
        return raw

    monkeypatch.setattr(forms.ClosedForm, "solve", off)
    monkeypatch.setattr(_rows, "newton", lambda problem, x, targets, tool, iterations: (x, np.ones(len(x))))
    assert solve_ik(robot, T).status == "sampled"


def test_solutions_inside_limits_that_a_method_lost_are_not_excluded(monkeypatch):
    """A solver that keeps only what limits exclude is contradicted by what comes nearest inside them."""
    robot = robot_of(known_arms()["puma"])
    T = POSES[0]
    every = solve_ik(robot, T).of()
    limits = (every[0] - 0.1, every[0] + 0.1)
    assert solve_ik(robot, T, limits=limits).status == "complete"
    solve = forms.ClosedForm.solve

    def outside_only(self, problem, T):
        raw = solve(self, problem, T)
        x = raw.x[0][~problem.inside(problem.wrapped(raw.x[0]))]
        return forms.as_raw(np.zeros(len(x), int), x, np.ones(1, bool))

    monkeypatch.setattr(forms.ClosedForm, "solve", outside_only)
    lost = solve_ik(robot, T, limits=limits, method="closed_form")
    assert (lost.status, int(lost.count)) == ("undecided", 1)
