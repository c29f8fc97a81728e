"""Each claim that this product decides, on planted results: what the document says holds, and its opposite does not."""

import json

import duckdb
import pytest

from windtunnel.engine.interrupts import Interrupts
from windtunnel.parts.reproduce.claim import shipped
from windtunnel.parts.reproduce.decide import findings, verdict
from windtunnel.parts.reproduce.plot import draw, plotly_of
from windtunnel.parts.reproduce.queries import queries_of

CLAIMS = {claim.id: claim for claim in shipped()}
REPEATS = range(1, 9)


def study(place, name, rows):
    """What a study writes: a table with a row for each run."""
    (place / name).mkdir(exist_ok=True)
    rows = [{"valid": True} | row for row in rows]
    (place / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    duckdb.execute(f"COPY (SELECT * FROM read_json('{place}/rows.jsonl')) TO '{place}/{name}/results.parquet'")


def write(place, name, document):
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text(json.dumps(document))


def noisy(value, repeat):
    return value * (1 + 0.004 * (repeat % 3 - 1))


def over(factor, throughput, place, name):
    study(
        place,
        name,
        [
            {factor: value, "repeat": repeat, "server_derived_mpps": noisy(mpps, repeat)}
            for value, mpps in throughput.items()
            for repeat in REPEATS
        ],
    )


def frames(place, extra):
    for payload, frame in {22: 64, 86: 128, 214: 256, 470: 512, 982: 1024, 1458: 1500}.items():
        ports = [
            {"endpoint": side, "rx_mpps": 2.0, "rx_gbps": 2.0 * (frame + extra) / 125} for side in ("client", "server")
        ]
        write(place, f"payload-{payload}.json", {"metrics": {"ports": ports}})


def stages(place, explained):
    rows = [
        {
            "handler": handler,
            "repeat": repeat,
            "responses_per_s": 2e6,
            "server_rx_mpps": 2.0,
            "client_derived_mpps": 9.0,
            "server_derived_mpps": noisy(2.0 / explained, repeat),
        }
        for handler in ("empty", "l_app")
        for repeat in REPEATS
    ]
    study(place, "stages", rows)


def ticks(place, slope):
    rows = [
        {"extra_ticks": extra, "repeat": repeat, "server_app_rx_work_ns": noisy(20 + slope * extra / 2, repeat)}
        for extra in (0, 200, 800)
        for repeat in REPEATS
    ]
    study(place, "ticks", rows)
    write(place, "one/run.json", {"engines": [{"hello": {"tsc_hz": 2_000_000_000}}]})


def workload(place, name, responses, reasons=(), ports=()):
    metrics = {"workloads": [{"responses": responses, "responses_per_s": float(responses)}], "ports": list(ports)}
    write(place, name, {"metrics": metrics, "verdict": {"reasons": list(reasons)}})


def handlers(place, reasons):
    for name in ("empty", "t_app", "l_app", "m_app", "decompress"):
        workload(place, f"{name}.json", 1000, ["windows: 3 of 3 windows excluded", *reasons])


def large_response(place, size):
    workload(place, "read.json", 1000, ["x"], [{"endpoint": "server", "tx_gbps": 1000 * size / 125e6}])


def losses(place, without):
    workload(place, "without.json", without)
    workload(place, "with.json", 5000)


def new_mbuf(place, responses):
    workload(place, "new.json", responses)
    (place / "small-pool.log").write_text("error: server: the traffic can hold 5031 mbufs, the pool has 1100")


def pipeline(place, share):
    for number in range(1, 9):
        steps = [
            {"stage": "disp_rx", "step": "parser", "traffic": False, "ns": noisy(100 * share, number)},
            {"stage": "disp_rx", "step": "traffic", "traffic": True, "ns": 500.0},
        ]
        metrics = {"steps": steps, "stages": [{"stage": "disp_rx", "net_work_ns": 100.0}]}
        write(place, f"router-{number}.json", {"metrics": metrics, "verdict": {"valid": True}})


def segments(place, ratio):
    rows = [
        {"entries": 100, "key": key, "repeat": repeat, "server_packet_ns": noisy(ns, repeat)}
        for key, ns in (("4x4", 30.0 * ratio), ("1x16", 30.0))
        for repeat in REPEATS
    ]
    study(place, "segments", rows)


def latency(place, factor):
    rows = [
        {"entries": entries, "repeat": repeat, "p50": noisy(1000.0 * factor**step, repeat)}
        for step, entries in enumerate((1, 400, 2000))
        for repeat in REPEATS
    ]
    study(place, "latency", rows)


def judged_by_sharing(number, outcome):
    def plant(place, _):
        found = [{"what": "x", "outcome": outcome}]
        write(place, "figure/figure.json", {"verdicts": [{"number": number, "findings": found}]})

    return plant


def simulated(place, p99_ms):
    """p99 under Credit, Credit2 and PvCC."""
    variants = {
        policy: {
            "policy": policy,
            "tenants": [{"name": "memcached", "p99": 1e6 * p99}, {"name": "polling1", "p99": None}],
        }
        for policy, p99 in zip(("credit", "credit2", "pvcc"), p99_ms, strict=True)
    }
    write(place, "simulated.json", {"simulated": True, "variants": variants})


def text(name, right):
    return lambda place, is_right: (place / name).write_text(right if is_right else "nothing")


def equations(place, extra):
    cases = [(10, 64, 4, 32, 32), (13, 64, 8, 32, 32), (1, 1500, 32, 16, 1), (14, 128, 64, 64, 8)]
    for number, (r, s, b, f, t) in enumerate(cases):
        queue = {
            "inbound_read": r * (48 + s),
            "inbound_write": r * (s + 32 + 16 / t) + extra,
            "outbound_read": 0.0,
            "outbound_write": r * 4 * (1 / max(f, b) + 1 / b),
        }
        write(place, f"case-{number}.json", {"ports": [{"queues": [queue]}]})


def peaks(place, mean):
    write(place, "peaks.json", {"ports": [{"queues": [{"tx_burst_worded": mean}]}]})


def fracture(place, bursts):
    """Mean bursts at rising rates, from 1 Mpps on, each twice the one before."""
    rows = [
        {
            "rate": 1e6 * 2**step,
            "repeat": repeat,
            "server_tx_mpps": 2.0**step,
            "server_nic_tx_burst": noisy(burst, repeat),
        }
        for step, burst in enumerate(bursts)
        for repeat in range(1, 17)
    ]
    study(place, "fracture", rows)


def copied(factor, sizes):
    """A gain at each size, and shares of copies of 40% and 1%, or another one by the engine."""

    def plant(place, gains_and_share):
        *gains, share = gains_and_share
        for name in ("cpu", "model"):
            rows = [
                {
                    factor: size,
                    "repeat": repeat,
                    "responses_per_s": noisy(1000.0 * (1 + gain * (name == "model")), repeat),
                    "copies_share": 0.4 if name == "cpu" else share,
                }
                for size, gain in zip(sizes, gains, strict=True)
                for repeat in REPEATS
            ]
            study(place, name, rows)

    return plant


WRITES, UNPACKED = copied("write", (4096, 1 << 20)), copied("payload", (64, 4096, 8192))
PLANTED = {  # a part has taken its claim along if it was taken out
    "000/diagnosis": (text("diagnosis.txt", "critical: disp_rx, C1"), True, False),
    "000/frames": (frames, 0, 4),
    "000/handlers": (handlers, (), ("handler wrong: bad_bytes is 3",)),
    "000/in-flight": (text("refused.log", "a full batch can never be collected"), True, False),
    "000/large-response": (large_response, 104_000, 50_000),
    "000/losses": (losses, 0, 700),
    "000/new-mbuf": (new_mbuf, 5000, 0),
    "000/stages": (stages, 1.0, 0.8),
    "000/ticks": (ticks, 1.0, 0.5),
    "001/exact-model": (lambda place, mape: write(place, "fit.json", {"curves": [{"thesis_mape": mape}]}), 0.02, 0.2),
    "001/exact-throughput": (
        lambda place, last: over("entries", {10: 20, 100: 20.1, 1000: 19.8, 10**7: last}, place, "exact"),
        4,
        19,
    ),
    "001/lpm": (lambda place, last: over("entries", {10: 20, 1000: 20, 100_000: last}, place, "lpm"), 19.8, 10),
    "001/pipeline": (pipeline, 0.98, 0.6),
    "001/segments": (segments, 1.2, 1.0),
    "001/ternary-latency": (latency, 1.5, 0.9),
    "001/ternary-throughput": (
        lambda place, power: over("entries", {n: 20 * (100 / n) ** power for n in (100, 300, 1000)}, place, "ternary"),
        1.0,
        0.2,
    ),
    "002/async-gain": (WRITES, (0.1, 0.65, 0.01), (0.1, 0.37, 0.01)),
    "002/memcpy-share": (WRITES, (0.1, 0.65, 0.01), (0.1, 0.65, 0.3)),
    "002/unpack": (UNPACKED, (0.1, 0.8, 0.9, 0.01), (0.1, 0.4, 0.5, 0.01)),
    "003/average-batch": (peaks, 11.0, 10.0),
    "003/equations": (equations, 0.0, 0.5),
    "003/fracture": (fracture, (1.0, 1.2, 4.0), (1.0, 1.2, 1.5)),
    "004/baselines": (simulated, (3.0, 2.5, 0.3), (3.0, 2.5, 1.2)),
    "004/consolidation": (judged_by_sharing("2", "holds"), None, None),
    "004/efficiency": (judged_by_sharing("1", "holds"), None, None),
    "004/short-slice": (judged_by_sharing("3", "holds"), None, None),
    "004/trade-off": (judged_by_sharing("4", "holds"), None, None),
}
NEVER_RUN_HERE = {"000/roce", "001/shared-pointer", "004/best-effort", "004/scaling-api"}
"""Nobody has tried them on a host that has what they need."""


def decided(claim_id, place):
    claim = CLAIMS[claim_id]
    with queries_of(claim, place, Interrupts()) as queries:
        return verdict(claim, findings(claim, queries))[0]


def test_each_claim_with_commands_is_planted():
    assert (PLANTED.keys() & CLAIMS.keys()) | NEVER_RUN_HERE == {claim.id for claim in CLAIMS.values() if claim.command}


@pytest.mark.parametrize("claim_id", [claim_id for claim_id in PLANTED if claim_id in CLAIMS])
def test_it_holds_on_what_the_document_says(claim_id, tmp_path):
    plant, right, _ = PLANTED[claim_id]
    plant(tmp_path, right)
    assert decided(claim_id, tmp_path) == ("modelled" if CLAIMS[claim_id].modelled else "holds")


@pytest.mark.parametrize(
    "claim_id", [claim_id for claim_id in PLANTED if claim_id in CLAIMS and PLANTED[claim_id][2] is not None]
)
def test_it_does_not_hold_on_the_opposite(claim_id, tmp_path):
    plant, _, wrong = PLANTED[claim_id]
    plant(tmp_path, wrong)
    assert decided(claim_id, tmp_path) == "does not hold"


@pytest.mark.parametrize("claim_id", [claim_id for claim_id in PLANTED if claim_id in CLAIMS and CLAIMS[claim_id].plot])
def test_its_plot_has_each_curve(claim_id, tmp_path):
    plant, right, _ = PLANTED[claim_id]
    plant(tmp_path, right)
    with queries_of(CLAIMS[claim_id], tmp_path, Interrupts()) as queries:
        plot = draw(CLAIMS[claim_id], queries)
    assert all(curve.points for curve in plot.curves) and plotly_of(plot)


@pytest.mark.parametrize("outcome", ["does not hold", "not shown"])
def test_what_sharing_judges_is_kept(outcome, tmp_path):
    judged_by_sharing("2", outcome)(tmp_path, None)
    assert decided("004/consolidation", tmp_path) == outcome
