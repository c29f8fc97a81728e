"""Two testbeds as one: what both say together, and what becomes of a run of which one side is missing."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from fleet_tools import SOFTWARE, about, executed, fleet, job
from scenario_tools import machine
from side_runs import one_side

from windtunnel.engine.interrupts import Interrupts
from windtunnel.engine.verdict import Verdict
from windtunnel.errors import UserError
from windtunnel.parts.fleet.cables import Cables
from windtunnel.parts.fleet.fleet_file import Cabled
from windtunnel.parts.fleet.messages import Ended, Failed, Joined, Lost, Outcome, Refused, Replied
from windtunnel.parts.fleet.run_archive import pack
from windtunnel.runs import load
from windtunnel.runs.joined import on_two_hosts, session
from windtunnel.scenario import Cable

LAB = [Cabled(server="alpha", client="beta"), Cabled(server="gamma", client="delta")]
VALID = Verdict(True, [])


class PaperTestbeds:
    """Testbeds that leave a run directory of their side. `mishaps`: what the nth start of a testbed comes to instead; a callable makes the
    side's directory in another way."""

    def __init__(self, place, mishaps=None, absent=(), abouts=None):
        self._place, self._mishaps, self._absent = place, mishaps or {}, set(absent)
        self._abouts = abouts or {}
        self.calls, self._events, self._starts = [], [], {}

    def invite_together(self, names):
        self.calls.append(("invite", *names))
        self._events += [Joined(n, self._abouts.get(n, a_testbed())) for n in names if n not in self._absent]

    def dismiss(self, name):
        self.calls.append(("dismiss", name))
        self._events = [event for event in self._events if event.name != name]

    def start(self, name, request):
        self.calls.append(("start", name, request.side))
        number = self._starts[name] = self._starts.get(name, 0) + 1
        mishap = self._mishaps.get((name, number))
        if isinstance(mishap, Lost):
            self._absent.add(name)
        self._events.append(mishap if mishap and not callable(mishap) else self._ended(name, request, mishap))

    def _ended(self, name, request, mishap):
        directory = self._place / f"{name}-{self._starts[name]}"
        of = (mishap or one_side)(directory, request.side, hostname=f"of-{name}-{self._starts[name]}")
        return Replied(
            name, Ended((Outcome(of.record.verdict, 0 if of.record.verdict.valid else 1, False),), pack([directory]))
        )

    def stop(self, name):
        self.calls.append(("stop", name))

    def events(self, timeout_s):
        now, self._events = self._events, []
        return now

    def started(self):
        return [call[1:] for call in self.calls if call[0] == "start"]


def a_testbed(software=SOFTWARE, **changed):
    return replace(about(software, **changed), view=machine())


def both(place, cables=LAB[:1], **more):
    testbeds = PaperTestbeds(place, **more)
    return testbeds, Cables(testbeds, cables)


def lonely(directory, side, **more):
    return one_side(directory, side, session=None, verdict=Verdict(False, [f"no {side} has met anybody"]), **more)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "there").mkdir()
    return tmp_path / "there"


def test_a_run_has_a_side_on_each_testbed_and_one_directory(tmp_path, place):
    testbeds, cables = both(place)
    of = fleet(cables)
    assert list(of.testbeds) == ["alpha+beta"] and of.view == Cable(machine(), machine())
    executed(of, [job(tmp_path, "1")])
    run = load(tmp_path / "1")
    assert on_two_hosts(run) and run.record.verdict.valid
    assert {side: run.record.host[side]["hostname"] for side in ("server", "client")} == {
        "server": "of-alpha-1",
        "client": "of-beta-1",
    }
    assert testbeds.started() == [("alpha", "server"), ("beta", "client")]


def test_a_second_run_has_nothing_of_the_first_one(tmp_path, place):
    _, cables = both(place)
    executed(fleet(cables), [job(tmp_path, "1"), job(tmp_path, "2")])
    found = [[host["hostname"] for host in load(tmp_path / name).record.hosts] for name in "12"]
    assert found == [["of-alpha-1", "of-beta-1"], ["of-alpha-2", "of-beta-2"]]


def test_cables_share_the_jobs(tmp_path, place):
    testbeds, cables = both(place, LAB)
    executed(fleet(cables), [job(tmp_path, f"{n}") for n in range(6)])
    assert {name for name, _ in testbeds.started()} == {"alpha", "beta", "gamma", "delta"}
    assert len(testbeds.started()) == 12 and len(list(tmp_path.iterdir())) == 7


def test_an_invalid_side_makes_the_run_invalid(tmp_path, place):
    def bad(directory, side, **more):
        return one_side(directory, side, verdict=Verdict(False, ["peer lost: gone"]), **more)

    _, cables = both(place, mishaps={("alpha", 1): bad})
    with Interrupts() as interrupts:
        (outcome,) = fleet(cables).execute_job(job(tmp_path, "1"), interrupts)
    assert outcome.exit_code == 1 and outcome.verdict.reasons == ["peer lost: gone [server]"]
    assert load(tmp_path / "1").record.verdict == outcome.verdict


def test_one_lost_testbed_loses_the_cable_and_the_run_goes_elsewhere(tmp_path, place):
    testbeds, cables = both(place, LAB, mishaps={("beta", 1): Lost("beta", "its node was killed")})
    said = []
    executed(fleet(cables, said=said), [job(tmp_path, "1"), job(tmp_path, "2"), job(tmp_path, "3")])
    assert "testbed alpha+beta is lost: beta: its node was killed" in said
    assert all(load(tmp_path / name).record.verdict.valid for name in "123")
    assert ("dismiss", "beta") in testbeds.calls


def test_a_reply_of_half_a_run_counts_for_nothing(tmp_path, place):
    """The server had replied when the client was lost; when both are there again, both begin anew."""
    _, cables = both(place, mishaps={("beta", 1): Lost("beta", "its node was killed")})
    with pytest.raises(UserError, match="no testbed has joined"):
        executed(fleet(cables), [job(tmp_path, "1")])
    assert not (tmp_path / "1").exists()


def test_sides_that_did_not_find_each_other_are_an_invalid_run(tmp_path, place):
    """Kept, with what each side saw."""
    mishaps = {(name, 1): lonely for name in ("alpha", "beta")}
    _, cables = both(place, mishaps=mishaps)
    with Interrupts() as interrupts:
        (outcome,) = fleet(cables).execute_job(job(tmp_path, "1"), interrupts)
    assert outcome.exit_code == 1 and session(outcome.run) is None
    assert load(tmp_path / "1").record.verdict.reasons == [
        "no server has met anybody [server]",
        "no client has met anybody [client]",
    ]


def test_a_side_that_cannot_run_is_named(tmp_path, place):
    refusal = Replied("beta", Refused("client: no interface wt0", "interface = one of lo"))
    _, cables = both(place, mishaps={("beta", 1): refusal})
    with pytest.raises(UserError, match=r"testbed alpha\+beta: client on beta: client: no interface wt0") as refused:
        executed(fleet(cables), [job(tmp_path, "1")])
    assert refused.value.remedy == "interface = one of lo"


def test_a_full_disk_of_one_side_is_like_its_loss(tmp_path, place):
    full = Replied("alpha", Failed("/tmp: No space left on device"))
    said = []
    _, cables = both(place, LAB, mishaps={("alpha", 1): full})
    executed(fleet(cables, said=said), [job(tmp_path, "1"), job(tmp_path, "2")])
    assert "testbed alpha+beta is lost: alpha: /tmp: No space left on device" in said


def test_a_cable_of_which_one_testbed_does_not_come_is_not_there(place):
    _, cables = both(place, absent=["beta"])
    with pytest.raises(UserError, match=r"no testbed has joined: alpha\+beta: in use, or its node does not respond"):
        fleet(cables)


@pytest.mark.parametrize("other", ["alpha", "beta"])
def test_other_software_on_either_side_is_refused(place, other):
    abouts = {other: a_testbed(SOFTWARE | {"engine sha256": "f" * 64})}
    _, cables = both(place, abouts=abouts)
    with pytest.raises(UserError, match="engine sha256 is ffffffffffff there"):
        fleet(cables)


@pytest.mark.parametrize("other", ["gamma", "delta"])
def test_servers_are_like_servers_and_clients_like_clients(place, other):
    abouts = {other: a_testbed(kernel="6.99")}
    _, cables = both(place, LAB, abouts=abouts)
    with pytest.raises(UserError, match=r"testbed gamma\+delta: it is not like testbed alpha\+beta: kernel"):
        fleet(cables)
    sides = {"alpha": a_testbed(kernel="6.99"), "gamma": a_testbed(kernel="6.99")}
    assert len(fleet(both(place, LAB, abouts=sides)[1]).testbeds) == 2


def test_a_stop_reaches_both_sides(place):
    testbeds, cables = both(place)
    fleet(cables)
    cables.stop("alpha+beta")
    assert [call for call in testbeds.calls if call[0] == "stop"] == [("stop", "alpha"), ("stop", "beta")]


def test_what_is_given_back_is_given_back_on_both_sides(place):
    testbeds, cables = both(place, LAB)
    assert list(fleet(cables, most=1).testbeds) == ["alpha+beta"]
    assert {call[1] for call in testbeds.calls if call[0] == "dismiss"} == {"gamma", "delta"}


def test_scenarios_that_alternate_never_come_to_a_cable(place):
    _, cables = both(place)
    fleet(cables)
    with pytest.raises(AssertionError, match="one host only"):
        cables.start("alpha+beta", SimpleNamespace(scenarios=(1, 2)))
