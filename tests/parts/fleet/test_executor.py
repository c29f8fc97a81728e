"""Which job runs where, what becomes of those that are lost, and which testbeds are refused."""

from dataclasses import dataclass, replace

import pytest
from fleet_tools import SOFTWARE, PaperCluster, about, archive, executed, fleet, job

from windtunnel.engine.interrupts import Interrupts
from windtunnel.errors import UserError
from windtunnel.live.process import ANNOUNCEMENT
from windtunnel.parts.fleet import node
from windtunnel.parts.fleet.messages import Ended, Failed, Lost, Refused, Replied
from windtunnel.parts.fleet.run_archive import take
from windtunnel.runs import load

TWO = {"alpha": about(), "beta": about()}


def test_every_job_is_executed_once(tmp_path):
    cluster = PaperCluster(TWO)
    found = executed(fleet(cluster), [job(tmp_path, f"{n}") for n in range(6)])
    names = [f"{n}" for n in range(6)]
    assert sorted(found) == sorted(title for _, title in cluster.started) == names
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_testbed_counts_the_events_of_the_job(tmp_path, monkeypatch):
    """They are in the request, and the node gives them to the run."""
    cluster, counted = PaperCluster(TWO), []
    executed(fleet(cluster), [replace(job(tmp_path, "counted"), counters=("cycles", "LLC-load-misses"))])
    [request] = cluster.requests
    assert request.counters == ("cycles", "LLC-load-misses")
    monkeypatch.setattr(node, "resolve", lambda scenario, view, side: Resolved())
    monkeypatch.setattr(node, "here", lambda: None)
    monkeypatch.setattr(node, "perform", lambda specs, job, *_: counted.append(job.counters) or [])
    monkeypatch.setattr(node, "pack", lambda directories: b"")
    monkeypatch.setattr(node, "_full_priority", lambda: None)
    assert isinstance(node.Node().execute(request), Ended)
    assert counted == [request.counters]


@dataclass(frozen=True)
class Resolved:
    testbed: str | None = None


def test_groups_that_differ_share_the_testbeds(tmp_path):
    found = executed(fleet(PaperCluster(TWO)), [job(tmp_path, f"{n}", group=n) for n in range(6)])
    assert set(found.values()) == {"alpha", "beta"}


def test_a_group_stays_on_one_testbed(tmp_path):
    jobs = [job(tmp_path, f"{group}-{repeat}", group) for repeat in range(3) for group in range(4)]
    found = executed(fleet(PaperCluster(TWO)), jobs)
    places = {group: {found[f"{group}-{repeat}"] for repeat in range(3)} for group in range(4)}
    assert all(len(where) == 1 for where in places.values()), places
    assert set.union(*places.values()) == {"alpha", "beta"}


def test_jobs_begin_in_their_order_on_each_testbed(tmp_path):
    """Whole blocks, one after the other: a host that drifts meets all groups alike."""
    cluster = PaperCluster(TWO)
    executed(fleet(cluster), [job(tmp_path, f"{repeat}-{group}", group) for repeat in range(3) for group in range(4)])
    for testbed in TWO:
        begun = [title for name, title in cluster.started if name == testbed]
        assert begun == sorted(begun) and len(begun) == 6


def test_a_group_returns_to_the_testbed_of_its_finished_runs(tmp_path):
    of = fleet(PaperCluster(TWO))
    for group, testbed in ((1, "beta"), (2, "beta"), (3, "gone"), (4, None)):
        of.keep(group, testbed)
    found = executed(of, [job(tmp_path, f"{group}", group) for group in (1, 2)])
    assert found == {"1": "beta", "2": "beta"}


def test_what_ran_on_a_lost_testbed_runs_on_the_other(tmp_path):
    said = []
    cluster = PaperCluster(TWO, {("alpha", 2): Lost("alpha", "its node was killed")})
    found = executed(fleet(cluster, said=said), [job(tmp_path, f"{n}", group=n % 3) for n in range(9)])
    assert sorted(found) == sorted(f"{n}" for n in range(9))
    lost = [title for name, title in cluster.started if name == "alpha"][1]
    assert found[lost] == "beta" and sum(title == lost for _, title in cluster.started) == 2
    assert len(cluster.started) == 10
    assert "testbed alpha is lost: its node was killed" in said


def test_what_the_testbeds_do_is_announced_to_the_end(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(ANNOUNCEMENT, "status", lambda name, about: told.append((about["waiting"], about["testbeds"])))
    cluster = PaperCluster(TWO, {("alpha", 2): Lost("alpha", "its node was killed")})
    executed(fleet(cluster), [job(tmp_path, f"{n}") for n in range(9)])
    states = {row["state"] for _, rows in told for row in rows if row["name"] == "alpha"}
    assert {"running", "lost"} <= states
    waiting, rows = told[-1]
    assert waiting == 0 and sum(row["runs"] for row in rows) == 9
    assert "running" not in {row["state"] for row in rows}


def test_a_full_disk_of_a_testbed_is_like_its_loss(tmp_path):
    cluster = PaperCluster(TWO, {("alpha", 1): Replied("alpha", Failed("/tmp: No space left on device"))})
    said = []
    found = executed(fleet(cluster, said=said), [job(tmp_path, f"{n}") for n in range(2)])
    assert set(found.values()) == {"beta"} and "testbed alpha is lost: /tmp: No space left on device" in said


def test_a_lost_testbed_may_come_back(tmp_path):
    one, said = {"alpha": about()}, []
    cluster = PaperCluster(one, {("alpha", 2): Lost("alpha", "its worker was killed")})
    of = fleet(cluster, said=said, wait_s=30)

    def returns():
        if said and cluster.absent:
            cluster.arrive("alpha")

    cluster.on_events = returns
    assert executed(of, [job(tmp_path, f"{n}") for n in range(3)]) == dict.fromkeys("012", "alpha")
    assert said == ["testbed alpha is lost: its worker was killed", "testbed alpha has joined again"]


def test_without_a_testbed_it_ends_in_words_and_keeps_what_is_finished(tmp_path):
    cluster = PaperCluster(TWO, {(name, 2): Lost(name, "its node was killed") for name in TWO})
    with pytest.raises(UserError, match="alpha: its node was killed; beta: its node was killed") as refused:
        executed(fleet(cluster), [job(tmp_path, f"{n}") for n in range(6)])
    assert "go on with the same command" in refused.value.remedy
    assert len(list(tmp_path.iterdir())) == 2 and all(load(path).record.verdict.valid for path in tmp_path.iterdir())


def test_a_job_that_loses_testbed_after_testbed_is_given_up(tmp_path):
    names = ["a", "b", "c", "d"]
    cluster = PaperCluster({name: about() for name in names}, {(name, 1): Lost(name, "killed") for name in names})
    with pytest.raises(UserError, match="3 testbeds were lost during this run"):
        executed(fleet(cluster, most=1), [job(tmp_path, "deadly")])


def test_a_late_reply_counts_for_nothing(tmp_path):
    """Of a testbed that was taken for lost, and has gone on."""
    cluster = PaperCluster(TWO, {("alpha", 1): Lost("alpha", "silent for 30 s")})
    executed(fleet(cluster), [job(tmp_path, "1")])
    assert load(tmp_path / "1").record.testbed == "beta"
    assert take(archive("1", "alpha"), [tmp_path / "1"]) == [False]
    assert load(tmp_path / "1").record.testbed == "beta"


def test_an_attempt_that_was_first_is_the_run_that_counts(tmp_path):
    take(archive("1", "first"), [tmp_path / "1"])
    assert executed(fleet(PaperCluster({"alpha": about()})), [job(tmp_path, "1")]) == {"1": "first"}


def test_an_interrupt_begins_nothing_more_and_stops_what_runs(tmp_path):
    cluster = PaperCluster(TWO)
    with Interrupts() as interrupts:
        cluster.on_events = interrupts.interrupt if not interrupts.count else None
        done = list(fleet(cluster).execute_jobs([job(tmp_path, f"{n}") for n in range(6)], interrupts))
    assert len(done) == len(cluster.started) <= 2


def test_a_job_that_was_never_begun_is_interrupted(tmp_path):
    cluster = PaperCluster(TWO)
    of = fleet(cluster, most=1)
    with Interrupts() as interrupts:
        interrupts.interrupt()
        (outcome,) = of.execute_job(job(tmp_path, "1"), interrupts)
    assert outcome.interrupted and outcome.run is None and cluster.started == []


def test_a_scenario_that_cannot_run_there_is_refused_with_the_testbed(tmp_path):
    refused = Replied("alpha", Refused("memory: no hugepages", "memory = 'no-huge'"))
    cluster = PaperCluster({"alpha": about()}, {("alpha", 1): refused})
    with pytest.raises(UserError, match="testbed alpha: memory: no hugepages") as said:
        executed(fleet(cluster), [job(tmp_path, "1")])
    assert said.value.remedy == "memory = 'no-huge'"


def test_other_software_is_refused_before_the_first_run():
    other = about(SOFTWARE | {"engine sha256": "f" * 64})
    cluster = PaperCluster({"alpha": about(), "beta": other})
    with pytest.raises(UserError, match="testbed beta: engine sha256 is ffffffffffff there and eeeeeeeeeeee here"):
        fleet(cluster)
    assert cluster.started == []


def test_unlike_testbeds_are_refused_unless_the_study_is_spread():
    unlike = {"alpha": about(), "beta": about(kernel="6.99")}
    with pytest.raises(UserError, match=r"testbed beta: it is not like testbed alpha: kernel: .* and 6\.99") as refused:
        fleet(PaperCluster(unlike))
    assert "spread = true" in refused.value.remedy
    assert sorted(fleet(PaperCluster(unlike), spread=True).testbeds) == ["alpha", "beta"]


def test_one_testbed_is_taken_and_the_others_are_given_back():
    cluster = PaperCluster(TWO)
    assert list(fleet(cluster, most=1).testbeds) == ["alpha"]
    assert set(cluster.dismissed) == {"beta"}


def test_a_testbed_that_is_in_use_may_join_later(tmp_path):
    said, cluster = [], PaperCluster(TWO, absent=["beta"])
    of = fleet(cluster, said=said)
    assert said == ["without beta: in use, or its node does not respond; it may join later"]
    cluster.arrive("beta")
    assert set(executed(of, [job(tmp_path, f"{n}", group=n) for n in range(6)]).values()) == {"alpha", "beta"}


def test_testbeds_that_do_not_respond_are_named():
    with pytest.raises(UserError, match="no testbed has joined: alpha: in use, or its node does not respond; beta"):
        fleet(PaperCluster(TWO, absent=TWO))
