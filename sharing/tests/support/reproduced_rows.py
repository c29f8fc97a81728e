"""Made-up rows of the reproduced trials."""

from pvcc.fig6 import Fig6Row
from pvcc.fig10 import Fig10Row
from pvcc.fig11 import Fig11Row


def row6(block: int, sharing: str, p99_ns: int | None, server: str = "redis", **more) -> Fig6Row:
    fields = {
        "block": block,
        "position": 1,
        "arm": f"{server} {sharing}",
        "arrivals": "client",
        "mode": "always polling",
        "own_share": 0.99,
        "excluded": None,
        "server": server,
        "sharing": sharing,
        "offered_per_s": 1000,
        "responses_per_s": 1000.0,
        "not_responses": 0.0,
        "p50_ns": 1000,
        "p99_ns": p99_ns,
        "p99_sent_ns": p99_ns,
        "slice_p50_ns": None,
        "slice_p99_ns": None,
    }
    return Fig6Row(**fields | more)


def rows6(alone: int, tick: int, sliced: int, blocks: int = 6) -> list[Fig6Row]:
    values = {"alone": alone, "tick": tick, "sliced": sliced}
    return [row6(b, how, value + 1000 * b) for b in range(blocks) for how, value in values.items()]


def row10(block: int, us: int, load_: float, served: float, p99_ns: int) -> Fig10Row:
    return Fig10Row(
        block=block,
        position=1,
        arm=f"{us} {load_}",
        arrivals="inside",
        mode="always polling",
        own_share=0.99,
        excluded=None,
        tenants=4,
        slice_us=us,
        load=load_,
        offered_per_s=1.0,
        served_per_s=served + block,
        lost=0.0,
        p50_ns=1,
        p99_ns=p99_ns + block,
        slice_p50_ns=None,
        slice_p99_ns=None,
    )


def row11(block: int, way: str, **more) -> Fig11Row:
    fields = {
        "block": block,
        "position": 1,
        "arm": way,
        "arrivals": "inside",
        "mode": "always polling",
        "own_share": None,
        "excluded": None,
        "way": way,
        "served": 1,
        "lost": 0,
        "served_per_s": 1000.0 + block,
        "p99_ns": {"naive": 9_000_000, "pinned": 40_000, "scaled": 400_000}[way] + block,
        "p99_low_ns": 1,
        "p99_middle_ns": 1,
        "p99_peak_ns": 1,
        "batch_events": 5.0,
        "batch_cpu": 0.78 + block / 1000,
        "left_cpu": 0.8,
        "times_s": [0.5, 1.5],
        "served_series": [1.0, 2.0],
        "p99_series": [None, 5],
        "batch_series": [0.0, 1.0],
    }
    return Fig11Row(**fields | more)
