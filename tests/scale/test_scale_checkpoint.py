"""Work that goes on: interruptions, other work, full disks, two runs on one file; outputs as files."""

import functools
import json
import resource

import numpy as np
import pytest

import scale_work
import zveno
from zveno.errors import ZvenoError
from zveno.scale import checkpoint as checkpoints
from zveno.scale import cut, filed, fold, read_filed
from zveno.scale.digest import digest_of

PIECES = cut(40, 4)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.json"


def marks(folder):
    return sorted(int(mark.name.split("-")[0]) for mark in folder.glob("*-*"))


def interrupted_after(n):
    def progress(done, _total):
        if done == n:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_run_goes_on_elsewhere_with_the_same_bits(tmp_path, file):
    work = functools.partial(scale_work.counted, str(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        fold(work, range(9), scale_work.pair_sum, on="here", checkpoint=file, progress=interrupted_after(4))
    assert json.loads(file.read_text())["done"] == 4
    before = len(marks(tmp_path))
    got = fold(work, range(9), scale_work.pair_sum, on=1, checkpoint=file)
    assert got == functools.reduce(scale_work.pair_sum, [k * 0.1 for k in range(9)])
    assert set(marks(tmp_path)) == set(range(9))
    assert len(marks(tmp_path)) == before + 5  # what is merged is not computed again
    assert fold(work, range(9), scale_work.pair_sum, on="here", checkpoint=file) == got
    assert len(marks(tmp_path)) == before + 5
    assert [path.name for path in tmp_path.glob("run*")] == ["run.json"]


def test_arrays_are_kept_bit_by_bit(file):
    whole = fold(scale_work.square, range(7), scale_work.pair_sum, on="here")
    with pytest.raises(KeyboardInterrupt):
        fold(
            scale_work.square,
            range(7),
            scale_work.pair_sum,
            on="here",
            checkpoint=file,
            progress=interrupted_after(3),
        )
    again = fold(scale_work.square, range(7), scale_work.pair_sum, on="here", checkpoint=file)
    assert scale_work.hashed(again) == scale_work.hashed(whole)
    assert again.dtype == whole.dtype


def test_a_failed_piece_keeps_what_is_done(tmp_path, file):
    (tmp_path / "broken").touch()
    work = functools.partial(scale_work.broken, str(tmp_path))
    with pytest.raises(ValueError, match="five"):
        fold(work, range(8), scale_work.pair_sum, on="here", checkpoint=file)
    assert json.loads(file.read_text())["done"] == 5
    (tmp_path / "broken").unlink()
    assert fold(work, range(8), scale_work.pair_sum, on="here", checkpoint=file) == pytest.approx(2.8)


@pytest.mark.parametrize(
    ("work", "pieces", "merge"),
    [
        (functools.partial(scale_work.noise, 8), PIECES, scale_work.pair_sum),
        (scale_work.NOISE, cut(40, 5), scale_work.pair_sum),
        (scale_work.NOISE, PIECES, max),
        (scale_work.mixed, PIECES, scale_work.pair_sum),
    ],
    ids=["argument", "pieces", "merge", "function"],
)
def test_checkpoints_of_other_work_are_refused(file, work, pieces, merge):
    fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", checkpoint=file)
    kept = file.read_bytes()
    with pytest.raises(ZvenoError, match="checkpoint of other work"):
        fold(work, pieces, merge, on="here", checkpoint=file)
    assert file.read_bytes() == kept


def test_other_sources_are_other_work(file, monkeypatch):
    fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", checkpoint=file)
    monkeypatch.setattr("zveno.scale.digest.sources", lambda: "another version")
    with pytest.raises(ZvenoError, match="another zveno"):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", checkpoint=file)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"format": "zveno checkpoint"}', '{"format": "zveno result", "digest": ""}'],
)
def test_foreign_files_are_refused_and_stay(file, content):
    file.write_text(content)
    with pytest.raises(ZvenoError, match=r"run\.json"):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", checkpoint=file)
    assert file.read_text() == content


def test_two_runs_on_one_checkpoint(file):
    def second(_done, _total):
        with pytest.raises(ZvenoError, match="in use by another run"):
            fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", checkpoint=file)
        second.asked = True

    fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", checkpoint=file, progress=second)
    assert second.asked


def test_a_full_disk_keeps_the_state_before(file, monkeypatch):
    """A limit on the size of files stands for a disk without room."""
    monkeypatch.setattr(checkpoints, "EVERY", 0.0)
    monkeypatch.setattr(checkpoints, "SHARE", float("inf"))
    pieces = list(range(6))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(done, _total):
        if done == 2:
            resource.setrlimit(resource.RLIMIT_FSIZE, (8, hard))

    try:
        with pytest.raises(ZvenoError, match="2 of 6 pieces are kept"):
            fold(scale_work.square, pieces, scale_work.pair_sum, on="here", checkpoint=file, progress=fill)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert json.loads(file.read_text())["done"] == 2
    got = fold(scale_work.square, pieces, scale_work.pair_sum, on="here", checkpoint=file)
    np.testing.assert_array_equal(got, sum(scale_work.square(k) for k in pieces))


def test_no_folder_for_it(tmp_path):
    with pytest.raises(ZvenoError, match="cannot be written"):
        fold(scale_work.NOISE, PIECES, scale_work.pair_sum, on="here", checkpoint=tmp_path / "no" / "run.json")


def test_large_outputs_are_files_with_a_manifest(tmp_path):
    manifest = filed(scale_work.square, range(5), tmp_path / "map", on=1)
    arrays = list(read_filed(manifest))
    np.testing.assert_array_equal(arrays, [scale_work.square(k) for k in range(5)])
    same = filed(scale_work.square, range(5), tmp_path / "again", on="here")
    assert manifest.read_text() == same.read_text()
    (tmp_path / "map" / "00000003.npy").write_bytes(b"else")
    with pytest.raises(ZvenoError, match="not the file that was written"):
        list(read_filed(manifest))
    with pytest.raises(ZvenoError, match="not a manifest"):
        list(read_filed(_json(tmp_path / "other.json")))


def _json(path):
    path.write_text("{}")
    return path


def test_objects_that_share_a_mechanism_are_told_apart():
    robot = zveno.load("planar2")
    heavier = robot.with_payload(1.0)
    first, second = (digest_of(functools.partial(print, each), [1], print) for each in (robot, heavier))
    assert first != second
    assert first == digest_of(functools.partial(print, zveno.load("planar2")), [1], print)
    solutions = [robot.ik(robot.forward_kinematics(q), task="position") for q in ([0.3, 0.4], [0.5, 0.6])]
    assert len({digest_of(functools.partial(print, each), [1], print) for each in solutions}) == 2
