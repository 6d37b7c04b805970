"""Scripts for shells: bash, zsh and fish complete verbs, robots, flags and their words."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from commands import answer, refused, run

CASES = [
    (["zveno", "identi"], {"identifiability", "identify"}),
    (["zveno", "fk", "puma"], {"puma560"}),
    (["zveno", "fk", "ur5", "--gra"], {"--gravity"}),
    (["zveno", "simulate", "ur5", "--base", ""], {"own", "fixed", "free", "trunk"}),
]


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    import contextlib
    import io

    from zveno.cli import main

    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "zsh", "fish"):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            assert main(["completion", shell]) == 0
        (folder / f"zveno.{shell}").write_text(text.getvalue())
    return folder


def shell(name: str) -> str:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    return program


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash_completes(scripts, tmp_path, words, expected):
    program = f'source {scripts / "zveno.bash"}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _zveno; '
    program += 'printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(
        [shell("bash"), "-c", program, "-", *words], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert set(done.stdout.split()) == expected


@pytest.mark.parametrize(("words", "expected"), CASES)
def test_fish_completes(scripts, tmp_path, words, expected):
    program = f"source {scripts / 'zveno.fish'}; complete -C '{' '.join(words)}'"
    done = subprocess.run([shell("fish"), "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert {line.split("\t")[0] for line in done.stdout.splitlines()} == expected


def test_zsh_can_read_its_script(scripts):
    subprocess.run([shell("zsh"), "-n", str(scripts / "zveno.zsh")], check=True)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("bash", "data/bash-completion/completions/zveno"),
        ("zsh", ".zfunc/_zveno"),
        ("fish", "config/fish/completions/zveno.fish"),
    ],
)
def test_it_installs_itself(capsys, monkeypatch, tmp_path, name, place):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    script = run(capsys, "completion", name)[1]
    assert answer(capsys, "completion", name, "--install")["file"] == str(tmp_path / place)
    assert (tmp_path / place).read_text().strip() == script.strip()
    assert run(capsys, "completion", name, "--install")[0] == 0  # once more, over its own file
    (tmp_path / place).write_text("something else")
    assert "--force" in refused(capsys, "completion", name, "--install")
