"""The command `windtunnel` in processes of their own that need not import anything: each is forked from one that has imported it all.

A start costs milliseconds in place of a second of CPU. All else is as after an exec: parent, descriptors, directory, environment, session
and exit status. What is about the start itself, an import or a signal in the middle of one, uses `subprocess`.
"""

import atexit
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from functools import cache
from typing import Any, NoReturn

SERVER = "import sys; sys.path[:0] = sys.argv[1:]; import forked; forked.serve()"
APART = ("windtunnel_sharing", "windtunnel.schemas")
"""Rooms that few commands import. Parts of which this holds say so in their samples."""
PR_SET_CHILD_SUBREAPER = 36
LONGEST_REQUEST_BYTES = 1 << 20


class Command(subprocess.Popen):
    """`subprocess.Popen` of the command line with these arguments, which are not preceded by a program."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *others) -> None:  # type: ignore[override]
        """As the method of the base class (Python 3.11 to 3.14), which forks and executes."""
        _, _, _, *pipes, _, gid, gids, uid, umask, start_new_session, process_group = others
        stdin, _, _, stdout, _, stderr = pipes
        unlike = (executable, preexec_fn, pass_fds, gid, gids, uid), (umask, start_new_session, process_group)
        assert unlike == ((None, None, (), None, None, None), (-1, False, -1)), "use subprocess.Popen"
        request = {
            "arguments": [os.fspath(argument) for argument in args],
            "directory": os.fspath(cwd or os.getcwd()),
            "environment": dict(os.environ if env is None else env),
            "affinity": sorted(os.sched_getaffinity(0)),
        }
        streams = [own if pipe == -1 else pipe for own, pipe in enumerate((stdin, stdout, stderr))]
        self.pid = _server().fork(request, streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)


def run(arguments: list[Any], **how: Any) -> subprocess.CompletedProcess:
    """As `subprocess.run`, with the command's own arguments."""
    timeout = how.pop("timeout", None)
    with Command(
        [str(argument) for argument in arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how
    ) as command:
        try:
            out, err = command.communicate(timeout=timeout)
        except BaseException:
            command.kill()
            raise
    return subprocess.CompletedProcess(command.args, command.returncode, out, err)


class _Server:
    """The process that has imported everything. It ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST_REQUEST_BYTES)
        with theirs:
            subprocess.Popen([sys.executable, "-c", SERVER, *sys.path], stdin=theirs, process_group=0)

    def fork(self, request: dict[str, Any], streams: list[int]) -> int:
        """Process id of a child of this process."""
        _adopt(True)
        try:
            socket.send_fds(self._socket, [json.dumps(request).encode()], streams)
            pid = self._socket.recv(64)
        finally:
            _adopt(False)
        assert pid, "the server of commands has ended: see its traceback above"
        return int(pid)


@cache
def _server() -> _Server:
    return _Server()


def _adopt(orphans: bool) -> None:
    """Whether this process becomes the parent of descendants whose own parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(orphans), 0, 0, 0)


def serve() -> None:
    """Forks a command for each request on standard input, until that is closed."""
    with socket.socket(fileno=os.dup(0)) as requests:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        _import_all()
        while True:
            data, streams, _, _ = socket.recv_fds(requests, LONGEST_REQUEST_BYTES, 3)
            if not data:
                return
            between = os.fork()
            if between == 0:
                _fork_orphan(requests, json.loads(data), streams)
            for descriptor in streams:
                os.close(descriptor)
            os.waitpid(between, 0)


def _import_all() -> None:
    from part_samples import part_samples

    import windtunnel

    apart = (*APART, *part_samples("APART"))
    for module in pkgutil.walk_packages(windtunnel.__path__, "windtunnel.", onerror=lambda name: None):
        if not module.name.startswith(apart) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    _make_commands()
    _compile_pages()
    _ask_engines()
    gc.freeze()  # its pages stay shared


def _make_commands() -> None:
    """What each start of the command line makes first."""
    import typer.main
    from in_process import command_of

    from windtunnel.cli.app import app

    typer.main.get_command = command_of
    command_of(app)


def _ask_engines() -> None:
    """What each run asks its engine first: its wires and handlers."""
    from fake_runs import FAKE
    from scenario_tools import SHIPPED, engine

    from windtunnel.engine.find import find_engine
    from windtunnel.scenario import here, load, resolve

    for binary in (FAKE, find_engine()):
        with engine(str(binary)):
            resolve(load(SHIPPED / "echo.toml"), here())


def _compile_pages() -> None:
    """What the first page of a process takes a quarter of a second for."""
    from windtunnel.results.page import renderer

    renderer._packed_plotly()
    templates = renderer.environment(renderer.PACKAGE)
    for name in templates.list_templates(extensions=["html"]):
        templates.get_template(name)


def _fork_orphan(requests: socket.socket, request: dict[str, Any], streams: list[int]) -> NoReturn:
    """The command's process, whose parent is then the one that asked for it."""
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == parent:
        os.sched_yield()
    requests.send(str(os.getpid()).encode())
    requests.close()
    _become(request, streams)


def _become(request: dict[str, Any], streams: list[int]) -> NoReturn:
    """What an exec of the command would do."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.closerange(3, 1024)
    os.sched_setaffinity(0, request["affinity"])
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.argv = ["windtunnel", *request["arguments"]]
    sys.stdin, sys.stdout, sys.stderr = (_text_stream(number) for number in range(3))
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    status = _call_main()
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            status = status or 120
    os._exit(status)


def _text_stream(number: int) -> io.TextIOWrapper:
    raw = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
    buffered = io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw)
    errors = "backslashreplace" if number == 2 else "strict"
    return io.TextIOWrapper(buffered, "utf-8", errors, line_buffering=number == 2 or os.isatty(number))


def _call_main() -> int:
    """The exit status, as the interpreter takes it from what ends `main`."""
    from windtunnel.cli import main

    try:
        main()
        return 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
        raise
    except Exception:  # noqa: BLE001 - the interpreter's own way with what nobody catches
        traceback.print_exc()
        return 1
