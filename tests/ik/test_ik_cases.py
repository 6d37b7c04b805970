"""Poses that were once answered wrongly, each with the arm it belongs to: nothing false is claimed of them now."""

from __future__ import annotations

import numpy as np
import pytest
from ik_answers import nearest, robot_of
from ik_arms import dh_arm, industrial_arms

import zveno
from tiers import every
from zveno.ik import _nothing_found
from zveno.ik.closed_form import forms
from zveno.ik.solve import solve_ik
from zveno.mechanism import Continuous, Frame, Joint, Limits, Link, Prismatic, Revolute, assemble
from zveno.spatial.transforms import transform

NEGATIVE = ("unreachable", "excluded by limits")
HALF = np.pi / 2


def about_x(twist: float) -> np.ndarray:
    """A turn about x."""
    c, s = np.cos(twist), np.sin(twist)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]])


DROPPED = {
    "skew wrist, candidates that did not close": (
        [0.10170439619956646, -0.07841339040423335, 0, 0, 0, -0.1396261574123644],
        [-np.pi / 3, 0, HALF, HALF, HALF, HALF],
        [0.39818984729121776, 0, -0.42673734524256457, 0.28299351808346807, 0, 0.14953719604482762],
        [
            -2.8268801828401604,
            0.20880511532023685,
            0.3700242783556457,
            2.2770020976532543,
            -3.194510514227979e-07,
            -1.8927072938808371,
        ],
        4,
    ),
    "seven of eight, signs of det J": (
        [0.5813302595830414, 0.42183071808330014, 0.6772624559383666, 0, 0, 0],
        [np.pi / 6, HALF, 0, 1.662680361390276, 1.4181763672064023, 0],
        [0, 0, 0, 0.23083244908352907, -0.23600764103387073, 0],
        [
            0.2509819716581992,
            0.23566707333435805,
            -2.479462313022727,
            -0.5399932055012031,
            2.952059118165001,
            3.723027540423718,
        ],
        8,
    ),
    "spherical wrist 3e-7 from aligned": (
        [0.40964290453899804, 0, 0.4648601722057579, 0, 0, 0.3608380691675965],
        [-HALF, np.pi / 6, 0, -HALF, HALF, 0],
        [-0.3800541439613935, 0, -0.2526668564130967, 0, 0, 0],
        [
            3.0271010078005967,
            -1.458448584341153,
            -3.674957801504971,
            1.0272075161437748,
            -3.0536615367591684e-07,
            3.253859372892865,
        ],
        4,
    ),
}


@pytest.mark.parametrize("case", every(DROPPED))
def test_nothing_is_missing_where_something_was(case):
    a, alpha, d, q, count = DROPPED[case]
    arm = dh_arm("case", a, alpha, d)
    answer = solve_ik(robot_of(arm), arm.forward(np.array(q)))
    assert (answer.status, int(answer.count)) == ("complete", count)
    assert nearest(np.array(q), answer.of()) < 2e-9
    assert sum(np.sign(np.linalg.det(arm.jacobian(x))) for x in answer.of()) == 0


def test_a_continuum_was_called_unreachable():
    arm = dh_arm(
        "case",
        [0, 0.34375135235168847, 0.24501197227912633, 0, 0, -0.44193304428700536],
        [HALF, 0, 0, HALF, -HALF, np.pi / 4],
        [0, 0, 0, 0, -0.42158433634734804, -0.3480413557635582],
    )
    q = [-0.40364179058959554, -0.8113511753529763, -0.7177716712730041]
    q += [-2.2381107911095723, 1.2100188172709347, -3.4162926647290024]
    T = arm.forward(np.array(q))[None]
    answer = solve_ik(robot_of(arm), T)
    assert answer.status[0] == "undecided"
    assert answer.count[0]
    assert np.abs(arm.forward(answer.of(0)) - T).max() < 1e-13


FALSE_FAMILIES = {
    "general": (
        [0.0743, 0.1014, 0.1788, 0.4103, 0.1388, 0.1309],
        [-1.382456, 2.606486, -2.518722, 1.634072, -0.628135, 1.592871],
        [0.206, 0.3184, -0.0586, -0.4474, -0.0957, 0.0697],
        [
            [0.6140808903219256, -0.07587986301447326, 0.7855869821543227, -0.016534770965260168],
            [0.7611554693557053, -0.20624116694088077, -0.614904002693721, 0.36981288371730825],
            [0.2086792074245232, 0.9755546255580814, -0.06889238666866078, 0.5555326380119189],
        ],
    ),
    "spherical wrist": (
        [0.335, 0.181, 0.263, 0.0, 0.0, 0.537],
        [HALF, 0, -HALF, HALF, -HALF, HALF],
        [0.0, 0.499, 0.161, 0.294, 0.0, 0.259],
        [
            [0.9229001801825855, -0.1775457486165136, 0.3416617692501653, -0.14319865632469264],
            [-0.2195027717623605, 0.48642947495755606, 0.845697876952022, -0.28201587853180216],
            [-0.3163444176962705, -0.8554904283746945, 0.4099540661485009, -0.8586207892138231],
        ],
    ),
}


@pytest.mark.parametrize("method", ["auto", "scan"])
@pytest.mark.parametrize("case", every(FALSE_FAMILIES))
def test_eight_isolated_solutions_are_no_family(case, method):
    *table, rows = FALSE_FAMILIES[case]
    answer = solve_ik(robot_of(dh_arm(case, *table)), np.array([*rows, [0, 0, 0, 1]]), method=method)
    assert answer.status in ("complete", "sampled" if method == "scan" else "undecided", "undecided")
    assert int(answer.count) == 8
    assert not answer.self_motions


RAIL = (
    [0, 0.18476428, 0.47159911, 0.08579356, 0.24113088, -0.46623952, -0.36719269, -0.27235925],
    [0, 1.19625, 0.439545, -0.949698, 0.781256, 1.912437, 1.010588, 2.220430],
    [0, -0.35084441, 0.47391358, -0.39016984, 0.20037384, 0.34932289, 0.29431518, 0.0620761],
)
"""Lengths along x, twists about x and lengths along z between the joints of a rail with six joints on it."""


def test_configurations_at_the_ends_of_a_rail_are_not_excluded():
    C = [transform(about_x(twist), [x, 0, z]) for x, twist, z in zip(*RAIL, strict=True)]
    links, joints = [Link(f"l{i}") for i in range(8)], []
    for i in range(7):
        kind, limits = (Revolute(), Limits(-1.5, 1.5)) if i else (Prismatic(), Limits(-3, 3))
        joints.append(Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, C[i], limits=limits))
    robot = zveno.Robot(assemble("rail", links, joints, [Frame("tool", "l7", C[7])]))
    q = [
        [-2.96171169, -0.94660096, 0.88026368, 0.86485745, -0.66983884, -0.39391007, 1.37865433],
        [2.97704519, 0.52736334, 0.21142775, -1.47460643, -0.03594755, 0.27591341, 0.02887305],
        [2.99880982, 1.37795601, -1.22573472, -0.90524737, -0.68080661, -1.30565341, 1.14529248],
    ]
    answer = solve_ik(robot, robot.forward_kinematics(np.array(q)))
    assert not set(answer.status) & set(NEGATIVE)
    assert (answer.count > 0).all()


def test_a_gantry_of_a_hundred_metres_reaches_its_corners():
    """Its first and third slide are parallel, so that positions are continua; its angles are a spherical wrist."""
    twists = [0, HALF, HALF, 0, HALF, -HALF]
    links, joints = [Link(f"l{i}") for i in range(7)], []
    for i, twist in enumerate(twists):
        kind, limits = (Prismatic(), Limits(-50, 50)) if i < 3 else (Continuous(), Limits())
        joints.append(Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, transform(about_x(twist)), limits=limits))
    tool = transform(None, [0.1, 0, 0.1])
    robot = zveno.Robot(assemble("gantry", links, joints, [Frame("tool", "l6", tool)]))
    q = np.array([-49.72324594, 26.92890866, 49.46083715, -0.60021325, 2.79742303, -1.13895118])
    answer = solve_ik(robot, robot.forward_kinematics(q))
    assert answer.status == "undecided"
    assert int(answer.count) > 0


STRETCHED = np.array(
    [
        -2.771544265190442,
        3.141592653167114,
        3.1415931979212317,
        1.5487352475604679,
        3.1428585481994693,
        -0.03042621889813857,
    ]
)


@pytest.mark.laws
def test_a_branch_that_rounding_of_the_angle_before_decides_is_in_doubt():
    """An angle known to 1e-10 turns a lever of 1e-7: the margin that follows is known to 1e-3, and was −4e-4."""
    arm = next(arm for arm in industrial_arms(20, 301) if arm.name == "industrial14")
    T = arm.forward(STRETCHED)
    answer = solve_ik(robot_of(arm), T)
    assert answer.status in ("sampled", "undecided")
    assert len(answer) > 0


def test_what_is_nearly_reached_is_not_unreachable(monkeypatch):
    arm = next(arm for arm in industrial_arms(20, 301) if arm.name == "industrial14")
    T, robot = arm.forward(STRETCHED), robot_of(arm)
    monkeypatch.setattr(
        forms,
        "all_solutions",
        lambda links, X, allowed=None: (np.zeros(0, int), np.zeros((0, 6)), np.ones(len(X), bool), []),
    )
    assert solve_ik(robot, T, method="closed_form").status == "undecided"
    monkeypatch.setattr(_nothing_found, "NEARLY", 0.0)
    monkeypatch.setattr(_nothing_found, "EXACT", 0.0)
    assert solve_ik(robot, T, method="closed_form").status == "unreachable"


OFFSET_WRIST = np.array(
    [
        np.eye(4),
        [[1, 0, 0, 0], [0, 0, -1, 0], [0, 1, 0, 0], [0, 0, 0, 1]],
        [[0, 0, -1, 0], [-1, 0, 0, -0.43309463386706626], [0, 1, 0, 0.0622362991464257], [0, 0, 0, 1]],
        [[1, 0, 0, -0.4010033824045357], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        [[0, 1, 0, 0], [-1, 0, 0, -0.17628854382392734], [0, 0, 1, 0.3914190529271605], [0, 0, 0, 1]],
        [[0, 0, 1, 0], [-1, 0, 0, -0.06906211503263304], [0, -1, 0, 0], [0, 0, 0, 1]],
        [[0, 0, 1, 0], [1, 0, 0, -0.30587188898898576], [0, 1, 0, 0.25238485100558916], [0, 0, 0, 1]],
    ]
)


def test_a_scan_also_starts_where_nothing_is_near():
    """A slide with an offset wrist: the nearest numbers of the grid led to 4 of 8 solutions, each many times."""
    links, joints = [Link(f"l{i}") for i in range(7)], []
    for i in range(6):
        kind, limits = (Prismatic(), Limits(-1, 1)) if i == 2 else (Continuous(), Limits())
        joints.append(Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", kind, OFFSET_WRIST[i], limits=limits))
    robot = zveno.Robot(assemble("offset", links, joints, [Frame("tool", "l6", OFFSET_WRIST[6])]))
    T = [
        [0.06540018980957767, -0.8827724078562375, 0.46522649440952096, -0.37994453823291896],
        [0.22758411481970447, 0.4671325576853558, 0.8543960698833238, -0.21993112780965604],
        [-0.9715597181103192, 0.050000494777938456, 0.23145553496807666, 0.7879343960528973],
        [0, 0, 0, 1],
    ]
    answer = solve_ik(robot, np.array(T))
    assert (answer.status, int(answer.count)) == ("sampled", 8)
