"""Copies in a scenario: what is refused, the plan, and the CPUs, mbufs and memory that they take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenario_tools import finished, loaded, machine, refused, toml

from windtunnel.engine.query import Handler, HandlerOption
from windtunnel.parts.copies import copiers
from windtunnel.parts.copies import resources as module
from windtunnel.parts.copies.engine_profiles import text_of
from windtunnel.parts.copies.query import Copier
from windtunnel.parts.copies.resources import reserved_cpus
from windtunnel.scenario.topology import topologies


def option(name: str, kind: str = "text", default: str = "", choices=None) -> HandlerOption:
    return HandlerOption(name=name, type=kind, default=default, choices=choices, help=f"its {name}")


def copier(name: str, *options: HandlerOption, thread=None, inner=None, profile=None) -> Copier:
    of = {"thread_option": thread, "inner_option": inner, "profile_option": profile}
    return Copier(name=name, help="moves bytes", most_depth=8191, options=[*options], **of)


FAULT = option("fault", "choice", "lying", ["late", "lying"])
COPIERS = [
    copier("cpu"),
    copier("dma", option("device", default="skeleton"), thread="device"),
    copier("model", option("profile"), profile="profile"),
    copier("planted", option("engine", default="cpu"), option("profile"), FAULT, inner="engine"),
]


def handler(name: str, **can: bool) -> Handler:
    return Handler(
        name=name, kind="message", help="responds", options=[], **{"names_copies": False, "checks": False} | can
    )


HANDLERS = [
    handler("fs_read", names_copies=True, checks=True),
    handler("kv"),
    handler("l_app"),
    handler("mine", names_copies=True),
]


@pytest.fixture(autouse=True)
def known(monkeypatch):
    by_name = {handler.name: handler for handler in HANDLERS}
    monkeypatch.setattr(copiers, "known", lambda: {copier.name: copier for copier in COPIERS})
    monkeypatch.setattr(module, "built_in", lambda: HANDLERS)
    monkeypatch.setattr(module, "named_handler", lambda s, index: by_name.get(s.workload[index].handler))


def scenario(copies=None, source=None, workload=None, **keys) -> dict:
    """Copies come with a source, unless a workload says otherwise."""
    source = {} if source is None and copies is not None else source
    plain = {"handler": "l_app", "request": "32KiB", "copies": copies, "source": source}
    return {"workload": [plain | (workload or {})], "client": {"inflight": 64}} | keys


def planned(directory, *about, cpus: int = 2, **keys):
    return finished(directory, scenario(*about, **keys), host=machine(cpus))


NULL, MEMIF = {"kind": "null"}, {"kind": "memif"}
UNCHECKED = MEMIF | {"udp_checksum": False}
RATED = {"inflight": 64, "rate": "1kpps"}
NAMED = {"handler": "fs_read", "source": None, "request": 86, "response": "32KiB"}
"""A workload whose handler names the copies of its responses."""
ONE = {"client": {"inflight": 64, "cores": [0]}, "server": {"cores": [0]}}
"""Both sides on one worker."""
MODELLED = {"engine": "model", "options": {"profile": "dsa-spr"}}


def test_without_them_a_plan_has_none(tmp_path):
    spec = planned(tmp_path)
    [workload] = spec.plans[0].workloads
    assert workload.source is workload.copies is None
    assert "copies" not in spec.demands["client"].mbufs
    assert not any(endpoint.port.chains for endpoint in spec.plans[0].endpoints)


@pytest.mark.parametrize("about", [({}, {}), (None, {})])
def test_a_source_brings_copies(tmp_path, about):
    [workload] = planned(tmp_path, *about).plans[0].workloads
    assert workload.source.model_dump() == {"bytes": 128 << 20, "order": "rotating"}
    defaults = {"engine": "cpu", "way": "pipelined", "at_least_bytes": 0, "lcores": [], "depth": 64, "batch": 32}
    assert workload.copies.model_dump().items() >= (defaults | {"timeout_ns": 10**9}).items()


def test_every_key_reaches_the_plan(tmp_path):
    same = {
        "engine": "dma",
        "options": {"device": "0000:6a:01.0-q0,0000:6a:01.0-q1"},
        "depth": 7,
        "batch": 3,
        "way": "wait_all",
        "verify": True,
    }
    copies = same | {"at_least": "auto", "timeout": "20ms"}
    plan = planned(tmp_path, copies, {"bytes": "1MiB", "order": "hot"}).plans[0]
    [workload] = plan.workloads
    assert workload.source.model_dump() == {"bytes": 1 << 20, "order": "hot"}
    derived = {"at_least_bytes": None, "timeout_ns": 20_000_000, "lcores": [], "model": None}
    assert workload.copies.model_dump() == same | derived
    assert plan.eal.args.count("0000:6a:01.0") == 1, "EAL looks for this device, once"


def test_the_source_is_a_part_of_the_memory(tmp_path):
    def megabytes(source):
        args = planned(tmp_path, {}, {"bytes": source}).plans[0].eal.args
        return int(args[args.index("-m") + 1])

    assert megabytes("256MiB") - megabytes("1MiB") > 250


def test_packets_that_wait_are_a_part_of_the_demand(tmp_path):
    mbufs = planned(tmp_path, {"depth": 100, "batch": 20}).demands
    assert mbufs["client"].mbufs["copies"] == 256, "23 packets a request: 120 and two bursts, rounded up"
    assert "copies" not in mbufs["server"].mbufs


def lcore_of(plan, cpu: int) -> int:
    """As EAL's arguments say."""
    pairs = dict(pair.split("@") for pair in plan.eal.args[1].split(",") if "(" not in pair)
    [lcore] = [int(lcore) for lcore, at in pairs.items() if int(at) == cpu]
    return lcore


def test_the_thread_of_a_software_engine_gets_a_cpu_that_no_worker_has(tmp_path):
    spec = planned(tmp_path, {"engine": "dma"})
    plan = spec.plans[0]
    assert {worker.cpu for worker in plan.workers} == {1}
    assert plan.workloads[0].copies.lcores == [lcore_of(plan, 0)]
    assert "the copiers' threads run on CPU 0, which no worker has" in spec.notes


def test_planted_faults_need_what_the_copier_below_them_needs(tmp_path):
    inner = planned(tmp_path, {"engine": "planted", "options": {"engine": "dma"}}).plans[0]
    assert inner.workloads[0].copies.lcores == [lcore_of(inner, 0)]
    assert planned(tmp_path, {"engine": "planted"}).plans[0].workloads[0].copies.lcores == []


def test_a_device_of_the_host_needs_no_cpu(tmp_path):
    plan = planned(tmp_path, {"engine": "dma", "options": {"device": "0000:6a:01.0"}}).plans[0]
    assert {worker.cpu for worker in plan.workers} == {0, 1} and plan.workloads[0].copies.lcores == []


def test_cpus_that_workers_have_are_called_over_committed(tmp_path):
    one = planned(tmp_path, {"engine": "dma"}, cpus=1)
    assert "the copiers' threads run on CPU 0, over-committed: workers run on CPU 0 too" in one.notes
    named = planned(tmp_path, {"engine": "dma"}, **ONE | {"server": {"cores": [1]}})
    assert any("over-committed" in note for note in named.notes)
    assert named.plans[0].workloads[0].copies.lcores == [lcore_of(named.plans[0], 0)], "EAL has one lcore for the CPU"


@given(cpus=st.integers(1, 12), apps=st.integers(1, 6))
def test_threads_never_take_the_workers_last_cpu(tmp_path_factory, cpus, apps):
    data = scenario({"engine": "dma"}, workload={"apps": apps}, client={"inflight": 1024})
    many = loaded(tmp_path_factory.getbasetemp(), data)
    kept = reserved_cpus(many, topologies(many), range(cpus))
    assert 1 <= len(kept) <= apps
    assert cpus < 3 or len(kept) <= cpus - 2


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"depth": 0}, "depth"),
        ({"depth": 9000}, "depth"),
        ({"batch": 0}, "batch"),
        ({"way": "async"}, "way"),
        ({"at_least": "5MiB"}, "at_least"),
        ({"at_least": -1}, "at_least"),
        ({"timeout": "0s"}, "timeout"),
    ],
)
def test_values_out_of_range_are_refused_with_the_key(tmp_path, keys, words):
    assert f"copies.{words}" in refused(tmp_path, scenario(keys))


def beside_a_model(engine: str) -> dict:
    """A copier that goes on by itself beside an engine that is modelled."""
    [first] = scenario(MODELLED)["workload"]
    second = first | {"name": "second", "copies": {"engine": engine}}
    return {"workload": [first | {"name": "first"}, second]} | ONE


REFUSED = [
    (scenario({"engine": "dam"}), 'test.toml:1: no copier "dam"; did you mean "dma"?'),
    (scenario({"engine": "x"}), 'no copier "x"; one of cpu, dma, model, planted, or a .so'),
    (scenario({"engine": "dma", "depth": 8192}), "dma takes 8191 copies at once, not 8192; at most 8191"),
    (scenario({"engine": "dma", "options": {"devise": "x"}}), 'dma has no option "devise"; did you mean "device"?'),
    (scenario({"engine": "planted", "options": {"fault": "slow"}}), '"slow" is not a choice; one of late, lying'),
    (
        scenario({}, {"bytes": "16KiB"}),
        "a source of 16KiB does not hold the body of a request, 32752 bytes; at least 32752",
    ),
    (scenario({"way": "zero"}), 'way = "zero" on the wire "ring": mbufs change hands there'),
    (scenario({"way": "zero"}, wire=MEMIF), "udp_checksum = false"),
    (scenario({"way": "zero", "engine": "cpu"}, wire=UNCHECKED), 'nothing is copied with way = "zero"; no engine'),
    (
        scenario({"verify": True}, wire=NULL, client=RATED, workload={"timeout": "1ms"}),
        "the server checks the bytes, and this scenario has none",
    ),
    (scenario({"verify": True}, workload={"packet_handler": "echo"}), "a packet handler could have changed them"),
    (
        scenario({}, wire=NULL, client=None, server={}),
        "the client copies requests from the source, and this scenario has none; a table [client]",
    ),
    (
        scenario({}, workload=NAMED | {"handler": "kv"}),
        "kv names no copies of its responses; a table [workload.source], or a handler that names copies (fs_read, mine)",
    ),
    (
        scenario({}, workload=NAMED | {"handler": None, "packet_handler": "echo", "response": None}),
        "and a packet handler names no copies",
    ),
    (scenario({"way": "zero"}, workload=NAMED), 'way = "zero" is for requests from a source; another way'),
    (
        scenario({"at_least": "auto"}, workload=NAMED),
        'at_least = "auto" is measured with a source, and this workload has none',
    ),
    (
        scenario({"verify": True}, workload=NAMED | {"handler": "mine"}),
        "mine cannot say what its responses must be: it has no hook `check`; verify = false",
    ),
    (
        scenario({"verify": True}, workload=NAMED | {"packet_handler": "echo"}),
        "a packet handler could have changed them",
    ),
    (
        scenario({"verify": True}, workload=NAMED, wire=NULL, client=None, server={}),
        "the client checks the bytes, and this scenario has none; a table [client]",
    ),
    (
        scenario({}, workload=NAMED | {"timeout": "1ms"}, wire=NULL, client=RATED),
        "names copies of its responses, and this scenario has no server",
    ),
    (
        scenario({"engine": "model"}, **ONE),
        'model has no profile: it says what the engine costs; options: profile = "dsa-spr"',
    ),
    (
        scenario(MODELLED | {"options": {"profile": "none.toml"}}, **ONE),
        'no profile "none.toml" of a copy engine; profile = "dsa-spr"',
    ),
    (scenario(MODELLED | {"depth": 129}, **ONE), "dsa-spr takes 128 copies at once, not 129; at most 128"),
    (
        scenario(MODELLED, **ONE | {"server": {"cores": [1]}}),
        "copies are modelled on one worker, and this run has 2: the others would go on; cores = [0] for each side",
    ),
    (
        scenario(MODELLED, wire=MEMIF, **ONE),
        'copies are modelled, and the wire "memif" has its own time; wire.kind =',
    ),
    (beside_a_model("dma"), "dma would go on while the run's time stands still"),
    (beside_a_model("./own.so"), "./own.so would go on while the run's time stands still"),
]


@pytest.mark.parametrize(("data", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_copies_that_cannot_be_made_are_refused_with_the_line(tmp_path, data, words):
    said = refused(tmp_path, data)
    assert words in said and "test.toml:" in said


def test_zero_copies_take_two_mbufs_a_packet(tmp_path):
    copied, zero = (planned(tmp_path, {"way": way}, wire=UNCHECKED) for way in ("pipelined", "zero"))
    server, client = zero.plans
    assert client.endpoints[0].port.chains and not server.endpoints[0].port.chains
    in_flight = [spec.demands["client"].mbufs["in flight"] for spec in (copied, zero)]
    assert in_flight[1] - in_flight[0] == 64 * 23


def test_without_a_source_the_copies_are_the_servers(tmp_path):
    spec = planned(tmp_path, {"depth": 100, "batch": 20, "verify": True}, workload=NAMED)
    [workload] = spec.plans[0].workloads
    assert workload.source is None and workload.copies.depth == 100 and workload.copies.verify
    assert "copies" not in spec.demands["client"].mbufs
    waiting = "23 packets a response: 120 and two bursts of 4 x 23, rounded up"
    assert spec.demands["server"].mbufs["copies"] == 512, waiting


def test_a_server_has_threads_of_copiers_too(tmp_path):
    spec = planned(tmp_path, {"engine": "dma"}, workload=NAMED | {"apps": 2}, cpus=6, client={"inflight": 1024})
    assert len(spec.plans[0].workloads[0].copies.lcores) == 2


def test_the_resolved_scenario_is_one_again(tmp_path):
    spec = planned(tmp_path, {"engine": "dma", "at_least": "2KiB"}, {"bytes": "3MiB"})
    workload = spec.resolved["workload"][0]
    assert workload["copies"]["at_least"] == "2KiB" and workload["source"]["bytes"] == "3MiB"
    assert "copies" in toml(workload)


def test_a_modelled_engine_comes_into_the_plan_as_plain_numbers(tmp_path):
    spec = planned(tmp_path, MODELLED, **ONE)
    [workload] = spec.plans[0].workloads
    assert workload.copies.model.name == "dsa-spr" and workload.copies.model.device.queue == 128
    assert spec.emulated == ["modelled: copies, and every figure that follows from them, by dsa-spr as data"]
    notes = " ".join(spec.notes)
    assert "modelled copies: dsa-spr is Intel DSA 1.0" in notes and "dsa-spr assumes caller.burst = 40: " in notes


def test_a_modelled_engine_may_have_planted_faults_and_a_profile_of_ones_own(tmp_path):
    (tmp_path / "mine.toml").write_text(text_of("dsa-spr").replace('name = "dsa-spr"', 'name = "mine"'))
    copies = {"engine": "planted", "options": {"engine": "model", "profile": "mine.toml", "fault": "late"}}
    [workload] = planned(tmp_path, copies, **ONE).plans[0].workloads
    assert workload.copies.model.name == "mine" and workload.copies.lcores == []


def test_bytes_that_are_moved_in_earnest_have_no_numbers(tmp_path):
    copies = {"engine": "planted", "options": {"profile": "dsa-spr"}}
    assert planned(tmp_path, copies).plans[0].workloads[0].copies.model is None


def test_what_is_wrong_in_a_profile_is_said_with_its_own_line(tmp_path):
    (tmp_path / "mine.toml").write_text("[engine]\nname = 3\n")
    data = scenario(MODELLED | {"options": {"profile": "mine.toml"}}, **ONE)
    assert "mine.toml:2: engine.name is 3" in refused(tmp_path, data)
