"""Base parameters: time against the number of joints, against a sampled regressor, and the base regressor."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pinocchio as pin
from reproduction.base_parameters import PUMA

import zveno
from zveno.base_parameters import BaseModel
from zveno.base_parameters.analyse import base_parameters
from zveno.base_parameters.regressor import base_kernel
from zveno.documents.base_parameters import BasisModel, coordinate_matrix, echelon_columns
from zveno.mechanism import Joint, Link, Mechanism, Revolute, assemble
from zveno.spatial.rotations import elementary
from zveno.spatial.transforms import transform

from .models import Pair
from .timing import Row, interleaved

LENGTHS = (3, 10, 30, 100, 300, 1000)
PICTURE = Path("out/base_parameters_scaling.png")
"""A copy of a run on a quiet machine is in docs/pictures."""


def run() -> list[Row]:
    warnings.simplefilter("ignore", zveno.ZvenoWarning)
    zveno.set_threads(1)
    puma = zveno.load("puma560")
    rows = _small(puma)
    rows += _growth()
    rows += _dynamics(puma)
    rows += _sampled(Pair("ur5_robot.urdf"), "UR5")
    rows += _sampled(Pair("talos_reduced.urdf"), "TALOS")
    rows += _regressor(Pair("ur5_robot.urdf"))
    rows += _figaroh()
    zveno.set_threads(None)
    return rows


def _small(puma) -> list[Row]:
    """Against the document's own procedure, Z in full, in NumPy."""

    def in_full():
        return echelon_columns(coordinate_matrix(PUMA, (0.0, 0.0, -9.81)).effective)

    times = interleaved(
        {
            "float": lambda: base_parameters(puma, exact=False),
            "exact": lambda: base_parameters(puma),
            "document": in_full,
        },
        repeats=7,
    )
    rival = "document 000's procedure, Z in full"
    return [
        Row("PUMA 560: base parameters, floating point", times["float"], times["document"], rival),
        Row("PUMA 560: base parameters, exact", times["exact"], times["document"], rival),
    ]


def right_angled(n: int) -> Mechanism:
    """A chain of n revolute joints at right angles or parallel."""
    links = [Link("link0")] + [Link(f"link{k}", np.ones(10)) for k in range(1, n + 1)]
    joints = []
    for k in range(1, n + 1):
        R = elementary("x", (0.5 * np.pi, -0.5 * np.pi, 0.0)[k % 3])
        T = transform(R, np.array([0.3, 0.0, 0.1 * (k % 2)]))
        joints.append(Joint(f"joint{k}", f"link{k - 1}", f"link{k}", Revolute(), T))
    return assemble(f"chain of {n}", links, joints)


def _growth() -> list[Row]:
    """One more joint costs the same in a chain ten times as long: the ratio is 1 where the effort is O(N)."""
    rows, curves = [], {}
    for name, exact in (("floating point", False), ("exact", None)):
        calls = {str(n): partial(base_parameters, right_angled(n), exact=exact) for n in LENGTHS}
        times = interleaved(calls, repeats=5)
        curves[name] = [times[str(n)] for n in LENGTHS]
        rows.append(Row(f"one joint of 300, {name}", times["300"] / 300, times["30"] / 30, "one joint of 30"))
    _draw(curves)
    return rows


def _draw(curves: dict[str, list[float]]):
    """The picture of the documentation: time over joints, both logarithmic, with the slope of O(N)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.subplots()
    for marker, (name, times) in zip("os", curves.items(), strict=True):
        axes.loglog(LENGTHS, np.array(times) * 1e3, marker + "-", label=name)
    first = min(times[-1] / LENGTHS[-1] for times in curves.values()) * 1e3
    axes.loglog(LENGTHS, 0.5 * first * np.array(LENGTHS), "k:", label="proportional to N")
    axes.set_xticks(LENGTHS, [str(n) for n in LENGTHS])
    axes.minorticks_off()
    axes.set(xlabel="revolute joints of a chain", ylabel="base parameters, ms of CPU time")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURE, dpi=110)


def _dynamics(puma) -> list[Row]:
    """Torques from base parameters by recursion, against document 000's basis functions and all parameters."""
    bare = tuple(replace(joint, drive=None) for joint in puma.mechanism.joints)
    model = BaseModel(zveno.Robot(replace(puma.mechanism, joints=bare, transmission=None)))
    table = [type(row)(row.sigma, row.theta, row.alpha, row.a / 1000, row.d / 1000) for row in PUMA]
    n = 1024
    q, v, a = np.random.default_rng(0).normal(size=(3, n, 6))
    out = np.empty((n, 6))
    calls = {"ours": lambda: model.inverse_dynamics(q, v, a, out=out)}
    shown = {}
    for basis in ("squares", "doubles"):
        chain = BasisModel(table, (0.0, 0.0, -9.81), basis)
        z = chain.coefficients(np.random.default_rng(1).normal(size=60))
        calls[basis] = partial(chain.inverse_dynamics, q, v, a, z, out=out)
        shown[basis] = (
            f"sum over {len(chain.rows)} basis functions ({basis}), {_count(chain.operations)} operations"
        )
    times = interleaved(calls, n)
    what = f"PUMA 560: torques in base parameters, {_count(model.operations)} operations"
    return [Row(what, times["ours"], times[basis], shown[basis]) for basis in shown]


def _count(operations) -> int:
    return operations.multiplies + operations.adds


def _sampled(pair: Pair, name: str) -> list[Row]:
    """What tools do otherwise: Pinocchio's regressor at random states and singular values."""
    model, data = pair.model, pair.model.createData()
    n = 20 * (model.njoints - 1) // model.nv + 30
    states = list(zip(*(x[:n] for x in pair.pin_states), strict=True))

    def by_samples():
        W = np.concatenate([pin.computeJointTorqueRegressor(model, data, *state).copy() for state in states])
        R = np.linalg.qr(W, mode="r")
        return np.linalg.svd(R, compute_uv=False)

    mechanism = pair.robot.mechanism
    times = interleaved({"ours": lambda: base_parameters(mechanism, exact=False), "sampled": by_samples}, repeats=9)
    return [
        Row(f"{name}: base parameters", times["ours"], times["sampled"], "sampled regressor and SVD (rank only)")
    ]


NONE = float("nan")
FIGAROH_SAMPLES = 1000
"""Fewer than its own planner takes: 100 waypoints over 50 s at 100 Hz."""
SYMBOLIC = "OpenSYMORO and SymPyBotics are not on PyPI (reported elsewhere: 300 ms, 15 s)"


def _figaroh() -> list[Row]:
    """figaroh's base parameters with their expressions, from its regressor at random states."""
    rows = [Row("six-joint arm: base parameters", NONE, NONE, SYMBOLIC)]
    files = {"UR5": "ur5_robot.urdf", "TX40": None, "TALOS": "talos_reduced.urdf"}
    try:
        from figaroh.identification.parameter import get_standard_parameters
        from figaroh.tools.qrdecomposition import get_baseParams
        from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced, get_index_eliminate
    except ImportError:
        return rows + [Row(f"{name}: base parameters", NONE, NONE, "figaroh is not installed") for name in files]
    for name, file in files.items():
        mechanism, robot = _both(file)
        nq, nv = robot.model.nq, robot.model.nv
        rng = np.random.default_rng(0)
        q, v, a = (rng.uniform(-1.0, 1.0, (FIGAROH_SAMPLES, n)) for n in (nq, nv, nv))
        found = {}

        def theirs(robot=robot, q=q, v=v, a=a, found=found):
            W = build_regressor_basic(robot, q, v, a, {"act_idxv": list(range(robot.model.nv))})
            standard = get_standard_parameters(robot.model, {})
            unused, left = get_index_eliminate(W, standard, tol_e=1e-6)
            _, names, _ = get_baseParams(build_regressor_reduced(W, unused), left, standard)
            found["rank"] = len(names)

        def ours(mechanism=mechanism, found=found):
            base = base_parameters(mechanism, exact=False, massless=())
            found["ours"] = len(base.expressions)

        times = interleaved({"ours": ours, "theirs": theirs}, repeats=3)
        what = f"{name}: {found['ours']} base parameters with expressions"
        rows.append(Row(what, times["ours"], times["theirs"], f"figaroh, {found['rank']} parameters", 50.0))
    return rows


def _both(file: str | None):
    """A mechanism here, and what figaroh calls a robot."""
    from types import SimpleNamespace

    if file is not None:
        pair = Pair(file)
        return pair.robot.mechanism, SimpleNamespace(model=pair.model, data=pair.model.createData())
    from zveno.io.write_urdf import to_urdf

    mechanism = zveno.load("tx40").mechanism
    model = pin.buildModelFromXML(to_urdf(mechanism))
    return mechanism, SimpleNamespace(model=model, data=model.createData())


def _regressor(pair: Pair) -> list[Row]:
    model, data = pair.model, pair.model.createData()
    base = base_parameters(pair.robot)
    kernel = base_kernel(base)
    q, v, a = pair.q, pair.v, pair.a
    out = np.empty((pair.n, pair.robot.n_v, base.rank))
    states = list(zip(*pair.pin_states, strict=True))

    def theirs():
        for state in states:
            pin.computeJointTorqueRegressor(model, data, *state)

    times = interleaved({"ours": lambda: kernel(q, v, a, out=out), "theirs": theirs}, pair.n)
    what = f"UR5: regressor, {base.rank} base columns"
    return [Row(what, times["ours"], times["theirs"], "pinocchio's 60 columns in a Python loop", 8.0)]
