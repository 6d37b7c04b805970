"""Saving and loading results: everything comes back, and nothing else can be smuggled in."""

import dataclasses
import json

import numpy as np
import pytest

from mechanisms import random_mechanism
from zveno.errors import ZvenoError
from zveno.io.results import decode, encode, hash_of, load_result, registered
from zveno.report.result import Result


@registered
@dataclasses.dataclass(frozen=True, eq=False)
class Example(Result):
    value: np.ndarray
    mechanism: object = None
    status: str = "good"
    extra: dict = dataclasses.field(default_factory=dict)

    @property
    def summary(self) -> str:
        return "an example"


def test_round_trip(tmp_path):
    mechanism = random_mechanism(2, drives=True)
    extra = {"a": (1, 2.5, None, True), "b": [float("inf"), float("-inf")], 3: "ж"}
    result = Example(np.array([[1.0, np.nan], [np.inf, 1e-300]]), mechanism, extra=extra)
    back = load_result(result.save(tmp_path / "r.json"))
    assert np.array_equal(back.value, result.value, equal_nan=True)
    assert back.mechanism.fingerprint == mechanism.fingerprint
    assert back.extra == extra
    assert back.status == "good"


@pytest.mark.parametrize(
    "array", [np.arange(3), np.zeros((0, 4)), np.array(True), np.array([1 + 2j]), np.array(["a"])]
)
def test_arrays_keep_shape_and_type(array):
    back = decode(json.loads(json.dumps(encode(array))))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert np.array_equal(back, array)


def test_hash_depends_on_every_input():
    a = hash_of(random_mechanism(1), np.arange(3), "x")
    assert a == hash_of(random_mechanism(1), np.arange(3), "x")
    assert (
        len({a, hash_of(random_mechanism(2), np.arange(3), "x"), hash_of(random_mechanism(1), np.arange(4), "x")})
        == 3
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[]", "not a zveno result"),
        ('{"format": "zveno result", "format_version": 99}', "format version 99"),
        ('{"format": "zveno result", "format_version": 1}', "damaged"),
        ('{"format": "zveno result", "format_version": 1, "content": {"class": "Popen"}}', "unknown type 'Popen'"),
        (
            '{"format": "zveno result", "format_version": 1, "content": {"class": "Link", "nme": "x"}}',
            "'nme'",
        ),
    ],
)
def test_bad_files(tmp_path, text, words):
    path = tmp_path / "r.json"
    path.write_text(text)
    with pytest.raises(ZvenoError, match=f"r.json.*{words}"):
        load_result(path)


def test_missing_and_unwritable(tmp_path):
    with pytest.raises(ZvenoError, match="cannot be read"):
        load_result(tmp_path / "none.json")
    with pytest.raises(ZvenoError, match="cannot be written"):
        Example(np.zeros(1)).save(tmp_path / "no" / "r.json")
    with pytest.raises(ZvenoError, match="cannot be saved"):
        Example(np.zeros(1), mechanism=object()).to_dict()
