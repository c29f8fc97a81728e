"""`--side`: what is planned for one side alone, and what is refused; two run directories joined that were never run."""

import json

import pytest
from scenario_tools import ECHO, SHIPPED, loaded, machine, refused
from side_runs import one_side
from study_tools import invoke
from study_tools import refused as refused_command
from terminal_views import printed

from windtunnel.errors import UserError
from windtunnel.index.entry import read_entry
from windtunnel.results.page.renderer import render
from windtunnel.results.run.as_json import joined_json, run_json
from windtunnel.results.run.document import run_document
from windtunnel.runs import Verdict, load
from windtunnel.runs.identity import identity
from windtunnel.runs.joined import crossings, join, merge, on_two_hosts
from windtunnel.runs.validity import HostState, Validity
from windtunnel.scenario import Cable, OneSide, resolve
from windtunnel.scenario import load as load_scenario

TWO_HOSTS = ECHO | {
    "wire": {"kind": "af_packet"},
    "client": {"interface": "wt0", "cores": [0]},
    "server": {"interface": "eth7", "cores": [55]},
}


def test_one_side_is_planned_on_its_own_host_alone(tmp_path):
    scenario = loaded(tmp_path, TWO_HOSTS)
    client = resolve(scenario, machine(2, interfaces=("wt0",)), OneSide("client"))
    server = resolve(scenario, machine(64, interfaces=("eth7",)), OneSide("server", 5 * 10**9))
    assert (client.names, server.names) == (["client"], ["server"])
    [asks], [responses] = client.plans, server.plans
    assert [e.side for e in asks.endpoints + responses.endpoints] == ["client", "server"]
    assert ({w.cpu for w in asks.workers}, {w.cpu for w in responses.workers}) == ({0}, {55})
    [other] = resolve(loaded(tmp_path, TWO_HOSTS, "seed=2"), machine(), OneSide("client")).plans
    assert asks.hash == responses.hash != other.hash
    assert (asks.hello_wait_ns, responses.hello_wait_ns) == (60 * 10**9, 5 * 10**9)
    assert asks.endpoints[0].peer_mac == responses.endpoints[0].mac
    assert asks.workloads[0].load and responses.workloads[0].load is None
    assert responses.workloads[0].client_slots == 1024, "a server expects the places of the client that runs elsewhere"
    small = machine(2, interfaces=("eth7",))
    assert "server: CPU 55 does not exist" in refused(tmp_path, TWO_HOSTS, side="server", host=small)


def test_without_a_side_both_run_here(tmp_path):
    data = TWO_HOSTS | {"server": {"interface": "eth7"}}
    spec = resolve(loaded(tmp_path, data), machine(interfaces=("wt0", "eth7")))
    assert spec.plans[0].hello_wait_ns is None and len(spec.plans[0].endpoints) == 2
    assert "--side, if the other side is another host's" in refused(tmp_path, data, host=machine(interfaces=("wt0",)))


def test_the_ends_of_a_memif_keep_off_each_others_cpus(tmp_path):
    data = ECHO | {"wire": {"kind": "memif", "socket": "wt.sock"}}
    plans = [resolve(loaded(tmp_path, data), machine(2), OneSide(side)).plans[0] for side in ("server", "client")]
    assert [{worker.cpu for worker in plan.workers} for plan in plans] == [{1}, {0}]
    assert len({plan.endpoints[0].port.options["socket"] for plan in plans}) == 1
    assert len({plan.eal.file_prefix for plan in plans}) == 2


def test_a_side_keeps_off_the_cpus_of_an_engine_that_runs(tmp_path):
    data = TWO_HOSTS | {"client": {"interface": "wt0"}, "server": {"interface": "eth7"}}

    def planned(side, taken, **change):
        host = machine(2, interfaces=("wt0", "eth7"), engines_cpus=lambda: taken)
        spec = resolve(loaded(tmp_path, data | change), host, OneSide(side))
        notes = [note for note in spec.notes if "another engine" in note]
        return {worker.cpu for worker in spec.plans[0].workers}, notes

    assert planned("server", set()) == ({1}, [])
    assert planned("client", {1}) == ({0}, [])
    [note] = planned("client", {0, 1})[1]
    assert note == "CPU 1 has a worker of another engine: both will be preempted"
    by_hand = planned("client", {1}, client={"interface": "wt0", "cores": [1]})
    assert by_hand == ({1}, [note]), "CPUs that the scenario names are kept"


def test_a_run_of_both_sides_does_not_look_for_engines(tmp_path):
    spec = resolve(loaded(tmp_path, ECHO), machine(2, engines_cpus=lambda: {1}))
    assert {worker.cpu for worker in spec.plans[0].workers} == {0, 1}
    assert not any("another engine" in note for note in spec.notes)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"wire": {}, "client": {}, "server": {}}, 'no peer can be at the other end of the wire "ring"'),
        ({"wire": {"kind": "memif"}, "client": {}, "server": {}}, "wire.socket is missing"),
        ({"server": None}, "the file has no [server]"),
        ({"client": None}, "the file has no [client]"),
        (
            {"client": {"interface": "wt0", "mtu": 100}, "server": {"interface": "eth7", "mtu": 100}},
            "does not fit an MTU of 100; at least 124",
        ),
    ],
)
@pytest.mark.parametrize("side", ["server", "client"])
def test_what_two_processes_cannot_run_is_refused(tmp_path, change, words, side):
    said = refused(tmp_path, TWO_HOSTS | change, side=side)
    assert words in said and f"--side {side}" in said and "test.toml:" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--wait", "5s"], "--wait has no effect without --side"),
        (["--side", "client", "--wait", "5"], "--wait: "),
        (["--side", "client", "--wait", "1ms"], "not between 1s and 24h"),
    ],
)
def test_invalid_options(options, words):
    assert words in refused_command("run", SHIPPED / "two-hosts.toml", *options).message


def test_two_hosts_may_have_nics_at_the_same_address(tmp_path):
    nic = {"pci": "0000:01:00.0"}
    data = ECHO | {"wire": {"kind": "pci"}, "client": nic, "server": nic}
    host = machine(hugepages_mib=1024)
    for side in ("client", "server"):
        [plan] = resolve(loaded(tmp_path, data), host, OneSide(side)).plans
        assert plan.endpoints[0].port.options["pci"] == nic["pci"]
    assert "client and server have the same NIC" in refused(tmp_path, data, host=host)


def test_the_shipped_scenario_resolves_on_either_host():
    for side in ("client", "server"):
        spec = resolve(load_scenario(SHIPPED / "two-hosts.toml"), machine(), OneSide(side))
        assert spec.question == "What does one small RPC cost between two hosts?"


def both_sides(directory, *order, **about):
    """A run of each side; `about` one of them, where it is a table by side."""
    return [one_side(directory / side, side, **about.get(side, {})) for side in order or ("client", "server")]


NAMES = {side: {"hostname": f"of-{side}"} for side in ("client", "server")}


def test_two_sides_of_one_run_are_one_run(tmp_path):
    client, server = both_sides(tmp_path, **NAMES)
    for joined in (join([client, server]), join([server, client])):
        assert joined.record.verdict.valid and list(joined.windows) == ["server", "client"]
        sides = {side: {"of": side} for side in ("client", "server")}
        assert joined.record.scenario == {"title": client.record.title} | sides
        assert [c.source for c in crossings(joined)] == ["client", "server"]
        document = json.loads(json.dumps(joined_json(joined)))
        assert document["paths"] == {"server": str(server.path), "client": str(client.path)}
        assert {row["endpoint"] for row in document["metrics"]["stages"]} == {"client", "server"}
        text = printed(run_document(joined))
        assert "server on of-server" in text and "client on of-client" in text and "lost between hosts" in text
        assert "ran elsewhere" not in text
    assert any("the server ran elsewhere" in note for note in client.record.all_notes())


def test_an_invalid_side_makes_both_invalid(tmp_path):
    joined = join(both_sides(tmp_path, server={"verdict": Verdict(False, ["peer lost: gone"])}))
    assert joined.record.verdict.reasons == ["peer lost: gone [server]"]
    assert joined.rejected and joined_json(joined)["rejected"] is True
    (crossing, *_) = [line for line in printed(run_document(joined)).splitlines() if "lost between hosts" in line]
    assert crossing.startswith("rejected")


def test_states_of_both_hosts_have_the_side_in_their_names(tmp_path):
    def states(*names, rates, stage):
        about = {"windows": 4, "line_ns": 91, "responses_per_s": rates, "p50_ns": {}, "stage_ns": {stage: 7.0}}
        each = [HostState(name=name, words=f"CPU 0: {name}", indexes=[n], **about) for n, name in enumerate(names)]
        return {"validity": Validity(checks=[], excluded=[], states=each, headline=names[0])}

    of_client = states("one-l3", rates={"mixed": 1e6}, stage="client nic_tx")
    of_server = states("two-l3s", "one-l3, sibling busy", rates={}, stage="server nic_rx")
    joined = join(both_sides(tmp_path, client=of_client, server=of_server))
    assert [(s.name, s.words) for s in joined.record.validity.states] == [
        ("one-l3 [client]", "CPU 0: one-l3 [client]"),
        ("two-l3s [server]", "CPU 0: two-l3s [server]"),
        ("one-l3, sibling busy [server]", "CPU 0: one-l3, sibling busy [server]"),
    ]
    assert joined.record.validity.headline == "one-l3 [client] and two-l3s [server]"
    rows = {line.split("  ")[0]: line for line in printed(run_document(joined)).splitlines() if line.strip()}
    assert "(metrics)" in rows["one-l3 [client]"] and "1.00 M/s" in rows["one-l3 [client]"]
    assert "(metrics)" in rows["two-l3s [server]"] and "(metrics)" not in rows["one-l3, sibling busy [server]"]
    assert "server nic_rx" in rows and "client nic_tx" in rows
    page = render(run_document(joined))
    assert "one state of each host: one-l3 [client] and two-l3s [server]." in page
    assert joined_json(joined)["validity"]["headline"] == joined.record.validity.headline


def test_two_hosts_whose_states_are_not_known_have_none(tmp_path):
    none = Validity(checks=[], excluded=[])
    sides = both_sides(tmp_path, client={"validity": none}, server={"validity": none})
    assert join(sides).record.validity == none


def test_sides_of_two_runs_are_refused(tmp_path):
    client = one_side(tmp_path / "client", "client")
    other = one_side(tmp_path / "other", "server", session="cd" * 16)
    lonely = one_side(tmp_path / "lonely", "server", session=None)
    with pytest.raises(UserError, match="sides of different runs"):
        join([client, other])
    with pytest.raises(UserError, match="lonely: no handshake with another host"):
        join([client, lonely])
    assert join([client, client]) is None and join([client]) is None


def test_two_directories_become_one(tmp_path):
    """What is known of the joined run is known of the one directory, too, whose files are those of a run with two engines."""
    sides = both_sides(tmp_path, "server", "client", **NAMES)
    for run in sides:
        (run.path / "engine.log").write_text(f"{run.path.name} was here")
        (run.path / "received.pcap").write_bytes(b"pcap")
    merge(*(run.path for run in sides), tmp_path / "whole")
    whole, joined = load(tmp_path / "whole"), join(sides)
    assert whole.problems == [] and on_two_hosts(whole)
    assert whole.record == joined.record.model_copy(update={"rejected": False})
    assert whole.windows == joined.windows and crossings(whole) == crossings(joined)
    assert (whole.path / "latency.hlog").read_bytes() == (tmp_path / "client" / "latency.hlog").read_bytes()
    assert {file.name for file in whole.path.iterdir()} == {
        *("run.json", "windows.jsonl", "latency.hlog"),
        *(f"engine-{side}.log" for side in ("client", "server")),
        *(f"{side}-received.pcap" for side in ("client", "server")),
    }
    assert (whole.path / "engine-server.log").read_text() == "server was here"
    assert printed(run_document(whole)).strip() in printed(run_document(joined))
    assert run_json(whole).items() <= (joined_json(joined) | {"path": str(whole.path)}).items()
    page = render(run_document(whole))
    assert "Between the hosts" in page and "Host of the server" in page


def test_a_run_on_two_hosts_is_of_both(tmp_path):
    """Its numbers are not those of another pair, of which one host is the same."""
    for name in ("a", "b"):
        about = {"server": {"hostname": name}, "client": {"hostname": "of-both"}}
        sides = both_sides(tmp_path / name, "server", "client", **about)
        merge(*(run.path for run in sides), tmp_path / f"{name}-whole")
    found = [identity(load(tmp_path / f"{name}-whole").record)["host"] for name in ("a", "b")]
    assert found == ["a and of-both", "b and of-both"]
    assert read_entry(tmp_path / "a-whole" / "run.json").host == "a and of-both"


@pytest.mark.parametrize("private", [("server",), ("client",), ("server", "client")])
def test_the_whole_is_read_by_nobody_who_may_not_read_a_side(tmp_path, private):
    sides = both_sides(tmp_path, "server", "client")
    for name in private:
        for path in (tmp_path / name, *(tmp_path / name).iterdir()):
            path.chmod(path.stat().st_mode & 0o700)
    merge(*(run.path for run in sides), tmp_path / "whole")
    whole = (tmp_path / "whole", tmp_path / "whole" / "run.json", tmp_path / "whole" / "windows.jsonl")
    assert [path.stat().st_mode & 0o077 for path in whole] == [0, 0, 0]


def test_a_directory_that_is_there_stays(tmp_path):
    server, client = both_sides(tmp_path, "server", "client")
    there = one_side(tmp_path / "there", "server", session="cd" * 16).path
    with pytest.raises(UserError, match="exists already"):
        merge(server.path, client.path, there)
    assert load(there).record.engines[0].peer.session == "cd" * 16


@pytest.mark.parametrize("name", ["run.json", "windows.jsonl"])
def test_a_link_of_a_side_is_not_read(tmp_path, name):
    server, client = both_sides(tmp_path, "server", "client")
    (server.path / name).rename(tmp_path / "elsewhere")
    (server.path / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="a link, which is not followed"):
        merge(server.path, client.path, tmp_path / "whole")
    assert not (tmp_path / "whole").exists()


def test_each_end_of_a_cable_has_its_side(tmp_path):
    scenario = loaded(tmp_path, TWO_HOSTS)
    cable = Cable(server=machine(64, interfaces=("eth7",)), client=machine(2, interfaces=("wt0",)))
    spec = resolve(scenario, cable)
    assert spec.names == ["server", "client"]
    assert [{worker.cpu for worker in plan.workers} for plan in spec.plans] == [{55}, {0}]
    assert all(plan.hello_wait_ns for plan in spec.plans) and len({plan.hash for plan in spec.plans}) == 1
    assert spec.resolved["server"]["cores"] == [55] and spec.resolved["client"]["cores"] == [0]
    with pytest.raises(UserError, match="server: CPU 55 does not exist"):
        resolve(scenario, Cable(server=machine(2, interfaces=("eth7",)), client=machine(2, interfaces=("wt0",))))
    said = refused(tmp_path, ECHO, host=cable)
    assert 'two cabled testbeds: no peer can be at the other end of the wire "ring"' in said


def test_a_joined_report_is_written_once_and_to_a_new_file(tmp_path):
    client, server = (run.path for run in both_sides(tmp_path))
    file = tmp_path / "joined.html"
    invoke("show", client, server, "--report", file)
    page = file.read_text()
    assert "Between the hosts" in page and "Host of the server" in page
    for arguments, words in (
        ([client, server, "--report", file], "exists already"),
        ([client, "--report", tmp_path / "new.html"], "two sides of one run"),
        ([client, server, "--report", file, "--json"], "exclude each other"),
    ):
        assert words in refused_command("show", *arguments).message
    assert file.read_text() == page
