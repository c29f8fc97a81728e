"""Carries out an arrangement on the machine, or undoes it as a whole."""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from windtunnel.api.errors import UserError, in_words
from windtunnel_sharing import sched, threads
from windtunnel_sharing.changed_threads import Journal
from windtunnel_sharing.inherited_changes import Released
from windtunnel_sharing.pools.cpusets import Cpusets
from windtunnel_sharing.pools.plan import Arrangement
from windtunnel_sharing.pools.shield import Cap, Shield
from windtunnel_sharing.rounds import MOST, Budgets, Rota
from windtunnel_sharing.slicers import Member, Slicer
from windtunnel_sharing.slicers.weights import LEAST_NICE
from windtunnel_sharing.threads import CannotChange, Ended, Fields, Value

Members = Mapping[int, int]
MOST_WORDS = 8
"""About threads that cannot be let go, at once."""
MOST_STAYS = 4096
"""Lines about what stays changed, until they are told."""


class Handover:
    """The journal for slicers: a thread that moves from one core's slicer to another's is not restored in between.

    It runs where it was until the next slicer takes it. The CPUs of a thread that is confined are those of a cpuset.
    """

    def __init__(self, journal: Journal):
        self._journal = journal
        self.cpusets = Cpusets()
        self.moving: frozenset[int] = frozenset()
        self.stays: deque[str] = deque(maxlen=MOST_STAYS)
        """What stays changed of threads that were put back, and why."""
        self._confined: set[int] = set()

    def confine(self, tid: int, cpus: tuple[int, ...]) -> None:
        """Keeps a thread on CPUs, wherever they are, until it is put back. Raises UserError."""
        new = tid not in self._confined
        self._confined.add(tid)
        try:
            self.change(tid, affinity=cpus)
        except UserError:
            if new:
                self._confined.discard(tid)
            raise

    def put_back(self, tid: int) -> list[str]:
        if tid in self.moving:
            return []
        self._confined.discard(tid)
        said = self._journal.put_back(tid)
        self.stays += said
        return said

    @property
    def tids(self) -> frozenset[int]:
        return frozenset(self._journal.tids)

    def release(self, tids: Iterable[int], cgroups: Mapping[str, str], own: bool, young_s: float) -> Released:
        return self._journal.release(tids, cgroups, own, young_s)

    def go_on(self) -> bool:
        """Whether there are more."""
        said, more = self._journal.go_on()
        self.stays += said
        return more

    def put_back_all(self) -> None:
        self._confined.clear()
        self._journal.put_back_all()

    def change(self, tid: int, cgroups: dict[str, str] | None = None, **fields: Value) -> None:
        if tid in self._confined and "affinity" in fields:
            try:
                cgroups = (cgroups or {}) | self.cpusets.group(threads.numbers(fields, "affinity"))
            except UserError as error:
                raise CannotChange(tid, error.message, error.remedy) from None
        self._journal.change(tid, cgroups, **fields)

    def allow(self, tid: int, **values: list[Value]) -> None:
        self._journal.allow(tid, **values)

    def allow_all(self, values: Mapping[int, dict[str, list[Value]]]) -> None:
        self._journal.allow_all(values)

    def helper(self, pid: int) -> None:
        self._journal.helper(pid)

    def set_setting(self, path: Path, before: str, to: str) -> None:
        self._journal.set_setting(path, before, to)

    def put_settings_back(self) -> list[str]:
        return self._journal.put_settings_back()


class Carrier:
    """The threads and slicers that we hold at present. Not for several threads at once."""

    def __init__(
        self,
        journal: Journal,
        kind: type[Slicer],
        slice_ns: int,
        shield: Shield | None = None,
        starting: Callable[[], AbstractContextManager[None]] = nullcontext,
        turn_cost_ns: Callable[[int, str], int] = lambda cpu, slicer: 0,
        budgets: Budgets | None = None,
    ):
        """`starting`: within it a slicer is started. `turn_cost_ns`: what a turn of a slicer costs on a CPU. `budgets`: of what nobody waits for;
        without, there are no bounds."""
        self._kind, self._slice_ns, self._shield = kind, slice_ns, shield
        self._starting, self._turn_cost_ns = starting, turn_cost_ns
        if shield is not None:
            shield.enters_through(journal)
        self._handover = Handover(journal)
        self._budgets = budgets or Budgets()
        journal.budget = self._budgets.forked
        self._rotas: defaultdict[str, Rota] = defaultdict(Rota)
        self._back = Rota()
        self._released = 0
        """How often `release` was called."""
        self.slicers: dict[int, Slicer] = {}
        self.now = Arrangement()
        self._caps: Mapping[str, Cap] = {}
        self._given: dict[int, Members] = {}
        """The members that each slicer was given last. Of those in `_unsure`: the members that they may have."""
        self.on_replaced: Callable[[int, UserError], None] = lambda cpu, why: None
        """Called with the CPU of a slicer that had to be replaced, and why."""
        self.on_released: Callable[[dict[int, Fields]], None] = lambda given: None
        """Called with threads that `release` let go, and what each was given."""
        self.on_stays: Callable[[list[str]], None] = lambda said: None
        """Called with what stays changed of threads that were put back, and why."""
        self._unsure: set[int] = set()
        self._at: dict[int, int] = {}
        """The CPU on which each thread of `ls` was put."""
        self.moved_at_ns = 0
        """When, by time.perf_counter_ns, each thread that goes from one CPU of `ls` to another was on it, last time."""

    def carry(self, to: Arrangement, caps: Mapping[str, Cap]) -> frozenset[int]:
        """Carries out an arrangement. Returns the threads that ended in the meantime; they are left out.

        Raises UserError where it fails; then everything is as before. CannotChange names the thread at which it failed.
        """
        before, caps_before = self.now, self._caps
        try:
            return self._without_the_dead(to, caps)
        except UserError as error:
            try:
                self._without_the_dead(before, caps_before)
                for tid in _all(to) - _all(before):
                    self._put_back(tid)
            except UserError as again:
                raise error.but(f"and it could not be undone: {again.message}") from None
            raise error.but("everything is as before") from None
        finally:
            self._tell_what_stays()

    def _tell_what_stays(self) -> None:
        said = [self._handover.stays.popleft() for _ in range(len(self._handover.stays))]
        if said:
            self.on_stays(said)

    def warm(self, cpu: int) -> None:
        """Starts a slicer on a CPU in advance: a start takes milliseconds, and a slicer without members sleeps. Raises UserError."""
        if cpu not in self.slicers:
            # without a shield nobody finds the orphans of a double fork: they keep their nice value, which may not be one that needs a right
            least_nice = 0 if self._shield is None else LEAST_NICE
            slicer = self._kind(self._handover, self._turn_cost_ns(cpu, self._kind.name), least_nice)
            with self._starting():
                slicer.start(cpu, self._slice_ns)
            self.slicers[cpu] = slicer

    def broken(self, cpu: int, why: UserError) -> None:
        """The slicer of a CPU ended by itself, or had to be killed: the next `carry` starts another."""
        self._drop(cpu)
        self.on_replaced(cpu, why)
        self._given.pop(cpu, None)
        self.now = replace(
            self.now, turns={other: members for other, members in self.now.turns.items() if other != cpu}
        )

    def reslice(self, kind: type[Slicer], slice_ns: int) -> None:
        """Another slicer, or another slice, from now on. Between two slicers the members run as without any, for some milliseconds.

        Raises UserError where it fails; then everything is as before.
        """
        before = self._kind, self._slice_ns
        try:
            with in_words():
                self._reslice(kind, slice_ns)
        except UserError:
            self._reslice(*before)
            raise

    def _reslice(self, kind: type[Slicer], slice_ns: int) -> None:
        if kind is self._kind:
            for slicer in self.slicers.values():
                slicer.set_slice(slice_ns)
        else:
            if self._shield is not None:
                self._shield.serve_slicer(kind.raises)
            for cpu in list(self.slicers):
                self._drop(cpu)
            self._given.clear()
            self._at.clear()
            wanted, self.now = self.now, replace(self.now, turns={})
            self._kind, self._slice_ns = kind, slice_ns
            self._carry(wanted, self._caps)
        self._slice_ns = slice_ns

    def pin(self, tid: int, cpus: tuple[int, ...]) -> None:
        """Puts a thread on CPUs, from which it may stray. Raises UserError."""
        self._handover.change(tid, affinity=cpus)

    def confines_by(self, cpusets: Cpusets) -> None:
        """What keeps threads on CPUs: to be called before `confine`."""
        self._handover.cpusets = cpusets

    def confine(self, tid: int, cpus: tuple[int, ...]) -> None:
        """Puts a thread on CPUs, and keeps it on those that it is put on later. Raises UserError where the host cannot."""
        self._handover.confine(tid, cpus)

    def release(self, own: bool = False) -> bool:
        """Lets those go that are in our groups and are no thread of a process that we hold: processes that tenants have started, which are
        outside of all weights, also those whose parent has ended. With `own` all that we do not hold, unless a process cannot leave its
        threads behind (v2): call it so if every thread that is to be held is. Also restores what was forked by threads that have left. Looks at some of
        them, and goes on from there the next time: returns whether it did something and more is left. Raises UserError, after all others,
        for those that cannot be let go."""
        held = [self._handover.cpusets.occupants(), *([self._shield.occupants()] if self._shield else [])]
        known = self._handover.tids
        others = {hierarchy: [tid for tid in tids if tid not in known] for hierarchy, tids in held}
        more = self._handover.go_on()
        given: dict[int, Fields] = {}
        refused: list[str] = []
        self._released += 1
        for hierarchy in sorted(others, reverse=bool(self._released % 2)):  # either is the first one for once
            turns = self._rotas[hierarchy].in_turn({hierarchy: others[hierarchy]})
            tids = (tid for _, tid in self._budgets.released.some(turns, MOST))
            done = self._handover.release(tids, {hierarchy: "/"}, own and hierarchy != "", self._budgets.young_s)
            given |= done.given
            refused += done.refused
            more = more or done.looks < len(others[hierarchy]) and (bool(done.given) or not done.looks)
        if self._shield is not None:
            self._shield.tidy()
        if given:
            self.on_released(given)
        self._tell_what_stays()
        if refused:
            raise UserError("; ".join(refused[:MOST_WORDS]))
        return more

    def bring_back(self) -> bool:
        """Has the next `carry` let those into the shield that have left it by themselves, some of them if there are many. Returns whether there
        are any."""
        if self._shield is None:
            return False
        for _, tid in islice(self._back.in_turn({"": (left := self._shield.outside())}), MOST):
            self._shield.forget(tid)
        return bool(left)

    def close(self) -> None:
        """Stops the slicers and restores every thread."""
        for slicer in self.slicers.values():
            slicer.stop()
        self.slicers.clear()
        self._handover.put_back_all()

    def _without_the_dead(self, to: Arrangement, caps: Mapping[str, Cap]) -> frozenset[int]:
        gone: frozenset[int] = frozenset()
        while True:
            try:
                with in_words():
                    self._carry(_without(to, gone), caps)
                return gone
            except UserError as error:
                ended = frozenset(tid for tid in _all(to) if tid not in gone and threads.started(tid) is None)
                if isinstance(error, Ended):
                    ended |= {error.tid} - gone
                if not ended:
                    raise
                gone |= ended

    def _carry(self, to: Arrangement, caps: Mapping[str, Cap]) -> None:
        old = self.now
        if not _all(old) <= _all(to):  # who leaves is forgotten, and with it what those had that it has started
            with suppress(UserError):
                self.release()
        where = {tid: cpu for cpu, members in to.turns.items() for tid in members}
        left = self._at.keys() - where.keys()
        # During the change `now` has all that may be ours: a rollback starts from there.
        self.now = Arrangement({**old.turns, **to.turns}, {**to.be, **old.be}, old.spare or to.spare)
        for tid in old.be.keys() - to.be.keys() | (set(old.be) if old.spare != to.spare else set()):
            self._put_back(tid)
        for tid in [tid for tid, cpu in self._at.items() if where.get(tid, cpu) != cpu]:
            self.pin(tid, (where[tid],))  # first: slicers are told afterwards
            self._at[tid] = where[tid]
        self.moved_at_ns = time.perf_counter_ns()
        for cpu in to.turns:
            self.warm(cpu)
        self._hand_over(to, where)
        # who becomes SCHED_FIFO comes into the shield, which has a budget for it, before; who was it before, after
        if self._kind.raises:
            for tid in where.keys() - self._at.keys():
                self.pin(tid, (where[tid],))  # in the shield it would leave nothing to us on the CPU where we run
            self._hold(to, caps, left)
        for cpu, members in to.turns.items():
            if cpu in self._unsure or members != self._given.get(cpu):
                self._set(cpu, members)
        self._at = where
        for tid, cpus in to.be.items():
            if (old.be.get(tid), old.spare) != (cpus, to.spare):
                self._to_be(tid, cpus, to.spare)
        if not self._kind.raises:
            self._hold(to, caps, left)
        self.now, self._caps = to, caps

    def _hand_over(self, to: Arrangement, where: Mapping[int, int]) -> None:
        """Slicers release the threads that are no longer their members."""
        given = list(self._given.items())
        self._handover.moving = frozenset(tid for cpu, them in given for tid in them if where.get(tid, cpu) != cpu)
        try:
            for cpu, them in given:
                wanted = to.turns.get(cpu, {})
                if not them.keys() <= wanted.keys():
                    self._set(cpu, {tid: weight for tid, weight in wanted.items() if tid in them})
        finally:
            self._handover.moving = frozenset()

    def _set(self, cpu: int, members: Members) -> None:
        """A broken slicer is replaced, once; until then its members run as before."""
        wanted = [Member(tid, weight) for tid, weight in members.items()]
        if cpu not in self.slicers:
            if not members:
                self._given.pop(cpu, None)
                return  # it was broken, and no other could be started
            self.warm(cpu)
        self._given[cpu] = {**self._given.get(cpu, {}), **members}
        self._unsure.add(cpu)
        try:
            self.slicers[cpu].set_members(wanted)
        except (CannotChange, Ended):
            raise
        except UserError as error:
            if any(threads.started(tid) is None for tid in members):
                raise
            self._drop(cpu)
            self.on_replaced(cpu, error)
            self.warm(cpu)
            self.slicers[cpu].set_members(wanted)
        self._given[cpu] = members
        self._unsure.discard(cpu)
        self._at |= dict.fromkeys(members, cpu)

    def _drop(self, cpu: int) -> None:
        """A slicer that ended: its members are restored, and so leave the shield."""
        self.slicers.pop(cpu).stop()
        if self._shield is not None:
            for tid in self._given.get(cpu, ()):
                self._shield.forget(tid)

    def _hold(self, to: Arrangement, caps: Mapping[str, Cap], left: Iterable[int]) -> None:
        if self._shield is None:
            return
        for tid in left:
            self._shield.forget(tid)
        self._shield.hold(to.groups, caps)

    def _to_be(self, tid: int, cpus: Iterable[int], spare: bool) -> None:
        fields: Fields = {"affinity": tuple(sorted(cpus))}
        if spare:
            fields["policy"] = (sched.IDLE, 0, 0)
        self._handover.change(tid, None, **fields)

    def _put_back(self, tid: int) -> None:
        self._handover.put_back(tid)
        if self._shield is not None:
            self._shield.forget(tid)


def _all(arrangement: Arrangement) -> set[int]:
    return {tid for members in arrangement.turns.values() for tid in members} | set(arrangement.be)


def _without(arrangement: Arrangement, gone: frozenset[int]) -> Arrangement:
    if not gone:
        return arrangement
    return Arrangement(
        {cpu: {t: w for t, w in members.items() if t not in gone} for cpu, members in arrangement.turns.items()},
        {tid: cpus for tid, cpus in arrangement.be.items() if tid not in gone},
        arrangement.spare,
        {tid: name for tid, name in arrangement.groups.items() if tid not in gone},
    )
