"""The verb `demo`: one robot from its drawing to code on its controller, every number computed now."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import OUTPUT, Directory, Flag, OutputFlags
from .output import Answer, deliver, protect
from .story import BAD_ROWS, RATE, READY, SECONDS, TORQUE_NOISE, TRACKER, Story

if TYPE_CHECKING:
    from rich.console import Console

FOLDER = Path("out") / "demo"


def demo(
    *,
    folder: Directory = None,
    no_open: Flag = False,
    output: OutputFlags = OUTPUT,
) -> None:
    """The whole story of one robot, from its drawing to its controller, on one page.

    Args:
        folder: where the report and the C code go; out/demo if not given.
        no_open: do not open the report in a browser.
    """
    story = Story(FOLDER if folder is None else folder)
    protect(output, [], [story.page])
    story.folder.mkdir(parents=True, exist_ok=True)
    shown = not no_open and not output.json and output.out is None and _has_desktop()
    deliver(Answer(lambda: told(story), lambda console: tell(console, story, shown)), output)


@dataclass(frozen=True)
class Chapter:
    """A step of the story: what is said, and the same as data."""

    title: str
    words: str
    data: dict[str, Any]


def told(story: Story) -> dict[str, Any]:
    """What came out, by chapter."""
    chapters = [make(story) for make in CHAPTERS]
    return {chapter.title: chapter.data for chapter in chapters}


def tell(console: Console, story: Story, shown: bool) -> None:
    """Print chapter after chapter as they are computed; then the page is opened, if there is a desktop."""
    from rich.text import Text

    console.print("PUMA 560: from its drawing to code on its controller", style="bold")
    console.print("The robot is simulated, so that the truth is known; every number below is computed now.\n")
    for number, make in enumerate(CHAPTERS, start=1):
        with _waiting(number):
            chapter = make(story)
        console.print(f"{number}. {chapter.title}", style="bold")
        console.print(Text(chapter.words), end="\n\n")
    if shown:
        import webbrowser

        webbrowser.open(story.report.resolve().as_uri())


def _waiting(number: int) -> Any:
    """A sign of life on a terminal while a chapter is computed."""
    from contextlib import nullcontext

    from rich.console import Console

    if not sys.stderr.isatty():
        return nullcontext()
    return Console(stderr=True).status(f"step {number} of {len(CHAPTERS)}")


def _has_desktop() -> bool:
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )


def _built(story: Story) -> Chapter:
    place, torque = story.difference
    words = (
        f"The robot as built puts its tool {1e3 * place:.1f} mm (rms) from where its drawing says, and its bodies "
        f"need {torque:.1f} N·m more or less to be held. Nobody knows that yet."
    )
    return Chapter("As drawn and as built", words, {"position_rms_m": place, "torque_rms_Nm": torque})


def _base(story: Story) -> Chapter:
    base = story.base
    return Chapter("What torques can tell", f"{base.summary}.", {"base_parameters": base.rank})


def _motion(story: Story) -> Chapter:
    words = f"{story.motion.summary}."
    return Chapter("Ten seconds worth recording", words, {"over_random": float(story.motion.over_random)})


def _log(story: Story) -> Chapter:
    n = story.log.segments[-1][1]
    words = (
        f"The built robot follows it under its controller: {n} samples at {RATE:g} Hz, torques with {TORQUE_NOISE} "
        f"N·m of noise, {SECONDS:g} s."
    )
    return Chapter("The recording", words, {"samples": n})


def _identified(story: Story) -> Chapter:
    found = story.identified
    data = {"status": found.status, "verdict": found.verdict}
    return Chapter("Identified, as bodies that can exist", found.verdict.split("\n")[0], data)


def _plan(story: Story) -> Chapter:
    data = {"postures": len(story.plan), "over_random": float(story.plan.over_random)}
    return Chapter("Where to measure", f"{story.plan.summary}.", data)


def _calibrated(story: Story) -> Chapter:
    found = story.calibrated
    (before, after), *_ = found.compared
    named = sorted(outlier.row for outlier in found.outliers)
    words = (
        f"A tracker reads {len(story.readings)} positions to {1e3 * TRACKER:g} mm; {len(BAD_ROWS)} rows go wrong. "
        f"Rows named as bad: {', '.join(map(str, named)) or 'none'}. Error in postures not used: "
        f"{1e3 * before.rms:.2f} → {1e3 * after.rms:.3f} mm; against the robot as built, in 500 others: "
        f"{1e3 * story.true_error:.3f} mm."
    )
    data = {"bad_rows": named, "before_m": before.rms, "after_m": after.rms, "true_error_m": story.true_error}
    return Chapter("Calibrated, bad rows named", words, data)


def _solved(story: Story) -> Chapter:
    solutions, proof = story.solutions, story.proof
    words = (
        f"With the calibrated geometry, tool where the drawing has it at {', '.join(f'{x:g}' for x in READY)}°: "
    )
    words += f"{solutions.summary}."
    if proof is None:
        words += " (pip install 'zveno[exact]' proves it.)"
    else:
        words += f" Judged in ball arithmetic: {proof.status}, {proof.reasons[0]}."
    data = {
        "count": int(solutions.count),
        "status": solutions.status,
        "proof": None if proof is None else proof.status,
    }
    return Chapter("All solutions, and the proof", words, data)


def _code(story: Story) -> Chapter:
    words = f"{story.code.summary}: all solutions of inverse kinematics as drawn, identified dynamics."
    if story.checked is None:
        words += " No C compiler was found to try them."
    else:
        angle, torque = (story.checked[name] for name in ("inverse_kinematics", "inverse_dynamics"))
        words += (
            f" Compiled and compared with Python in 100 states each: solutions within {angle:.0e} rad, torques "
            f"within {torque:.0e} N·m."
        )
    data = {"files": [str(file) for file in story.code.files], "off": story.checked}
    return Chapter("Code for the controller", words, data)


def _report(story: Story) -> Chapter:
    size = story.report.stat().st_size
    words = f"Everything on one page that needs no network: {story.report} ({size / 1e6:.1f} MB)."
    return Chapter("The report", words, {"report": str(story.report), "bytes": size})


CHAPTERS: tuple[Callable[[Story], Chapter], ...] = (
    _built,
    _base,
    _motion,
    _log,
    _identified,
    _plan,
    _calibrated,
    _solved,
    _code,
    _report,
)
