"""Export of robot functions as dependency-free C99, with an example and a README."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .errors import BuildError, unknown_name
from .export_texts import TITLE, Exportable, arrays, common_header, example, plain, readme
from .functions import FUNCTIONS
from .io.files import check_replaceable, write_text
from .io.results import registered
from .kernels.export_c import CSource
from .kernels.export_c import export_c as source_of
from .kernels.once import computed_once
from .kernels.program import Operations, Program, count_operations
from .mechanism.loops import for_trees
from .mechanism.plausibility import warn_without_masses
from .programs import exported_program
from .report.description import Column, Description, Field, Table
from .report.result import Result
from .robot_functions import RobotFunctions

registered(Operations)  # kernels do not depend on results

DEFAULT_FUNCTIONS = ("inverse_dynamics", "gravity_torque", "forward_kinematics", "jacobian", "forward_dynamics")
IN_BASE_PARAMETERS = "base_inverse_dynamics"
INVERSE_KINEMATICS, TRACKER = "inverse_kinematics", "tracker"
EXPORTED = (*FUNCTIONS, IN_BASE_PARAMETERS, INVERSE_KINEMATICS, TRACKER)
"""Names of all functions that can be exported to C."""
COMPILE = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror")


@registered
@dataclass(frozen=True)
class ExportedFunction:
    """One function of an export.

    Attributes:
        name: name of the C function.
        operations: scalar operations per call.
        nanoseconds: measured time per call on this machine, None without a C compiler.
    """

    name: str
    operations: Operations
    nanoseconds: float | None


ExportStatus = Literal["written"]


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Export(Result):
    """Exported C sources.

    Attributes:
        directory, files: paths of the directory and of the files.
        functions: operations and time of each function.
    """

    directory: Path
    files: tuple[Path, ...]
    functions: tuple[ExportedFunction, ...]

    kind = "export"

    @property
    def status(self) -> ExportStatus:
        """Always "written", because a failure raises an error."""
        return "written"

    @property
    def summary(self) -> str:
        """Summary in one sentence."""
        return f"{len(self.functions)} function(s) in {len(self.files)} files written to {self.directory}"

    def describe(self) -> Description:
        """Return the description shown in texts and pages: operations and time of every function."""
        counts = [asdict(function.operations) for function in self.functions]
        times = [function.nanoseconds for function in self.functions]
        functions = [
            {"name": function.name, "operations": count, "nanoseconds": time}
            for function, count, time in zip(self.functions, counts, times, strict=True)
        ]
        heads = ("adds", "multiplies", "divides", "roots", "sincos", "other")
        columns = [Column("function", [function.name for function in self.functions])]
        for head, values in zip(heads, zip(*(count.values() for count in counts), strict=True), strict=False):
            columns.append(Column(head, values))
        columns.append(Column("ns per call", ["not measured" if t is None else t for t in times], "", ".0f"))
        fields = [
            Field("directory", str(self.directory)),
            Field("files", [path.name for path in self.files]),
            Field("functions", functions),
        ]
        return Description("C code", self.summary, "good", fields, [Table("Functions", columns)])


@for_trees
def export_c(
    robot: RobotFunctions,
    functions: Sequence[str] | None = None,
    directory: str | os.PathLike[str] = ".",
    *,
    single: bool = False,
    frame: str | None = None,
    inputs: Sequence[str] = (),
    redundant_joint: str | None = None,
    timed: bool = True,
    overwrite: bool = False,
) -> Export:
    """Do what `Robot.export_c` documents."""
    functions = DEFAULT_FUNCTIONS if functions is None else functions
    if not functions:
        raise BuildError("no functions to export", remedy="Name some of: " + ", ".join(EXPORTED))
    for name in functions:
        if name not in EXPORTED:
            raise unknown_name("function", name, EXPORTED)
    from .ik._tracker.controller import controller_tracker
    from .ik.native.controller import controller_ik

    base = _base_model(robot) if IN_BASE_PARAMETERS in functions else None
    if redundant_joint is not None and INVERSE_KINEMATICS not in functions:
        raise BuildError(f"applies only to {INVERSE_KINEMATICS}", element="redundant_joint", remedy="Export it too")
    ik = controller_ik(robot, frame, single, redundant_joint) if INVERSE_KINEMATICS in functions else None
    tracker = controller_tracker(robot, frame, single) if TRACKER in functions else None
    special = {IN_BASE_PARAMETERS: base, INVERSE_KINEMATICS: ik, TRACKER: tracker}
    programs = [
        _program(robot, name, frame, inputs) if (model := special.get(name)) is None else model.program
        for name in dict.fromkeys(functions)
    ]
    dynamic = [name for name in functions if name in FUNCTIONS and "inertia" in FUNCTIONS[name].depends_on]
    if dynamic:
        warn_without_masses(robot.mechanism, f"{', '.join(dynamic)} in C gives")
    pages = [page for page in (ik, tracker) if page is not None]
    return export_programs(robot, programs, directory, base, pages, single=single, timed=timed, force=overwrite)


def export_programs(
    robot: Exportable,
    programs: Sequence[Program],
    directory: str | os.PathLike[str],
    base: Any = None,
    pages: Sequence[Any] = (),
    *,
    single: bool = False,
    timed: bool = True,
    force: bool = False,
) -> Export:
    """Export traced robot functions as C sources, with an example and a README. `base` is the model in base
    parameters, if exported; `pages` are programs with texts for the README and values with which they are tried."""
    dtype = np.float32 if single else np.float64
    stem = re.sub(r"\W", "_", robot.name, flags=re.ASCII).lower()
    stem = stem if stem and not stem[0].isdigit() else f"robot_{stem}"
    sources = [source_of(program, dtype, f"{stem}_{program.name}") for program in programs]
    place, written = Path(directory), [f"{source.name}.{suffix}" for source in sources for suffix in "hc"]
    # Named after the robot, because another robot's export may be in the same directory.
    example_name, page_name = f"example_{stem}.c", f"README_{stem}.md"
    for name in (*written, f"{stem}.h", f"{stem}_base_parameters.h", example_name, page_name):
        check_replaceable(place / name, force=force)
    _refuse_namesake(place / page_name, robot.name)
    before = _exported_before(place, stem, written)
    files = [path for source in sources for path in source.write(place)]
    given = [next((page.given for page in pages if page.program is program), {}) for program in programs]
    times = [
        _measured(program, source, single, values) if timed else None
        for program, source, values in zip(programs, sources, given, strict=True)
    ]
    exported = tuple(
        ExportedFunction(source.name, _operations(program), time)
        for program, source, time in zip(programs, sources, times, strict=True)
    )
    texts = {
        f"{stem}.h": common_header(stem, [*(source.name for source in sources), *before]),
        example_name: example(robot, stem, programs[0], sources[0], single, given[0]),
        page_name: readme(robot, stem, programs, exported, single, before) + "".join(page.page for page in pages),
    }
    if base is not None:
        texts |= _with_base_parameters(robot, base, stem, texts, single)
    files += [write_text(place / name, text, force=force) for name, text in texts.items()]
    return Export(place, tuple(files), exported)


def _exported_before(place: Path, stem: str, written: Sequence[str]) -> list[str]:
    """Return functions of the same robot from an earlier export here; its header still includes them."""
    names = [f"{stem}_{name}" for name in EXPORTED]
    return [name for name in names if f"{name}.h" not in written and (place / f"{name}.h").is_file()]


def _refuse_namesake(page: Path, name: str) -> None:
    """Raise an error instead of replacing the export of another robot with the same names in C."""
    first = page.read_text("utf-8", "replace").partition("\n")[0] if page.is_file() else ""
    if first.endswith(TITLE) and first != f"# {plain(name)}{TITLE}":
        other = first.removeprefix("# ").removesuffix(TITLE)
        raise BuildError(
            f"the existing export is of another robot, {other}, whose functions have the same names in C",
            file=page,
            remedy="Export into another directory, or give one of the robots another name",
        )


def _operations(program: Program) -> Operations:
    return count_operations(computed_once(program))


def _program(robot: RobotFunctions, name: str, frame: str | None, parameters: Sequence[str]) -> Program:
    options = {"frame": robot.mechanism.frame(frame).name} if "frame" in FUNCTIONS[name].options else {}
    used = [key for key in parameters if key.partition(":")[0] in FUNCTIONS[name].depends_on]
    return exported_program(robot.mechanism, name, used, **options)


def _base_model(robot: RobotFunctions):
    """Return inverse dynamics in base parameters, with rotors if the robot has them, as in `inverse_dynamics`."""
    from .base_parameters.base_model import BaseModel

    return BaseModel(robot)


def _with_base_parameters(robot: Any, base, stem: str, texts: dict[str, str], single: bool) -> dict[str, str]:
    """Return the header with the robot's base parameters, the example that uses them, and the README page."""
    from .base_parameters.base_model import operations_sentence, values_header

    header = f"{stem}_base_parameters.h"
    example_name, page_name = f"example_{stem}.c", f"README_{stem}.md"
    calls = texts[example_name].replace(f'#include "{stem}.h"', f'#include "{stem}.h"\n#include "{header}"')
    calls = re.sub(r"\n[^\n]* values_\[\d+\] = \{0\};", "", calls).replace("values_", f"{stem}_base_parameters")
    counted = f"""
`{stem}_{IN_BASE_PARAMETERS}` takes the {base.base.rank} base parameters as `values`; those of this robot, each with
its meaning, are in `{header}`. {operations_sentence(robot)}
"""
    return {
        header: values_header(base, stem, "float" if single else "double"),
        example_name: calls,
        page_name: texts[page_name] + counted,
    }


def _measured(program: Program, source: CSource, single: bool, given: dict) -> float | None:
    """Measure nanoseconds per call, or return None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    scalar = "float" if single else "double"
    declared, names = arrays(program, source, scalar, given)
    changing = f"{program.inputs[0].name}_[0]" if program.inputs and program.inputs[0].size and not given else None
    step = f"{changing} = ({scalar})(1e-6 * (double)k);" if changing else ""
    calls = int(np.clip(3e7 / max(1, _operations(program).total), 200, 1_000_000))
    text = f"""#include <stdio.h>
#include <time.h>
#include "{source.name}.h"
int main(void)
{{
{declared}
    long k;
    volatile {scalar} kept = 0;
    clock_t start = clock();
    for (k = 0; k < {calls}L; ++k) {{
        {step}
        {source.name}({names});
        kept = {program.outputs[0].name}_[0];
    }}
    (void)kept;
    printf("%.3f\\n", 1e9 * (double)(clock() - start) / CLOCKS_PER_SEC / {calls}.0);
    return 0;
}}
"""
    with tempfile.TemporaryDirectory() as folder:
        source.write(folder)
        (Path(folder) / "time.c").write_text(text)
        command = [compiler, *COMPILE, "time.c", f"{source.name}.c", "-lm", "-o", "time"]
        built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if built.returncode:
            raise BuildError(
                f"the C compiler rejects the exported code: {built.stderr.strip()[:500]}",
                file=source.name,
                remedy="Set CC to another compiler",
            )
        return float(subprocess.run(["./time"], cwd=folder, capture_output=True, text=True, check=True).stdout)
