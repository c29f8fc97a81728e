"""Man pages and completion scripts: one page a command with what its --help says, and scripts that the shells take."""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import typer
from command_line import command, environment

from windtunnel.cli import manual
from windtunnel.cli.app import app


@pytest.fixture(scope="module")
def share(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("share")
    manual.write(place)
    return place


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return manual.man_pages()


def test_every_command_has_a_page(pages):
    commands = typer.main.get_command(app).commands
    assert {f"windtunnel-{name.replace(' ', '-')}" for name in commands} <= pages.keys()
    assert {"windtunnel", "windtunnel-model-fit", "windtunnel-study-query", "windtunnel-share-serve"} <= pages.keys()


def test_a_page_says_what_help_says(pages):
    page = pages["windtunnel-compare"].replace("\\-", "-")
    for part in (
        ".SH NAME\nwindtunnel-compare - Compare two runs or two scenarios\n",
        ".SH SYNOPSIS\n.B windtunnel compare\n[OPTIONS] A B\n",
        ".SH DESCRIPTION\nCompare two runs or two scenarios.\n.PP\n",
        ".SH ARGUMENTS\n.TP\n\\fBA\\fP\nThe baseline: ",
        ".TP\n\\fB--pairs N\\fP\nScenarios: number of pairs to run.  [default: 15, 1 to 9999]\n",
        ".SH EXAMPLES\n.nf\n  windtunnel compare scenarios/echo.toml",
    ):
        assert part in page


@pytest.mark.parametrize(
    ("text", "plain"),
    [("--set a.b", "\\-\\-set a.b"), (".TH x", "\\&.TH x"), ("'so x", "\\&'so x"), ("a\\fBb", "a\\efBb"), ("", "")],
)
def test_nothing_in_a_text_is_a_request_of_roff(text, plain):
    formatter = manual.Manual()
    formatter.write_dl([("-x", text)])
    assert formatter.lines[-1] == plain


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff")
def test_groff_has_nothing_to_say(share):
    pages = sorted((share / "man").rglob("*.1"))
    said = subprocess.run(
        ["groff", "-man", "-ww", "-z", "-Tutf8", "-Kutf8", *pages], stderr=subprocess.PIPE, check=True
    )
    assert said.stderr.decode() == ""


def written_to(share: Path) -> set[str]:
    return {str(path.relative_to(share)) for path in share.rglob("*") if path.is_file()}


def test_what_is_written_lies_where_shells_look(share, pages):
    ours = {f"man/man1/{name}.1" for name in pages if not name.startswith("windtunnel-share")}
    assert written_to(share) == ours | set(manual.COMPLETIONS.values())


def test_a_command_whose_name_begins_as_one_of_another_package_keeps_its_page(tmp_path, monkeypatch):
    monkeypatch.setattr(
        manual, "man_pages", lambda: {f"windtunnel-{name}": "" for name in ("share", "share-serve", "shared")}
    )
    manual.write(tmp_path)
    assert {path.stem for path in (tmp_path / "man").rglob("*.1")} == {"windtunnel-shared"}


def test_a_package_with_a_command_of_its_own_writes_its_pages(tmp_path, pages):
    manual.write_extension(tmp_path, "share")
    assert written_to(tmp_path) == {f"man/man1/{name}.1" for name in pages if name.startswith("windtunnel-share")}


@pytest.mark.slow
def test_bash_loads_the_script_and_offers_commands(share, tmp_path):
    script = share / manual.COMPLETIONS["bash"]
    subprocess.run(["bash", "-n", script], check=True)
    (tmp_path / "windtunnel").write_text(f'#!/bin/sh\nexec {shlex.join(command())} "$@"\n')
    (tmp_path / "windtunnel").chmod(0o755)
    asked = f"""source {script}
complete -p windtunnel
COMP_WORDS=(windtunnel cal) COMP_CWORD=1 COMPREPLY=()
_windtunnel_completion windtunnel
echo "offered: ${{COMPREPLY[*]}}" """
    variables = environment("run") | {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", asked], env=variables, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "complete -o default -F _windtunnel_completion windtunnel",
        "offered: calibrate",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(share, shell):
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    done = subprocess.run([shell, "-n", share / manual.COMPLETIONS[shell]], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
