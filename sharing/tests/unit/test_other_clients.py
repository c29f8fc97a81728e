"""Clients of others: their recorded reports are read, their commands have the load, and what is not there is named with its package.

The reports were printed on 2026-11-29 by wrk 4.1.0 and redis-benchmark 7.0.15 of Debian 12, and by wrk2 44a94c1, mutilate d65c6ef and
memtier_benchmark 2.1.1 (0c0c440), built from source.
"""

from pathlib import Path

import pytest
from pvcc.fig6 import Fig6
from pvcc.other_clients import memtier, mutilate, redis_benchmark, wrk
from pvcc.other_clients.catalogue import OTHER_CLIENTS
from pvcc.other_clients.other_client import Asking, Load, Reading, whole_rates
from pvcc.points import Points
from pvcc.responses import of_other
from pvcc.servers import Content
from reproduced_rows import row6, rows6
from tenant_tools import needs_native

from windtunnel.errors import UserError

REPORTS = Path(__file__).parents[1] / "support" / "data" / "clients"
EVERY = Points(clients=tuple(OTHER_CLIENTS))


def report(name: str) -> str:
    return (REPORTS / name).read_text()


def load(kind: str, rate: int | None = 1000) -> Load:
    return Load(kind, 7, Content(keys=100, value=32), 3, rate)


class TestReports:
    @pytest.mark.parametrize(
        ("read", "name", "reading"),
        [
            (wrk.read, "wrk-4.1.0.txt", Reading(6939.25, 451_000, 10_720_000)),
            (wrk.read, "wrk-4.1.0-missing.txt", Reading(0.0, 493_000, 7_990_000)),
            (wrk.read, "wrk2-44a94c1.txt", Reading(497.47, 4_240_000, 16_460_000)),
            (wrk.read, "wrk2-44a94c1-missing.txt", Reading(0.0, 1_310_000, 8_390_000)),
            (redis_benchmark.read, "redis-benchmark-7.0.15.csv", Reading(18331.81, 167_000, 3_847_000)),
            (memtier.read, "memtier_benchmark-2.1.1-redis.txt", Reading(984.63, 311_000, 4_639_000)),
            (memtier.read, "memtier_benchmark-2.1.1-misses.txt", Reading(0.0, 199_000, 3_215_000)),
            (mutilate.read, "mutilate-d65c6ef.txt", Reading(1013.5, None, 8_489_300)),
            (mutilate.read, "mutilate-d65c6ef-closed.txt", Reading(7680.1, None, 9_841_700)),
        ],
    )
    def test_of_the_recorded_versions(self, read, name, reading):
        assert read(report(name)) == reading

    def test_a_response_without_the_value_is_none(self):
        text = report("mutilate-d65c6ef.txt").replace("Misses = 0 (0.0%)", "Misses = 1015 (50.0%)")
        assert mutilate.read(text).responses_per_s == pytest.approx(1013.5 / 2)

    @pytest.mark.parametrize("client", OTHER_CLIENTS.values(), ids=OTHER_CLIENTS)
    @pytest.mark.parametrize("name", [path.name for path in sorted(REPORTS.iterdir())])
    def test_half_a_report_is_none(self, client, name):
        """Nor is that of another client, except for wrk and wrk2, which is one."""
        text = report(name)
        assert client.read(text[: len(text) // 3]) is None
        own = name.startswith(client.name) or {client.name, name.split("-")[0]} == {"wrk", "wrk2"}
        assert (client.read(text) is not None) == own


class TestCommands:
    def test_a_rate_is_that_of_all_connections(self):
        assert "--rate 1000" in " ".join(wrk.ask(load("nginx")))
        assert "-q 1000 -i exponential:1 -t 3" in " ".join(mutilate.ask(load("memcached")))
        words = memtier.ask(load("redis"))
        assert "--rate-limiting=125" in words and "--clients=8" in words
        assert [whole_rates(rate) for rate in (1000, 100, 7, 11)] == [8, 5, 7, 1]

    def test_a_closed_loop_has_no_rate(self):
        assert "--rate" not in wrk.ask(load("nginx", None))
        assert "-q 0" in " ".join(mutilate.ask(load("memcached", None)))
        assert not [word for word in memtier.ask(load("memcached", None)) if "rate" in word]

    def test_values_are_stored_before_they_are_asked_for(self):
        for client in OTHER_CLIENTS.values():
            if client.kinds == ("nginx",):
                assert client.fill is None, "its files are there"
            else:
                assert "100" in " ".join(client.fill(load(client.kinds[0]))) and client.fill != client.ask


class TestAsked:
    def asking(self, name: str, reading: Reading, rate: int | None) -> Asking:
        asking = object.__new__(Asking)
        asking.client, asking.load, asking.result = OTHER_CLIENTS[name], load("memcached", rate), lambda: reading
        return asking

    def test_a_rate_that_is_not_carried_has_no_percentile(self):
        responses = of_other(self.asking("mutilate", Reading(900.0, 5, 9), 1000))
        assert responses.not_carried == "900 responses a second" and responses.p99_ns is responses.p99_sent_ns is None

    def test_random_arrivals_may_be_some_fewer(self):
        """3,000 are asked for: 55 fewer is one standard deviation."""
        responses = of_other(self.asking("mutilate", Reading(960.0, 5, 9), 1000))
        assert responses.not_carried is None and (responses.p50_ns, responses.p99_ns, responses.p99_sent_ns) == (
            5,
            9,
            9,
        )

    def test_more_responses_than_requests_are_not_believed(self):
        """memtier_benchmark 2.1.1 has printed 159,383.03 Gets a second at a rate of 1,000."""
        with pytest.raises(UserError, match=r"memtier_benchmark printed 159,383 responses a second at a rate of 1,000"):
            of_other(self.asking("memtier_benchmark", Reading(159_383.03, 1_519_000, 5_599_000), 1000))

    def test_only_a_client_with_an_intended_time_has_a_p99_since_it(self):
        responses = of_other(self.asking("wrk2", Reading(1000.0, 5, 9), 1000))
        assert (responses.p99_ns, responses.p99_sent_ns) == (9, None)

    def test_a_closed_loop_carries_what_it_asks(self):
        assert of_other(self.asking("wrk", Reading(3.0, 5, 9), None)).not_carried is None

    def test_an_unknown_report_is_refused_with_its_beginning(self, tmp_path, monkeypatch):
        needs_native("keeper")
        program = tmp_path / "wrk"
        program.write_text("#!/bin/sh\necho wrk 9.9 has another report\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        with (
            Asking(OTHER_CLIENTS["wrk"], load("nginx", None), tmp_path, 0) as asking,
            pytest.raises(UserError) as refused,
        ):
            asking.result()
        assert "wrk 9.9 printed what is not known as its report: wrk 9.9 has another report" in refused.value.message

    def test_one_that_fails_is_refused_with_what_it_says(self, tmp_path, monkeypatch):
        needs_native("keeper")
        program = tmp_path / "wrk"
        program.write_text("#!/bin/sh\necho unable to connect >&2\nexit 1\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
        asking = Asking(OTHER_CLIENTS["wrk"], load("nginx", None), tmp_path, 0)
        with asking, pytest.raises(UserError, match="wrk ended with 1: unable to connect"):
            asking.result()


class TestFig6:
    @pytest.fixture(autouse=True)
    def installed(self, monkeypatch):
        monkeypatch.setattr("pvcc.fig6.find_server", lambda kind: kind)
        monkeypatch.setattr("shutil.which", lambda name, path=None: f"/usr/bin/{name}")

    def test_each_client_asks_what_it_can(self):
        arms = Fig6(True, "kicker", EVERY).arms()
        assert {(arm["server"], arm["client"]) for arm in arms} == {
            ("memcached", "mutilate"),
            ("memcached", "memtier_benchmark"),
            ("nginx", "wrk"),
            ("nginx", "wrk2"),
            ("redis", "memtier_benchmark"),
            ("redis", "redis-benchmark"),
        }
        assert {arm["client"] for arm in arms if arm["rps"] is None} == {"wrk", "redis-benchmark"}

    def test_workloads_that_no_client_asks_are_left_out_or_refused(self):
        assert {arm["server"] for arm in Fig6(True, "kicker", Points(clients=("wrk2",))).arms()} == {"nginx"}
        with pytest.raises(UserError, match="none of wrk2 can ask redis") as refused:
            Fig6(True, "kicker", Points(clients=("wrk2",), workloads=("redis",))).arms()
        assert refused.value.remedy == "one of memtier_benchmark, redis-benchmark"

    def test_a_rate_for_a_closed_loop_is_refused(self):
        with pytest.raises(UserError, match="wrk: no rate can be given"):
            Fig6(True, "kicker", Points(clients=("wrk",), rates=(1000,))).arms()

    @pytest.mark.parametrize("client", OTHER_CLIENTS.values(), ids=OTHER_CLIENTS)
    def test_what_is_not_installed_is_named_with_its_package(self, monkeypatch, client):
        monkeypatch.setattr("shutil.which", lambda name, path=None: None)
        with pytest.raises(UserError, match=f"no {client.name} on this system") as refused:
            Fig6(True, "kicker", Points(clients=(client.name,))).arms()
        assert refused.value.remedy == client.source

    def test_rows_of_two_clients_are_compared_apart(self):
        more = [
            row.model_copy(update={"client": "redis-benchmark", "offered_per_s": None, "arm": f"other {row.arm}"})
            for row in rows6(1_000_000, 2_000_000, 3_000_000)
        ]
        [_, shorter, _] = Fig6(True, "kicker").verdicts(rows6(50_000, 12_000_000, 400_000) + more)
        assert {finding.what: finding.outcome for finding in shorter.findings} == {
            "redis at 1,000 requests a second: p99 sliced over the tick": "holds",
            "redis by redis-benchmark in a closed loop: p99 sliced over the tick": "does not hold",
        }

    def test_a_closed_loop_is_in_the_table_and_not_in_a_plot_over_the_rate(self):
        rows = [row6(b, "tick", 5, client="wrk", offered_per_s=None, server="nginx") for b in range(3)]
        assert Fig6(True, "kicker").pictures(rows) == []
        assert [p.title for p in Fig6(True, "kicker").pictures([*rows, row6(1, "tick", 5)])] == ["redis: p99 over load"]
