"""What every verb prints with --json, field by field: the source of `zveno schema`.

A field is (what it is, its JSON type); a name that ends in `?` may be missing. Types are JSON Schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Type = dict[str, Any]
Fields = Mapping[str, tuple[str, Type]]

TEXT: Type = {"type": "string"}
NUMBER: Type = {"type": "number"}
NUMBER_OR_NULL: Type = {"type": ["number", "null"]}
WHOLE: Type = {"type": "integer", "minimum": 0}
TRUTH: Type = {"type": "boolean"}


def many(of: Type, n: int | None = None) -> Type:
    """A list; of exactly n items if given."""
    return {"type": "array", "items": of} | ({} if n is None else {"minItems": n, "maxItems": n})


def by_name(of: Type) -> Type:
    """An object whose keys are names: of joints, links, parameters."""
    return {"type": "object", "additionalProperties": of}


def record(fields: Fields, *, closed: bool = True) -> Type:
    """An object with these fields; a closed one has no others."""
    names = {name.rstrip("?"): {"description": what} | kind for name, (what, kind) in fields.items()}
    required = [name for name in fields if not name.endswith("?")]
    return {"type": "object", "properties": names, "required": required, "additionalProperties": not closed}


def or_null(of: Type) -> Type:
    """The type, or null where there is nothing to say."""
    return {"anyOf": [of, {"type": "null"}]}


TEXTS, NUMBERS, VECTOR = many(TEXT), many(NUMBER), many(NUMBER, 3)
MATRIX = many(NUMBERS)
ROBOT = ("the robot's name", TEXT)
STATUS, SUMMARY = ("one word for the outcome", TEXT), ("a sentence for people", TEXT)
NOTES = ("what deserves a second look", TEXTS)
Q_BY_NAME = by_name(NUMBER)
SAVED: Fields = {
    "format": ("name of the format that `zveno.load_result` reads", TEXT),
    "format_version": ("its version", WHOLE),
    "content": ("the whole result in that format", {"type": "object"}),
}
POSE: Fields = {
    "T": ("pose in the world, 4 × 4", many(many(NUMBER, 4), 4)),
    "position": ("x, y, z, m", VECTOR),
    "quaternion_wxyz": ("orientation, w first", many(NUMBER, 4)),
    "rpy": ("roll, pitch, yaw, rad", VECTOR),
}
LIMITS = many(NUMBER_OR_NULL)
JOINT: Fields = {
    "name": ("name", TEXT),
    "kind": ("joint type", TEXT),
    "parent": ("link it stands on", TEXT),
    "child": ("link it carries", TEXT),
    "q": ("where its coordinates stand in q: first, last + 1", or_null(many(WHOLE, 2))),
    "parameters": ("axis and others", {"type": "object"}),
    "lower": ("limits of the coordinates; null: none", LIMITS),
    "upper": ("limits of the coordinates; null: none", LIMITS),
    "velocity": ("rad/s or m/s; null: none", LIMITS),
    "effort": ("N·m or N; null: none", LIMITS),
    "mimic": ("joint, multiplier and offset it follows", or_null({"type": "object"})),
    "drive": ("rotor inertia, gear ratio, friction", or_null({"type": "object"})),
}
SIGMA: Fields = {
    "name": ("parameter", TEXT),
    "unit?": ("m, rad or others", TEXT),
    "expression?": ("in link parameters", TEXT),
    "sigma": ("standard deviation that is predicted; null: not determined", NUMBER_OR_NULL),
    "sigma_before": ("the same without the new data", NUMBER_OR_NULL),
}
IK_POSE: Fields = {
    "status": ("complete, found, unreachable, undecided, …; see the page on inverse kinematics", TEXT),
    "summary": ("why", TEXT),
    "solutions": ("joint values, one row a solution", MATRIX),
    "residual": ("how far each misses the pose", NUMBERS),
    "condition": ("of the Jacobian there; null: singular", many(NUMBER_OR_NULL)),
    "radius?": ("proved: half-width of the box that holds the solution", many(NUMBER_OR_NULL)),
    "unique?": ("proved: whether that box holds one solution only", many(TRUTH)),
}
BRANCH: Fields = {
    "poses": ("how many it reaches", WHOLE),
    "ended": ("pose it ends before; null: none", or_null(WHOLE)),
    "reason": ("why it ends", TEXT),
    "crossings": ("poses at which it crosses a singularity", many(WHOLE)),
}
TALLY: Fields = {
    "solutions": ("of all poses", WHOLE),
    "statuses": ("poses by status", by_name(WHOLE)),
    "numbers": ("poses by number of solutions", by_name(WHOLE)),
    "residual": ("worst error of a solution, the greater of m and rad", NUMBER),
}
ERRORS = by_name(NUMBER_OR_NULL)

FIELDS: dict[str, Fields] = {
    "info": {
        "name": ROBOT,
        "source": ("where its numbers come from", TEXT),
        "n_q": ("coordinates", WHOLE),
        "n_v": ("velocities", WHOLE),
        "n_links": ("links, the fixed one included", WHOLE),
        "joint_counts": ("joints by type", by_name(WHOLE)),
        "mass": ("kg in all", NUMBER),
        "gravity": ("m/s²", VECTOR),
        "default_frame": ("the frame meant where none is named", or_null(TEXT)),
        "links": ("name, mass (kg), whether inertia is given", many({"type": "object"})),
        "joints": ("in the order of coordinates", many(record(JOINT))),
        "frames": ("name and link", many({"type": "object"})),
        "coupled_drives": ("whether drives move several joints", TRUTH),
        "notes": NOTES,
        "links_without_inertia": ("names", TEXTS),
        "impossible_inertias": ("link → why no body can have its inertia", by_name({})),
        "fingerprint": ("hash of the mechanism", TEXT),
    },
    "fk": {
        "robot": ROBOT,
        "frame": ("the frame meant", TEXT),
        "link": ("the link it belongs to", TEXT),
        "q": ("coordinates by name, rad and m", Q_BY_NAME),
        **POSE,
        "links?": ("with --all: poses of all links", by_name(record(POSE))),
    },
    "convert": {
        "robot": ROBOT,
        "file": ("that was written", TEXT),
        "lost": ("what the format cannot hold", TEXTS),
    },
    "dynamics": {
        "robot": ROBOT,
        "given": ('"a" or "tau": which was given; the other was computed', {"enum": ["a", "tau"]}),
        "velocity_names": ("order of all vectors below", TEXTS),
        "units": ("of the coordinates: rad or m", TEXTS),
        "q": ("coordinates by name", Q_BY_NAME),
        "v": ("velocities", NUMBERS),
        "a": ("accelerations", NUMBERS),
        "tau": ("torques and forces, N·m and N", NUMBERS),
        "gravity_torque": ("torques that hold the robot at rest", NUMBERS),
        "bias": ("torques at zero acceleration", NUMBERS),
        "energy": ("kinetic, potential, total, J", by_name(NUMBER)),
        "mass_matrix": ("n_v × n_v", MATRIX),
    },
    "ik": {
        "method?": ("the solver", TEXT),
        "joints": ("order of joint values", TEXTS),
        "poses?": ("one entry a pose", many(record(IK_POSE))),
        "explanation?": ("with --explain: how it was solved", TEXT),
        "status?": ("of a path: continuous or not; with --directory: complete or not", TEXT),
        "summary?": SUMMARY,
        "robot?": ROBOT,
        "frame?": ("with --directory: the frame that was placed", TEXT),
        "manifest?": ("with --directory: list of its files", TEXT),
        **{f"{name}?": field for name, field in TALLY.items()},
        "q?": ("of a path: joint values, one row a pose; null: unsolved", many(many(NUMBER_OR_NULL))),
        "jumps?": ("of a path: poses before which joints jump", many(WHOLE)),
        "unsolved?": ("of a path: poses without solution", many(WHOLE)),
        "singular?": ("of a path: poses at a singularity", many(WHOLE)),
        "branches?": ("of a path: sequences from each solution of the first pose", many(record(BRANCH))),
    },
    "workspace": {
        "robot": ROBOT,
        "frame": ("the frame that was placed", TEXT),
        "method": ("the solver", TEXT),
        "status": STATUS,
        "summary": SUMMARY,
        "lower": ("the first position, m", VECTOR),
        "step": ("distances of positions, m", VECTOR),
        "counts": ("positions along x, y and z", many(WHOLE, 3)),
        "orientations": ("tried at every position", WHOLE),
        "positions": ("all, reached, reached_everywhere, undecided", by_name(WHOLE)),
        "volume": ("of cells whose centre is reached, m³", NUMBER),
        "manifest": ("with --directory: list of its files", or_null(TEXT)),
        "poses": ("how many", WHOLE),
        **TALLY,
        **SAVED,
    },
    "simulate": {
        "robot": ROBOT,
        "status": STATUS,
        "finished": ("whether the duration was reached", TRUTH),
        "summary": SUMMARY,
        "method": ("integrator", TEXT),
        "duration": ("s", NUMBER),
        "samples": ("states kept", WHOLE),
        "steps": ("of the integrator", WHOLE),
        "evaluations": ("of forward dynamics", WHOLE),
        "energy": ("initial, final, work done, error, J; of many runs the largest error", ERRORS),
        "events?": ("of one run: t (s), name, what", many({"type": "object"})),
        "initial_q?": ("of one run: coordinates by name", Q_BY_NAME),
        "final_q?": ("of one run: coordinates by name", Q_BY_NAME),
        "runs?": ("with --runs and --states: how many", WHOLE),
        "walk?": ("with --walk: gait, footholds, percentiles of margin (m) and tilt (rad)", {"type": "object"}),
    },
    "base": {
        **SAVED,
        "table": ("number, name, belongs_to, expression, coefficients", many({"type": "object"})),
        "summary": SUMMARY,
    },
    "identifiability": {
        "robot": ROBOT,
        "measurement": ("what is measured", TEXT),
        "status": STATUS,
        "summary": SUMMARY,
        "rank": ("how many combinations can be found", WHOLE),
        "unknowns": ("frames and points found beside", TEXTS),
        "strategy": ("which of dependent parameters are kept", TEXT),
        "chosen": ("parameters kept", TEXTS),
        "model": ("the irreducible model as a product", TEXT),
        "classes": ("parameter → how it can be found", by_name(TEXT)),
        "relations": ("dependent parameters with their factors", many(by_name(NUMBER))),
        "gap": ("between kept and dropped singular values", NUMBER_OR_NULL),
        "formula": ("the count by formula and what is proved", or_null({"type": "object"})),
        "certified": ("whether the rank is proved", TRUTH),
        "rules?": ("with --rules: whether document 001's rules agree", {"type": "object"}),
    },
    "plan": {
        "robot": ROBOT,
        "measurement": ("what will be measured", TEXT),
        "frame": ("the frame that is measured", TEXT),
        "criterion": ("what was made best", TEXT),
        "status": STATUS,
        "summary": SUMMARY,
        "coordinates": ("order of q", TEXTS),
        "q": ("postures, one a row", MATRIX),
        "groups": ("what each posture touches", TEXTS),
        "places": ("name, position and normal of what is touched", many({"type": "object"})),
        "measured_before": ("postures of --have", WHOLE),
        "parameters": ("predicted accuracy", many(record(SIGMA))),
        "tool_sigma": ("predicted error of the tool: typical and worst, m", ERRORS),
        "values": ("criterion after each stage", ERRORS),
        "efficiency": ("share of the bound that is reached", NUMBER_OR_NULL),
        "over_random": ("criterion against random postures", NUMBER_OR_NULL),
        "candidates": ("postures chosen from", WHOLE),
        "travel": ("length of the tour", NUMBER),
        "notes": NOTES,
        "more?": ("what more postures would bring", {"type": "object"}),
        "trials?": ("with --trials: errors before and after, by kind of reading", {"type": "object"}),
    },
    "calibrate": {
        "robot": ROBOT,
        "status": ("calibrated, worse or not converged", {"enum": ["calibrated", "worse", "not converged"]}),
        "summary": SUMMARY,
        "rows": ("rows of data", WHOLE),
        "parameters": ("name, unit, value (deviation from nominal), std", many({"type": "object"})),
        "errors": ("rms of postures not used, nominal and calibrated", many({"type": "object"})),
        "outliers": ("campaign, row, of: rows that do not belong", many({"type": "object"})),
        "accuracy?": ("with --postures: accuracy in cells of the workspace, m", {"type": "object"}),
        **SAVED,
    },
    "excite": {
        "robot": ROBOT,
        "status": STATUS,
        "summary": SUMMARY,
        "duration": ("of a period, s", NUMBER),
        "basis": ("fourier or spline", TEXT),
        "criterion": ("what was made best", TEXT),
        "joints": ("that move, order of coefficients", TEXTS),
        "held": ("joint → where it stands still", by_name(NUMBER)),
        "coefficients": ("of the basis", MATRIX),
        "log_det": ("of the information matrix", NUMBER),
        "condition": ("of the regressor", NUMBER),
        "over_random": ("against random motions", NUMBER),
        "peaks": ("share of each limit that is used, by joint", by_name(NUMBERS)),
        "parameters": ("predicted accuracy", many(record(SIGMA))),
        "notes": NOTES,
    },
    "identify": {
        "robot": ROBOT,
        "status": STATUS,
        "summary": SUMMARY,
        "logs": ("source, rows, account of what was read", many({"type": "object"})),
        "joints": ("joint → usable, reason, errors, rms, torque_rms", by_name({"type": "object"})),
        "overall": ("relative held-out error of each model", ERRORS),
        "held_out": ("what was held out", TEXT),
        "band": ("Hz up to which torques were fitted", NUMBER),
        "delay": ("s of torques behind positions", NUMBER),
        "velocity_lag": ("s of recorded velocities; null: not used", many(NUMBER_OR_NULL)),
        "parameters": ("name → value, std, and those of least squares", by_name({"type": "object"})),
        "covariance": ("of the values", many(many(NUMBER_OR_NULL))),
        "essential": ("parameters the data decide", TEXTS),
        "not_identified": ("parameters the data do not show", TEXTS),
        "only_prior": ("parameters that come from the prior", TEXTS),
        "repaired": ("bodies of the model that could not exist", {"type": "object"}),
        "left_out": ("parameters that were left out", TEXTS),
        "faults": ("kind, joints, size, text", many({"type": "object"})),
        "notes": NOTES,
    },
    "export": {
        "directory": ("that was written to", TEXT),
        "files": ("names", TEXTS),
        "functions": ("name, operations, nanoseconds (null: not measured)", many({"type": "object"})),
    },
    "studio": {
        "robots": ("names, in the order of the scene", TEXTS),
        "results": ("kinds of the results that are shown", TEXTS),
        "url": ("the link that opens it, with its token; null with --save", or_null(TEXT)),
        "file": ("with --save: the page that was written; else null", or_null(TEXT)),
    },
    "reproduce": {
        "rows": ("document, what, printed, computed, verdict, why", many(by_name(TEXT))),
        "counts": ("rows by verdict", by_name(WHOLE)),
    },
    "robots": {"robots": ("name, joints by type, mass, source, notes", many({"type": "object"}))},
    "cache": {
        "directory": ("where it is", TEXT),
        "entries": ("compiled functions", WHOLE),
        "bytes": ("on disk", WHOLE),
        "limit_bytes": ("that it may take", WHOLE),
        "removed": ("with --clear: how many; else null", or_null(WHOLE)),
    },
    "schema": {},
    "completion": {
        "shell": ("bash, zsh or fish", TEXT),
        "script?": ("what the shell reads", TEXT),
        "file?": ("with --install: the file that was written", TEXT),
    },
    "demo": {},
}
"""By verb. `schema` prints a schema, and `demo` one object a chapter: any fields."""
