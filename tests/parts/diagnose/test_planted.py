"""A diagnosis never sees what was planted: with and without it in the record it says the same."""

import sample_lines as sample
from diagnosed_runs import made

from windtunnel.engine.plan import Faults, Link
from windtunnel.parts.diagnose import planted
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.runs.validity import Check, Validity

LINK = Link(bits_per_s=123_456_789, delay_ns=100_000, queue=128)
FAULTS = Faults(loss=0.1, duplicate=0.0, reorder=0.0, reorder_depth=1)


def with_plants(plan):
    """The plan with everything that a bench plants."""
    ports = [e.port.model_copy(update={"link": LINK, "faults": FAULTS}) for e in plan.endpoints]
    return plan.model_copy(
        update={
            "title": "slow on purpose",
            "endpoints": [e.model_copy(update={"port": port}) for e, port in zip(plan.endpoints, ports, strict=True)],
            "workloads": [workload.model_copy(update={"extra_ticks": 424_242}) for workload in plan.workloads],
        }
    )


def plants(run, **how):
    """The same run with plants in its plans, its scenario, its notes and its checks."""
    record = run.record
    (engine,) = record.engines
    words = "emulated on what the client sends: a link of 0.1 Gbit/s, 100 us, a queue of 128 packets"
    ready = engine.ready.model_copy(update={"notes": [*engine.ready.notes, words]})
    wire = {"kind": "ring", "link": {"rate": "100Mbps", "delay": "100us"}, "faults": {"loss": 0.1}}
    workload = [each | {"extra_ticks": 424_242} for each in record.scenario["workload"]]
    known = {
        "title": "slow on purpose",
        "engines": [engine.model_copy(update={"plan": with_plants(engine.plan), "ready": ready})],
        "scenario": record.scenario | {"wire": wire, "workload": workload},
        "validity": Validity(checks=[Check(name="emulated", state="good", words=words)], excluded=[]),
        "notes": [words],
    }
    return type(run)(run.path, record.model_copy(update=known), run.windows)


def test_the_same_words_with_and_without_plants():
    for shares in ((0.2, 0.05), (0.05, 0.2), (0.8, 0.7), (0.1, 0.1)):
        run = made(*shares)
        assert diagnose(plants(run)) == diagnose(run)


def test_no_plant_is_left_in_the_record():
    text = planted.without(plants(made())).record.model_dump_json()
    for word in ("424242", "emulated on", "123456789", "slow on purpose", "100Mbps"):
        assert word in plants(made()).record.model_dump_json()
        assert word not in text


def test_the_run_itself_keeps_them():
    run = plants(made())
    planted.without(run)
    assert run.record.engines[0].plan.workloads[0].extra_ticks == 424_242
    assert sample.plan().workloads[0].extra_ticks == 0
