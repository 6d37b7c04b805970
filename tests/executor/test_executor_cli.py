"""The processes of `--workers`: they end with the command, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.laws,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are found in /proc"),
]


def children(process):
    try:
        text = Path(f"/proc/{process}/task/{process}/children").read_text()
    except OSError:
        return set()
    return {int(word) for word in text.split()}


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def waited_for(test, seconds=120.0):
    end = time.monotonic() + seconds
    while not test() and time.monotonic() < end:
        time.sleep(0.05)
    return test()


COMMAND = """
import signal, sys
from zveno.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts jobs with & has it ignored
sys.exit(main(["workspace", "puma560", "--cell", "0.01", "--workers", "2"]))
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_command(how):
    command = [sys.executable, "-c", COMMAND]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        try:
            assert waited_for(lambda: len(children(run.pid)) >= 3)  # two workers, and what tracks shared resources
            time.sleep(2.0)
            workers = children(run.pid)
            run.send_signal(how)
            begin = time.monotonic()
            _, said = run.communicate(timeout=60)
            assert time.monotonic() - begin < 30.0
            if how == signal.SIGINT:
                assert run.returncode == 130
                assert "Traceback" not in said
            assert waited_for(lambda: not any(map(is_running, workers)), 30.0)
        finally:
            run.kill()
