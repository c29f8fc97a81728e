"""Another user may write into the directory in which something is started: what they put there is taken neither for the run's directory nor
for a shipped scenario, nor does a tool read it, and a token is of nobody else."""

import os

import pytest
from command_line import SCENARIO, in_process
from comparing import made
from fake_tools import monitor, tool
from part_samples import part_samples

from windtunnel.engine.find import VARIABLE, find_engine
from windtunnel.engine.walked import read_beginning
from windtunnel.errors import UserError
from windtunnel.exchange import http_server
from windtunnel.exchange.http_server import token_of
from windtunnel.measure import execute
from windtunnel.measure.monitor.monitor import Request
from windtunnel.runs import RunWriter, load

WRITTEN = {
    "counters.jsonl",
    "engine.log",
    "frames.pcap",
    "latency.hlog",
    "report.html",
    "run.json",
    "trace.json",
    "windows.jsonl",
}


def test_the_engine_takes_no_library_from_beside_itself():
    """Beside an engine that was copied into /tmp everybody makes a directory, in which the loader would look for what the engine links."""
    assert b"$ORIGIN" not in find_engine().read_bytes()


def test_all_files_of_a_run_are_in_the_directory_that_was_made(tmp_path, monkeypatch):
    victim = made(tmp_path / "victim")  # a run of the user who is attacked: a report could be written into it
    before = {path.name: path.read_bytes() for path in victim.iterdir()}

    class Swapped(RunWriter):
        """As soon as the directory is there, it has another name, and the victim has its name."""

        def __init__(self, directory, spec, host):
            super().__init__(directory, spec, host)
            directory.rename(tmp_path / "moved")
            directory.symlink_to(victim)

    monkeypatch.setattr(execute, "RunWriter", Swapped)
    (tmp_path / "echo.toml").write_text(SCENARIO.format(duration="100ms"))
    recording = [
        "--trace-every",
        "1",
        "--trace-limit",
        "1MiB",
        "--counters",
        "context-switches",
        "--set",
        "record=frames.pcap",
    ]
    engine = {VARIABLE: str(find_engine())}
    done = in_process("run", "echo.toml", "--out", "run", *recording, cwd=tmp_path, **engine)
    assert {path.name: path.read_bytes() for path in victim.iterdir()} == before, done
    assert {path.name for path in (tmp_path / "moved").iterdir()} == WRITTEN, done
    result = load(tmp_path / "moved").record.engines[0].result
    assert result.trace.events > 0 and result.recorded > 0
    assert "/proc/self/fd" not in done.stdout + done.stderr
    assert "/proc/self/fd" not in "".join(
        (tmp_path / "moved" / name).read_text() for name in ("run.json", "report.html")
    )


@pytest.mark.parametrize("command", ["check", "run", "search", *part_samples("PLANNING_COMMAND")])
def test_no_file_takes_the_place_of_a_shipped_scenario(tmp_path, command):
    """The change is refused in the words of the scenario that was read, before anything is opened; who means the file can name it."""
    (tmp_path / "echo").write_text("of another user")
    wrong = ("--set", "nothing=1")
    shipped = in_process(command, "echo", *wrong, cwd=tmp_path)
    assert '--set nothing=1: unknown key "nothing"' in shipped.stdout + shipped.stderr
    file = in_process(command, "./echo", *wrong, cwd=tmp_path)
    assert f"{tmp_path / 'echo'}:1: " in file.stdout + file.stderr


def test_a_tool_of_the_monitor_starts_where_only_root_writes(tmp_path, monkeypatch):
    """PCM takes tables of registers, to which it writes as root, from its working directory."""
    tool(tmp_path / "bin", "perf", "pwd")
    monkeypatch.chdir(tmp_path)
    monitor(Request(["llc"], [0], seconds=1), tmp_path / "kept", tmp_path / "bin").conduct()
    assert (tmp_path / "kept" / "monitor-perf-stat.csv").read_text() == "/\n"


@pytest.mark.root
def test_a_token_of_another_user_is_theirs_after_they_have_removed_it(tmp_path, monkeypatch):
    tmp_path.chmod(0o1777)
    token = tmp_path / "token"
    token.write_text("t" * 40)
    token.chmod(0o600)
    os.chown(token, 54321, 54321)

    def read_and_remove(file: int, most_bytes: int) -> str:
        token.unlink()
        return read_beginning(file, most_bytes)

    monkeypatch.setattr(http_server, "read_beginning", read_and_remove)
    with pytest.raises(UserError, match=f"{token}: other users may put a token of theirs there"):
        token_of(token)


@pytest.mark.parametrize("through", ["", "link/"])
def test_a_token_that_another_user_may_put_there_is_refused(tmp_path, through):
    (tmp_path / "place").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "place")
    token = tmp_path / (through or "place") / "token"
    token.write_text("t" * 40)
    token.chmod(0o600)
    assert token_of(token) == "t" * 40
    (tmp_path / "place").chmod(0o777)
    with pytest.raises(UserError, match=f"{token}: other users may put a token of theirs there"):
        token_of(token)
