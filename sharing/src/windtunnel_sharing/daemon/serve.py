"""The daemon: everything opened, kept up until it is told to end, and put back as it was."""

import asyncio
import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from windtunnel.api.errors import UserError, in_words
from windtunnel.api.host import ANNOUNCEMENT
from windtunnel.api.http import ListeningSocket, address
from windtunnel.api.http import http_server as http
from windtunnel_sharing import changed_threads, left_behind, rounds, threads
from windtunnel_sharing.daemon import access, api, rights, state
from windtunnel_sharing.daemon.allocation import Sharing
from windtunnel_sharing.daemon.core import Chosen, Core
from windtunnel_sharing.daemon.daemon_placement import Standing
from windtunnel_sharing.daemon.events import Events
from windtunnel_sharing.daemon.find_tenant import others_commanded
from windtunnel_sharing.daemon.keys import Serve
from windtunnel_sharing.daemon.listening import Listening
from windtunnel_sharing.daemon.lock import JOURNAL, SOCKET, STATE, default_directory, only_one
from windtunnel_sharing.daemon.pvcc import Pvcc
from windtunnel_sharing.daemon.roster import Tenant
from windtunnel_sharing.pools.cpusets import KEY, Cpusets
from windtunnel_sharing.pools.plan import Machine
from windtunnel_sharing.pools.shared_cores import shared_cores, shielding

SAVE_S = 0.25
"""A change is in the state file so long after it was made, at the latest."""
AGAIN_S = 0.05
"""Between two parts of an upkeep that has much to do: requests are served meanwhile."""
STRAYS_S = 0.25
"""Threads that strayed are looked for so often, at the least: one that does it again is confined within half a second."""


def socket_of(keys: Serve, base: Path) -> Path:
    return base / keys.api.socket if keys.api.socket else _directory(keys, base) / SOCKET


def _directory(keys: Serve, base: Path) -> Path:
    return base / keys.state if keys.state else default_directory()


class Daemon:
    """`with Daemon(keys, base, choose) as daemon: daemon.run()`. `base` is the directory of the file; `choose` picks the slicer.

    Raises UserError for whatever cannot be opened, with nothing changed.
    """

    def __init__(
        self,
        keys: Serve,
        base: Path,
        choose: Callable[[Serve, tuple[int, ...], Callable[[str], None]], Chosen],
        say: Callable[[str], None],
    ):
        self._keys, self._base, self._say = keys, base, say
        self._directory = _directory(keys, base)
        self._choose = choose
        self._stack = ExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._open(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self) -> None:
        """Until SIGINT or SIGTERM."""
        with ANNOUNCEMENT.command("share serve", at_once=True, api=str(socket_of(self._keys, self._base).absolute())):
            asyncio.run(self._serve())

    def _open(self, stack: ExitStack) -> None:
        keys = self._keys
        rights.check()
        cpus = _cpus(keys)
        machine = Machine(cpus, keys.be_cpus)
        if machine.ls_most < 1:
            raise UserError(
                f"be_cpus {keys.be_cpus} leaves no CPU of {len(cpus)} for ls", remedy=f"be_cpus = {len(cpus) - 1}"
            )
        claims = stack.enter_context(only_one(self._directory, cpus))
        left_behind.restore_all(self._say)  # before anything is probed or made, and with all rights
        kept = state.read(self._directory / STATE)
        self._listening = Listening(stack)
        self._listen(self._listening)
        chosen = self._choose(keys, cpus, self._say)
        last = stack.enter_context(ExitStack())
        around = stack.enter_context(shielding(keys.shield, chosen.kind.raises, last))
        cpusets = Cpusets(threads.mounts().get(KEY))
        stack.enter_context(cpusets.swept(last))
        rights.drop()
        journal = stack.enter_context(changed_threads.held(self._directory / JOURNAL, self._tell, claims))
        standing = Standing(cpus[: keys.be_cpus])
        budgets = rounds.of_a_daemon()
        carrier = stack.enter_context(
            shared_cores(journal, chosen.kind, cpus, chosen.slice_ns, around.shield, standing.everywhere, budgets)
        )
        carrier.confines_by(cpusets)
        self.sharing = Sharing(machine, carrier, Events(), self._base)
        self.core = Core(keys, self.sharing, carrier, chosen, around.words, budgets)
        self._begin(kept)

    def _listen(self, listening: Listening) -> None:
        """All sockets, opened while there are rights to."""
        keys = self._keys
        listening.open("unix", partial(_unix_socket, socket_of(keys, self._base)))
        self._tokens = access.tokens_of(keys, self._base)
        self._tls = None
        if keys.api.tls_certificate and keys.api.tls_key:
            self._tls = self._base / keys.api.tls_certificate, self._base / keys.api.tls_key
            http.check_tls(*self._tls)
        if keys.api.tcp:
            listening.open_or_wait("tcp", partial(_tcp_socket, keys.api.tcp))
        if keys.api.metrics:
            listening.open_or_wait("metrics", partial(_tcp_socket, keys.api.metrics))
        if keys.api.report_socket:
            listening.open_or_wait("reports", self._report_socket)
        if keys.pvcc and keys.pvcc.listen and "/" not in keys.pvcc.listen:
            listening.open_or_wait("pvcc", partial(_tcp_socket, keys.pvcc.listen))
        elif keys.pvcc:
            path = self._base / keys.pvcc.listen if keys.pvcc.listen else self._directory / "pvcc.sock"
            listening.open_or_wait("pvcc", partial(_unix_socket, path))

    def _report_socket(self, stack: ExitStack) -> ListeningSocket:
        made = _unix_socket(self._base / (self._keys.api.report_socket or ""), stack, 0o666)
        made.places.holder_of = lambda client: access.reporter(self.sharing, client)
        return made

    def _begin(self, kept: state.State) -> None:
        """Adds the tenants of the file, then those of the API, each as it was when the last daemon ended."""
        for name, why in self._tokens.unfit.items():
            self.sharing.events.publish("token left out", tenant=name, why=why.message, remedy=why.remedy)
        for taken in self._listening.taken.values():
            self.sharing.events.publish("not listening", why=taken.message, remedy=taken.remedy)
        self.core.take_in_all((keys, kept.wish_of(keys), kept.named_by(keys)) for keys in self._keys.tenant)
        for tenant in kept.tenants:
            added = tenant.keys()
            if added is not None and tenant.name not in self.sharing.tenants:
                with contextlib.suppress(UserError):  # no room for it any more: it runs as it is
                    self.core.take_in(added, tenant.wish)

    async def _serve(self) -> None:
        self._loop = loop = asyncio.get_running_loop()
        end = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end.set)
        self._watch_processes(loop)
        self.sharing.later = lambda seconds: loop.call_later(seconds, self.sharing.settle_late)
        servers = self._servers()
        serving = {name: loop.create_task(self._serve_at(name, one)) for name, one in servers.items()}
        others = [self._keep_up(), self._look_for_strays(), self._save()]
        if self._keys.pvcc:
            others.append(self._serve_pvcc(self._keys.pvcc.allow))
        tasks = [*serving.values(), *map(loop.create_task, others)]
        for line in self._start_lines():
            self._say(line)
        ended = loop.create_task(end.wait())
        await asyncio.wait([ended, *tasks], return_when=asyncio.FIRST_COMPLETED)
        for one in servers.values():
            one.should_exit = True
        for task in (*tasks[len(servers) :], *(serving[name] for name in self._listening.taken if name in serving)):
            task.cancel()
        errors = [one for one in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(one, Exception)]
        try:
            state.write(self._directory / STATE, self.sharing)
        except UserError as error:
            errors.append(error)
        if errors:
            raise errors[0]

    async def _serve_at(self, name: str, server: http.Server) -> None:
        await server.serve(sockets=[await self._socket(name)])

    async def _serve_pvcc(self, allowed: list[str]) -> None:
        """Until it is cancelled."""
        listening, loop = await self._socket("pvcc"), asyncio.get_running_loop()
        start = loop.create_unix_server if listening.family == socket.AF_UNIX else loop.create_server
        foreign = partial(self.core.metrics.count, "pvcc_foreign")
        server = await start(lambda: Pvcc(self.sharing, allowed, foreign), sock=listening)
        try:
            await asyncio.Event().wait()
        finally:
            server.close()

    async def _socket(self, name: str) -> ListeningSocket:
        was_taken = name in self._listening.taken
        listening = await self._listening.wait_for(name)
        if was_taken:
            self.sharing.events.publish("listening", at=http.shown(listening))
            self._say(f"the place is free, and listening: {http.shown(listening)}")
        return listening

    def _servers(self) -> dict[str, http.Server]:
        def server(
            app: Any, may: http.Access = lambda scope: None, tls: tuple[Path, Path] | None = None
        ) -> http.Server:
            return http.server(http.Limits(app, may, access.most_body), tls, access.MOST_HEAD)

        app = api.make(self.core)
        servers = {"unix": server(app)}
        if self._keys.api.tcp:
            servers["tcp"] = server(app, self._tokens, self._tls)
        if self._keys.api.report_socket:
            servers["reports"] = server(app, access.OwnReports(self.sharing))
        if self._keys.api.metrics:
            servers["metrics"] = server(api.make_metrics(self.core.metrics))
        return servers

    def _watch_processes(self, loop: asyncio.AbstractEventLoop) -> None:
        def watch(tenant: Tenant) -> None:
            fd = tenant.pid_fd
            if fd is not None:
                loop.add_reader(fd, ended, tenant, fd)

        def ended(tenant: Tenant, fd: int) -> None:
            loop.remove_reader(fd)
            if tenant.pid_fd == fd:
                self.core.died(tenant)

        self.sharing.on_process, self.sharing.on_leave = watch, loop.remove_reader
        for tenant in self.sharing.tenants.values():
            watch(tenant)

    async def _keep_up(self) -> None:
        more, took_s = False, 0.0
        while True:
            check_s = self._keys.check / 1e9
            await asyncio.sleep(max(took_s, min(check_s, AGAIN_S) if more else check_s))
            begin = time.monotonic()
            more = self.core.upkeep()
            took_s = time.monotonic() - begin

    async def _look_for_strays(self) -> None:
        while True:
            await asyncio.sleep(min(self._keys.check / 1e9, STRAYS_S))
            self.core.put_strays_right()

    async def _save(self) -> None:
        """A disk that is full, or no descriptor, ends nobody's sharing: it is said once, and tried again."""
        events, written, trouble = self.sharing.events, None, ""
        while True:
            if trouble or events.last != written:
                try:
                    with in_words():
                        state.write(self._directory / STATE, self.sharing)
                    now = ""
                except UserError as error:
                    now = error.message
                if now != trouble:
                    events.publish("state not saved" if now else "state saved", why=now or None)
                    self._say(f"the state is not saved, and tried again: {now}" if now else "the state is saved again")
                written, trouble = events.last, now
            await asyncio.sleep(SAVE_S)

    def _tell(self, line: str) -> None:
        """Of the guardian, from another thread."""
        self._say(line)
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(lambda: self.sharing.events.publish("guardian", why=line))

    def _start_lines(self) -> Iterator[str]:
        keys, plan = self._keys, self.sharing.plan
        yield f"sharing CPUs {_list(self.sharing.machine.cpus)}: ls {_list(plan.ls)}, be {_list(plan.be)}"
        chosen = self.core.chosen
        why = f" ({chosen.why})" if chosen.why else ""
        yield f"slicer {chosen.kind.name}, {chosen.slice_ns / 1000:g} us{why}; shield {self.core.shield}"
        open_ = self._listening.sockets
        yield f"HTTP on {socket_of(keys, self._base)}" + (f" and {keys.api.tcp} with a token" if "tcp" in open_ else "")
        if "pvcc" in open_:
            yield f"PvCC's protocol on {http.shown(open_['pvcc'])}"
        for taken in self._listening.taken.values():
            yield f"not listening until the place is free: {taken.message}"
        absent = [tenant for tenant in self.sharing.tenants.values() if tenant.pid is None]
        if waited_for := [tenant.name for tenant in absent if not tenant.trouble]:
            yield f"waiting for: {', '.join(waited_for)}"
        for tenant in self.sharing.tenants.values():
            if why := tenant.left_out.message if tenant.left_out else tenant.trouble:
                yield f"tenant {tenant.name} is left out: {why}"
        for name, error in self._tokens.unfit.items():
            yield f"tenant {name} has no token to report with: {error.message}"
        for tenant in absent:
            if passed_over := others_commanded(tenant.keys):
                yield f"tenant {tenant.name}: {passed_over}"
            number, named = tenant.keys.pid, tenant.named
            if number is not None and named is not None and threads.process_started(number) not in (None, named):
                yield f"tenant {tenant.name}: process {number} is not the one from before, and is not changed"


def _tcp_socket(at: str, stack: ExitStack) -> ListeningSocket:
    return stack.enter_context(http.tcp_socket(address.parse(at)))


def _unix_socket(path: Path, stack: ExitStack, mode: int = 0o600) -> ListeningSocket:
    return stack.enter_context(http.unix_socket(path, mode))


def _list(cpus: tuple[int, ...]) -> str:
    return ",".join(map(str, cpus)) or "none"


def _cpus(keys: Serve) -> tuple[int, ...]:
    """Raises UserError for CPUs that this process may not use."""
    mine = os.sched_getaffinity(0)
    if keys.cpus == "auto":
        return tuple(sorted(mine))
    if missing := [cpu for cpu in keys.cpus if cpu not in mine]:
        raise UserError(
            f"CPU {missing[0]} is not available to this process", remedy=f"one of {_list(tuple(sorted(mine)))}"
        )
    return tuple(keys.cpus)
