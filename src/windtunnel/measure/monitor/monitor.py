"""What the monitor does, in its order: snapshots, tools in turns, snapshots again; and a line of monitor.jsonl for each."""

import os
import select
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from windtunnel.engine.lines import AnyLine, Result
from windtunnel.engine.supervisor import Listener
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.host.cpus import allowed_cpus
from windtunnel.host.installed import DIRECTORIES, installed
from windtunnel.measure.monitor import snapshots
from windtunnel.measure.monitor.guarded import GuardedTool
from windtunnel.measure.monitor.snapshots import NotRead, Snapshot
from windtunnel.measure.monitor.tools import TOOLS, Processor, Tool, read_processor
from windtunnel.runs.directories import Held
from windtunnel.runs.files import LineFile
from windtunnel.runs.monitor import FILE, Absent, Asked, Kept, Line

START_S = 5.0
"""For which a tool may take beyond the time for which it counts: PCM looks at the whole machine first."""
TOO_SHORT = "its turn had not come when the monitor ended"


@dataclass(frozen=True)
class Request:
    """What is monitored."""

    metrics: Sequence[str]
    cpus: Sequence[int]
    """Of which cache misses are counted."""
    kept_free: Sequence[int] = ()
    """On which no tool runs, if there are others."""
    interfaces: Sequence[str] | None = None
    """Whose counters are read. None: those of all NICs."""
    seconds: int = 3
    """For which each tool counts."""

    @property
    def tools(self) -> list[Tool]:
        return [tool for tool in TOOLS if tool.metric in self.metrics]


@dataclass
class Monitor:
    """Monitors into a directory. `stop_fd`: a descriptor that is readable as soon as it shall end."""

    request: Request
    place: Path
    stop_fd: int
    directories: Sequence[Path] = DIRECTORIES
    """In which programs are looked up."""
    processor: Processor = field(default_factory=read_processor)
    root: Path = Path("/")
    until_stopped: bool = False
    """Whether it goes on after the last turn, until it is stopped."""

    def conduct(self) -> None:
        """Until all is done. Raises UserError if the disk does not take a text."""
        request = self.request
        self._began = monotonic()
        self._lines = LineFile(self.place / FILE)
        try:
            interfaces = self._interfaces()
            self._write(Asked(metrics=[*request.metrics], cpus=[*request.cpus], interfaces=[*interfaces]))
            begun = [begun for snapshot in self._snapshots(interfaces) for begun in self._begin(snapshot)]
            for tool in request.tools:
                self._run(tool)
            if begun or self.until_stopped:
                self._wait_for_end()
            for snapshot, before, began_s in begun:
                self._end(snapshot, before, began_s)
        finally:
            self._lines.close()

    def _interfaces(self) -> Sequence[str]:
        if "pause" not in self.request.metrics:
            return ()
        if self.request.interfaces is None:
            return snapshots.interfaces_of_nics(self.root)
        return self.request.interfaces

    def _wait_for_end(self) -> None:
        """Until it is stopped, or until snapshots are as far apart as a turn lasts."""
        left = None if self.until_stopped else max(self.request.seconds - self._passed, 0.0)
        select.select([self.stop_fd], [], [], left)

    def _run(self, tool: Tool) -> None:
        """The turn of one tool: its text, or the reason why there is none."""
        reason = tool.lacks(self.processor)
        program = installed(tool.program, self.directories)
        if program is None:
            missing = f"{tool.program} is not installed: Debian's package {tool.package} has it"
            reason = f"{missing}; {reason}" if reason else missing
        if reason is None and self._is_stopped:
            reason = TOO_SHORT
        if program is None or reason is not None:
            self._write(Absent(metric=tool.metric, tool=tool.name, reason=reason or ""))
            return
        command = [str(program), *tool.arguments(self.request.cpus, self.request.seconds)]
        began_s = self._passed
        with self._new(tool.file) as output:
            try:
                guarded = GuardedTool(command, self._own_cpus, output)
            except OSError as refused:
                self._write(
                    Absent(metric=tool.metric, tool=tool.name, reason=f"it cannot be started: {refused.strerror}")
                )
                return
            try:
                guarded.wait(self.request.seconds + START_S, self.stop_fd)
            finally:
                code, error = guarded.stop()
        self._keep(tool.metric, tool.name, tool.file, command, began_s, code, error if code else "")

    def _snapshots(self, interfaces: Sequence[str]) -> Iterator[Snapshot]:
        if "cpus" in self.request.metrics:
            yield snapshots.cpu_times(self.root)
        if "memory" in self.request.metrics:
            yield snapshots.memory_traffic(self.root / "sys/fs/resctrl")
        if "pause" in self.request.metrics:
            program = installed("ethtool", self.directories)
            reason = "ethtool is not installed: Debian's package ethtool has it" if program is None else ""
            if reason or not interfaces:
                self._write(Absent(metric="pause", tool="ethtool -S", reason=reason or snapshots.NO_INTERFACE))
            elif program is not None:
                yield from (snapshots.nic_counters(program, interface) for interface in interfaces)

    def _begin(self, snapshot: Snapshot) -> Iterator[tuple[Snapshot, str, float]]:
        """The snapshot with its first text and its time, unless it cannot be read."""
        began_s = self._passed
        try:
            yield snapshot, snapshot.take(began_s), began_s
        except NotRead as reason:
            self._write(Absent(metric=snapshot.metric, tool=snapshot.tool, reason=str(reason)))

    def _end(self, snapshot: Snapshot, before: str, began_s: float) -> None:
        try:
            after = snapshot.take(self._passed)
        except NotRead as reason:
            self._write(Absent(metric=snapshot.metric, tool=snapshot.tool, reason=f"at the end: {reason}"))
            return
        with self._new(snapshot.file) as output, open(output, "w", closefd=False) as file:
            file.write(before + after)
        code = 0 if snapshot.command else None
        self._keep(snapshot.metric, snapshot.tool, snapshot.file, snapshot.command, began_s, code, "")

    def _keep(
        self, metric: str, tool: str, file: str, command: Sequence[str], began_s: float, code: int | None, error: str
    ) -> None:
        seconds = round(self._passed - began_s, 3)
        self._write(
            Kept(
                metric=metric, tool=tool, file=file, command=[*command], begins_s=round(began_s, 3), seconds=seconds,
                exit_code=code, error=error,
            )
        )  # fmt: skip

    @contextmanager
    def _new(self, name: str) -> Iterator[int]:
        """A descriptor of a new file in the directory. Raises UserError."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(self.place / name, flags, 0o644)
        except OSError as error:
            raise UserError(f"{self.place / name}: {error.strerror}", remedy="a new directory") from error
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @property
    def _own_cpus(self) -> list[int]:
        allowed = allowed_cpus()
        return [cpu for cpu in allowed if cpu not in self.request.kept_free] or allowed

    @property
    def _is_stopped(self) -> bool:
        return bool(select.select([self.stop_fd], [], [], 0)[0])

    @property
    def _passed(self) -> float:
        return monotonic() - self._began

    def _write(self, line: Line) -> None:
        self._lines.append(line.model_dump_json() + "\n")


class RunMonitor:
    """Monitors a run: from its first window until its result, on a thread of its own. Close it when the run has ended."""

    def __init__(self, request: Request, directories: Sequence[Path] = DIRECTORIES):
        self._request, self._directories = request, directories
        self._stop_fd, self._stop = os.pipe()
        self._thread: threading.Thread | None = None
        self._error: UserError | OSError | None = None

    def into(self, directory: Held) -> Listener:
        """Monitors into a run's directory: the listener of this run."""
        self._directory = directory

        def listen(name: str, line: AnyLine, raw: str) -> None:
            if isinstance(line, Window) and self._thread is None:
                monitor = Monitor(self._request, directory.place, self._stop_fd, self._directories, until_stopped=True)
                self._thread = threading.Thread(target=self._conduct, args=(monitor,), name="monitor")
                self._thread.start()
            elif isinstance(line, Result):
                self._tell()

        return listen

    def close(self) -> None:
        """Stops the tools and waits for their texts. Raises UserError if the disk did not take one."""
        self._tell()
        if self._thread is not None:
            self._thread.join()
        os.close(self._stop_fd)
        os.close(self._stop)
        if self._error is not None:
            with self._directory.named():
                raise self._error

    def _conduct(self, monitor: Monitor) -> None:
        try:
            monitor.conduct()
        except (UserError, OSError) as error:  # raised by `close`, where somebody waits for it
            self._error = error

    def _tell(self) -> None:
        os.write(self._stop, b"!")
