"""The verb `completion`: what a shell needs to complete verbs, robots and flags."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import tyro

from .app import VERBS, verb_function
from .flags import VerbFlag, flags_of, takes_robot
from .options import OUTPUT, Flag, OutputFlags
from .output import Answer, deliver, protect, say_written

Shell = Annotated[
    Literal["bash", "zsh", "fish"], tyro.conf.Positional, tyro.conf.arg(metavar="{bash,zsh,fish}", name="shell")
]


def completion(shell: Shell, /, *, install: Flag = False, output: OutputFlags = OUTPUT) -> None:
    """A script with which bash, zsh or fish complete verbs, robots and flags.

    Args:
        shell: the shell meant.
        install: write the script to where the shell looks for it, below your home directory.
    """
    from ..io.files import write_text

    script, file = SCRIPTS[shell](), _place(shell)
    protect(output, [], [file] if install else [])
    text, data = script, {"shell": shell, "script": script}
    if install:
        file.parent.mkdir(parents=True, exist_ok=True)
        say_written(write_text(file, script))
        text, data = HINTS[shell], {"shell": shell, "file": str(file)}
    deliver(Answer(lambda: data, lambda console: console.print(text, soft_wrap=True, markup=False)), output)


HINTS = {
    "bash": "Open a new terminal. (The package bash-completion must be installed.)",
    "zsh": "Add to ~/.zshrc, if it is not there: fpath+=(~/.zfunc); autoload -Uz compinit; compinit",
    "fish": "Open a new terminal.",
}


def _place(shell: str) -> Path:
    """The file a shell reads by itself."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    return {
        "bash": data / "bash-completion" / "completions" / "zveno",
        "zsh": home / ".zfunc" / "_zveno",
        "fish": config / "fish" / "completions" / "zveno.fish",
    }[shell]


def _verb_flags() -> dict[str, list[VerbFlag]]:
    return {name: flags_of(verb_function(name)) for name in VERBS}


def _robots() -> list[str]:
    from ..robots import names

    return list(names())


def _with_robot() -> list[str]:
    return [name for name in VERBS if takes_robot(verb_function(name))]


def _choices() -> dict[str, tuple[str, ...]]:
    """`VERB FLAG` → the words that the flag takes."""
    by_verb = _verb_flags().items()
    return {f"{verb} {flag.name}": flag.choices for verb, flags in by_verb for flag in flags if flag.choices}


def _bash() -> str:
    flags = "\n".join(f"        {verb}) flags={_words(flags)} ;;" for verb, flags in _verb_flags().items())
    choices = "\n".join(
        f"        {shlex.quote(where)}) words={shlex.quote(' '.join(words))} ;;"
        for where, words in _choices().items()
    )
    return f"""# bash completion of zveno; written by `zveno completion bash`
_zveno() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} verb=${{COMP_WORDS[1]}} before=${{COMP_WORDS[COMP_CWORD-1]}}
    local flags= words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{" ".join(VERBS)} --help --version" -- "$word")); return
    fi
    case "$verb $before" in
{choices}
    esac
    if [ -n "$words" ]; then
        COMPREPLY=($(compgen -W "$words" -- "$word")); return
    fi
    case "$verb" in
{flags}
    esac
    if [[ $word == -* ]]; then
        COMPREPLY=($(compgen -W "--help $flags" -- "$word"))
    elif [ "$COMP_CWORD" -eq 2 ] && [[ " {" ".join(_with_robot())} " == *" $verb "* ]]; then
        COMPREPLY=($(compgen -W {shlex.quote(" ".join(_robots()))} -- "$word") $(compgen -f -- "$word"))
    fi
}}
complete -o bashdefault -o default -F _zveno zveno
"""


def _zsh() -> str:
    verbs = "\n".join(f"        {shlex.quote(f'{name}:{verb.line}')}" for name, verb in VERBS.items())
    flags = "\n".join(f"        {verb}) flags=(--help {_bare(flags)}) ;;" for verb, flags in _verb_flags().items())
    choices = "\n".join(
        f"        {shlex.quote(where)}) compadd -- {' '.join(map(shlex.quote, words))}; return ;;"
        for where, words in _choices().items()
    )
    return f"""#compdef zveno
# zsh completion of zveno; written by `zveno completion zsh`
_zveno() {{
    local -a verbs flags
    verbs=(
{verbs}
    )
    if (( CURRENT == 2 )); then
        _describe verb verbs; return
    fi
    case "${{words[2]}} ${{words[CURRENT-1]}}" in
{choices}
    esac
    case "${{words[2]}}" in
{flags}
    esac
    if [[ ${{words[CURRENT]}} == -* ]]; then
        compadd -- $flags
    elif (( CURRENT == 3 )) && [[ " {" ".join(_with_robot())} " == *" ${{words[2]}} "* ]]; then
        compadd -- {" ".join(map(shlex.quote, _robots()))}
        _files
    else
        _files
    fi
}}
if [ "$funcstack[1]" = "_zveno" ]; then _zveno "$@"; else compdef _zveno zveno; fi
"""


def _fish() -> str:
    lines = ["# fish completion of zveno; written by `zveno completion fish`"]
    for name, verb in VERBS.items():
        lines.append(f"complete -c zveno -f -n __fish_use_subcommand -a {name} -d {shlex.quote(verb.line)}")
    robots = shlex.quote(" ".join(_robots()))
    for name in _with_robot():
        lines.append(f"complete -c zveno -n '__fish_seen_subcommand_from {name}' -a {robots}")
    for name, flags in _verb_flags().items():
        for flag in flags:
            words = f" -f -a {shlex.quote(' '.join(flag.choices))}" if flag.choices else ""
            value = " -r" if flag.takes_value else ""
            lines.append(
                f"complete -c zveno -n '__fish_seen_subcommand_from {name}' -l {flag.name[2:]}{value}{words}"
            )
    return "\n".join(lines) + "\n"


def _bare(flags: list[VerbFlag]) -> str:
    return " ".join(flag.name for flag in flags)


def _words(flags: list[VerbFlag]) -> str:
    return shlex.quote(_bare(flags))


SCRIPTS: dict[str, Callable[[], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
