"""Finds the processes that announce themselves on this host, and follows them."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any, Self

from windtunnel.errors import UserError
from windtunnel.host import facts, levels
from windtunnel.live import places
from windtunnel.live.publisher import STOP
from windtunnel.parts.ui import tenants
from windtunnel.parts.ui.edit.start import StartedRuns
from windtunnel.parts.ui.watched import WatchedProcess

LOOK_S = 0.25
"""Time between two searches for new processes."""
JUDGE_S = 1.0
"""Time between two validity checks of a run that is measuring."""
MOST_LINE = 64 << 20
"""Bytes of one line."""
SHARING_S = 0.5
"""Time between two requests to a share daemon."""
KEPT_ENDED = 6
"""Ended processes that are still shown."""


class Watch:
    """Context manager, in an event loop. `started`: the runs that this server began; `processes`: the running processes by pid; `ended`: the ended
    ones, the last one first."""

    def __init__(self, started: StartedRuns) -> None:
        self.started = started
        self.processes: dict[int, WatchedProcess] = {}
        self.ended: list[WatchedProcess] = []
        self._writers: dict[int, asyncio.StreamWriter] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._reading: dict[Path, asyncio.Task[None]] = {}
        self._changed = asyncio.Condition()
        self._version = self._pages = 0
        self._ending = False

    async def __aenter__(self) -> Self:
        self._start(self._discover())
        self._start(self._judge())
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def end(self) -> None:
        """Ends `changes`, because pages may be open when the server ends."""
        self._ending = True
        await self._tell()

    async def changes(self, least_s: float) -> AsyncIterator[None]:
        """Yields at once, and then after each change, at most once in `least_s` seconds, until `end`."""
        version = -1
        self._pages += 1
        try:
            while not self._ending:
                async with self._changed:
                    while self._version == version:
                        await self._changed.wait()
                    version = self._version
                yield
                await asyncio.sleep(least_s)
        finally:
            self._pages -= 1

    def stop(self, pid: int) -> bool:
        """Requests that a process ends as by Ctrl-C. Returns whether there is such a process."""
        writer = self._writers.get(pid)
        if writer is None:
            return False
        writer.write(STOP)
        self.processes[pid].stopping = True
        return True

    async def set_weight(self, pid: int, name: str, weight: int) -> None:
        """Sets the weight of a tenant of the share daemon with this pid. Raises UserError if there is none, or with the daemon's message."""
        process = self.processes.get(pid)
        if process is None or process.api is None or process.tenants is None:
            raise UserError("no such daemon any more", remedy="load the page again")
        if name not in [tenant.name for tenant in process.tenants.tenants]:
            raise UserError(f"no tenant {name[:64]}", remedy="load the page again")
        await tenants.set_weight(process.api, name, weight)

    def _start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _discover(self) -> None:
        while True:
            if self.started.collect_ended():
                await self._tell()
            for path in places.announced():
                if path not in self._reading:
                    task = self._reading[path] = self._start(self._read(path))
                    task.add_done_callback(lambda _, path=path: self._reading.pop(path, None))  # type: ignore[misc]
            await asyncio.sleep(LOOK_S)

    async def _read(self, path: Path) -> None:
        """Follows one process to its end."""
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=MOST_LINE)
        except OSError:
            places.remove_stale(path)
            return
        pid, uid = places.peer(writer.get_extra_info("socket"))
        process = WatchedProcess(pid, uid)
        follows: asyncio.Task[None] | None = None
        try:
            if not places.may_meet(uid):
                return
            self.processes[pid], self._writers[pid] = process, writer
            with contextlib.suppress(OSError, ValueError):  # ValueError: a line too long
                while text := await reader.readline():
                    process.line(text.decode(errors="replace"))
                    if process.api and follows is None:
                        follows = self._start(self._follow(process, process.api))
                    await self._tell()
        finally:
            if follows is not None:
                follows.cancel()
            writer.close()
            self._writers.pop(pid, None)
            if self.processes.pop(pid, None):
                process.gone = True
                self.ended = [process, *self.ended][:KEPT_ENDED]
                await self._tell()

    async def _follow(self, process: WatchedProcess, api: str) -> None:
        """Follows the tenants of a share daemon as long as a page is open."""
        while True:
            if self._pages:
                current = await tenants.read(api)
                if current != process.tenants:
                    process.tenants = current
                    await self._tell()
            await asyncio.sleep(SHARING_S)

    async def _tell(self) -> None:
        async with self._changed:
            self._version += 1
            self._changed.notify_all()

    async def _judge(self) -> None:
        """Checks the runs in a thread, because hundreds of windows take some milliseconds."""
        kept_readings = await asyncio.to_thread(_kept_readings)
        while True:
            began = time.monotonic()
            for process in list(self.processes.values()):
                for run in list(process.runs.values()):
                    if run.ended is None:
                        run.checks = await asyncio.to_thread(run.judge, run.kept_windows(), kept_readings)
                        await self._tell()
            await asyncio.sleep(max(0.0, JUDGE_S - (time.monotonic() - began)))


def _kept_readings() -> levels.Readings:
    return levels.read_kept(facts.collect())
