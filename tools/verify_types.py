"""How much of the package's public surface has complete types, as somebody who installs it sees it.

`pyright --verifytypes` wants an installed package and finds none where pyright is started beside the sources, so
it is started in an empty directory with the sources on the search path. The score may only rise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

LEAST = 0.98
"""Share of the public names whose type must be known without guessing."""
SOURCES = Path(__file__).resolve().parents[1] / "src"
SHOWN = 10


def completeness(package: str = "zveno") -> dict:
    """What pyright says about a package of the sources; types of its dependencies are not counted."""
    environment = Path(sys.prefix)
    command = [str(environment / "bin" / "pyright"), "--verifytypes", package, "--ignoreexternal", "--outputjson"]
    settings = {"pythonVersion": "3.11", "venvPath": str(environment.parent), "venv": environment.name}
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "pyrightconfig.json").write_text(json.dumps(settings))
        variables = os.environ | {"PYTHONPATH": str(SOURCES)}
        done = subprocess.run(command, cwd=directory, env=variables, capture_output=True, text=True)
    try:
        report = json.loads(done.stdout)["typeCompleteness"]
    except (ValueError, KeyError):
        sys.exit(f"pyright gave no report: {done.stderr.strip() or done.stdout.strip()}")
    if not report["symbols"]:
        sys.exit(f"pyright did not find {package} with a py.typed file in {SOURCES}")
    return report


def main() -> None:
    """Print the score, the modules that lack most and what they lack; fail below the bar."""
    report = completeness()
    score = report["completenessScore"]
    lacking = [
        symbol
        for symbol in report["symbols"]
        if symbol["isExported"] and (symbol["isTypeAmbiguous"] or not symbol["isTypeKnown"])
    ]
    print(f"types: {score:.2%} of the public names complete, {len(lacking)} are not; at least {LEAST:.0%} must be")
    causes = [(symbol, entry) for symbol in lacking for entry in symbol["diagnostics"] if entry.get("file")]
    modules = Counter(os.path.relpath(entry["file"], SOURCES) for _, entry in causes)
    for module, count in modules.most_common(SHOWN):
        print(f"  {count:4}  {module}")
    if score < LEAST:
        for symbol, entry in causes:
            print(f"{symbol['name']}: {' '.join(entry['message'].split())}")
        sys.exit(1)


if __name__ == "__main__":
    main()
