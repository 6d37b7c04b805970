"""Entry point: parses arguments, runs a command, and turns errors into one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import functools
import importlib
import io
import itertools
import os
import re
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from .._version import __version__
from ..errors import ZvenoError, ZvenoWarning, visible

_SIGNED_QUANTITY = re.compile(r"-(?:[\d.]+(?:e[-+]?\d+)?\s*[a-z°*/]|pi\b|π)", re.IGNORECASE)
OK, FAILED, BAD_INPUT, INTERRUPTED, CLOSED_PIPE = 0, 1, 2, 130, 141
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of a standard output that takes no more."""

USAGE = """usage: zveno COMMAND ROBOT ...

Robot mechanisms: from a drawing or URDF to all the equations.

ROBOT is one of
  - a built-in name (`zveno robots` lists them)
  - a model file: .urdf, .xml (MJCF or URDF), .toml (Denavit-Hartenberg), .ets
  - elementary transforms as one word: "Rz(q1) Tx(0.3) Rz(q2)"
  - the standard input: -

{verbs}

`zveno COMMAND --help` explains a command. All commands: --json, --out,
--quiet, --verbose, --debug; commands that take a robot: --frame, --tool,
--payload, --gravity, --base, --deg.

Exit codes: 0 success, 1 internal error (--debug shows the traceback),
2 bad input, 3 no result or no usable result, 130 interrupted."""


class Verb(NamedTuple):
    """Module of a command's function, which has the name of the command, and its line in the list of commands."""

    module: str
    line: str


VERBS = {
    "info": Verb("verbs", "Describe a robot: joints and links, limits, masses, frames, drives, notes."),
    "fk": Verb("verbs", "Compute forward kinematics: the pose of a frame at given joint values."),
    "convert": Verb("convert", "Convert a robot to another file format, and report what is lost."),
    "dynamics": Verb("dynamics", "Compute torques or accelerations, mass matrix, gravity, bias and energy."),
    "ik": Verb("ik", "Solve inverse kinematics: all configurations at a pose, within limits."),
    "workspace": Verb("workspace", "Map the workspace: reachable positions, orientations and solutions."),
    "simulate": Verb("simulate", "Simulate the motion of a robot, passive or with a controller."),
    "base": Verb("base", "Find the base inertial parameters, which determine the dynamics."),
    "identifiability": Verb(
        "identifiability", "Find the geometric parameters that a type of measurement can identify."
    ),
    "plan": Verb("plan", "Plan configurations to measure, for the most accurate calibration."),
    "calibrate": Verb("calibrate", "Calibrate the geometry from measurements, and report its accuracy."),
    "axes": Verb("axes", "Find a robot from positions of a target while one joint at a time moves."),
    "excite": Verb("excite", "Plan the motion whose torques determine the dynamic parameters best."),
    "identify": Verb("identify", "Identify inertia, friction and drives from recorded motions and torques."),
    "payload": Verb("payload", "Identify mass, centre of mass and inertia of a payload from recorded torques."),
    "export": Verb("export", "Export functions of a robot as C99 without dependencies, with an example."),
    "studio": Verb("studio", "Show a robot in the browser: its solutions, motions and errors."),
    "robots": Verb("verbs", "List the built-in robots, with the sources of their parameters."),
    "cache": Verb("verbs", "Show the cache of compiled functions: location and size."),
}
"""Commands by name. The lines repeat the docstrings, so that listing needs no imports; a test compares them."""


COMPLETION = "--tyro-print-completion"
"""Completion flag of the parser, followed by the name of a shell."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    own_process = argv is None
    argv = [_not_an_option(word) for word in (sys.argv[1:] if argv is None else argv)]
    if not argv or argv[0] in ("--help", "-h", "help"):
        return _print_text(usage())
    if argv[0] in ("--version", "-V"):
        return _print_text(f"zveno {__version__}")
    if argv[0] not in (*VERBS, COMPLETION):
        return _unknown_verb(argv[0])
    interruption = _Interruption()
    if own_process:
        _open_closed_streams()
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, interruption)
    debug = "--debug" in argv
    with warnings.catch_warnings():
        warnings.simplefilter("always", ZvenoWarning)
        warnings.showwarning = _show_warning
        try:
            if own_process:
                from ..report.console import spell_what_the_terminal_lacks

                spell_what_the_terminal_lacks()
            try:
                _run(argv)
            except Exception:
                if interruption.seen:
                    raise KeyboardInterrupt from None
                raise
        except SystemExit as stop:
            return stop.code if isinstance(stop.code, int) else OK
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return INTERRUPTED
        except ZvenoError as error:
            hint = "" if error.remedy else f". `zveno {argv[0]} --help` explains what is expected"
            return _report(error, f"error: {_one_line(error)}{hint}", BAD_INPUT, debug)
        except OSError as error:
            if isinstance(error, BrokenPipeError) or (error.errno in NO_SPACE and error.filename is None):
                return _end_output(error)
            if error.filename is None:
                return _report_internal(error, debug)
            place = f"{_one_line(error.filename)[:200]}: {_one_line(error.strerror)}"
            return _report(error, f"error: {place}. Check the path and its disk", BAD_INPUT, debug)
        except Exception as error:
            return _report_internal(error, debug)
    return OK


class _Interruption:
    """Handler of Ctrl-C that remembers it: Python drops exceptions in callbacks, and worker processes end too."""

    seen = False

    def __call__(self, number: int, frame: object) -> None:
        """Interrupt the main thread."""
        self.seen = True
        raise KeyboardInterrupt


def _open_closed_streams() -> None:
    """Replace output streams that the caller has closed by the null device."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (as long as the process)


def usage() -> str:
    """Help text with the list of commands."""
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


def _print_text(text: str) -> int:
    try:
        print(text, flush=True)
    except OSError as error:
        return _end_output(error)
    return OK


def _end_output(error: OSError) -> int:
    """Return the exit code where the standard output takes no more: its reader went away, or its disk is full."""
    # The rest of the buffer would fail again when Python flushes it at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return CLOSED_PIPE
    print(f"error: the output cannot be written: {error.strerror}. Free space on its disk", file=sys.stderr)
    return BAD_INPUT


def _unknown_verb(word: str) -> int:
    import difflib

    near = difflib.get_close_matches(word, VERBS, n=1)
    remedy = f"Did you mean {near[0]}?" if near else "`zveno --help` lists the commands"
    print(f"error: there is no command {visible(word)!r}. {remedy}", file=sys.stderr)
    return BAD_INPUT


def _run(argv: list[str]) -> None:
    """Parse the arguments of a command and call it; modules of other commands are not imported."""
    import tyro

    from .surroundings import surrounded

    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)
    _check_repeated(argv)
    with _without_color():
        if argv[0] == COMPLETION:
            verbs = {name: verb_function(name) for name in VERBS}
            tyro.extras.subcommand_cli_from_dict(verbs, prog="zveno", args=argv, config=config)
        else:
            with _usage_in_one_line(argv[0], surrounded(verb_function(argv[0]))) as verb:
                tyro.cli(verb, prog=f"zveno {argv[0]}", args=argv[1:], config=config)


def _check_repeated(argv: Sequence[str]) -> None:
    """Raise an error if an option is given twice: the parser would use the last one."""
    names = [word.partition("=")[0].replace("_", "-") for word in argv if re.match(r"--\w", word)]
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise ZvenoError("is given twice", element=twice[0], remedy="Give every option once, with all its values")


@contextlib.contextmanager
def _usage_in_one_line(name: str, verb: Callable[..., None]) -> Iterator[Callable[..., None]]:
    """The verb, whose wrong usage is told in one line instead of the parser's box."""
    said, stderr = io.StringIO(), sys.stderr

    @functools.wraps(verb)
    def call(*arguments: Any, **options: Any) -> None:
        sys.stderr = stderr
        verb(*arguments, **options)

    sys.stderr = said
    try:
        yield call
    except SystemExit as stop:
        if stop.code not in (None, OK) and sys.stderr is said:
            lines = [line.strip("│|") for line in said.getvalue().splitlines()[1:]]
            # The message stands between the first rules; what follows is help.
            blocks = [list(block) for rule, block in itertools.groupby(lines, _is_rule) if not rule]
            texts = [" ".join(" ".join(block).split()) for block in blocks]
            words = _missing(next((text for text in texts if text), "").rstrip("."))
            raise ZvenoError(
                words or "wrong usage", remedy=_hint(blocks) + f"`zveno {name} --help` lists the options"
            ) from None
        raise
    finally:
        sys.stderr = stderr


def _missing(words: str) -> str:
    """Return the message of the parser; of arguments that are missing it has the names only, without their help."""
    if not words.startswith("Missing from"):
        return words
    names = re.findall(r"(?:: |\(required\) )(--[\w-]+|[A-Z]+)\b", words)
    return f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'} missing" if names else words


def _hint(blocks: Sequence[Sequence[str]]) -> str:
    """Options that the parser proposes instead of an unknown one: "Perhaps you meant --frame; "."""
    proposed = next((block[1:] for block in blocks if block[0].strip() == "Perhaps you meant:"), ())
    matches = (re.match(r" {1,6}(--[\w-]+)", line) for line in proposed)  # their help is indented further
    options = ", ".join(match[1] for match in matches if match)
    return f"Perhaps you meant {options}; " if options else ""


def _is_rule(line: str) -> bool:
    """Return True for a line that the parser draws between parts of its message."""
    return bool(line.strip()) and not line.strip("─╰╯+- ")


@contextlib.contextmanager
def _without_color() -> Iterator[None]:
    """Disable coloured help if NO_COLOR is set, which the parser supports only as a "dumb" terminal."""
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
    """Function of a command."""
    return getattr(importlib.import_module(f".{VERBS[name].module}", __package__), name)


def _not_an_option(word: str) -> str:
    """Replace the minus of values such as `-20deg` and `-pi/2`, so that they are not parsed as options."""
    return f"−{word[1:]}" if _SIGNED_QUANTITY.match(word) else word


def _report(error: BaseException, line: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    print(line, file=sys.stderr)
    return code


def _report_internal(error: BaseException, debug: bool) -> int:
    line = f"error in zveno: {type(error).__name__}: {_one_line(error)} (--debug shows where)"
    return _report(error, line, FAILED, debug)


def _show_warning(message, category, filename, lineno, file=None, line=None):
    name = "warning" if issubclass(category, ZvenoWarning) else category.__name__
    print(f"{name}: {_one_line(message)}", file=sys.stderr)


def _one_line(message) -> str:
    return " ".join(visible(str(message)).split())
