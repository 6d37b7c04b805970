"""A Dask cluster on this machine: the same bits, workers that are checked, errors within seconds."""

import functools
import socket
import subprocess
import sys

import pytest

import scale_work
from zveno.errors import ZvenoError
from zveno.scale import cluster, cut, fold

distributed = pytest.importorskip("distributed")

PIECES = cut(60, 4)
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of Dask that end with the loop


@pytest.fixture(scope="module")
def local():
    # Threads of this process stand for workers: a spawned one takes seconds to import everything.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0", protocol="tcp"
    ) as workers:
        yield workers


def test_same_bits_through_client_and_address(local, tmp_path):
    by_hand = fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here")
    with distributed.Client(local, set_as_default=False) as client:
        assert fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=client) == by_hand
        assert client.status == "running"  # it is the user's, and stays open
    file = tmp_path / "run.json"

    def stop(done, _total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", checkpoint=file, progress=stop)
    again = fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=local.scheduler_address, checkpoint=file)
    assert again == by_hand


def test_functions_of_a_script_travel_by_value(local):
    assert fold(lambda piece: piece * 2, range(5), scale_work.pair_sum, on=local.scheduler_address) == 20


def test_errors_of_the_work_come_back(local, tmp_path):
    (tmp_path / "broken").touch()
    with pytest.raises(ValueError, match="five"):
        fold(functools.partial(scale_work.broken, str(tmp_path)), range(8), scale_work.pair_sum,
             on=local.scheduler_address)  # fmt: skip


def test_workers_with_other_sources_are_refused(local, monkeypatch):
    monkeypatch.setattr(cluster, "sources", lambda: "others")
    with pytest.raises(ZvenoError, match=r"2 of 2 workers cannot be used: .* of other sources"):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=local.scheduler_address)


def test_a_worker_without_zveno_says_so():
    """The probe travels by value: it is run here by a Python that finds cloudpickle but not this package."""
    import cloudpickle

    probe = cloudpickle.dumps(cluster._probe())
    code = "import sys, pickle; sys.modules['zveno'] = None; print(pickle.loads(sys.stdin.buffer.read())())"
    said = subprocess.run([sys.executable, "-c", code], input=probe, capture_output=True, check=True, timeout=60)
    assert b"no zveno" in said.stdout


def test_nobody_at_the_address(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ZvenoError, match="no scheduler answers"):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=address)
    with pytest.raises(ZvenoError, match="no scheduler answers"):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="nonsense://x")


def test_a_scheduler_without_workers(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0", protocol="tcp") as empty,
        pytest.raises(ZvenoError, match="no workers for 1 s"),
    ):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on=empty.scheduler_address)


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ZvenoError, match=r"zveno\[cluster\]"):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="tcp://127.0.0.1:1")
