"""One engine process: started, read without blocking, asked to stop, killed. What its end means is decided elsewhere.

The engine gets four descriptors of its own beside a log for whatever drivers and plug-ins print: the plan (a memfd, so
that nothing is left behind), the pipe for its lines, the control pipe, whose closing tells it that the parent is gone, and the directory
in which it makes its recordings.
"""

import contextlib
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from windtunnel.engine import descendants, own_directory
from windtunnel.engine.history import History
from windtunnel.engine.lines import LINE, AnyLine
from windtunnel.engine.outputs import Outputs
from windtunnel.engine.plan import Plan
from windtunnel.engine.turns import Place
from windtunnel.errors import UserError

CHUNK_BYTES = 1 << 18
MAX_LINE_BYTES = 64 << 20
LAST_THREADS_S = 0.005
"""Between the end of an engine and the call that takes its exit status. Its last threads still remove their entries of /proc then. On a
CPU that both share, Linux 6.18 with autogroups kept that call in a loop (shrink_dcache_parent) and these threads off the CPU, for up to
100 s."""


class EngineProcess:
    """A running engine. Its process is that of its guard, if it has one, which ends as the engine did. `history` holds what is known of it. `handlers_only`: it opens the plan's handlers, runs nothing and ends.

    Raises UserError when the engine cannot be started.
    """

    def __init__(
        self,
        binary: Path,
        name: str,
        plan: Plan,
        outputs: Outputs,
        place: Place | None = None,
        handlers_only: bool = False,
    ):
        self.history = History(name, plan)
        self._outputs = outputs
        self._mark = secrets.token_hex(8)
        self._pending = bytearray()
        self._lines = 0
        environment = own_directory.for_eal() | {descendants.MARK: self._mark}
        plan_fd = os.memfd_create(f"plan-{name}")
        self.out_fd, out_write = os.pipe()
        self.out_open = True
        control_read, self._control_fd = os.pipe()
        # A dead engine must not block us, nor a stopped one: writes to the control pipe are few and small.
        os.set_blocking(self.out_fd, False)
        os.set_blocking(self._control_fd, False)
        try:
            with os.fdopen(os.dup(plan_fd), "w") as file:
                file.write(outputs.plan(plan).model_dump_json())
            # --plan is opened by path: each opening of /proc/self/fd/N starts at the beginning of the memfd.
            command = [str(binary), "--plan", f"/proc/self/fd/{plan_fd}", "--out-fd", str(out_write)]
            command += ["--handlers-only"] if handlers_only else []
            inherited = [plan_fd, out_write, control_read, outputs.directory]
            if place is not None:
                command += ["--turn-in-fd", str(place.incoming), "--turn-out-fd", str(place.outgoing)]
                inherited += [place.incoming, place.outgoing]
            self._process = subprocess.Popen(
                [*command, "--control-fd", str(control_read)],
                stdin=subprocess.DEVNULL,
                stdout=outputs.log,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
                env=environment,
                # Ctrl-C reaches only us, and a group of its own can be killed whole. Not a session, which would be an
                # autogroup of its own: Linux 6.18 kept such groups that poll off a CPU that they share for up to 7 s.
                process_group=0,
            )
        except OSError as error:
            os.close(self.out_fd)
            os.close(self._control_fd)
            raise UserError(f"the engine {binary} cannot be started: {error.strerror}: {error.filename}") from error
        finally:
            for fd in (plan_fd, out_write, control_read):
                os.close(fd)
            if place is not None:
                place.close()
        self.pid_fd = os.pidfd_open(self._process.pid)
        self.pid = self._process.pid

    @property
    def running(self) -> bool:
        return self.history.ended_at is None

    def read(self) -> Iterator[tuple[AnyLine, str]]:
        """One read: the whole lines that it completes, each with its text, up to the first that does not validate.

        Raises BlockingIOError when nothing has arrived. `out_open` becomes False at the end of the lines.
        """
        chunk = os.read(self.out_fd, CHUNK_BYTES)
        if not chunk:
            self.history.cut_short = bool(self._pending)
            self._close_out()
            return
        *lines, rest = (self._pending + chunk).split(b"\n")
        self._pending = rest
        for raw in lines:
            if self.history.protocol_error is not None:
                return
            self._lines += 1
            try:
                line = LINE.validate_json(raw)
            except ValidationError as error:
                self._spoil(bytes(raw), _first_fault(error))
                return
            line = self._outputs.line(line, self.history.plan)
            self.history.note(line)
            yield line, raw.decode()
        if len(rest) > MAX_LINE_BYTES:
            self._spoil(bytes(rest), f"the line is longer than {MAX_LINE_BYTES >> 20} MiB")

    def _spoil(self, raw: bytes, why: str) -> None:
        text = raw[:80].decode(errors="backslashreplace")
        self.history.protocol_error = f"line {self._lines}: {why}: {text!r}"

    def ask_to_stop(self) -> None:
        """Asks for an orderly end: drain, then result."""
        self._say("stop")

    def tell_client_finished(self) -> None:
        """Asks a server for an orderly end without a drain: its client needs no more responses."""
        self._say("finished")

    def extend(self, windows: int) -> None:
        """Lengthens the measurement. Without effect once it has ended."""
        self._say(f"extend {windows}")

    def tell_window_read(self) -> None:
        """Ends the hold after a window, of a plan that has `hold_windows`."""
        self._say("read")

    def _say(self, word: str) -> None:
        with contextlib.suppress(BrokenPipeError, BlockingIOError):
            os.write(self._control_fd, f"{word}\n".encode())

    def kill(self, why: str) -> None:
        """Ends the whole process group at once; the first reason stands. The log tells what each thread did then."""
        if self.history.killed_because is None:
            self.history.killed_because = why
            words = f"windtunnel: killed: {why}\n{describe_threads(self.history.pid or self.pid)}"
            with contextlib.suppress(OSError):
                os.write(self._outputs.log, words.encode())
            self.kill_group()

    def kill_group(self) -> None:
        """Ends the engine and whatever it has started, in sessions of their own too, and then the guard, below which they are. Only before
        `end`: then the group's number may be another's."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGSTOP)  # it does not end before them, which would be then without an ancestor
        descendants.kill(self.pid, self._mark)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """Takes the exit status of a process that has ended, after its last line, and closes the descriptors."""
        time.sleep(LAST_THREADS_S)
        self.history.exit_code = self._process.wait()
        self.history.ended_at = time.monotonic()
        self._close_out()
        os.close(self._control_fd)
        os.close(self.pid_fd)

    def _close_out(self) -> None:
        if self.out_open:
            os.close(self.out_fd)
            self.out_open = False


def describe_threads(pid: int) -> str:
    """A line for each thread of a process: its name, its state and the kernel function that it sleeps in (proc(5)), and the seconds since
    its start that it had a CPU and waited for one (schedstat). Empty for a process that has ended."""
    lines = []
    for task in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(OSError):
            name, states = (task / "stat").read_text().rpartition(")")[::2]
            on_cpu_ns, waited_ns, _ = map(int, (task / "schedstat").read_text().split())
            function = (task / "wchan").read_text()
            sleeps = f" in {function}" if function != "0" else ""
            lines.append(
                f"  thread {name.replace(' (', ' ', 1)}: state {states.split()[0]}{sleeps}, "
                f"{on_cpu_ns / 1e9:.3f} s on a CPU, {waited_ns / 1e9:.3f} s waiting for one\n"
            )
    return "".join(sorted(lines))


def _first_fault(error: ValidationError) -> str:
    """The first of pydantic's complaints on one line."""
    fault = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in fault["loc"])
    return f"{where}: {fault['msg']}" if where else fault["msg"]
