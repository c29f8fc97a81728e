"""`windtunnel share simulate`: files, options, what is refused, and Figure 11 on six cores."""

import json

import pytest
from study_tools import invoke, refused

from windtunnel.errors import UserError
from windtunnel_sharing.simulate import file as simulate_file
from windtunnel_sharing.simulate import simulate
from windtunnel_sharing.simulate.file import read, shipped, text_of

pytestmark = pytest.mark.slow

SMALL = """
policy = "tick"
duration = "50ms"
[machine]
cores = 2
[[tenant]]
name = "a"
count = 3
weight = [64, 64, 128]
rate = "2krps"
service = "10us"
[[tenant]]
name = "batch"
pool = "be"
"""


def test_a_file_says_everything(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    plan = read(str(file))[1][""]
    assert [(t.name, t.weight) for t in plan.tenants] == [("a1", 64), ("a2", 64), ("a3", 128), ("batch", 256)]
    assert (plan.policy, plan.machine.cores, plan.duration_ns) == ("tick", 2, 50_000_000)
    document = json.loads(invoke("share", "simulate", str(file), "--json"))
    assert document["simulated"] is True
    assert [row["name"] for row in document["variants"][""]["tenants"]] == ["a1", "a2", "a3", "batch"]


def test_overload_is_said():
    """Requests that never came to their end are in no percentile: without a word a p99 would flatter."""
    words = ("share", "simulate", "--tenants", "2", "--duration", "50ms", "--service", "100us", "--load")
    assert "overload: " in invoke(*words, "20krps") and "overload" not in invoke(*words, "100rps")


def test_what_is_out_of_bounds_is_refused_in_its_unit():
    error = refused("share", "simulate", "--tenants", "4", "--slice", "10ns")
    assert error.message == '--slice: "10ns" is not between 1us and 10s' and error.remedy
    assert refused("share", "simulate", "--tenants", "4", "--cores", "99999").message == "cores is 99999"


def test_options_make_tenants_alike():
    document = json.loads(
        invoke("share", "simulate", "--tenants", "3", "--duration", "20ms", "--slice", "1ms", "--json")
    )
    variant = document["variants"][""]
    assert (variant["slice_ns"], len(variant["tenants"])) == (1_000_000, 3)


def test_the_page_says_that_it_was_simulated():
    assert "simulated, not measured" in invoke("share", "simulate", "--tenants", "2", "--duration", "10ms")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("weight = [64, 64, 128]", "weight = [64]"), "1 weights for 3"),
        (("weight = [64, 64, 128]", "weight = 0"), "weight is 0"),
        (
            ('rate = "2krps"', 'rate = "2kz"'),
            '"2kz" is not a rate; units: pps, kpps, Mpps, /s, k/s, M/s, or k, M, G alone',
        ),
        (('policy = "tick"', 'polcy = "tick"'), 'unknown key "polcy"'),
        (('name = "batch"', 'name = "a1"'), "two tenants are called a1"),
        (('pool = "be"', 'pool = "be"\n[[variant]]\nname = "v"\npin = { x = [0] }'), "x, which is not a tenant"),
        (("[machine]", "[machine"), ":4"),
    ],
)
def test_a_bad_file_is_refused_in_words(tmp_path, change, words):
    file = tmp_path / "bad.toml"
    file.write_text(SMALL.replace(*change))
    with pytest.raises(UserError) as raised:
        read(str(file))
    assert words in raised.value.message + raised.value.remedy
    assert "bad.toml" in raised.value.message


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("x.toml", "--tenants", "3"),
        ("nope",),
        ("--tenants", "0"),
        ("fig11-six-cores", "--seed", "2"),
        ("--tenants", "2", "--slice", "7"),
    ],
)
def test_bad_options_are_refused(words):
    assert refused("share", "simulate", *words).remedy


def test_fig11_on_six_cores():
    """Weights that scale serve what pinned cores serve, and leave the batch job at least 80% of the CPU that requests do not need;
    shared cores at 1 ms let them wait for milliseconds."""
    assert "fig11-six-cores" in shipped()
    assert text_of("fig11-six-cores").startswith("# Do scaled weights")
    plans = read("fig11-six-cores")[1]
    found = {name: simulate(plan).document() for name, plan in plans.items()}
    served = {name: document["all"]["served"] for name, document in found.items()}
    assert served["pvcc"] >= 0.9 * served["pinned"]
    busiest = {name: document["phases"][2]["p99"] for name, document in found.items()}
    assert busiest["pinned"] < busiest["pvcc"] < busiest["naive"] / 4
    for phase in found["pvcc"]["phases"]:
        needed = phase["served_per_s"] * 4e-6
        assert phase["batch_cpus"] >= 0.8 * (6 - needed)
    dedicated = [round(6 - phase["batch_cpus"]) for phase in found["pvcc"]["phases"]]
    assert dedicated == [1, 1, 2, 1, 1]


def test_tenants_are_counted_before_any_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(simulate_file, "Tenant", None)
    file = tmp_path / "many.toml"
    file.write_text('[[tenant]]\nname = "a"\ncount = 10000\n[[tenant]]\nname = "b"\n')
    with pytest.raises(UserError, match="tenants is 10001"):
        simulate_file.read(str(file))
