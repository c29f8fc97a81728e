"""A plug-in of somebody else: it starts processes, ignores every signal and does not return. Nothing of it outlives its command."""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest
from fake_runs import gone, has_ended
from hostile_run import arguments, ended, start
from live_tools import awaited
from other_users import ACCESS_LIST, give_by_access_list
from plugin_tools import handler

from windtunnel.engine.find import find_engine
from windtunnel.engine.query import handlers
from windtunnel.errors import UserError
from windtunnel_sharing import threads

LONG = pytest.mark.long("hostile")
OTHER = 54321
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
FORKS = """
const int child = fork();
if (child == 0) for (;;) pause();
FILE *out = fopen(getenv("CHILDREN"), "a");
fprintf(out, "%d\\n", child);
fclose(out);
"""
STUBBORN = """
FILE *out = fopen(getenv("CHILDREN"), "a");
for (int number = 1; number < 32; number++) if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_IGN);
if (fork() == 0) { setsid(); if (fork()) _exit(0); for (;;) pause(); }
fprintf(out, "%d\\n", getpid());
fclose(out);
"""
ESCAPES = """
char number[16] = {{0}};
int told[2];
pipe(told);
if (fork() == 0) {{
    setsid();
    if (fork()) _exit(0);
    snprintf(number, sizeof number, "%d\\n", getpid());
    clearenv();
    write(told[1], number, sizeof number);
    close(told[0]);
    close(told[1]);
    execl("/bin/sleep", "kworker", "600", (char *)NULL);
    _exit(1);
}}
read(told[0], number, sizeof number);
FILE *out = fopen("{children}", "a");
fputs(number, out);
fclose(out);
"""
"""In a session of its own, without its parent, its environment and its program."""
RESPONDS = 'fclose(fopen(getenv("RESPONDS"), "w"));'


@pytest.fixture
def told(tmp_path, monkeypatch) -> Path:
    """Where a plug-in writes the numbers of processes."""
    monkeypatch.setenv("CHILDREN", str(tmp_path / "children"))
    return tmp_path / "children"


def environment(pid: int) -> list[bytes]:
    """Nothing for a process that ends."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []


def end_command(command: subprocess.Popen, how: str) -> None:
    """`how`: "kill -9" or "Ctrl-C twice"."""
    if how == "kill -9":
        command.kill()
        command.communicate()
        return
    for _ in range(2):
        command.send_signal(signal.SIGINT)
        time.sleep(0.2)
    ended(command)


@pytest.mark.parametrize(
    ("behaviour", "end"),
    [
        ("for (;;);", "kill -9"),
        ("raise(SIGSTOP);", "Ctrl-C twice"),
        ("pthread_exit(NULL);", "kill -9"),
        pytest.param("for (;;);", "Ctrl-C twice", marks=LONG),
        pytest.param("raise(SIGSTOP);", "kill -9", marks=LONG),
        pytest.param("pthread_exit(NULL);", "Ctrl-C twice", marks=LONG),
    ],
)
def test_an_engine_ends_with_its_command_whatever_a_plug_in_does(tmp_path, monkeypatch, told, behaviour, end):
    """Every signal is ignored, a thread spins or has gone, the process is stopped, and a child is in a session of its own."""
    handler(tmp_path / "libstubborn.so", opened=STUBBORN, responds=RESPONDS + behaviour)
    monkeypatch.setenv("RESPONDS", str(responds := tmp_path / "responds"))
    mark = f"STUBBORN={tmp_path}"
    monkeypatch.setenv(*mark.split("="))
    command = start(arguments(tmp_path, "workload.0.handler=./libstubborn.so", "duration=1s"))
    awaited(responds.exists)
    end_command(command, end)
    [engine] = map(int, told.read_text().split())
    awaited(lambda: has_ended(engine))
    ours = ("windtunnel-engi", "wt-guard")
    awaited(lambda: not any(threads.name(pid) in ours and mark.encode() in environment(pid) for pid in threads.pids()))


def test_what_a_plug_in_has_started_ends_with_it(tmp_path, told):
    [known] = handlers(find_engine(), handler(tmp_path / "libforks.so", loaded=FORKS))
    assert known.name == "hostile"
    code, said = ended(start(arguments(tmp_path, "workload.0.handler=./libforks.so", more=("--json",))))
    assert json.loads(said[said.index("{") :])["verdict"]["valid"] or code == 1, said
    started = [int(line) for line in told.read_text().split()]
    assert len(started) >= 3, "asked here, asked before the run, and in the run"
    assert all(gone(child) for child in started)


def escaping(tmp_path: Path, children: Path, **hooks: str) -> Path:
    return handler(tmp_path / "libescapes.so", loaded=ESCAPES.format(children=children), **hooks)


def all_ended(children: Path, least: int) -> bool:
    started = [int(line) for line in children.read_text().split()]
    assert len(started) >= least
    return all(map(has_ended, started))


def test_what_leaves_session_parent_and_environment_ends_with_the_engine(tmp_path, told):
    [known] = handlers(find_engine(), escaping(tmp_path, told))
    assert known.name == "hostile" and all_ended(told, 1)
    code, said = ended(start(arguments(tmp_path, "workload.0.handler=./libescapes.so", more=("--json",))))
    assert json.loads(said[said.index("{") :])["verdict"]["valid"] or code == 1, said
    assert all_ended(told, 3), "asked here, asked before the run, and in the run"


def test_it_ends_with_an_engine_that_dies_and_the_death_has_its_name(tmp_path, told):
    escaping(tmp_path, told, responds="raise(SIGSEGV);")
    code, said = ended(start(arguments(tmp_path, "workload.0.handler=./libescapes.so")))
    assert code == 1 and "SIGSEGV" in said and all_ended(told, 2)


@pytest.mark.parametrize("end", ["kill -9", "Ctrl-C twice"])
def test_it_ends_with_the_command(tmp_path, monkeypatch, told, end):
    monkeypatch.setenv("RESPONDS", str(responds := tmp_path / "responds"))
    escaping(tmp_path, told, responds=RESPONDS + "for (;;);")
    command = start(arguments(tmp_path, "workload.0.handler=./libescapes.so", "duration=1s"))
    awaited(responds.exists)
    end_command(command, end)
    awaited(lambda: all_ended(told, 2))


@pytest.mark.parametrize("where", ["file", "directory", "link"])
def test_a_plug_in_that_another_user_could_replace_is_not_opened(tmp_path, where):
    """Whoever may write it, or a directory on the way to it or to a link, decides what runs: /tmp, where each keeps its own, is none."""
    (tmp_path / "open").mkdir()
    (tmp_path / "own").mkdir()
    opened = tmp_path / "opened"
    library = handler(tmp_path / "own" / "libmarks.so", loaded=f'fclose(fopen("{opened}", "w"));')
    named = tmp_path / "open" / "libmarks.so" if where != "file" else library
    if where == "link":
        named.symlink_to(library)
    elif where == "directory":
        library.rename(named)
    (library if where == "file" else named.parent).chmod(0o777)
    with pytest.raises(UserError, match="is not opened: other users may write"):
        handlers(find_engine(), named)
    code, said = ended(start(arguments(tmp_path, f"workload.0.handler={named}")))
    assert code == 2 and "other users may write" in said
    assert not opened.exists()
    (library if where == "file" else named.parent).chmod(0o1777 if where != "file" else 0o700)
    assert handlers(find_engine(), named) and opened.exists()


@needs_root
@pytest.mark.parametrize("owned", ["file", "way"])
def test_a_plug_in_in_a_directory_of_a_third_user_is_not_opened(tmp_path, owned):
    """Root opens one of the user whose checkout it is in."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    library = handler(tmp_path / "a" / "b" / "libplain.so")
    for place in (library.parent, library):
        os.chown(place, 1234, -1)
    if owned == "file":
        assert handlers(find_engine(), library)
    os.chown(library.parent.parent, 4321, -1)
    with pytest.raises(UserError, match=r"is not opened: .*/a is of user 4321"):
        handlers(find_engine(), library)


@needs_root
def test_a_plug_in_in_a_directory_of_a_group_with_others_is_not_opened(tmp_path):
    """Nobody knows who is in a group without a name; root is alone in its own."""
    (tmp_path / "group").mkdir()
    library = handler(tmp_path / "group" / "libplain.so")
    library.parent.chmod(0o770)
    assert handlers(find_engine(), library)
    give_by_access_list(library.parent, OTHER)
    with pytest.raises(UserError, match="is not opened: other users may write .*/group$"):
        handlers(find_engine(), library)
    os.removexattr(library.parent, ACCESS_LIST)
    assert handlers(find_engine(), library)
    os.chown(library.parent, -1, OTHER)
    with pytest.raises(UserError, match="is not opened: other users may write .*/group$"):
        handlers(find_engine(), library)
