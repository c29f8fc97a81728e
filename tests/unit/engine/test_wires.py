"""What Python knows of wires: from the engine, or from the snapshot where there is none."""

import pytest
from scenario_tools import engine

from windtunnel.engine import wires
from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Port
from windtunnel.engine.plan_values import Trait
from windtunnel.errors import UserError


def test_the_snapshot_is_read_where_there_is_no_engine():
    with engine("/absent/engine"):
        known = wires.known()
    assert set(known) >= {"ring", "null", "memif", "pcap", "af_packet", "af_xdp", "tap", "pci"}
    assert known["ring"].traits[:3] == ("server", "client", "both_ends")


def test_the_snapshot_is_what_the_engine_prints():
    from windtunnel.engine.query import wires as ask

    try:
        printed = ask(find_engine())
    except UserError as error:
        pytest.skip(f"no engine: {error.message}")
    assert printed == list(wires.of_snapshot().values()), "run python -m windtunnel.schemas"


def test_an_engine_without_wires_option_is_not_used(tmp_path):
    old = tmp_path / "windtunnel-engine"
    old.write_text("#!/bin/sh\necho 'windtunnel-engine: usage: ...' >&2\nexit 2\n")
    old.chmod(0o755)
    with engine(str(old)):
        assert "ring" in wires.known()


def test_a_list_of_another_shape_is_refused(tmp_path):
    odd = tmp_path / "windtunnel-engine"
    odd.write_text('#!/bin/sh\necho \'[{"name": "x"}]\'\n')
    odd.chmod(0o755)
    from windtunnel.engine.query import wires as ask

    with pytest.raises(UserError, match="--wires: not a list of wires"):
        ask(odd)


def test_every_trait_is_in_the_plan():
    from typing import get_args

    for wire in wires.known().values():
        assert set(wire.traits) <= set(get_args(Trait)) - {"timed"}, wire.name


def test_a_port_on_a_missing_wire_is_refused():
    port = Port.model_construct(wire="smoke")
    with pytest.raises(UserError, match='no wire "smoke" in this engine'):
        wires.of_port(port)
