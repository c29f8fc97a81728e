"""The actor on a testbed, which belongs to one driver and executes one job at a time."""

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.own_directory import for_temporary
from windtunnel.engine.verdict import NOT_WRITTEN
from windtunnel.errors import UserError
from windtunnel.host import facts
from windtunnel.measure.execute import RunOutcome
from windtunnel.measure.executor import Job, perform
from windtunnel.parts.fleet.hosts import software
from windtunnel.parts.fleet.messages import About, Ended, Failed, Outcome, Refused, Reply, Request
from windtunnel.parts.fleet.run_archive import pack
from windtunnel.scenario import OneSide, here, resolve
from windtunnel.scenario.one_side import CABLED


class Node:
    """A testbed with the methods that its driver calls. `stop` and `is_there` are called while `execute` runs, from another thread."""

    def __init__(self) -> None:
        self._interrupts: Interrupts | None = None
        self._lock = threading.Lock()

    def about(self) -> About | Refused:
        """The facts and the current view of this host, without what only this host can look up."""
        try:
            _full_priority()
            versions = software()
        except UserError as error:
            return Refused(error.message, error.remedy)
        view = replace(here(), xdp_program=_not_known, engines_cpus=set)
        return About(facts.collect(), view, versions)

    def execute(self, request: Request) -> Reply:
        """Executes a job in a directory that is removed before the driver has the reply."""
        directory = Path(tempfile.mkdtemp(prefix="windtunnel-", dir=for_temporary()))
        directories = tuple(directory / str(position) for position in range(len(request.scenarios)))
        job = Job(
            request.scenarios, directories, request.first, request.settle, request.labels, counters=request.counters
        )
        try:
            _full_priority()
            side = OneSide(request.side, given_by=CABLED) if request.side else None
            specs = [replace(resolve(item, here(), side), testbed=request.testbed) for item in request.scenarios]
            with self._interruptible() as interrupts:
                outcomes = perform(specs, job, interrupts, [], facts.collect())
            if why := next(filter(None, map(_not_written, outcomes)), None):
                return Failed(why)
            return Ended(
                tuple(Outcome(item.verdict, item.exit_code, item.interrupted) for item in outcomes), pack(directories)
            )
        except UserError as error:
            return Refused(error.message, error.remedy)
        except OSError as error:
            return Failed(str(error))
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def stop(self) -> None:
        """Stops as Ctrl-C does: the first time the run stops, the second time its engine is killed."""
        with self._lock:
            if self._interrupts is not None:
                self._interrupts.interrupt()

    def is_there(self) -> float:
        """This host's time, in s since 1970."""
        return time.time()

    @contextmanager
    def _interruptible(self) -> Iterator[Interrupts]:
        with Interrupts() as interrupts:
            self._interrupts = interrupts
            try:
                yield interrupts
            finally:
                with self._lock:
                    self._interrupts = None


def _full_priority() -> None:
    """Sets nice 0 for this thread and the engines that it starts. Ray's workers run at nice 15, so any other program preempts a measurement.

    Raises UserError if only root may change that."""
    if os.getpriority(os.PRIO_PROCESS, 0) <= 0:
        return
    try:
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    except PermissionError:
        raise UserError(
            f"Ray runs its workers at nice {os.getpriority(os.PRIO_PROCESS, 0)}, so other programs preempt them",
            remedy="RAY_worker_niceness=0 in the environment of `ray start` on its node",
        ) from None


def _not_written(outcome: RunOutcome) -> str | None:
    """Why a run's directory is not whole for a reason outside the run; None: there is no such reason."""
    if outcome.unkept is not None:
        return outcome.unkept.message
    return next((reason for reason in outcome.verdict.reasons if reason.startswith(NOT_WRITTEN)), None)


def _not_known(interface: str) -> str | None:
    """The XDP program on an interface, which is not sent: the testbed reads it when it places a run."""
    return None
