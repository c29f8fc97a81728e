"""A remedy that is a command can be pasted: whatever a file is called, the shell takes its name for one argument, and the command that installs
something works where Windtunnel was installed from."""

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import SCENARIO, in_process
from comparing import made

from windtunnel.engine import find
from windtunnel.errors import as_argument

SOURCE = Path(__file__).parents[2] / "src" / "windtunnel"
COMMAND = re.compile(
    r"\b(?:windtunnel (?:run|study|show|check|model [a-z-]+|compare|tune|history|export|diagnose|search|init|import [a-z]+)|sudo|rm|chmod"
    r"|chown|openssl rand -hex 32 >|mkdir|kill|ip (?:link|address)|modprobe|dpdk-devbind\.py|pip install|--out|--set-b|--from-testpmd) [^`,;&]*$"
)
"""What stands before an argument of a command."""
QUOTING = ("as_argument", "quote")
NAMES = (
    "a; touch pwned",
    "two words",
    "$(touch pwned)",
    "`touch pwned`",
    "it's",
    "-rf",
    "a\nb",
    "~",
    "*",
    "|touch pwned",
)


def unquoted(file: Path) -> Iterator[str]:
    """Placeholders of the file's f-strings that are arguments of a command, and are not quoted."""
    for node in ast.walk(ast.parse(file.read_text())):
        before = ""
        for part in node.values if isinstance(node, ast.JoinedStr) else ():
            if isinstance(part, ast.Constant):
                before += part.value
                continue
            shown = part.value
            quoted = isinstance(shown, ast.Call) and isinstance(shown.func, ast.Name) and shown.func.id in QUOTING
            if COMMAND.search(before) and not quoted:
                yield f"{file.relative_to(SOURCE)}:{part.lineno}: {{{ast.unparse(shown)}}}"
            before += "X"


ALLOWED = {
    "'--editable ' if ours and is_checkout() else ''",
    "command",  # of a study, whose parts are quoted
}
"""Placeholders that are no names."""


def test_every_name_in_a_command_is_quoted():
    found = [each for file in SOURCE.rglob("*.py") for each in unquoted(file)]
    assert not [each for each in found if each.partition("{")[2][:-1] not in ALLOWED]
    assert len(found) >= len(ALLOWED), "each is still there"


@pytest.mark.parametrize("name", NAMES)
def test_a_shell_takes_it_for_one_argument(name):
    [word] = shlex.split(as_argument(name))
    assert word == (f"./{name}" if name.startswith("-") else name)


def remedies(done: subprocess.CompletedProcess) -> list[str]:
    return [line.removeprefix("remedy: ") for line in done.stderr.splitlines() if line.startswith("remedy: ")]


FACTOR = 'scenario = "a.toml"\n[[factor]]\nkey = "client.inflight"\nvalues = [32]\n'


@pytest.mark.parametrize("name", [name for name in NAMES if "\n" not in name and not name.startswith("-")])
def test_commands_for_files_with_such_names(tmp_path, name):
    (tmp_path / f"{name}.toml").write_text(SCENARIO.format(duration="60ms"))
    (tmp_path / f"{name}.study").write_text(FACTOR)
    made(tmp_path / name)
    for words, remedy in (
        (("run", f"{name}.study"), ["windtunnel", "study", f"{name}.study"]),
        (("run", name), ["windtunnel", "show", name]),
        (("study", f"{name}.toml"), ["windtunnel", "run", f"{name}.toml"]),
    ):
        assert [shlex.split(each) for each in remedies(in_process(*words, cwd=tmp_path))] == [remedy]


def test_what_is_missing_is_installed_from_the_checkout(monkeypatch, tmp_path):
    python = sys.executable
    assert shlex.split(find.to_install("pandas")) == [
        python,
        "-m",
        "pip",
        "install",
        "--editable",
        f"{find.CHECKOUT}[pandas]",
    ]
    assert shlex.split(find.to_install(package="other"))[-2:] == ["install", "other"]


def test_beside_a_checkout_what_is_missing_is_installed_from_the_file_of_the_wheel(monkeypatch, tmp_path):
    """No registry has this package: whoever took its name there would be installed."""
    monkeypatch.setattr(find, "CHECKOUT", tmp_path)
    install = [sys.executable, "-m", "pip", "install"]
    wheel = tmp_path / "my wheels" / "windtunnel-1-py3-none-any.whl"
    origin = {"url": wheel.as_uri(), "archive_info": {}}
    monkeypatch.setattr(find, "distribution", lambda name: SimpleNamespace(read_text=lambda file: json.dumps(origin)))
    any_wheel = f"./windtunnel-{find.__version__}-py3-none-any.whl[a,b]"
    assert shlex.split(find.to_install("a", "b")) == [*install, any_wheel], "the file is gone"
    wheel.parent.mkdir()
    wheel.touch()
    assert shlex.split(find.to_install("a", "b")) == [*install, f"{wheel}[a,b]"]
    monkeypatch.setattr(find, "distribution", lambda name: SimpleNamespace(read_text=lambda file: None))
    assert shlex.split(find.to_install("a", "b")) == [*install, any_wheel], "pip noted no origin"


@pytest.mark.parametrize("typed", ["./windtunnel", "/opt/wind tunnel/windtunnel", None])
def test_a_remedy_names_the_command_as_it_was_typed(tmp_path, typed):
    """A checkout's launcher is on no PATH."""
    (tmp_path / "windtunnel run.study").write_text(FACTOR)
    changes = {"WINDTUNNEL_TYPED": typed} if typed else {}
    [remedy] = remedies(in_process("run", "windtunnel run.study", cwd=tmp_path, **changes))
    assert shlex.split(remedy) == [typed or "windtunnel", "study", "windtunnel run.study"]


def test_the_engine_is_built_in_this_checkout_wherever_one_is(monkeypatch, tmp_path):
    command, word = shlex.split(find.quickstart())
    assert Path(command) == find.CHECKOUT / "windtunnel" and word == "quickstart" and Path(command).is_file()
    monkeypatch.setattr(find, "CHECKOUT", tmp_path)
    assert find.quickstart() == "./windtunnel quickstart"
