"""`make bench`: run the benchmarks, print the table, write out/bench.json."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import platform
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from . import timing
from .timing import Row

PACKAGES = ("numpy", "scipy", "llvmlite", "pin", "mujoco", "casadi")


def available() -> list[str]:
    """Modules of this folder that have something to run."""
    paths = Path(__file__).parent.glob("*.py")
    return sorted(path.stem for path in paths if "\ndef run(" in path.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which of {', '.join(available())}; all by default")
    parser.add_argument("--out", type=Path, default=Path("out/bench.json"))
    parser.add_argument("--least", action="store_true", help="least of repeats: for a machine that does other work")
    options = parser.parse_args()
    if options.least:
        timing.middle = min
    console = Console() if sys.stdout.isatty() else Console(width=130)
    record = {"machine": machine(), "rows": {}}
    for name in options.names or available():
        with console.status(f"measuring {name} …"):
            rows = importlib.import_module(f"benchmarks.{name}").run()
        record["rows"][name] = [row.to_dict() for row in rows]
        console.print(table(name, rows))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(record, indent=1))
    console.print(f"written to {options.out}")
    return 0


def machine() -> dict:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = f"{names[0]} × {len(names)}" if names else cpu
    return {"cpu": cpu, "python": sys.version.split()[0], "system": platform.system(), "versions": versions}


def table(name: str, rows: list[Row]) -> Table:
    shown = Table(title=name, title_justify="left")
    for title in ("what", "zveno", "rival", "its", "ratio", "bar"):
        shown.add_column(title, justify="left" if title in ("what", "rival") else "right")
    for row in rows:
        met = row.bar is None or row.ratio >= row.bar
        shown.add_row(
            row.what,
            quantity(row.ours, row.unit),
            row.rival_name,
            quantity(row.rival, row.unit),
            f"{row.ratio:.3g}×",
            "" if row.bar is None else f"{row.bar:.3g}×" + ("" if met else " missed"),
            style="" if met else "yellow",
        )
    return shown


def quantity(value: float, unit: str) -> str:
    for prefix, scale in (("", 1.0), ("m", 1e-3), ("µ", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value / 1e-9:.3g} n{unit}"


if __name__ == "__main__":
    sys.exit(main())
