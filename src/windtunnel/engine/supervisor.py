"""Starts the engines of a run, forwards their lines, and ensures that all of them end.

All engines start at once: each opens its ports by itself and waits there for its link, so no order is needed. An engine
is killed when it is silent for too long, runs past its time, writes an invalid line, or outlives its peer.
"""

import contextlib
import selectors
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Protocol

from windtunnel.engine import leftovers
from windtunnel.engine.history import History, SupervisedRun
from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.lines import (
    LINGERING,
    OPENING_PORTS,
    WAITING_FOR_LINK,
    AnyLine,
    Error,
    Hello,
    Phase,
    Ready,
    Result,
)
from windtunnel.engine.outputs import Outputs
from windtunnel.engine.plan import Plan
from windtunnel.engine.process import EngineProcess
from windtunnel.engine.readable import readable
from windtunnel.engine.turns import Place
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.part_registry import part_functions

SETUP_SILENCE_S = 60.0
"""Longest wait for a line before the run: memory is zeroed and handlers fill their state without one."""
OVERDUE_S = 5.0
"""A window, or the end, may be so late; then the engine is killed."""
ORDERLY_END_S = 5.0
"""Time for two engines to end one after the other, in addition to their drains."""
MOST_STARTS = 4
"""Most starts of an engine that dies in one of the phases BEFORE_LINK."""
BEFORE_LINK = (OPENING_PORTS, WAITING_FOR_LINK)
"""Its socket is there, and nothing is measured yet: another process that connects can crash its driver."""
PEER_GRACE_S = 3.0
"""What an engine gets for its result after its peer has died."""

Listener = Callable[[str, AnyLine, str], None]
"""Gets the engine's name, the line and its text. May raise UserError or OSError (a full disk): the run then ends at once. After a
BrokenPipeError (nobody reads what it prints) the run ends in order."""


class Extending(Protocol):
    """Decides whether the measurement goes on beyond its duration."""

    most_ns: int
    """Longest measurement."""

    def more(self, name: str) -> int:
        """Returns, after each window of an engine, by how many windows all engines measure longer."""


@dataclass(eq=False)
class _Watched:
    """An engine with its two deadlines (CLOCK_MONOTONIC seconds): for the next line, and for the end."""

    engine: EngineProcess
    silence_s: float
    slower: int
    """Seconds that a second of the run's time takes at the most."""
    most_ns: int
    """Longest measurement."""
    end_by: float = float("inf")
    end_words: str = ""

    def __post_init__(self) -> None:
        self.next_line_by = time.monotonic() + self.silence_s

    def heard(self, line: AnyLine, now: float) -> None:
        phases = self.engine.history.plan.phases
        match line:
            case Hello() | Phase():
                self.silence_s = setup_silence_s(self.engine.history.plan)
            case Ready() | Window():
                # A drain may pass without a window, so that its length belongs to the silence that is allowed.
                longest_ns = max(phases.window_ns, self.engine.history.plan.settling_ns(1))
                self.silence_s = (longest_ns + phases.drain_ns) / 1e9 * self.slower + OVERDUE_S
            case Result() | Error():
                self.must_end(now + OVERDUE_S, "it did not exit after its last line")
        if isinstance(line, Window) and line.index == 0:
            measured_ns = self.most_ns + self.engine.history.plan.settling_ns(self.most_ns)
            run_s = (phases.warmup_ns + measured_ns + phases.window_ns + phases.drain_ns) / 1e9 * self.slower
            self.must_end(now + run_s + ORDERLY_END_S + OVERDUE_S, "it exceeded its run time")
        self.next_line_by = now + self.silence_s

    def must_end(self, by: float, reason: str) -> None:
        if by < self.end_by:
            self.end_by, self.end_words = by, reason

    def kill_if_overdue(self, now: float) -> None:
        if now >= self.end_by:
            self.engine.kill(self.end_words)
        elif now >= self.next_line_by:
            self.engine.kill(self._silence_words())

    def _silence_words(self) -> str:
        if self.engine.history.phase == WAITING_FOR_LINK:
            return f"no link for {self.silence_s:.1f} s (look at the other end of the wire: its role, its log, whether it is there)"
        return f"no line for {self.silence_s:.1f} s"


def _slower(plan: Plan, shares: bool) -> int:
    """A run that shares its cores by turns has half of the time, and one with parts may take longer."""
    times: int = prod(slower(plan) for slower in part_functions("supervision", "slower"))
    return (2 if shares else 1) * times


def setup_silence_s(plan: Plan) -> float:
    """Longest wait for a line before the run, with what parts build for this plan."""
    more_s: float = sum(silence_s(plan) for silence_s in part_functions("supervision", "silence_s"))
    return SETUP_SILENCE_S + more_s


class Supervisor:
    """One run. `run` returns when every engine has ended and its leftovers are gone. With a `place` its one engine takes turns
    with that of another run."""

    def __init__(
        self,
        binary: Path,
        log_path: Callable[[str], Path],
        listeners: Sequence[Listener],
        interrupts: Interrupts,
        place: Place | None = None,
        extending: Extending | None = None,
    ):
        self._binary = binary
        self._log_path = log_path
        self._listeners = list(listeners)
        self._interrupts = interrupts
        self._place = place
        self._extending = extending
        self._seen_interrupts = 0
        self._watched: list[_Watched] = []
        self._outputs: dict[str, Outputs] = {}
        self._run = SupervisedRun([])

    def run(self, plans: Sequence[Plan], names: Sequence[str]) -> SupervisedRun:
        """Runs the plans, one engine each. Raises UserError when an engine cannot be started."""
        leftovers.remove_of_the_dead()
        with selectors.DefaultSelector() as selector:
            self._selector = selector
            selector.register(self._interrupts.fd, selectors.EVENT_READ, self._interrupts.drain)
            try:
                for plan, name in zip(plans, names, strict=True):
                    self._start(plan, name)
                while running := self._running():
                    self._turn(running)
            finally:
                for watched in self._running():
                    watched.engine.kill("the supervisor failed")
                    watched.engine.end()
                for outputs in self._outputs.values():
                    outputs.close()
                for plan in plans:
                    leftovers.remove(plan)
        return self._run

    def _start(self, plan: Plan, name: str) -> None:
        self._outputs[name] = Outputs(self._log_path(name))
        engine = EngineProcess(self._binary, name, plan, self._outputs[name], self._place)
        most_ns = max(plan.phases.duration_ns, self._extending.most_ns if self._extending else 0)
        watched = _Watched(engine, setup_silence_s(plan), _slower(plan, shares=self._place is not None), most_ns)
        self._watched.append(watched)
        self._run.histories.append(engine.history)
        self._listen_to(watched)

    def _listen_to(self, watched: _Watched) -> None:
        self._selector.register(watched.engine.out_fd, selectors.EVENT_READ, lambda: self._read(watched))
        self._selector.register(watched.engine.pid_fd, selectors.EVENT_READ, lambda: self._ended(watched))

    def _running(self) -> list[_Watched]:
        return [watched for watched in self._watched if watched.engine.running]

    def _turn(self, running: list[_Watched]) -> None:
        """Waits for the next thing to happen, or for the first deadline, and acts on it."""
        wake = min(min(watched.next_line_by, watched.end_by) for watched in running)
        for key, _ in self._selector.select(max(0.0, wake - time.monotonic())):
            if key.fd in self._selector.get_map():  # an end closes the descriptors that are still in this list
                key.data()
        self._pass_on_interrupts()
        now = time.monotonic()
        for watched in self._running():
            watched.kill_if_overdue(now)

    def _read(self, watched: _Watched) -> None:
        engine = watched.engine
        with contextlib.suppress(BlockingIOError):
            for line, raw in engine.read():
                watched.heard(line, time.monotonic())
                if isinstance(line, Phase) and line.name == LINGERING:
                    self._tell_client_is_done(watched)
                self._hand_on(engine.history.name, line, raw)
                if isinstance(line, Window):
                    self._window_read(engine, line)
        if engine.history.protocol_error is not None:
            engine.kill("it violated the protocol")
        if not engine.out_open:
            self._selector.unregister(engine.out_fd)
            watched.must_end(time.monotonic() + OVERDUE_S, "it closed its output and did not exit")

    def _hand_on(self, name: str, line: AnyLine, raw: str) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(name, line, raw)
            except BrokenPipeError:
                self._listeners.remove(listener)
                self._run.unread = True
                self._ask_all_to_stop()
            except (UserError, OSError) as error:
                self._listeners.clear()
                self._run.not_written = error.message if isinstance(error, UserError) else str(error)
                for watched in self._running():
                    watched.engine.kill("its lines could not be written")
                return

    def _window_read(self, engine: EngineProcess, window: Window) -> None:
        if window.phase == "measure" and not self._run.stopped:
            self._extend(engine.history.name)
        if engine.history.plan.phases.hold_windows:
            engine.tell_window_read()

    def _extend(self, name: str) -> None:
        windows = self._extending.more(name) if self._extending else 0
        for watched in self._running() if windows else ():
            watched.engine.extend(windows)

    def _ended(self, watched: _Watched) -> None:
        """Takes the last lines of an engine that has ended and tells the others what it means for them."""
        engine = watched.engine
        engine.kill_group()
        while engine.out_open and readable(engine.out_fd, seconds=0):
            self._read(watched)
        if engine.out_open:  # a process outside its group still holds the pipe open
            self._selector.unregister(engine.out_fd)
        self._selector.unregister(engine.pid_fd)
        engine.end()
        if self._may_start_again(engine.history):
            self._start_again(watched)
        elif not engine.history.ended_well:
            self._tell_peer_is_gone()
        elif engine.history.is_client:
            self._tell_client_is_done(watched)

    def _may_start_again(self, history: History) -> bool:
        """Whether it died while another process could reach its driver, and only time is lost. In a run by turns the descriptors
        of its turns are gone, and an engine whose peer has ended would wait for nobody."""
        reached = history.phase in BEFORE_LINK and "process_each" in history.plan.endpoints[0].port.traits
        died = history.signal_name is not None and history.killed_because is None
        alone = history.peer_gone or history.peer_done
        return reached and died and history.starts < MOST_STARTS and not (self._run.stopped or self._place or alone)

    def _start_again(self, watched: _Watched) -> None:
        before = watched.engine.history
        leftovers.remove(before.plan)
        again = Phase(type="phase", name=f"starting again after {before.signal_name} while {before.phase}", at_ns=0)
        self._hand_on(before.name, again, again.model_dump_json())
        watched.engine = EngineProcess(self._binary, before.name, before.plan, self._outputs[before.name])
        watched.engine.history.starts = before.starts + 1
        self._run.histories[self._run.histories.index(before)] = watched.engine.history
        watched.heard(again, time.monotonic())
        self._listen_to(watched)

    def _tell_peer_is_gone(self) -> None:
        """An engine whose peer died may still write its result."""
        for other in self._running():
            other.engine.history.peer_gone = True
            other.must_end(time.monotonic() + PEER_GRACE_S, "its peer was lost")
            other.engine.ask_to_stop()

    def _tell_client_is_done(self, client: _Watched) -> None:
        """A server is stopped once its client has finished or ended."""
        for other in self._running():
            history = other.engine.history
            if other is client or history.peer_done:
                continue
            history.peer_done = True
            by = time.monotonic() + history.plan.phases.drain_ns / 1e9 + OVERDUE_S
            other.must_end(by, "it did not stop after its client had finished")
            other.engine.tell_client_finished()

    def _pass_on_interrupts(self) -> None:
        """The first interrupt asks for an orderly end, the second kills."""
        count = self._interrupts.count
        if count == self._seen_interrupts:
            return
        self._run.interrupted = True
        if count == 1:
            self._ask_all_to_stop()
        else:
            for watched in self._running():
                watched.engine.kill("interrupted twice")
        self._seen_interrupts = count

    def _ask_all_to_stop(self) -> None:
        for watched in self._running():
            phases = watched.engine.history.plan.phases
            watched.engine.ask_to_stop()
            by = time.monotonic() + (phases.window_ns + phases.drain_ns) / 1e9 * watched.slower + OVERDUE_S
            watched.must_end(by, "it did not stop when asked to")
