"""How commands are found: their help, old names, two words, extensions; and where output goes."""

import os
import re
from importlib.metadata import EntryPoint
from itertools import chain

import pytest
from command_line import windtunnel
from part_samples import part_samples

from windtunnel.cli import extensions
from windtunnel.engine.find import to_install
from windtunnel.errors import UserError

COMMANDS = """init, check, handlers, host doctor, host ladder, run, show, compare, history, search, study, study query,
export, import testpmd, import run"""


def test_help_is_a_line_a_command_by_task(typed):
    text = typed("--help").stdout
    tasks = ["Prepare:", "Measure:", "Model and share:", "Exchange:", "Options:", "Examples:"]
    assert [line for line in text.splitlines() if line in tasks] == tasks
    assert re.search(r"^  study query +Query the results", text, re.MULTILINE)
    assert re.search(r"^  share +Share cores", text, re.MULTILINE)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("name", [*re.split(r",\s", COMMANDS), *chain(*part_samples("COMMANDS"))])
def test_help_shows_usage_defaults_and_examples(typed, name):
    done = typed(*name.split(), "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"Usage: windtunnel {name} [OPTIONS]")
    assert "Examples:\n  windtunnel " in done.stdout
    assert "{" not in done.stdout.split("Examples:")[0] and "default: (" not in done.stdout


@pytest.mark.slow
def test_an_extension_whose_package_is_missing_has_help_too(tmp_path):
    (tmp_path / "fastapi.py").write_text("raise ModuleNotFoundError(\"No module named 'fastapi'\", name='fastapi')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert windtunnel("share", "--help", cwd=tmp_path, PYTHONPATH=path).returncode == 0


@pytest.mark.parametrize(("extra", "extras"), [("", []), (" [more]", ["more"])], ids=["none", "one"])
def test_a_missing_package_of_an_extension_is_named_with_what_installs_it(monkeypatch, extra, extras):
    point = EntryPoint("other", f"nowhere_at_all:app{extra}", extensions.GROUP)
    monkeypatch.setattr(extensions, "_points", lambda: {"other": point})
    command = extensions.load.__wrapped__("other")
    with pytest.raises(UserError) as caught:
        command.main([], standalone_mode=False)
    assert caught.value.message == 'windtunnel other needs the Python package "nowhere_at_all"'
    assert caught.value.remedy == to_install(*extras)


def test_off_a_terminal_no_column_is_dropped(typed, scenario):
    typed("run", scenario, "-q", "--no-report", "--out", "here")
    text = typed("show", "here", COLUMNS="40").stdout
    for column in ("p90", "p99.9", "interrupted", "late", "duplicates", "empty calls", "unsent"):
        assert column in text, column
    assert max(map(len, text.splitlines())) < 1000


def test_a_shipped_scenario_may_be_named(typed, tmp_path):
    short = ("--set", "duration=60ms", "--set", "warmup=20ms", "--set", "window=20ms")
    done = typed("run", "echo", *short, "-q", "--no-report", "--out", "here")
    assert done.stdout.endswith("here\n") and (tmp_path / "here" / "run.json").is_file()


@pytest.mark.parametrize("rate", ["2M", "2Mpps", "2M/s", "2000000"])
def test_rates_may_be_written_in_several_ways(typed, scenario, rate):
    done = typed("check", scenario, "--json", "--set", f"client.rate={rate}")
    assert '"rate": "2Mpps"' in done.stdout, done.stdout + done.stderr
