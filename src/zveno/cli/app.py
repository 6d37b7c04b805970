"""Entry point: parses, runs a verb, and turns what went wrong into one line and an exit code."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .._version import __version__
from ..errors import ZvenoError, ZvenoWarning, visible

_SIGNED_QUANTITY = re.compile(r"-(?:[\d.]+(?:e[-+]?\d+)?\s*[a-z°*/]|pi\b|π)", re.IGNORECASE)
OK, FAILED, BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141

USAGE = """usage: zveno VERB ROBOT ...

Robot mechanisms: from a drawing or URDF to all the equations.

ROBOT is one of
  - a built-in name (`zveno robots` lists them)
  - a model file: .urdf, .xml (MJCF or URDF), .toml (Denavit-Hartenberg), .ets
  - elementary transforms as one word: "Rz(q1) Tx(0.3) Rz(q2)"
  - the standard input: -

{verbs}

`zveno VERB --help` explains a verb. With all verbs: --json, --out, --quiet,
--verbose, --debug; with those that take a robot: --frame, --tool, --payload,
--gravity, --base, --deg.

Exit codes: 0 done, 1 an error in zveno itself (--debug shows where),
2 bad input, 3 nothing found or nothing to be used, 130 interrupted."""


class Verb(NamedTuple):
    """Where the function of a verb is, which is called like it, and its first line for the list of verbs."""

    module: str
    line: str


VERBS = {
    "info": Verb("verbs", "What a robot is: joints and links, limits, masses, frames, drives, remarks."),
    "fk": Verb("verbs", "Forward kinematics: the pose of a frame in the world at given joint values."),
    "convert": Verb("convert", "Write a robot as another kind of file, and say what that cannot hold."),
    "dynamics": Verb(
        "dynamics", "Torques or accelerations of a state, with mass matrix, gravity, bias and energy."
    ),
    "ik": Verb("ik", "Inverse kinematics: all configurations with the tool at a pose, within limits."),
    "workspace": Verb("workspace", "Which positions a robot reaches, in how many orientations and ways."),
    "simulate": Verb("simulate", "The motion of a robot from one state or many: falling, or held by a controller."),
    "base": Verb("base", "The base inertial parameters, which decide the dynamics, in link parameters."),
    "identifiability": Verb(
        "identifiability", "Which geometric parameters a kind of measurement can find, alone or together."
    ),
    "plan": Verb("plan", "Postures to measure in, for the most accurate calibration."),
    "calibrate": Verb("calibrate", "The true geometry from measurements, its accuracy, and what to measure next."),
    "excite": Verb("excite", "A motion whose recorded torques determine the dynamic parameters best."),
    "identify": Verb("identify", "Inertia, friction and drives from recorded positions and torques."),
    "export": Verb("export", "Write a robot's functions as C99 without dependencies, with an example."),
    "studio": Verb("studio", "See a robot in the browser: its solutions, motions and errors."),
    "reproduce": Verb("reproduce", "Recompute what the source documents print: what is equal or wrong, and why."),
    "robots": Verb("verbs", "The built-in robots, with the source of their numbers."),
    "cache": Verb("verbs", "The cache of compiled functions: where it is and how full."),
    "schema": Verb("schema", "The JSON Schema of what a verb prints with --json."),
    "completion": Verb("completion", "A script with which bash, zsh or fish complete verbs, robots and flags."),
    "demo": Verb("demo", "The whole story of one robot, from its drawing to its controller, on one page."),
}
"""A test compares the lines with the docstrings of the functions, which are not imported to list them."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    own_process = argv is None
    argv = [_not_an_option(word) for word in (sys.argv[1:] if argv is None else argv)]
    if not argv or argv[0] in ("--help", "-h", "help"):
        return _said(usage())
    if argv[0] in ("--version", "-V"):
        return _said(f"zveno {__version__}")
    if argv[0] not in VERBS:
        return _unknown_verb(argv[0])
    if own_process:
        from ..report.text.console import spell_what_the_terminal_lacks

        spell_what_the_terminal_lacks()
    debug = "--debug" in argv
    with warnings.catch_warnings():
        warnings.simplefilter("always", ZvenoWarning)
        warnings.showwarning = _show_warning
        try:
            _run(argv)
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else OK
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            # What is left in the buffer would fail again when Python flushes it at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return CLOSED_PIPE
        except ZvenoError as error:
            return _report(error, f"error: {_one_line(error)}", BAD_INPUT, debug)
        except Exception as error:
            problem = f"error in zveno: {type(error).__name__}: {_one_line(error)} (--debug shows where)"
            return _report(error, problem, FAILED, debug)
    return OK


def usage() -> str:
    """The list of verbs and what is common to them."""
    import shutil
    import textwrap

    width, name_width = max(40, shutil.get_terminal_size().columns), max(map(len, VERBS))
    lines = [
        textwrap.fill(
            verb.line, width, initial_indent=f"  {name:<{name_width}}  ", subsequent_indent=" " * (name_width + 4)
        )
        for name, verb in VERBS.items()
    ]
    return USAGE.format(verbs="\n".join(lines))


def _said(text: str) -> int:
    print(text)
    return OK


def _unknown_verb(word: str) -> int:
    import difflib

    near = difflib.get_close_matches(word, VERBS, n=1)
    remedy = f"Did you mean {near[0]}?" if near else "`zveno --help` lists the verbs"
    print(f"error: there is no verb {visible(word)!r}. {remedy}", file=sys.stderr)
    return BAD_INPUT


def _run(argv: list[str]) -> None:
    """Parse the words after the verb and call it; modules of other verbs are left alone."""
    import tyro

    from .surroundings import surrounded

    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)
    with _without_color():
        tyro.cli(surrounded(verb_function(argv[0])), prog=f"zveno {argv[0]}", args=argv[1:], config=config)


@contextlib.contextmanager
def _without_color() -> Iterator[None]:
    """The parser colours its help unless the terminal is "dumb"; NO_COLOR means the same."""
    terminal = os.environ.get("TERM")
    if not os.environ.get("NO_COLOR") or terminal is None:
        yield
        return
    os.environ["TERM"] = "dumb"
    try:
        yield
    finally:
        os.environ["TERM"] = terminal


def verb_function(name: str) -> Callable[..., None]:
    """The function of a verb."""
    return getattr(importlib.import_module(f".{VERBS[name].module}", __package__), name)


def _not_an_option(word: str) -> str:
    """`-20deg` and `-pi/2` are values; with a typographic minus they are not taken for options."""
    return f"−{word[1:]}" if _SIGNED_QUANTITY.match(word) else word


def _report(error: BaseException, line: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    print(line, file=sys.stderr)
    return code


def _show_warning(message, category, filename, lineno, file=None, line=None):
    name = "warning" if issubclass(category, ZvenoWarning) else category.__name__
    print(f"{name}: {_one_line(message)}", file=sys.stderr)


def _one_line(message) -> str:
    return " ".join(visible(str(message)).split())
