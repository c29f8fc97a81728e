"""`windtunnel share list`, `set` and `restore` by a daemon's answers, without a daemon."""

import json

import pytest
from command_line import in_process
from sample_sharing import member, reading
from study_tools import invoke, refused

from windtunnel.engine.histogram import Histogram
from windtunnel_sharing.cli import daemon_requests

MS = 10**6


def turns_of_4_ms(cpu: int) -> dict:
    """Of two members, where 100 us were asked for, beside a neighbour."""
    slices = Histogram(bits=10, counts=[(40 * MS, 250)], total=250, sum=10**10, min=40 * MS, max=40 * MS)
    return reading(
        cpu, member(11), member(12), source="switches", slice=slices, gap=slices, own_share=0.5, others_share=0.5
    ).model_dump()


def tenant(number: int, name: str, pool: str = "ls") -> dict:
    return {
        "name": name, "number": number, "pool": pool, "parked": False, "weight": 64, "cpus": [1], "promised": 0.25, "entitled": 0.5, "told": None,
        "slo_p99_ns": None, "pid": 10 + number, "threads": [10 + number],
    }  # fmt: skip


class Daemon:
    """Answers as one does; `asked` is what it was told to change."""

    def __init__(self):
        self.asked, self.paths = [], []
        pools = {
            "ls": [1],
            "be": [0],
            "overfull": {},
            "slicer": "kicker",
            "slice_ns": 100_000,
            "weight": 128,
            "room": 128,
            "shield": "none",
        }
        self.responses = {
            "/v1/tenants": [tenant(1, "kv1"), tenant(2, "kv2"), tenant(3, "batch", "be")],
            "/v1/pools": pools,
            "/v1/readings": {"0": turns_of_4_ms(0), "1": turns_of_4_ms(1)},
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def get(self, path: str):
        return self.responses[path]

    def ask(self, method: str, path: str, body: dict | None = None):
        self.asked.append(body)
        self.paths.append((method, path))
        return {"ls": [1], "be": [0], "overfull": {}, "slicer": "kicker-far", "slice_ns": 200_000}


@pytest.fixture
def daemon(monkeypatch):
    responses = Daemon()
    monkeypatch.setattr(daemon_requests, "_client", lambda socket: responses)
    return responses


def test_what_is_wrong_with_a_cpu_of_ls_is_listed(daemon):
    found = json.loads(invoke("share", "list", "--json"))["findings"]
    assert {(one["cpu"], one["code"]) for one in found} == {(1, "tick-bound"), (1, "neighbour")}
    assert all(one["evidence"] and one["remedy"] for one in found)
    shown = invoke("share", "list")
    assert "neighbour: other threads run on the core" in shown and "remedy:" in shown


def test_what_best_effort_is_not_promised_is_not_shown(daemon):
    [batch] = [line for line in invoke("share", "list").splitlines() if " batch " in line]
    assert "0.250" not in batch and "0.500" not in batch


def test_a_change_tells_the_weights_that_it_made(daemon):
    said = invoke("share", "set", "kv1", "--slo", "500us")
    assert "kv1: weight 64" in said and "kv2" not in said
    assert daemon.asked == [{"changes": [{"tenant": "kv1", "slo_p99_ns": 500_000}], "dry_run": False}]
    assert "weight 64" not in invoke("share", "set", "2=64", "--dry-run")


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("set", "2=64")])
def test_no_word_of_a_daemon_steers_the_terminal(daemon, tmp_path, words):
    daemon.responses["/v1/tenants"][1]["name"] = name = "[red]kv\x1b[2J\x9b31m\u202e"
    daemon.responses["/v1/pools"]["shield"] = name
    shown = in_process("share", *words, cwd=tmp_path).stdout
    assert r"[red]kv\u001b[2J\u009b31m\u202e" in shown and shown.replace("\n", "").isprintable()


def test_what_is_no_journal_is_not_touched(tmp_path):
    """An empty file would pass for a journal of nobody, and be removed."""
    mine = tmp_path / "notes.txt"
    mine.write_text("")
    assert refused("share", "restore", str(mine)).remedy and mine.exists()


def test_slicer_and_slice_are_set_without_a_tenant(daemon):
    assert invoke("share", "set", "--slicer", "kicker-far", "--slice", "200us") == "slicer kicker-far, 200 us\n"
    assert invoke("share", "set", "--slice", "200us")
    assert daemon.paths == [("PATCH", "/v1/pools")] * 2
    assert daemon.asked == [{"slicer": "kicker-far", "slice_ns": 200_000}, {"slice_ns": 200_000}]


def test_the_autoscaler_of_tenants_is_set_and_switched_off(daemon):
    assert "kv1: autoscaled by p99" in invoke("share", "set", "kv1", "kv2", "--autoscale", "p99")
    invoke("share", "set", "kv1=64", "--autoscale", "off")
    assert daemon.paths == [
        ("PUT", "/v1/tenants/kv1/autoscale"),
        ("PUT", "/v1/tenants/kv2/autoscale"),
        ("DELETE", "/v1/tenants/kv1/autoscale"),
        ("POST", "/v1/batch"),
    ]
    assert daemon.asked[-1] == {"changes": [{"tenant": "kv1", "weight": 64}], "dry_run": False}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to set"),
        (["kv1", "--autoscale", "load"], "--autoscale load"),
        (["--autoscale", "p99"], "need a TENANT"),
        (["--slice", "1ms", "--dry-run"], "--dry-run shows weights only"),
        (["--slice", "fast"], "--slice"),
        (["--slice", "2s"], "--slice"),
        (["kv1"], "kv1: not TENANT=WEIGHT"),
        (["kv1=\u0663"], "kv1=\u0663: not TENANT=WEIGHT"),
        (["kv1", "--slicer", "kicker"], "kv1: not TENANT=WEIGHT"),
    ],
)
def test_what_cannot_be_set_is_refused_before_anything_is_asked_for(daemon, words, said):
    assert said in refused("share", "set", *words).message
    assert daemon.asked == []
