"""Recovery of simulated robots by every kind of measurement and term of calibration, with its stated uncertainty.

A robot is off in everything that a kind can tell (1 mm, 3 mrad), measured with noise, and calibrated. A line of the
table: how many runs, in how many of them what was simulated was found (joint terms by their evidence together,
errors of groups by theirs, other parameters always), which share of the errors is within 3 and 1.96 standard
deviations (99.7 and 95 % of a normal distribution), their root mean square, and how often the true parameters are
inside their joint 95 % region.

`python -m benchmarks.calibration_recovery 200` runs as many robots of each, `… 200 pixels` those whose name has a
word.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import f as fisher

import zveno
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration.models import redundant_model
from zveno.mechanism import Frame, Joint, Limits, Link, Revolute, assemble
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

from .timing import Row

SIZES = {"m": 1e-3, "rad": 3e-3, "rad/Nm": 1e-4}
HYSTERESIS = 3e-4
GROUP_ERROR, GROUP_ROWS = 3e-4, 4
TOOL = transform(exp(np.array([0.3, -0.2, 0.4])), np.array([0.03, 0.05, 0.08]))
LENS = (612.0, 608.0, 322.0, 239.0)
DISTORTION = (-0.11, 0.04, 1e-3, -5e-4)
KNOWN_LENS: dict[str, Any] = {
    "intrinsics": LENS,
    "distortion": DISTORTION,
}
ESTIMATED: dict[str, Any] = {
    "intrinsics": (600.0, 600.0, 320.0, 240.0),
    "distortion": (),
    "unknown_intrinsics": True,
    "unknown_distortion": True,
}
BOARD = (5, 4, 0.04)
PLANES = {"a": (0.0, 0.0, 1.0, -0.1), "b": (0.0, 1.0, 0.2, 0.25), "c": (1.0, 0.1, 0.3, 0.3)}
ARMS: dict[str, Any] = {"frame": "left", "seen_from": "right"}
FIXED: dict[str, Any] = {"model": CalibrationModel(joint_terms=(), strategy="JL"), "prior": None}
"""Estimates without prior: their errors are compared with their standard deviations one by one."""


@dataclass(frozen=True)
class Case:
    """What is simulated.

    Attributes:
        kind: as measured.
        fitted: as calibrated, where something is not told; as measured if None.
        robots: names, used in turns.
        n: postures.
        groups: what postures touch, in turns.
        errors: letters of joint terms that the robot has.
        group_error: standard deviation of errors that four rows share, m.
        loads: under which joints yield.
    """

    kind: calibration.Measurement
    fitted: calibration.Measurement | None = None
    robots: tuple[str, ...] = ("puma560", "ur5")
    n: int = 60
    groups: str = ""
    errors: str = ""
    group_error: float = 0.0
    loads: str = "model"


TWO: dict[str, Any] = {"robots": ("two_arms",), "n": 150}
TOUCH: dict[str, Any] = {"n": 150, "groups": "abcdef"}
CASES = {
    "hysteresis": Case(calibration.RelativePosition(), errors="H"),
    "errors of groups": Case(calibration.RelativePosition(), group_error=GROUP_ERROR, n=100),
    "compliance, masses of the model": Case(calibration.RelativePosition(), errors="C", robots=("panda", "ur5")),
    "compliance, rods": Case(calibration.RelativePosition(), errors="C", robots=("panda", "ur5"), loads="rods"),
    "lines, unknown": Case(calibration.Line(), **TOUCH),
    "ball bar, known length": Case(calibration.BallBar(length=0.42), **TOUCH),
    "ball bar, unknown length": Case(calibration.BallBar(length=0.42), calibration.BallBar(), **TOUCH),
    "planes, unknown": Case(calibration.Plane(group_planes=True), **TOUCH),
    "planes, three of six known": Case(calibration.Plane(planes=PLANES), **TOUCH),
    "self touch, frames coincide": Case(calibration.SelfTouch(**ARMS), **TWO),
    "self touch, unknown points": Case(calibration.SelfTouch(**ARMS, unknown_target=True), groups="abc", **TWO),
    "ball bar between two arms": Case(calibration.BallBar(**ARMS, length=0.3), **TWO),
    "positions seen from a second arm": Case(calibration.RelativePosition(**ARMS, reference="eye"), **TWO),
    "inclinometer, known mount": Case(calibration.Tilt(), n=120),
    "inclinometer, unknown mount": Case(calibration.Tilt(), calibration.Tilt(unknown_mount=True), n=120),
    "pixels, board, eye in hand": Case(calibration.Pixels(grid=BOARD, **KNOWN_LENS)),
    "pixels, board, eye to hand": Case(calibration.Pixels(grid=BOARD, mount="world", **KNOWN_LENS)),
    "pixels, board, eye in hand, lens estimated": Case(
        calibration.Pixels(grid=BOARD, **KNOWN_LENS), calibration.Pixels(grid=BOARD, **ESTIMATED)
    ),
    "pixels, board, eye to hand, lens estimated": Case(
        calibration.Pixels(grid=BOARD, mount="world", **KNOWN_LENS),
        calibration.Pixels(grid=BOARD, mount="world", **ESTIMATED),
    ),
    "pixels, marker, eye in hand": Case(calibration.Pixels(**KNOWN_LENS), n=120),
    "pixels, marker, eye to hand": Case(calibration.Pixels(mount="world", **KNOWN_LENS), n=120),
    "pixels, marker, eye in hand, lens estimated": Case(
        calibration.Pixels(**KNOWN_LENS), calibration.Pixels(**ESTIMATED), n=200
    ),
    "pixels, marker, eye to hand, lens estimated": Case(
        calibration.Pixels(mount="world", **KNOWN_LENS),
        calibration.Pixels(mount="world", **ESTIMATED),
        n=200,
    ),
}


@dataclass
class Recovery:
    """Errors of runs over their standard deviations."""

    runs: int = 0
    found: int = 0
    failed: list[str] = field(default_factory=list)
    z: list[float] = field(default_factory=list)
    inside: int = 0
    """Runs whose true parameters are inside their joint 95 % region."""

    @property
    def within(self) -> Callable[[float], float]:
        """Share of the errors within so many standard deviations."""
        return lambda limit: float(np.mean(np.abs(self.z) < limit))

    @property
    def rms(self) -> float:
        """Root mean square of errors over standard deviations."""
        return float(np.sqrt(np.mean(np.square(self.z))))

    @property
    def text(self) -> str:
        """A line of the table."""
        if not self.z:
            return f"{self.runs} | {self.found} | none found"
        shares = f"{100 * self.within(3.0):.2f} % | {100 * self.within(1.96):.1f} % | {self.rms:.2f}"
        return f"{self.runs} | {self.found} | {shares} | {100 * self.inside / max(self.found, 1):.1f} %"


def recovery(name: str, runs: int, first: int = 0) -> Recovery:
    """Runs of a case, numbered from `first`."""
    case, total = CASES[name], Recovery()
    for seed in range(first, first + runs):
        total.runs += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", zveno.ZvenoWarning)
            robot, data, values = simulated(case, seed)
            options = {} if case.errors or case.group_error else FIXED
            found = robot.calibrate(data, folds=0, progress=False, **options)
        if not _was_found(case, found):
            total.failed.append(f"{seed}: {found.joint_terms} {found.loads}")
            continue
        total.found += 1
        total.failed += [] if found.converged else [f"{seed}: not converged"]
        error, covariance = errors(found, values, case)
        z = np.concatenate([error / np.sqrt(np.diag(covariance)), of_instrument(found, case)])
        total.z += z.tolist()
        free = found.scalar_rows - len(found.names) - len(found.unknown_names)
        distance = error @ np.linalg.solve(covariance, error) / len(error)
        total.inside += bool(distance < fisher.ppf(0.95, len(error), free))
        total.failed += [f"{seed}: {abs(z).max():.1f} σ"] if abs(z).max() > 4.5 else []
    return total


def _was_found(case: Case, found: calibration.Calibration) -> bool:
    """Whether the terms that were simulated are among those that were fitted, and none where there are none."""
    words = {"H": "hysteresis", "C": "compliance"}
    return (
        {words[letter] for letter in case.errors} <= set(found.joint_terms)
        and bool(found.joint_terms) == bool(case.errors)
        and bool(found.group_sigma) == bool(case.group_error)
        and ("C" not in case.errors or found.loads == case.loads)
    )


def simulated(case: Case, seed: int) -> tuple[zveno.Robot, calibration.Dataset, dict[str, float]]:
    """The nominal robot, a campaign of the true one, and its deviations by name."""
    rng = np.random.default_rng([seed, 23])
    nominal = robot_of(case.robots[seed % len(case.robots)], case.loads)
    values = deviations(nominal, case, rng)
    terms = {name: value for name, value in values.items() if name.partition("q")[0] in ("H", "C")}
    true = zveno.calibration.apply_deviations(
        nominal, {k: v for k, v in values.items() if k not in terms}, frames=case.kind.frames
    )
    if case.loads == "rods":
        true = true.with_inertia({link.name: np.zeros(10) for link in true.mechanism.links[1:]})
    q = nominal.random(case.n, rng)
    if isinstance(case.kind, calibration.Pixels):
        q = nominal.random(4000, rng)
        q = q[np.linalg.norm(nominal.forward_kinematics(q)[:, :3, 3] - [0.5, 0.1, 0.4], axis=1).argsort()]
    groups = tuple(case.groups[k % len(case.groups)] for k in range(len(q))) if case.groups else ()
    if case.group_error:
        groups = tuple(f"target {k // GROUP_ROWS}" for k in range(case.n))
    data = calibration.simulate_dataset(true, case.kind, q, groups=groups, joint_errors=terms, rng=rng)
    if len(data) > case.n:
        data = data.only(np.sort(rng.permutation(len(data))[: case.n]))
    if case.group_error:
        shared = case.group_error * rng.normal(size=(case.n // GROUP_ROWS, 1, 3))
        data = replace(data, y=data.y + shared[np.arange(case.n) // GROUP_ROWS])
    return nominal, replace(data, measurement=case.fitted or data.measurement), values


def deviations(robot: zveno.Robot, case: Case, rng: np.random.Generator) -> dict[str, float]:
    """Of all parameters that the kind can tell, and of the joint terms."""
    words = {"H": ("hysteresis",), "C": ("compliance",)}.get(case.errors, ())
    model = redundant_model(robot.mechanism, case.kind.frames, words)
    names = chosen(robot, case.fitted or case.kind)
    out = {name: float(rng.normal() * SIZES[model.term(name).unit]) for name in names if name in model.numbers}
    for term in model.terms:
        if term.kind == "H":
            out[term.name] = float(rng.normal() * HYSTERESIS)
        elif term.kind == "C":
            out[term.name] = abs(float(rng.normal() * SIZES[term.unit]))
    return out


_CHOSEN: dict[tuple[int, int], tuple[str, ...]] = {}


def chosen(robot: zveno.Robot, kind: calibration.Measurement) -> tuple[str, ...]:
    """The irreducible model of a kind."""
    key = id(robot), id(kind)
    if key not in _CHOSEN:
        _CHOSEN[key] = calibration.identifiability(robot, kind).chosen
    return _CHOSEN[key]


def errors(
    found: calibration.Calibration, values: Mapping[str, float], case: Case
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of what a case is about, and their covariance: of joint terms, or of all parameters."""
    error = found.values - stands_for(found, values)
    covariance = found.covariance
    if case.errors:
        of_terms = [k for k, name in enumerate(found.names) if name.partition("q")[0] == case.errors]
        return error[of_terms], covariance[np.ix_(of_terms, of_terms)]
    return error, covariance


def of_instrument(found: calibration.Calibration, case: Case) -> np.ndarray:
    """Errors over standard deviations of the instrument's constants that were estimated."""
    kind = case.kind
    true = {f"{kind.numbers_label}.{number.name}": number.value for number in kind.numbers}
    std = dict(zip(found.unknown_names, found.unknown_std, strict=True))
    return np.array([(found.numbers[name] - true[name]) / std[name] for name in true if name in std])


def stands_for(found: calibration.Calibration, values: Mapping[str, float]) -> np.ndarray:
    """Of true deviations, the combinations that the parameters found stand for."""
    stands = {name: {name: 1.0} for name in found.names}
    for relation in found.identifiability.relations:
        stands |= {name: relation for name in relation if name in found.identifiability.chosen}
    return np.array([sum(w * values.get(other, 0.0) for other, w in stands[name].items()) for name in found.names])


@cache
def robot_of(name: str, loads: str = "model") -> zveno.Robot:
    """A robot with a tool beside its last axis; with masses on the wrong side where joints yield as rods do."""
    if name == "two_arms":
        return two_arms()
    robot = zveno.load(name).with_tool(TOOL)
    if loads == "model":
        return robot
    mirror = np.array([1, -1, -1, -1, 1, 1, 1, 1, 1, 1])
    return robot.with_inertia({link.name: link.inertia * mirror for link in robot.mechanism.links[1:]})


def two_arms() -> zveno.Robot:
    """A torso that turns, with two arms of five joints; frames `left` and `right` beside the last axes."""
    rng = np.random.default_rng(7)
    links, joints, frames = [Link("base"), Link("torso")], [], []
    joints.append(Joint("waist", "base", "torso", Revolute(), transform(None, [0, 0, 0.5]), limits=Limits(-1, 1)))
    for side, sign in (("left", 1.0), ("right", -1.0)):
        before = "torso"
        for k in range(1, 6):
            place = transform(exp(rng.normal(size=3)), [0.1, 0.1 * sign * (k == 1), 0.25 * (k > 1)])
            link = f"{side}_link{k}"
            joints.append(Joint(f"{side}{k}", before, link, Revolute(), place, limits=Limits(-2.5, 2.5)))
            links.append(Link(link))
            before = link
        frames.append(Frame(side, before, TOOL))
    return zveno.Robot(assemble("two_arms", links, joints, frames))


def run(runs: int = 20, names: Sequence[str] = tuple(CASES)) -> list[Row]:
    """Root mean square of errors over standard deviations, beside 1."""
    return [Row(name, recovery(name, runs).rms, 1.0, "1", 1 / 1.15, "1") for name in names]


if __name__ == "__main__":
    runs, words = int(sys.argv[1]), sys.argv[2:]
    print("kind | runs | found | within 3 σ | within 1.96 σ | rms | joint 95 % region")
    for case_name in CASES:
        if all(word in case_name for word in words):
            outcome = recovery(case_name, runs)
            print(f"{case_name} | {outcome.text}", flush=True)
            print("".join(f"    {line}\n" for line in outcome.failed[:6]), end="", file=sys.stderr, flush=True)
