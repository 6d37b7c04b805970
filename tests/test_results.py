"""Results speak for themselves: printed, drawn, saved, and read back by a process that knows nothing of them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import zveno
from every_result import every_result
from test_statuses import words_of
from zveno.io.results import HOMES

WITHOUT_PICTURE = {
    *(
        "Closure",
        "Compensation",
        "ConstrainedMotion",
        "DriveGains",
        "Export",
        "Mobility",
        "Modes",
        "Payload",
        "Proof",
    )
}
WITH_MODEL = {"Calibration", "Identification"}


def all_result_classes() -> set[type]:
    for module in pkgutil.walk_packages(zveno.__path__, "zveno."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def below(cls: type) -> set[type]:
        return {one for child in cls.__subclasses__() for one in {child} | below(child)}

    return {cls for cls in below(zveno.Result) if cls.__module__.startswith("zveno.")}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, zveno.Result]:
    return every_result(tmp_path_factory.mktemp("c"))


@pytest.mark.laws
def test_every_result_of_the_package_is_here_and_has_a_home(results):
    classes = all_result_classes()
    assert {cls.__name__: cls.__module__ for cls in classes} == HOMES
    assert set(results) == set(HOMES)


@pytest.mark.parametrize("name", HOMES)
def test_a_result_prints_itself(name, results):
    result = results[name]
    assert "\n" not in repr(result)
    assert repr(result).startswith(f"<{name}: ")
    assert len(repr(result)) < 120
    assert result.summary
    assert set(np.ravel(result.status)) <= set(words_of(type(result)))
    text = str(result)
    words = getattr(result, "verdict", result.summary).split()[:3]
    assert all(word in text for word in words), "what is printed begins with, or holds, the summary"
    assert "−" not in text, "numbers that are printed can be pasted"
    html = result._repr_html_()
    assert html.startswith("<pre")
    assert words[0] in html


@pytest.mark.laws
@pytest.mark.parametrize("name", HOMES)
def test_a_result_draws_itself(name, results, tmp_path):
    if name in WITHOUT_PICTURE:
        with pytest.raises(zveno.ZvenoError, match="cannot be plotted"):
            results[name].plot()
        return
    figure = results[name].plot()
    assert isinstance(figure, Figure)
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 3000
    own = Figure()
    axes = own.add_subplot()
    assert results[name].plot(axes) is own, "the main panel goes into the axes of the user"
    assert axes.has_data()


@pytest.mark.laws(after=6)
@pytest.mark.parametrize("name", HOMES)
def test_what_save_writes_is_read_back_and_other_suffixes_are_refused(name, results, tmp_path):
    """Tables of one run, .csv and .parquet, are no results to be read back."""
    for suffix in ("", ".json", ".npz", ".JSON", ".txt", ".pkl", ".html", ".yaml"):
        path = tmp_path / f"result{suffix}"
        if suffix in ("", ".json", ".JSON") or (suffix == ".npz" and name == "Trajectory"):
            results[name].save(path)
            assert zveno.load_result(path).to_dict() == results[name].to_dict()
        else:
            with pytest.raises(zveno.ZvenoError, match=r"Use \."):
                results[name].save(path)
            assert not path.exists()


@pytest.mark.laws
def test_every_result_is_read_back_in_a_fresh_process(results, tmp_path):
    for name, result in results.items():
        path = tmp_path / f"{name}.json"
        assert result.save(path) == path
    program = (
        "import sys, pathlib, zveno\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('[A-Z]*.json')):\n"
        "    result = zveno.load_result(path)\n"
        "    again = result.save(path.with_name('again_' + path.name))\n"
        "    same = again.read_bytes() == path.read_bytes()\n"
        "    print(type(result).__name__, same, len(str(result)) > 10, sep='|')\n"
    )
    run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == sorted(f"{name}|True|True" for name in HOMES)
    printed = {name: str(zveno.load_result(tmp_path / f"{name}.json")) for name in results}
    assert printed == {name: str(result) for name, result in results.items()}


def test_a_trajectory_comes_back_from_npz(results, tmp_path):
    run = zveno.load_result(results["Trajectory"].save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(run.q, results["Trajectory"].q)


@pytest.mark.parametrize("name", HOMES)
def test_only_results_with_a_model_write_one(name, results, tmp_path):
    assert hasattr(results[name], "write") == (name in WITH_MODEL)
    if name in WITH_MODEL:
        assert zveno.load(results[name].write(tmp_path / "model.urdf")).n_q


def test_the_classes_are_frozen_and_described():
    for cls in all_result_classes():
        assert cls.__dataclass_params__.frozen
        documented = (inspect.getdoc(cls) or "") + (inspect.getdoc(zveno.Result) or "")
        for field in dataclasses.fields(cls):
            assert field.name in documented, f"{cls.__name__}.{field.name} is not described"


def test_a_class_that_is_no_result_is_refused(tmp_path):
    file = tmp_path / "bad.json"
    file.write_text('{"format": "zveno result", "format_version": 1, "content": {"class": "Popen", "args": "x"}}')
    with pytest.raises(zveno.errors.ModelError, match="unknown type 'Popen'"):
        zveno.load_result(file)
