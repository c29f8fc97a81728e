"""P4 pipelines as a user meets them: what is wrong at its line, the cache, and runs. What a pipeline does to packets is held
against naive ones in engine/parts/swx/tests/swx_test.cc."""

import os
import shutil
import subprocess

import pytest
from real_runs import execute, messages, run_well
from scenario_tools import LENIENT, SHIPPED, finished, written
from swx_samples import NOT_OPTIMIZED
from typer.testing import CliRunner

from windtunnel.cli.app import app
from windtunnel.engine.find import find_engine
from windtunnel.errors import UserError

SHORT = ("duration=200ms", "warmup=50ms", "window=100ms", *LENIENT)
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("pipelines")]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "windtunnel" / "swx"


def workload(**options) -> dict:
    return {"wire": {"kind": "null"}, "server": {}, "workload": [{"packet_handler": "swx", "options": options}]}


def refused(directory, **options) -> str:
    with pytest.raises(UserError) as caught:
        finished(directory, workload(**options))
    return f"{caught.value.message}; {caught.value.remedy}"


def broken(directory, old: str, new: str) -> str:
    """The shipped router with a mistake; its name."""
    text = (SHIPPED / "swx-router.spec").read_text()
    assert old in text
    (directory / "broken.spec").write_text(text.replace(old, new, 1))
    return "broken.spec"


def test_a_wrong_spec_is_refused_at_its_line_before_the_run(tmp_path):
    lines = (SHIPPED / "swx-router.spec").read_text().splitlines()
    said = refused(tmp_path, spec=broken(tmp_path, "mov m.port t.port", "mov m.port t.gate"))
    assert f"broken.spec:{lines.index(chr(9) + 'mov m.port t.port') + 1}: Action configuration error" in said
    said = refused(tmp_path, spec=broken(tmp_path, "extract h.ipv4", "extract h.ipv6"))
    assert (
        f"broken.spec:{lines.index(chr(9) + 'extract h.ipv4') + 1}: Pipeline instructions configuration error" in said
    )
    assert "test.toml:" in said


def test_check_refuses_with_exit_code_2(tmp_path):
    spec = broken(tmp_path, "size 1000000", "size many")
    (tmp_path / "s.toml").write_text(
        f'[wire]\nkind = "null"\n[server]\n[[workload]]\npacket_handler = "swx"\noptions = {{ spec = "{spec}" }}\n'
    )
    done = CliRunner().invoke(app, ["check", str(tmp_path / "s.toml")])
    assert done.exit_code == 2


def test_missing_tools_are_named(tmp_path):
    shutil.copy(SHIPPED / "swx-l2fwd.spec", tmp_path)
    assert "swx wants a spec" in refused(tmp_path)
    assert "no such file" in refused(tmp_path, spec="nowhere.spec")
    assert "no-such-gcc cannot be started" in refused(tmp_path, spec="swx-l2fwd.spec", compiler="no-such-gcc")
    assert "install gcc" in refused(tmp_path, spec="swx-l2fwd.spec", compiler="no-such-gcc")
    assert "no such file" in refused(tmp_path, spec="swx-l2fwd.spec", tables="nowhere.tables")


def test_a_wrong_entry_is_refused_at_its_line(tmp_path):
    for name in ("swx-router.spec", "swx-l2fwd.spec"):
        shutil.copy(SHIPPED / name, tmp_path)
    (tmp_path / "t").write_text("table routes\nmatch 0x0a000000/8 action to_host\n")
    (tmp_path / "s.toml").write_text(
        'duration = "100ms"\n[wire]\nkind = "null"\n[server]\n[[workload]]\npacket_handler = "swx"\n'
        'options = { spec = "swx-router.spec", tables = "t" }\n'
    )
    done = CliRunner().invoke(app, ["run", str(tmp_path / "s.toml"), "--out", str(tmp_path / "run")])
    assert done.exit_code == 2, done.output
    assert "t:2: the mask of a prefix is ones and then zeros" in " ".join(done.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("entries", "reason"),
    [
        ("table routes\nmatch 0x0a000000/0xff00ff00 action to_host\n", "mine.tables:2: the mask of a prefix is ones"),
        ("table hops\nmatch 1 action to_host\n", 'mine.tables:1: the spec has no table "hops"'),
        ("selector hops\ngroup 0 member 1\n", 'mine.tables:1: the spec has no selector "hops"'),
    ],
)
def test_check_and_run_refuse_an_entry_in_the_same_words(tmp_path, cache, entries, reason):
    (tmp_path / "mine.tables").write_text(entries)
    scenario = workload(spec=str(SHIPPED / "swx-router.spec"), tables="mine.tables")
    done = CliRunner().invoke(app, ["check", str(written(tmp_path, scenario))])
    assert done.exit_code == 2 and reason in " ".join(done.output.split())
    [of_run] = execute(tmp_path, scenario).run.record.verdict.reasons
    assert of_run.startswith("engine refused: ") and reason in of_run
    assert "/cache/" not in done.output + of_run


@pytest.mark.parametrize(
    "words", [[], ["a.spec", "--compiler"], ["a.spec", "gcc"], ["a.spec", "--compiler", "gcc", "b"]]
)
def test_other_words_of_the_engines_command_are_refused(words):
    done = subprocess.run([find_engine(), "--spec", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "windtunnel-engine --spec FILE [--compiler NAME]\n" in done.stderr


def compiles(count: int) -> list[subprocess.Popen]:
    command = [str(find_engine()), "--spec", str(SHIPPED / "swx-router.spec")]
    return [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]


def test_a_spec_is_compiled_once_by_concurrent_runs(cache):
    said = {process.communicate()[0].strip() for process in compiles(2)}
    [object_file] = said
    assert os.listdir(cache) == [os.path.basename(object_file)]
    before = os.stat(object_file)
    assert {process.communicate()[0].strip() for process in compiles(1)} == said
    after = os.stat(object_file)
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_an_object_that_others_can_write_is_not_loaded(cache):
    [object_file] = {process.communicate()[0].strip() for process in compiles(1)}
    os.chmod(object_file, 0o777)
    before = os.stat(object_file).st_ino
    compiles(1)[0].communicate()
    assert os.stat(object_file).st_ino != before


def test_a_killed_compilation_leaves_the_cache_usable(cache):
    [process] = compiles(1)
    process.kill()
    process.communicate()
    assert compiles(1)[0].communicate()[0].strip().endswith(".so")


def test_steps_and_tables_are_in_the_run_of_an_optimized_pipeline(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("PATH", os.environ["PATH"].removeprefix(f"{NOT_OPTIMIZED}{os.pathsep}"))
    assert shutil.which("gcc") != str(NOT_OPTIMIZED / "gcc")
    run = run_well(tmp_path, SHIPPED / "swx-router.toml", *SHORT)
    responses = messages(run).responses
    windows = [window for of_engine in run.windows.values() for window in of_engine]
    counters: dict[tuple[str, str], float] = {}
    for window in windows:
        for counter in window.counters:
            counters[counter.of, counter.name] = counter.value
    assert counters["routes", "entries"] == 4
    assert counters["routes", "misses"] == 0
    assert {step.step for window in windows for step in window.steps} >= {"parser", "routes", "deparser"}
    assert responses > 0
