"""What goes wrong is said within seconds, with the object or piece that is to blame, and nothing is left behind."""

import functools
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import scale_work
import zveno
from zveno.errors import ZvenoError
from zveno.scale import filed, fold, read_filed

TESTS = str(Path(scale_work.__file__).parent)


def test_a_piece_that_cannot_be_sent_is_named():
    with pytest.raises(ZvenoError, match=r"piece 1: entry 'lock' of item 1 \(.*lock.*\) cannot be sent to workers"):
        fold(scale_work.square, [1, (2, {"lock": threading.Lock()})], scale_work.pair_sum, on=1)


def test_answers_that_cannot_be_sent_and_errors_that_cannot_be_unpickled():
    with pytest.raises(ZvenoError, match="piece 0: its answer cannot be sent back"):
        fold(scale_work.unsendable_answer, range(3), scale_work.pair_sum, on=1)
    with pytest.raises(RuntimeError, match="Peculiar: one and 0"):
        fold(scale_work.peculiar_error, range(3), scale_work.pair_sum, on=1)


def test_errors_of_ours_arrive_whole():
    with pytest.raises(zveno.ShapeError, match=r"peg: is round\. Give a square one") as caught:
        fold(scale_work.refused, range(3), scale_work.pair_sum, on=1)
    assert "in piece 0" in caught.value.__notes__


def test_an_executor_that_was_shut_down():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(ZvenoError, match="on: takes no work"):
        fold(scale_work.square, range(3), scale_work.pair_sum, on=pool)


def test_answers_that_a_checkpoint_cannot_keep(tmp_path):
    with pytest.raises(ZvenoError, match=r"run\.json: cannot keep the answers: a set cannot be saved"):
        fold(scale_work.a_set, range(3), set.union, on="here", checkpoint=tmp_path / "run.json")
    assert not list(tmp_path.iterdir())
    (tmp_path / "folder").mkdir()
    with pytest.raises(ZvenoError, match="folder"):
        fold(scale_work.square, range(3), scale_work.pair_sum, on="here", checkpoint=tmp_path / "folder")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 1 MB, where one may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_disk_keeps_what_is_done(small_disk):
    """Three files of 320 kB go onto it, the fourth does not; after some room was made, the run goes on."""
    kept = small_disk / "run.json"
    for on in ("here", 1):
        with pytest.raises(ZvenoError, match=r"00000003\.npy: .*No space left"):
            filed(scale_work.bulky, range(5), small_disk / "map", on=on, checkpoint=kept)
    assert json.loads(kept.read_text())["done"] == 3
    assert sorted(file.name for file in (small_disk / "map").iterdir()) == [f"0000000{k}.npy" for k in range(3)]
    subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
    manifest = filed(scale_work.bulky, range(5), small_disk / "map", on="here", checkpoint=kept)
    assert [array[0] for array in read_filed(manifest)] == list(range(5))


def test_a_full_disk_for_workers_that_write(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
        with pytest.raises(ZvenoError, match=r"00000000\.npy"):
            filed(scale_work.bulky, range(2), tmp_path / "map", on="here")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((tmp_path / "map").iterdir()) == []


def test_a_file_that_went_is_noticed(tmp_path):
    def remove(done, _total):
        if done == 2:
            (tmp_path / "map" / "00000000.npy").unlink()

    with pytest.raises(ZvenoError, match=r"00000000\.npy: was written and is gone"):
        filed(scale_work.square, range(3), tmp_path / "map", on="here", progress=remove)


def started(code, *words):
    """A Python process with the modules of the tests."""
    path = os.pathsep.join([TESTS, *sys.path])
    return subprocess.Popen([sys.executable, "-c", code, *map(str, words)], env={**os.environ, "PYTHONPATH": path})


LONG = """
import functools, scale_work, signal, sys
from zveno.scale import fold
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts jobs with & has it ignored
    work = functools.partial(scale_work.long_piece, sys.argv[1])
    fold(work, range(4), scale_work.pair_sum, on=2, checkpoint=sys.argv[1] + "/run.json")
"""


def workers_of_long_pieces(folder):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if len(list(folder.glob("long-*"))) == 2 and (folder / "run.json").exists():
            break  # the first piece is done, the others sleep
        time.sleep(0.05)
    return [int(mark.name.partition("-")[2]) for mark in folder.glob("long-*")]


def gone(pids, seconds=10.0):
    """Whether processes end within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        alive = [pid for pid in pids if Path(f"/proc/{pid}/cmdline").exists() and _running(pid)]
        if not alive:
            return True
        time.sleep(0.05)
    return False


def _running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize("signals", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_long_pieces_are_not_waited_for_and_no_worker_stays(tmp_path, signals):
    process = started(LONG, tmp_path)
    pids = workers_of_long_pieces(tmp_path)
    assert len(pids) == 2
    process.send_signal(signals)
    assert process.wait(10) != 0
    assert gone(pids)
    if signals is signal.SIGINT:
        assert json.loads((tmp_path / "run.json").read_text())["done"] == 1
        assert not (tmp_path / "run.json.lock").exists()


def test_a_second_task_builds_no_kernel():
    """Each piece brings its own pickle of the robot, as tasks of a cluster do."""
    import pickle

    robot = zveno.load("puma560")
    work = functools.partial(scale_work.kernels_made, robot)
    made = fold(work, [{"number": k} for k in range(4)], scale_work.pair_sum, on=1)
    assert len({pid for pid, _ in made}) == 1
    assert made[0][1] > 0
    assert {count for _, count in made[1:]} == {made[0][1]}
    first, second = (pickle.loads(pickle.dumps(robot)) for _ in range(2))
    assert first.mechanism is second.mechanism
    assert first.mechanism.fingerprint == robot.mechanism.fingerprint
    link, joint = first.mechanism.links[2], first.mechanism.joints[2]
    for shared in (link.inertia, joint.T_parent_joint, joint.limits.lower, first.mechanism.gravity):
        assert not np.asarray(shared).flags.writeable
    before = scale_work.kernels_made(first, {"number": 1})
    assert scale_work.kernels_made(second, {"number": 2}) == before


def test_nothing_of_dask_is_imported_without_need():
    code = (
        "import sys, zveno, zveno.scale\n"
        "assert zveno.scale.fold(int, [1, 2], int.__add__, on='here') == 3\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('dask', 'distributed')])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.strip() == "[]"
