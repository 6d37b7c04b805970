"""A process that compiles MJCF for another one, which a crash, an endless loop or full memory then does not hurt.

Run as a script by `zveno.io.mjcf_process`; it imports nothing of zveno. Each line of standard input is a request in
JSON (`path` or `text`, the working directory `cwd`, the file `out` for the compiled model, `cpu` seconds and `size`
bytes allowed); each line of standard output is the answer: `notes`, or `refused` with MuJoCo's words.
"""

from __future__ import annotations

import importlib
import json
import os
import select
from pathlib import Path
from typing import Any

MAX_MEMORY = 4 * 2**30
"""Bytes of address space that compiling may take."""
IDLE_SECONDS = 60.0
"""The process ends when nothing was asked for this long."""
MISSING_FILE = "Error opening file '"

_PLACEHOLDER_VERTICES = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]


def serve() -> None:
    """Answer requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what C code prints must not be taken for an answer
    mujoco: Any = importlib.import_module("mujoco")
    # Without a handler MuJoCo writes MUJOCO_LOG.TXT into the working directory.
    mujoco.set_mju_user_warning(lambda text: None)
    _limit_memory()
    with os.fdopen(os.dup(0), "rb") as requests:
        while _waits(requests) and (line := requests.readline()):
            answer = _answer(mujoco, json.loads(line))
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
            if "last" in answer:
                return


def _waits(requests: Any) -> bool:
    return os.name == "nt" or bool(select.select([requests], [], [], IDLE_SECONDS)[0])


def _answer(mujoco: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        os.chdir(request["cwd"])
        _limit_time(request["cpu"])
        model, notes = compiled(mujoco, request.get("path"), request.get("text"))
        size = mujoco.mj_sizeModel(model)
        if size > request["size"]:
            limit = request["size"] // 2**20
            return {"refused": f"the compiled model has {size // 2**20} MB, and at most {limit} MB are read"}
        mujoco.mj_saveModel(model, request["out"])
        return {"notes": notes}
    except (ValueError, OSError) as error:
        return {"refused": str(error)}
    except Exception as error:
        # MuJoCo was left in the middle of something, mostly for want of memory, and may hang the next time.
        return {"refused": f"it could not allocate memory, or failed otherwise ({error})", "last": True}


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_time(seconds: float) -> None:
    try:
        import resource
    except ImportError:
        return
    usage = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(usage.ru_utime + usage.ru_stime + seconds) + 1, hard))


def compiled(mujoco: Any, path: str | None, text: str | None) -> tuple[Any, list[str]]:
    """(MjModel, notes) of a file or text; asset files that no inertia depends on may be missing."""
    try:
        load = mujoco.MjModel.from_xml_string if path is None else mujoco.MjModel.from_xml_path
        return load(text if path is None else path), []
    except ValueError as error:
        if MISSING_FILE not in str(error) or "Element 'include'" in str(error):
            raise
    spec = mujoco.MjSpec.from_string(text) if path is None else mujoco.MjSpec.from_file(path)
    notes = _replace_assets(mujoco, spec)
    return spec.compile(), notes


def _replace_assets(mujoco: Any, spec: Any) -> list[str]:
    """Puts placeholders for the pictures and shapes that no inertia depends on; a note says which.

    Placeholders instead of deletion: other elements may refer to the assets.
    """
    needed = {geom.meshname for geom in spec.geoms if geom.meshname and _has_mass(mujoco, spec, geom)}
    replaced = []
    for mesh in spec.meshes:
        # A mesh without a name is called by its file's.
        name = mesh.name or Path(mesh.file).stem
        if mesh.file and name not in needed:
            replaced.append(mesh.file)
            mesh.name, mesh.file, mesh.uservert = name, "", _PLACEHOLDER_VERTICES
    for field in spec.hfields:
        if field.file:
            replaced.append(field.file)
            field.name = field.name or Path(field.file).stem
            field.file, field.nrow, field.ncol, field.userdata = "", 2, 2, [0.0] * 4
    for texture in spec.textures:
        files = [file for file in (texture.file, *texture.cubefiles) if file]
        if files:
            replaced.extend(files)
            texture.name = texture.name or Path(files[0]).stem
            texture.file, texture.builtin = "", mujoco.mjtBuiltin.mjBUILTIN_FLAT
            for k in range(len(texture.cubefiles)):
                texture.cubefiles[k] = ""
            flat = texture.type == mujoco.mjtTexture.mjTEXTURE_2D
            texture.width, texture.height = 1, 1 if flat else 6
    shown = ", ".join(replaced[:5]) + (f", … ({len(replaced)} in all)" if len(replaced) > 5 else "")
    return [f"asset files are missing; meshes and pictures were ignored: {shown}"] if replaced else []


def _has_mass(mujoco: Any, spec: Any, geom: Any) -> bool:
    """Whether the inertia of the geom's body is inferred from it."""
    rule, rules = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    if geom.parent.name == "world" or rule == rules.mjINERTIAFROMGEOM_FALSE:
        return False
    if rule == rules.mjINERTIAFROMGEOM_AUTO and geom.parent.explicitinertial:
        return False
    first, last = spec.compiler.inertiagrouprange
    return first <= geom.group <= last and geom.mass != 0 and geom.density != 0


if __name__ == "__main__":
    serve()
