"""A kind of measurement is one file: laws that every kind keeps, and nobody else asks which kind it is."""

import ast
import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import zveno
from zveno.calibration.measurements import KINDS
from zveno.calibration.measurements._fit_problem import residual_kernel
from zveno.io.results import decode, encode
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

SOURCE = Path(zveno.__file__).parent
CLASSES = {cls.__name__ for cls in KINDS.values()}


def places(rng, n):
    return np.array([transform(exp(rng.normal(size=3)), rng.normal(size=3)) for _ in range(n)])


@pytest.mark.laws(after=2)
@pytest.mark.parametrize("name", KINDS)
def test_what_is_read_leaves_no_residual(name):
    kind, rng = KINDS[name], np.random.default_rng(0)
    T, L, R, X = (places(rng, 7) for _ in range(4))
    constants = [number.value for number in kind().numbers]
    c = [np.tile(constants, (7, 1))] if kind.n_numbers else []
    assert len(constants) == kind.n_numbers
    y = kind.reading(L @ T @ R, X, *c)
    assert y.shape == (7, kind.n_data)
    residual, *slopes = residual_kernel(kind)(T, L, R, X, y, *c)
    assert residual == pytest.approx(0.0, abs=1e-9)
    assert residual.shape[1] == kind.noises[-1].rows.stop
    assert all(np.isfinite(slope).all() for slope in slopes)


@pytest.mark.laws(after=4)
@pytest.mark.parametrize("name", KINDS)
def test_kinds_describe_themselves(name):
    kind = KINDS[name]()
    assert set(kind.metric) | set(kind.angular) <= {*kind.columns, *kind.optional_columns}
    assert bool(kind.columns) != kind.implicit
    assert all(noise.typical > 0 and noise.unit in ("m", "rad", "px") for noise in kind.noises)
    settable = [one.name for one in fields(kind) if "read" in one.metadata]
    assert {one.name for one in fields(kind)} - {"sigma", "sigma_q"} == set(settable)
    assert name in zveno.calibration.identifiability(zveno.load("puma560"), name).measurement


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_kept_in_a_saved_result(name):
    kind = KINDS[name](frame="tool", sigma={KINDS[name].noises[0].name: 1e-4}, sigma_q=1e-5)
    again = decode(json.loads(json.dumps(encode(kind))))
    assert type(again) is type(kind)
    assert all(np.array_equal(getattr(again, item.name), getattr(kind, item.name)) for item in fields(kind))


@pytest.mark.laws
def test_nobody_else_branches_on_the_kind():
    """Comparisons of kinds with words or classes belong into the file of the kind."""
    found = []
    for path in sorted((SOURCE / "calibration").rglob("*.py")):
        if "kinds" not in path.parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
                    asked = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
                    found += [f"{path.name}:{node.lineno}"] * bool(asked & CLASSES)
                if isinstance(node, ast.Compare):
                    text = ast.unparse(node)
                    constants = {c.value for c in ast.walk(node) if isinstance(c, ast.Constant)}
                    by_name = "kind" in text and constants & set(KINDS)
                    by_size = ".n_data" in text and constants
                    found += [f"{path.name}:{node.lineno}"] * bool(by_name or by_size)
    assert found == []
