"""Axio's configurations become scenarios that run; what cannot be converted is refused by name, all at once."""

import os
import tomllib
from pathlib import Path

import pytest
from axio_samples import DATA
from hypothesis import given, settings
from hypothesis import strategies as st
from importing import imported, refusal
from scenario_tools import machine

from windtunnel.errors import UserError
from windtunnel.exchange.source import Foreign
from windtunnel.parts.axio import config
from windtunnel.parts.axio.config_keys import BATCHES, COLON, CONVERTED, NUMBERS, SKIPPED, SWITCHES, TABLES
from windtunnel.scenario import load, resolve
from windtunnel.scenario.topology import topologies

COLONS, TOML = (DATA / "axio-colon.conf").read_text(), (DATA / "axio-server.toml").read_text()
BAD_NAME = os.fsdecode(b"\xff.conf")
GROUP = "workload : {} : RXNIC,RXDispatcher,RxApplication,TxDispatcher,TxNIC : 0 : {} : {}\n"


def scenario(directory, text, *options):
    """The scenario that a configuration becomes, as written and as loaded, and what was said beside it."""
    file = directory / "config"
    file.write_text(text)
    _, said = imported("axio", file, "--out", directory / "scenario.toml", *options)
    written = (directory / "scenario.toml").read_text()
    return tomllib.loads(written), load(directory / "scenario.toml"), said


def test_the_colon_form_becomes_a_scenario_that_runs(tmp_path):
    data, loaded, _ = scenario(tmp_path, COLONS)
    resolve(loaded, machine())
    assert (data["duration"], data["window"], data["wire"]) == ("10s", "1s", {"kind": "ring"})
    assert data["server"]["batch"] == {"app_rx": 32, "disp_tx": 32, "disp_rx": 128, "nic_tx": 32, "nic_rx": 32}
    assert data["server"]["mac"] == "10:70:fd:87:0e:ba" and data["client"]["ip"] == "10.0.2.101"
    assert [workload["name"] for workload in data["workload"]] == [f"workload-{n}" for n in (1, 2, 3, 4)]
    assert all((w["apps"], w["dispatchers"], w["colocate"]) == (1, 1, True) for w in data["workload"])


def test_assumptions_about_the_colon_form_are_named(tmp_path):
    data, _, said = scenario(tmp_path, COLONS)
    assert data["workload"][0].items() >= {"handler": "t_app", "request": 982, "response": 22}.items()
    assert "not in the file, because compiled into Axio" in said and "message_handler = t_app" in said


def test_toml_becomes_a_scenario_with_every_value(tmp_path):
    data, loaded, _ = scenario(tmp_path, TOML)
    resolve(loaded, machine())
    assert data["duration"] == "60s" and data["window"] == "2s"
    assert data["server"] == {
        "ip": "192.0.2.2",
        "mac": "02:00:00:00:00:02",
        "mtu": 2048,
        "batch": {"app_rx": 64, "disp_tx": 16, "disp_rx": 48, "nic_tx": 8, "nic_rx": 128},
        "rx_descriptors": 2048,
        "tx_descriptors": 4096,
        "mempool": {"size": 32768, "cache": 128, "ops": "stack"},
        "response_mbuf": "new",
    }
    assert data["workload"] == [
        {
            "name": "workload-7",
            "handler": "m_app",
            "options": {"state": "256KiB", "accesses": 16, "pattern": "sequential"},
            "request": 86,
            "response": 214,
            "apps": 4,
            "dispatchers": 2,
            "colocate": True,
            "inflight": 4 * 512,
            "extra_ticks": 500,
        }
    ]


def test_every_value_is_converted_or_named(tmp_path):
    """Each key of the file is changed in turn: the scenario changes, or the head of the scenario names the key and its value."""
    data, _, said = scenario(tmp_path, TOML)
    for name in SKIPPED.keys() & set(_keys_of(tomllib.loads(TOML))):
        assert f"{name} = " in said, name
    head = (tmp_path / "scenario.toml").read_text().split("\ntitle")[0]
    assert all(line.startswith("#") or not line for line in head.splitlines())
    assert "jsonl_path = " in head and "0000:98:00.0" in head
    changes = {"mtu = 2048": "mtu = 4096", "iterations = 30": "iterations = 3", "_message = 500": "_message = 5"}
    changes |= {"local_ip = '192.0.2.2'": "local_ip = '192.0.2.9'", "new_mbuf = true": "new_mbuf = false"}
    changes |= {"messages = 512": "messages = 64", "'m_app' ": "'l_app' ", "size = 16384": "size = 32768"}
    changes |= {f"{name} = ": f"{name} = 2 # " for name in BATCHES if name != "app_tx_batch_size"}
    for number, (before, after) in enumerate(changes.items()):
        assert before in TOML
        (tmp_path / str(number)).mkdir()
        assert scenario(tmp_path / str(number), TOML.replace(before, after))[0] != data, after


def _keys_of(table):
    for key, value in table.items():
        yield key
        if isinstance(value, dict):
            yield from _keys_of(value)


def test_the_first_revision_of_toml_is_read_too(tmp_path):
    """Where [build] and [runtime] held what [handler], [knobs] and [other] hold now."""
    now = tomllib.loads(TOML)
    build = now["handler"] | now["knobs"]["build"] | {"role": "client", "backend": "dpdk", "mempool_size": 8192}
    runtime = {k: v for k, v in now["knobs"]["runtime"].items() if k in BATCHES}
    runtime |= {"iterations": 3, "window_seconds": 1}

    def lines(table):
        return "".join(f"{k} = {str(v).lower() if isinstance(v, bool) else repr(v)}\n" for k, v in table.items())

    topology = """
        [[workspaces]]
        id = 0
        cpu_core = 0
        [[workspaces]]
        id = 4
        cpu_core = 4
        [[workloads]]
        id = 1
        remote_dispatchers = [0]
        pipeline = ["app_tx", "dispatcher_tx", "nic_tx", "nic_rx", "dispatcher_rx", "app_rx"]
        [[workloads.groups]]
        dispatcher = 0
        applications = [4]
    """
    text = f"schema_version = 1\n[build]\n{lines(build)}\n[runtime]\n{lines(runtime)}\n{topology}"
    data, _, _ = scenario(tmp_path, text)
    assert data["client"]["batch"]["app_tx"] == 32 and data["workload"][0]["colocate"] is False


@pytest.mark.parametrize(
    ("applications", "dispatchers", "wanted"),
    [("0,1|2,3", "0|2", (4, 2, True)), ("1-2|3", "0|4", (3, 2, False)), ("0-3", "0", (4, 1, True))],
)
def test_groups_become_applications_and_dispatchers(tmp_path, applications, dispatchers, wanted):
    data, _, _ = scenario(tmp_path, GROUP.format(1, applications, dispatchers))
    assert tuple(data["workload"][0][key] for key in ("apps", "dispatchers", "colocate")) == wanted


@pytest.mark.parametrize(
    ("applications", "groups"), [("0,1,2|3", [3, 1]), ("0|1-3", [1, 3]), ("0,1|2,3", None), ("0,1|2", None)]
)
def test_groups_of_unlike_numbers_keep_their_applications(tmp_path, applications, groups):
    """Those that are as even as possible need no key."""
    data, loaded, _ = scenario(tmp_path, GROUP.format(1, applications, "4|5"))
    assert data["workload"][0].get("groups") == groups
    server = next(side for side in topologies(loaded) if side.side == "server")
    used = [application.dispatchers for application in server.applications]
    assert [used.count([d]) for d in (0, 1)] == (groups or [2, len(used) - 2])


def test_remote_dispatchers_are_those_of_the_other_side(tmp_path):
    """Axio's reference pair: a server with 16 and a client with 8, each on a core with its application."""
    groups = {count: "|".join(map(str, range(count))) for count in (8, 16)}
    phases = {8: "RXNIC,RXDispatcher,RxApplication,TxApplication,TxDispatcher,TxNIC", 16: GROUP.split(" : ")[2]}
    for own, remote, side in ((16, 8, "server"), (8, 16, "client")):
        (tmp_path / side).mkdir()
        line = f"workload : 1 : {phases[own]} : 0-{remote - 1} : {groups[own]} : {groups[own]}\n"
        data, loaded, said = scenario(tmp_path / side, line)
        (workload,) = data["workload"]
        assert (workload["dispatchers"], workload["client"], workload["apps"]) == (16, {"dispatchers": 8}, own)
        assert f"has {remote} dispatchers, as the file says, and as many applications as the {side}" in said
        plan = resolve(loaded, machine(cpus=32)).plans[0]
        assert {e.side: e.port.queues for e in plan.endpoints} == {"server": 16, "client": 8}


def test_a_client_is_known_by_its_app_tx(tmp_path):
    data, _, _ = scenario(tmp_path, COLONS.replace("RxApplication,", "RxApplication,TxApplication,"))
    assert data["client"]["batch"]["app_tx"] == 32 and data["client"]["ip"] == "10.0.2.102"


def test_a_packet_handler_alone_needs_no_application_stage(tmp_path):
    text = TOML.replace("packet_handler = 'empty'", "packet_handler = 'echo'").replace("'app_rx', ", "")
    data, _, said = scenario(tmp_path, text)
    (workload,) = data["workload"]
    assert workload["packet_handler"] == "echo"
    assert not {"handler", "response", "options", "extra_ticks"} & workload.keys()
    assert "app_ticks_per_message" in said and "has no application to do this work" in said


REFUSED = [
    ("mempool_handler = 'stack'", "mempool_handler = 'ring_mp_sc'", '"ring_mp_sc" cannot be converted'),
    ("limit_enabled = true", "limit_enabled = false", "inflight_limit_enabled: false cannot be converted"),
    ("backend = 'dpdk'", "backend = 'efa'", 'network.backend: "efa" cannot be converted'),
    ("'m_app' ", "'z_app' ", 'handler.message_handler: "z_app" cannot be converted'),
    ("role = 'server'", "role = 'boss'", 'deployment.role is "boss"'),
    ("'nic_rx', 'd", "'app_tx', 'nic_rx', 'd", "has app_tx, which the server here cannot"),
    ("'nic_rx', 'd", "'nic_rq', 'd", "no phase nic_rq"),
    ("mtu = 2048", "mtu = 20000", "knobs.build.mtu: in the scenario, "),
    ("rx_ring_entries = 2048", "rx_ring_entries = 2000", "network.rx_ring_entries: in the scenario, server.rx_desc"),
    ("rx_ring_entries = 2048", 'rx_ring_entries = "x"', 'network.rx_ring_entries: "x"'),
    ("local_ip = '192.0.2.2'", "local_ip = '192.0.2.256'", "network.local_ip: in the scenario, "),
    ("local_ip = '192.0.2.2'", "local_ip = '192.0.2.1'", "the same ip"),
    ("iterations = 30", "iterations = 900000", "other.iterations: in the scenario, duration"),
    ("iterations = 30", "iterations = -3", "other.iterations: -3"),
    ("use_sudo", "use_sud", 'unknown key "deployment.use_sud"'),
    ("schema_version = 1", "schema_version = 2", "schema_version is 2"),
    ("dispatcher = 2", "dispatcher = 0", "a dispatcher has two groups"),
    ("dispatcher = 2", "dispatcher = 1", "some dispatchers sit with an application of theirs"),
    ("applications = [ 2, 3 ]", "applications = [ ]", "groups of 2, 0 applications"),
    ("applications = [ 2, 3 ]", "applications = 2", "workloads.0: 2 is not a list"),
    ("dispatcher = 2", "", "dispatcher is missing"),
    ("request_payload_bytes = 86", "request_payload_bytes = 5", "request_payload_bytes: in the scenario, "),
    ("mempool_size = 16384", "mempool_size = 1e3", "other.mempool_size: 1000.0"),
    ("id = 7", "id = 7\nshare = 3", "unknown key share"),
]


@pytest.mark.parametrize(("right", "wrong", "said"), REFUSED, ids=[said[:40] for *_, said in REFUSED])
def test_values_that_cannot_be_converted_are_refused_with_their_line(tmp_path, right, wrong, said):
    assert TOML.count(right) >= 1
    text = TOML.replace(right, wrong, 1)
    refused = refusal(tmp_path, "axio", text)
    assert said in refused
    changed = next(n for n, (a, b) in enumerate(zip(TOML.split("\n"), text.split("\n"), strict=False), 1) if a != b)
    workload = TOML[: TOML.index("[[deployment.topology.workloads]]")].count("\n") + 1
    peer = TOML[: TOML.index("remote_ip")].count("\n") + 1
    line = workload if changed > workload else peer if said == "the same ip" else changed
    assert f"text:{line}: " in refused


def test_all_refusals_are_reported_at_once(tmp_path):
    text = TOML
    for right, wrong, _ in REFUSED[:5]:
        text = text.replace(right, wrong, 1)
    refused = refusal(tmp_path, "axio", text)
    assert "5 faults" in refused and all(said in refused for *_, said in REFUSED[:5])


COLON_REFUSED = [
    ("kDispRxBatchSize : 128", "kDispRxBatchSize : lots", 'text:6: kDispRxBatchSize: "lots"'),
    ("kDispRxBatchSize : 128", "kDispRxBatchSize : 2000", "text:6: kDispRxBatchSize: in the scenario, "),
    ("kDispRxBatchSize : 128", "kDispRxBadgeSize : 128", 'text:6: unknown key "kDispRxBadgeSize"'),
    ("numa : 1", "numa", 'text:16: "numa" is not a key and its value'),
    (" : 3 : 3 : 3", " : 3 : 3", "text:15: workload has 4 parts"),
    (" : 3 : 3 : 3", " : 3 : 3|4 : 3", "text:15: workload: "),
    (" : 3 : 3 : 3", " : 3 : 9-3 : 3", 'text:15: workload: "9-3" is not a range'),
    (" : 3 : 3 : 3", " : 3 : 2 : 2", "text:15: workspace 2 serves workloads 3 and 4"),
    ("iteration : 10", "iteration : 10\niteration : 11", "text:19: iteration is given twice"),
    ("duration : 1\n", "duration : 0\n", "text:19: duration: in the scenario, window"),
]


@pytest.mark.parametrize(("right", "wrong", "said"), COLON_REFUSED, ids=[said[5:40] for *_, said in COLON_REFUSED])
def test_the_colon_form_is_refused_with_its_line(tmp_path, right, wrong, said):
    assert right in COLONS
    assert said in refusal(tmp_path, "axio", COLONS.replace(right, wrong))


def test_text_of_a_file_cannot_inject_a_key(tmp_path):
    data, _, _ = scenario(tmp_path, TOML.replace("'axio-server.example.net'", '"a\\nseed = 7\\u001b[31m"'))
    assert "seed" not in data and "\x1b" not in (tmp_path / "scenario.toml").read_text()


def test_an_existing_file_stays(tmp_path):
    (tmp_path / "mine.toml").write_text("mine")
    with pytest.raises(UserError, match="exists already"):
        imported("axio", DATA / "axio-colon.conf", "--out", tmp_path / "mine.toml")
    assert (tmp_path / "mine.toml").read_text() == "mine"


def test_without_out_only_the_scenario_goes_to_stdout(tmp_path):
    out, said = imported("axio", DATA / "axio-colon.conf")
    assert tomllib.loads(out)["workload"] and out.startswith("# What does the server of Axio's")
    assert "not converted" in said


@pytest.mark.parametrize("raw", [b"\xff\xff", b"numa : 1\n\xff"])
def test_binary_files_are_refused(tmp_path, raw):
    (tmp_path / "raw").write_bytes(raw)
    with pytest.raises(UserError, match="is not UTF-8"):
        imported("axio", tmp_path / "raw")


@pytest.mark.parametrize(("name", "words"), [("none", "no such file"), ("", "is a directory"), (BAD_NAME, "not UTF-8")])
def test_what_is_no_file_of_text_is_refused(tmp_path, name, words):
    if name == BAD_NAME:
        Path(tmp_path, name).write_text(COLONS)
    for tool in ("axio", "testpmd"):
        with pytest.raises(UserError, match=words):
            imported(tool, tmp_path / name)


NEITHER = "neither a configuration nor a log of Axio"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, NEITHER) for text in ("", "hello\n", "{}", "a : b\n", "# only a comment\n", "\n" * 300_000 + "x")),
        ("numa : 1\n", "--side client"),
        (TOML.replace("ssh_port = 22", "ssh_port = = 22"), "text:8: "),
        (TOML.replace("iterations = 30", "iterations = " + "9" * 3000), "of at most 18 digits"),
        (TOML.replace("iterations = 30", "iterations = " + "9" * 5000), "text:60: exceeds the limit (4300 digits)"),
        (TOML + "a" + ".a" * 10_000 + " = 1\n", "more than 200 points in one line"),
        (TOML + "".join(f"{n}{'.a' * 199} = 1\n" for n in range(40)), "more than 4000 points"),
        (COLONS + "x\n" * 60, "more than 50 faults, the first 50 of them"),
    ],
    ids=range(13),
)
def test_other_texts_and_huge_values_are_refused_at_once(tmp_path, text, words):
    assert words in refusal(tmp_path, "axio", text)


def test_a_side_without_workloads_is_refused(tmp_path):
    assert "no workload" in refusal(tmp_path, "axio", "numa : 1\n", "--side", "server")


def test_every_key_of_axio_is_handled_once():
    keys = {name for names in TABLES.values() for name in names.split()} | set(COLON.values())
    assert keys == CONVERTED | SKIPPED.keys() and not CONVERTED & SKIPPED.keys()
    assert NUMBERS | SWITCHES <= CONVERTED


WORDS = st.sampled_from(
    [*COLON, "workload", "schema_version", "[network]", "=", ":", "1", "0|1", "0-3", "\n", "'x'", "\x1b[31m"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS | st.text(max_size=6), max_size=30).map(" ".join))
def test_no_text_crashes_the_import(tmp_path_factory, text):
    file = tmp_path_factory.mktemp("any") / "file"
    file.write_text(text, encoding="utf-8", errors="replace")
    try:
        out, _ = imported("axio", file, "--side", "server")
        tomllib.loads(out)
    except UserError as error:
        assert str(file) in error.message


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_configuration_with_one_line_changed_becomes_a_scenario_or_a_refusal(tmp_path_factory, data):
    lines = (TOML if data.draw(st.booleans()) else COLONS).splitlines()
    number = data.draw(st.integers(0, len(lines) - 1))
    lines[number] = data.draw(st.sampled_from(lines) | st.just("") | st.text(max_size=12))
    directory = tmp_path_factory.mktemp("changed")
    (directory / "file").write_text("\n".join(lines), encoding="utf-8", errors="replace")
    try:
        imported("axio", directory / "file", "--out", directory / "scenario.toml")
    except UserError as error:
        assert "file" in error.message
    else:
        load(directory / "scenario.toml")


@pytest.mark.parametrize("form", ["TOML", "colon"])
def test_a_configuration_has_a_bound(tmp_path, monkeypatch, form):
    """A text of megabytes takes a minute to read."""
    monkeypatch.setattr(config, "_from_toml", None)
    monkeypatch.setattr(config, "_from_colons", None)
    text = {"TOML": "schema_version = 1\n# ", "colon": "kDispRxBatchSize : 32\n# "}[form] + "x" * config.MOST_TEXT
    with pytest.raises(UserError, match="axio: more than 65,536 characters"):
        config.read_config(Foreign(tmp_path / "axio", text))
