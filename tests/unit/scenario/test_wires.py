"""The wire of a scenario: options by its descriptor, and what is said of those that are wrong."""

import json

import pytest
from scenario_tools import ECHO, finished, loaded, machine, refused

from windtunnel.engine.wires import known
from windtunnel.scenario import wires
from windtunnel.scenario.keys import Scenario
from windtunnel.scenario.reference import keys_of, table_at

NEEDED = {"interface": "wt0", "file": "frames.pcap", "pci": "01:00.0"}
"""A value for each type of option that a wire may require."""


def with_required(kind: str, sides: list[str]) -> dict:
    """A scenario on the wire, with a value for each option that it cannot do without."""
    data: dict = {"wire": {"kind": kind}} | {side: {"rate": "1kpps"} if side == "client" else {} for side in sides}
    for option in known()[kind].options:
        if option.required and option.type in NEEDED:
            for table in ["wire"] if option.scope == "wire" else sides:
                data[table][option.name] = NEEDED[option.type]
    return ECHO | data


def sides_of(kind: str) -> list[str]:
    """The server, where the wire has one; else the client."""
    traits = known()[kind].traits
    return ["server"] if "server" in traits else ["client"] if "client" in traits else []


@pytest.mark.parametrize("kind", known())
def test_every_wire_is_accepted_with_its_required_options(tmp_path, kind):
    scenario = loaded(tmp_path, with_required(kind, sides_of(kind)))
    for option in known()[kind].options:
        if option.default is not None:
            side = None if option.scope == "wire" else sides_of(kind)[0]
            assert wires.value(scenario, option.name, side) is not None, option.name


@pytest.mark.parametrize("kind", known())
def test_a_missing_required_option_is_refused(tmp_path, kind):
    for option in known()[kind].options:
        if not option.required or option.type == "socket":
            continue
        table = "wire" if option.scope == "wire" else sides_of(kind)[0]
        data = with_required(kind, sides_of(kind))
        del data[table][option.name]
        said = refused(tmp_path, data)
        assert f"{table}.{option.name} is missing" in said and f'{option.name} = "{option.example}"' in said


@pytest.mark.parametrize("kind", known())
def test_options_of_another_wire_are_refused(tmp_path, kind):
    own = {option.name for option in known()[kind].options}
    for other in known().values():
        for option in other.options:
            if option.name in own:
                continue
            table = "wire" if option.scope == "wire" else sides_of(kind)[0]
            data = with_required(kind, sides_of(kind))
            data[table][option.name] = "x"
            message, _, remedy = refused(tmp_path, data).partition("; ")
            assert f'{table}.{option.name} has no effect on the wire "{kind}"' in message
            assert f'"{other.name}"' in remedy


@pytest.mark.parametrize("kind", known())
def test_every_option_is_a_key_with_help_default_and_schema(kind):
    schema = Scenario.model_json_schema()
    for option in known()[kind].options:
        for table in ["wire"] if option.scope == "wire" else ["client", "server"]:
            key = keys_of(table_at((table,)))[option.name]
            assert kind in key.help and option.help in key.help
            properties = schema["$defs"][table.capitalize()]["properties"]
            assert option.name in properties
    assert kind in schema["$defs"]["Wire"]["properties"]["kind"]["enum"]
    assert schema["$defs"]["Wire"]["additionalProperties"] is False


@pytest.mark.parametrize(
    ("wire", "server", "what", "remedy"),
    [
        ({"kind": "nul"}, {}, 'wire.kind is "nul"', 'did you mean "null"?'),
        ({"kind": "null", "packt": 64}, {}, 'unknown key "packt" in [wire]', 'did you mean "packet"?'),
        ({"kind": "null", "packet": "59B"}, {}, 'wire.packet: "59B" is not between 60B and 9014B', "a size"),
        ({"kind": "null", "packet": True}, {}, "wire.packet: true is not a size", "a size"),
        ({"kind": "null", "copy": "yes"}, {}, 'wire.copy is "yes"', "true or false"),
        ({"kind": "pcap", "replay": 5}, {}, "wire.replay is 5", "text"),
        ({"kind": "pcap", "replay": "x", "pace": "captur"}, {}, 'wire.pace is "captur"', 'did you mean "capture"?'),
        ({"kind": "pci"}, {"pci": "1:00.0"}, "is not the address of a PCI device", "a PCI address"),
        ({"kind": "pci"}, {"pci": "01:00.0", "offloads": ["rx_checksum", "x"]}, "server.offloads", "rx_checksum"),
        ({"kind": "pci"}, {"pci": "01:00.0", "steering": "rsss"}, "server.steering", 'did you mean "rss"?'),
        ({"kind": "pci"}, {"pci": "01:00.0", "interfac": "x"}, 'unknown key "interfac" in [server]', "interface"),
    ],
)
def test_unknown_options(tmp_path, wire, server, what, remedy):
    said = refused(tmp_path, ECHO | {"server": server, "wire": wire})
    assert what in said and remedy in said.partition("; ")[2]


def memif(server: str | None, client: str | None) -> dict:
    """Ends with these roles; None: not named."""
    roles = {"server": server, "client": client}
    return ECHO | {"wire": {"kind": "memif"}} | {side: {"role": role} for side, role in roles.items() if role}


@pytest.mark.parametrize(
    ("server", "client", "wrong"),
    [
        ("side", "server", "client"),
        ("client", "side", "server"),
        ("server", "server", "client"),
        ("client", "client", "client"),
        (None, "server", "client"),
    ],
)
def test_two_ends_of_one_role_are_refused(tmp_path, server, client, wrong):
    said = refused(tmp_path, memif(server, client))
    assert f'{wrong}.role is "' in said and 'role = "side" at both ends' in said


@pytest.mark.parametrize(
    ("server", "client"), [("side", "side"), ("server", "client"), ("client", "server"), (None, None)]
)
def test_two_ends_of_different_roles_are_not(tmp_path, server, client):
    loaded(tmp_path, memif(server, client))


def test_a_value_is_kept_as_it_is_written_back(tmp_path):
    for packet in (128, "128B", "0.128KB"):
        scenario = loaded(tmp_path, ECHO | {"server": {}, "wire": {"kind": "null", "packet": packet}})
        assert wires.value(scenario, "packet") == 128
        assert scenario.model_dump(mode="json")["wire"]["packet"] == "128B"


FORWARDER = {"wire": {"kind": "null"}, "server": {}, "workload": [{"packet_handler": "l2fwd"}]}


def test_a_plan_has_every_option_as_text(tmp_path):
    spec = finished(tmp_path, FORWARDER, "wire.packet=100B", "wire.copy=false")
    port = spec.plans[0].endpoints[0].port
    assert (port.wire, port.options) == ("null", {"packet": "100", "copy": "false"})
    assert port.traits == list(known()["null"].traits)
    assert (spec.resolved["wire"]["packet"], spec.resolved["wire"]["copy"]) == ("100B", False)


def test_defaults_are_those_of_the_descriptor(tmp_path):
    options = finished(tmp_path, FORWARDER).plans[0].endpoints[0].port.options
    assert options == {option.name: option.default for option in known()["null"].options}


@pytest.mark.parametrize(
    ("given", "planned", "resolved"),
    [
        ({"offloads": []}, "", []),
        ({}, "rx_checksum|tx_checksum|fast_free", ["rx_checksum", "tx_checksum", "fast_free"]),
    ],
)
def test_offloads_are_planned_and_can_be_run_again(tmp_path, given, planned, resolved):
    data = {"wire": {"kind": "pci"}, "server": {"pci": "01:00.0"} | given} | ECHO
    spec = finished(tmp_path, data, host=machine(hugepages_mib=1024))
    assert spec.plans[0].endpoints[0].port.options["offloads"] == planned
    assert (spec.resolved["server"]["offloads"], spec.resolved["server"]["steering"]) == (resolved, "auto")
    json.dumps(spec.resolved)


def test_remedies_name_the_wires_that_fit():
    assert wires.named("both_ends", without=("unframed",)) == '"memif" or "ring"'
    assert '"af_packet"' in wires.named("foreign_peer", without=("process_each",))
    assert "memif" not in wires.named("foreign_peer", without=("process_each",))
