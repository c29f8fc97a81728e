"""A tenant is its process, and no other that has its number later."""

from pathlib import Path

import pytest
from pool_tools import Remembers
from sharing_tools import first_thread_ends, python_tenant, tenant, until

from windtunnel.errors import UserError
from windtunnel_sharing import threads
from windtunnel_sharing.daemon import allocation
from windtunnel_sharing.daemon.allocation import Change, Sharing
from windtunnel_sharing.daemon.events import Events
from windtunnel_sharing.daemon.keys import TenantKeys
from windtunnel_sharing.pools.plan import Machine

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("apart")]


def sharing(base: Path = Path()) -> Sharing:
    return Sharing(Machine((0, 1), 0), Remembers(), Events(), base)


def test_who_has_ended_is_not_carried_out_before_anybody_has_been_told():
    """A daemon that was stopped reads a request first, and its number may be another's by then."""
    with tenant() as one, tenant() as two:
        shared = sharing()
        left = []
        shared.on_leave = left.append
        for name, process in (("a", one), ("b", two)):
            shared.add(TenantKeys(name=name, pid=process.pid, weight=50))
        shared.settle()
        assert set(shared.carrier.now.turns[1]) == {one.pid, two.pid}
        one.kill()
        one.wait()
        shared.ask([Change("b", {"weight": 60})], "test")
        shared.settle()
        assert set(shared.carrier.now.turns[1]) == {two.pid}
        assert shared.tenants["a"].pid is None and len(left) == 1
        assert [event["tenant"] for event in shared.events.since(0) if event["event"] == "ended"] == ["a"]


def test_the_number_of_a_file_is_of_one_process_alone():
    with tenant() as one:
        shared = sharing()
        found = shared.add(TenantKeys(name="a", pid=one.pid))
        assert found.named == threads.started(one.pid)
        shared.gone(found)
        shared.look(found)
        assert found.pid == one.pid
        shared.gone(found)
        found.named -= 1  # it was another process that had the number
        shared.look(found)
        assert found.pid is None and found.tids == ()


def test_a_process_that_is_found_by_its_pid_file_may_be_another_one(tmp_path):
    with tenant() as one, tenant() as two:
        shared = sharing(tmp_path)
        found = shared.add(TenantKeys(name="a", pidfile="a.pid"))
        for process in (one, two):
            (tmp_path / "a.pid").write_text(f"{process.pid}\n")
            shared.look(found)
            assert (found.pid, found.named) == (process.pid, None)
            shared.gone(found)


def test_a_tenant_with_too_many_threads_stops_no_one_else(monkeypatch):
    """A slicer takes 4,096: one tenant with more made every change fail, of all tenants."""
    with tenant() as one, python_tenant(FORKS) as many:
        until(lambda: len(threads.threads_of(many.pid)) == 4)
        shared = sharing()
        shared.add(TenantKeys(name="a", pid=one.pid, weight=50))
        shared.add(TenantKeys(name="b", pid=many.pid, weight=50))
        shared.settle()
        before = shared.tenants["b"].tids
        monkeypatch.setattr(allocation, "MOST_THREADS", 5)
        many.stdin.write("more\n")
        many.stdin.flush()
        until(lambda: len(threads.threads_of(many.pid)) == 5)
        with pytest.raises(UserError, match="b: its 5 threads are more than half of the 4 that the others leave of 5"):
            shared.look(shared.tenants["b"])
        assert shared.tenants["b"].tids == before
        shared.look(shared.tenants["a"])
        shared.ask([Change("a", {"weight": 60})], "test")
        shared.settle()
        assert shared.tenants["a"].wish.weight == 60
        shared.remove("b")
        with pytest.raises(UserError, match="more than half of the 4"):
            shared.add(TenantKeys(name="b", pid=many.pid, weight=50), added=True)
        assert list(shared.tenants) == ["a"]
        shared.add(TenantKeys(name="b", pid=many.pid, weight=50))  # of the file: it keeps no daemon from its start
        assert shared.tenants["b"].pid is None
        assert "more than half of the 4" in next(e["why"] for e in shared.events.since(0) if e["event"] == "trouble")
        monkeypatch.setattr(allocation, "MOST_THREADS", 11)
        shared.look(shared.tenants["b"])
        assert shared.tenants["b"].pid == many.pid


def test_however_many_threads_a_tenant_has_the_next_one_has_room(monkeypatch):
    monkeypatch.setattr(allocation, "MOST_THREADS", 12)
    with python_tenant(FORKS) as one, python_tenant(FORKS) as two, tenant() as three:
        until(lambda: len(threads.threads_of(one.pid)) == len(threads.threads_of(two.pid)) == 4)
        shared = sharing()
        for name, process in (("a", one), ("b", two), ("c", three)):
            shared.add(TenantKeys(name=name, pid=process.pid, weight=50))
        shared.settle()
        one.stdin.write("more\n")
        one.stdin.flush()
        until(lambda: len(threads.threads_of(one.pid)) == 5)
        with pytest.raises(UserError, match="a: its 5 threads are more than half of the 7 that the others leave of 12"):
            shared.look(shared.tenants["a"])
        with tenant() as four:
            assert shared.add(TenantKeys(name="d", pid=four.pid, weight=50)).pid == four.pid


def test_threads_that_come_by_the_thousand_are_taken_in_by_parts(monkeypatch):
    with python_tenant(FORKS) as many:
        until(lambda: len(threads.threads_of(many.pid)) == 4)
        shared = sharing()
        monkeypatch.setattr(allocation, "MOST_NEW", 3)
        shared.room = 3
        found = shared.add(TenantKeys(name="a", pid=many.pid, weight=50))
        shared.settle()
        assert (len(found.tids), found.behind, shared.room) == (3, 1, 0)
        shared.look(found)
        assert (len(found.tids), found.behind) == (3, 1)
        shared.room = 1
        shared.look(found)
        shared.settle()
        assert (set(shared.carrier.now.turns[1]), found.behind) == (set(threads.threads_of(many.pid)), 0)
        monkeypatch.setattr(allocation, "MOST_THREADS", 3)
        with pytest.raises(UserError, match="b: its 4 threads are more than half of the 3"):
            sharing().add(TenantKeys(name="b", pid=many.pid, weight=50), added=True)


def test_a_tenant_whose_first_thread_ends_is_still_there():
    with first_thread_ends() as (process, end):
        shared = sharing()
        by_pid = TenantKeys(name="a", pid=process.pid, weight=50)
        found = shared.add(by_pid)
        others = set(found.tids) - {process.pid}
        shared.settle()
        end()
        shared.look(found)
        shared.settle()
        assert set(shared.carrier.now.turns[1]) == others and found.pid == process.pid and all(map(found.has, others))
        carried = len(shared.carrier.carried)
        shared.look(found)
        shared.settle()
        assert len(shared.carrier.carried) == carried
        again = sharing().add(by_pid)
        assert (again.pid, set(again.tids)) == (process.pid, others)


FORKS = """
import sys, threading, time
for _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
sys.stdin.readline()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
time.sleep(60)
"""
