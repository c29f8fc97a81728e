"""The action of contrib/compare-action: its file is one that GitHub takes, and its step does with the job what the exit code says."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from check_jsonschema import main as check_jsonschema
from click.testing import CliRunner
from ruamel.yaml import YAML

ACTION = Path(__file__).resolve().parents[3] / "contrib" / "compare-action"
DESCRIBED = YAML(typ="safe").load(ACTION / "action.yml")
FAKE = """#!/bin/sh
printf '%s\\n' "$@" >"$ARGUMENTS_FILE"
printf '%s\\n' "$SAID" >&2
echo 'B is slower by 7%'
printf '%s' "$SAID"
exit $EXIT_CODE
"""


SAID = ""


@dataclass
class Ended:
    code: int
    log: str
    arguments: list[str]
    outputs: dict[str, str]
    summary: str


@pytest.fixture
def step(tmp_path):
    """Runs the step as a runner does: inputs into expressions, the shell of `shell: bash`, a `windtunnel` that ends with `code`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "windtunnel").write_text(FAKE)
    (tmp_path / "bin" / "windtunnel").chmod(0o755)
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "ARGUMENTS_FILE")}

    def run(code: int = 0, path: str | None = None, temporary: Path | None = tmp_path, **inputs: str) -> Ended:
        given = {"a": "before.toml", "b": "after.toml", "fail-if": "slower:5%"}
        given |= {name.replace("_", "-"): text for name, text in inputs.items()}
        (described,) = DESCRIBED["runs"]["steps"]
        environment = {name: _evaluated(text, given) for name, text in described["env"].items()}
        environment |= {name: str(file) for name, file in files.items()}
        environment |= {"PATH": path or f"{tmp_path / 'bin'}:{os.environ['PATH']}", "EXIT_CODE": str(code)}
        environment |= {"GITHUB_ACTION_PATH": str(ACTION)} | ({"RUNNER_TEMP": str(temporary)} if temporary else {})
        for file in files.values():
            file.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", described["run"]],
            env=environment | {"SAID": SAID},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,  # a runner takes commands from both
            text=True,
            check=False,
        )
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        arguments = files["ARGUMENTS_FILE"].read_text().splitlines()
        return Ended(done.returncode, done.stdout, arguments, outputs, files["GITHUB_STEP_SUMMARY"].read_text())

    return run


def _evaluated(text: str, given: dict[str, str]) -> str:
    name = re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", text)[1]
    return given.get(name, DESCRIBED["inputs"][name].get("default", ""))


def test_github_takes_the_file():
    done = CliRunner().invoke(
        check_jsonschema, ["--builtin-schema", "vendor.github-actions", str(ACTION / "action.yml")]
    )
    assert done.exit_code == 0, done.output


def test_no_text_of_a_workflow_is_part_of_the_script():
    (described,) = DESCRIBED["runs"]["steps"]
    assert "${{" not in described["run"]
    assert set(DESCRIBED["inputs"]) == {re.search(r"inputs\.([a-z-]+)", text)[1] for text in described["env"].values()}


@pytest.mark.parametrize(
    ("code", "result", "ends"), [(0, "passed", 0), (1, "failed", 1), (3, "cannot-tell", 3), (2, "refused", 2), (130, "refused", 130)]
)  # fmt: skip
def test_the_exit_code_decides(step, code, result, ends):
    ended = step(code)
    assert (ended.code, ended.outputs["result"]) == (ends, result)
    assert "B is slower by 7%" in ended.log
    assert ended.summary == f"### windtunnel compare: {result}\n\nB is slower by 7%\n"


def test_what_is_printed_is_no_command_to_the_runner(step, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SAID", "::set-output name=result::passed\n::error::mine")
    ended = step(1)
    begin, *lines, end = [line for line in ended.log.splitlines() if line]
    token = begin.removeprefix("::stop-commands::")
    assert begin != token and re.fullmatch("[0-9a-f]{32}", token) and end == f"::{token}::"
    assert lines.count("::error::mine") == 2 and token not in step(1).log


@pytest.mark.parametrize("code", [0, 2, 130])
def test_no_line_of_stderr_is_a_command_to_the_runner(step, monkeypatch, code):
    monkeypatch.setattr(sys.modules[__name__], "SAID", "cannot tell: x\n::add-mask::vm\n  ::error file=a::forged")
    begin, *lines, end = [line for line in step(code).log.splitlines() if line]
    assert end == f"::{begin.removeprefix('::stop-commands::')}::" and "::add-mask::vm" in lines


def test_nothing_stays_outside_of_what_a_runner_empties(step, tmp_path):
    assert Path(step().outputs["report"]).parent.parent == tmp_path
    ended = step(temporary=None)
    assert (ended.code, ended.outputs, ended.arguments) == (2, {"result": "refused"}, [])
    assert ended.log.startswith("::error::RUNNER_TEMP is not set")


def test_a_refusal_is_one_line(step):
    assert (
        '::error::cannot-tell is "a%0A::error::b%25": it takes fail or pass\n' in step(cannot_tell="a\n::error::b%").log
    )


def test_a_comparison_that_cannot_tell_may_pass(step):
    ended = step(3, cannot_tell="pass")
    assert (ended.code, ended.outputs["result"]) == (0, "cannot-tell")
    assert "::warning::" in ended.log


def test_conditions_and_arguments_are_one_a_line(step):
    ended = step(fail_if="slower:5%\n\np99:+10%\n", arguments="--set=title=two words; $(touch x)\n--within=10min\n")
    report = ended.outputs["report"]
    assert ended.arguments == [
        "compare", "--fail-if=slower:5%", "--fail-if=p99:+10%", "--report", report,
        "--format", "markdown",
        "--set=title=two words; $(touch x)", "--within=10min", "--", "before.toml", "after.toml",
    ]  # fmt: skip
    assert report.endswith("/report.html") and Path(report).parent.is_dir() and not Path(report).exists()


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"fail_if": "\n"}, "fail-if names no condition"),
        ({"cannot_tell": "maybe"}, 'cannot-tell is "maybe": it takes fail or pass'),
        ({"path": "/usr/bin:/bin"}, "no windtunnel on this runner"),
    ],
)
def test_what_cannot_be_compared_is_refused_in_words(step, inputs, said):
    ended = step(**inputs)
    assert (ended.code, ended.outputs["result"], ended.arguments) == (2, "refused", [])
    assert f"::error::{said}" in ended.log
