"""Readers take a time that grows with the size of the file, whatever is in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from growth import grows_linearly
from zveno.errors import ZvenoError
from zveno.io import load_mechanism
from zveno.io.dh import dh_mechanism
from zveno.io.elementary import elementary_mechanism
from zveno.io.tables import parse_measurements
from zveno.io.urdf import parse_urdf


def urdf(n: int, parent: Callable[[int], int], inner: Callable[[int], str] = lambda k: "") -> str:
    links = "".join(f'<link name="l{k}"/>' for k in range(n + 1))
    joints = "".join(
        f'<joint name="j{k}" type="continuous"><parent link="l{parent(k)}"/><child link="l{k + 1}"/>'
        f"{inner(k)}</joint>"
        for k in range(n)
    )
    return f'<robot name="r">{links}{joints}</robot>'


def follows(n: int) -> Callable[[int], str]:
    return lambda k: f'<mimic joint="j{k + 1}"/>' if k < n - 1 else ""


def xml_file(text: str, tmp_path):
    (tmp_path / "a.xml").write_text(text)
    load_mechanism(tmp_path / "a.xml")


def toml(body: str, _):
    dh_mechanism(f'convention = "standard"\nunit = "m"\nangle = "rad"\n{body}')


def measurements(text: str, _):
    parse_measurements(text, head_needed=False)


CASES: dict[str, tuple[Callable, Callable[[int], str], int]] = {
    "comments that never end": (xml_file, lambda n: "<!--" * n, 25_000),
    "comments": (xml_file, lambda n: "<!-- x -->" * n + "<a/>", 25_000),
    "document types that never end": (xml_file, lambda n: "<!DOCTYPE " * n, 10_000),
    "instructions that never end": (xml_file, lambda n: "<?" * n, 25_000),
    "dotted keys": (toml, lambda n: ".".join(["a"] * n) + " = 1", 25_000),
    "a dotted table": (toml, lambda n: f"[{'.'.join(['a'] * n)}]", 25_000),
    "quoted keys": (toml, lambda n: ".".join(["'a'"] * n) + " = 1", 25_000),
    "keys": (toml, lambda n: "\n".join(f"a.b{k} = 1" for k in range(n)), 5000),
    "rows": (toml, lambda n: "[[joint]]\na = 1\nd = 0\nalpha = 0\n" * n, 300),
    "followers of a joint": (lambda text, _: elementary_mechanism(text), lambda n: "Rz(q)\n" * n, 1250),
    "snapped joints": (
        lambda text, _: elementary_mechanism(text),
        lambda n: "\n".join(f"Rz(q{k} + 1.570796)" for k in range(n)),
        1250,
    ),
    "a chain": (lambda text, _: parse_urdf(text), lambda n: urdf(n, lambda k: k), 500),
    "a star": (lambda text, _: parse_urdf(text), lambda n: urdf(n, lambda k: 0), 500),
    "mimic joints": (lambda text, _: parse_urdf(text), lambda n: urdf(n, lambda k: 0, follows(n)), 500),
    "columns": (measurements, lambda n: ",".join(f"c{k}" for k in range(n)) + "\n" + "1," * n, 25_000),
    "empty columns": (measurements, lambda n: "a,b" + "," * n + "\n1,2", 100_000),
    "empty cells": (measurements, lambda n: "a,b\n1,2" + "," * n, 100_000),
    "blanks in a comment": (measurements, lambda n: "#" + " " * n + "a\nx,y\n1,2", 100_000),
    "words in a comment": (measurements, lambda n: "#" + " a" * n + "\nx,y\n1,2", 100_000),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.attack
@pytest.mark.parametrize("name", CASES)
def test_four_times_the_text_takes_about_four_times_as_long(tmp_path, name):
    read, text, n = CASES[name]

    def task(size: int) -> Callable[[], None]:
        content = text(size)

        def read_it() -> None:
            with suppress(ZvenoError):
                read(content, tmp_path)

        return read_it

    assert grows_linearly(task, n)


@pytest.mark.laws
def test_errors_do_not_compare_or_show_words_without_end():
    def task(n: int) -> Callable[[], None]:
        long = "x" * n

        def fail_twice() -> None:
            with pytest.raises(ZvenoError) as caught:
                toml(f"[[joint]]\n{long} = 1\nalpha = 0\na = 0", None)
            assert len(str(caught.value)) < 10_000
            with pytest.raises(ZvenoError, match="no column") as caught:
                parse_measurements(f"{long[: n // 10]}\n1").numbers("y" * n)
            assert len(str(caught.value)) < 10_000

        return fail_twice

    assert grows_linearly(task, 250_000)
