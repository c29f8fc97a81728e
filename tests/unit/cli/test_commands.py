"""How commands are found: their help, old names, two words, extensions; and where output goes."""

import os
import re
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from command_line import SCENARIO, windtunnel

from windtunnel.cli import extensions

CHECKOUT = Path(__file__).resolve().parents[3]

COMMANDS = (
    "init",
    "check",
    "handlers",
    "host doctor",
    "host ladder",
    "doctor",
    "run",
    "show",
    "diagnose",
    "compare",
    "history",
    "search",
    "study",
    "study query",
    "tune",
    "model fit",
    "model predict",
    "model validate",
    "pcie estimate",
    "pcie nics",
    "export",
    "import axio",
    "import testpmd",
    "import run",
    "migrate",
)


def test_help_is_a_line_a_command_by_task(tmp_path):
    text = windtunnel("--help", cwd=tmp_path).stdout
    tasks = ["Prepare:", "Measure:", "Model and share:", "Exchange:", "Options:", "Examples:"]
    assert [line for line in text.splitlines() if line in tasks] == tasks
    assert re.search(r"^  study query +Query the results", text, re.MULTILINE)
    assert re.search(r"^  share +Share cores", text, re.MULTILINE)
    assert "doctor  " not in text.split("Options:")[0], "the alias is not listed"
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_usage_defaults_and_examples(tmp_path, name):
    done = windtunnel(*name.split(), "--help", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith(f"Usage: windtunnel {name} [OPTIONS]")
    assert "Examples:\n  windtunnel " in done.stdout
    assert "{" not in done.stdout.split("Examples:")[0] and "default: (" not in done.stdout


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["query", "from results"], "windtunnel study query"),
        (["model", "check", "runs/a"], "windtunnel model validate"),
        (["share", "study", "fig6"], "windtunnel share reproduce"),
    ],
)
def test_an_old_command_is_refused_with_its_new_name(tmp_path, old, new):
    done = windtunnel(*old, cwd=tmp_path)
    assert done.returncode == 2 and f'is now "{new}"' in done.stderr and f"remedy: {new} --help" in done.stderr


@pytest.mark.parametrize(
    ("words", "new"),
    [
        (["model", "predict", "m.json", "--foreign"], "--allow-other-host"),
        (["share", "advise", "--foreign"], "--allow-other-host"),
        (["compare", "a", "b", "--change=window"], "--alternate"),
    ],
)
def test_an_old_option_is_refused_with_its_new_name(tmp_path, words, new):
    done = windtunnel(*words, cwd=tmp_path)
    assert done.returncode == 2 and f"is now {new}\n" in done.stderr


@pytest.mark.parametrize(
    ("extra", "package"), [("", "windtunnel"), (" [sharing]", "windtunnel[sharing]")], ids=["none", "sharing"]
)
def test_a_missing_package_of_an_extension_is_named_with_what_installs_it(tmp_path, extra, package):
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError(\"No module named 'fastapi'\", name='fastapi')")
    (tmp_path / "tenants.toml").write_text("")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    helped = windtunnel("share", "--help", cwd=tmp_path, PYTHONPATH=path)
    assert helped.returncode == 0
    point = EntryPoint("other", f"nowhere_at_all:app{extra}", extensions.GROUP)
    extensions._points.cache_clear()
    before, extensions._points = extensions._points, lambda: {"other": point}
    try:
        command = extensions.load("other")
        with pytest.raises(extensions.UserError) as caught:
            command.main([], standalone_mode=False)
    finally:
        extensions._points = before
        extensions.load.cache_clear()
    assert caught.value.message == 'windtunnel other needs the Python package "nowhere_at_all"'
    assert caught.value.remedy == f'pip install "{package}"'


def test_the_commands_of_sharing_name_their_extra():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    point = EntryPoint("share", project["entry-points"][extensions.GROUP]["share"], extensions.GROUP)
    assert point.extras == ["sharing"] and "sharing" in project["optional-dependencies"]


@pytest.mark.slow
def test_off_a_terminal_no_column_is_dropped(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO.format(duration="60ms"))
    windtunnel("run", "echo.toml", "-q", "--no-report", "--out", "here", cwd=tmp_path)
    text = windtunnel("show", "here", cwd=tmp_path, COLUMNS="40").stdout
    for column in ("p90", "p99.9", "interrupted", "late", "duplicates", "empty calls", "unsent"):
        assert column in text, column
    assert max(map(len, text.splitlines())) < 1000


def test_a_shipped_scenario_may_be_named(tmp_path):
    done = windtunnel("run", "echo", "--set", "duration=60ms", "--set", "warmup=20ms", "--set", "window=20ms",
                      "-q", "--no-report", "--out", "here", cwd=tmp_path)  # fmt: skip
    assert done.stdout.endswith("here\n") and (tmp_path / "here" / "run.json").is_file()


@pytest.mark.slow
def test_rates_are_read_alike_by_keys_and_options(tmp_path):
    (tmp_path / "echo.toml").write_text(SCENARIO.format(duration="60ms"))
    for rate in ("2M", "2Mpps", "2M/s", "2000000"):
        done = windtunnel("check", "echo.toml", "--json", "--set", f"client.rate={rate}", cwd=tmp_path)
        assert '"rate": "2Mpps"' in done.stdout, done.stdout + done.stderr
        assert windtunnel("pcie", "estimate", "--pps", rate, cwd=tmp_path).returncode == 0
