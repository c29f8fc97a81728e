"""Tables that no method can hold: `check` refuses them as `run` does, in the same words, at the user's own file and line."""

import random

import pytest
from check_tools import checked, refused_by_engine
from real_runs import scenario
from scenario_tools import written

pytestmark = pytest.mark.slow
NULL = {"wire": {"kind": "null"}, "server": {}}


def tables(table: dict) -> dict:
    return scenario({"packet_handler": "match_action", "table": [table]}, **NULL)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_default_route_by_rte_lpm(tmp_path):
    (tmp_path / "routes.csv").write_text("# routes\n10.0.0.0/8,1\n0.0.0.0/0,2\n")
    said = refused_by_engine(tmp_path, tables({"kind": "lpm", "method": "lpm", "rules": "routes.csv"}))
    assert f"{tmp_path}/routes.csv:3: rte_lpm has no prefix of 0 bits: take method fib" in said


def test_data_that_no_table_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "routes.csv").write_text("10.0.0.0/8,2147483647\n")
    code, said = checked(written(tmp_path, tables({"kind": "lpm", "rules": "routes.csv"})))
    assert code == 2 and "routes.csv:1: '2147483647' is not a number from 0 to 2147483646" in said


def test_rules_for_which_rte_acl_has_no_memory(tmp_path):
    chance = random.Random(1)
    rules = set()
    while len(rules) < 4000:
        mask = bytes(chance.choice((0, 0xFF, 0xF0, 0xC3)) for _ in range(16))
        key = bytes(chance.getrandbits(8) & bits for bits in mask)
        rules.add(f"{key.hex()}/{mask.hex()},1")
    (tmp_path / "rules.csv").write_text("\n".join(sorted(rules)) + "\n")
    said = refused_by_engine(
        tmp_path, tables({"name": "flows", "kind": "ternary", "method": "acl", "rules": "rules.csv"})
    )
    assert f"table flows: {tmp_path}/rules.csv: rte_acl builds no tries of 4000 rules" in said


def test_more_masks_than_tss_takes(tmp_path):
    rules = [f"{0:032x}/{number:032x},1" for number in range(1, 4098)]
    (tmp_path / "rules.csv").write_text("\n".join(rules) + "\n")
    said = refused_by_engine(tmp_path, tables({"kind": "ternary", "method": "tss", "rules": "rules.csv"}))
    assert "rules.csv:4097: more than 4096 different masks: methods linear and acl have no such limit" in said
