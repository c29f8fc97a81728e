"""OpenMetrics: what is served parses, adds up to the windows, and is there while a run runs."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from contextlib import ExitStack
from itertools import chain, repeat
from types import SimpleNamespace

import forked
import pytest
import sample_lines
from command_line import environment, windtunnel
from live_tools import awaited
from openmetrics_tools import exposed, listened, samples, value

from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.exchange import connection_users
from windtunnel.exchange.address import parse
from windtunnel.exchange.metrics_server import MOST_PIECES, MOST_READERS, Server, head_of
from windtunnel.exchange.openmetrics import Windows


@pytest.fixture
def port():
    """One that is not in use at this moment."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def get(port: int, accept: str | None = None, path: str = "/metrics") -> tuple[str, str]:
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.headers["Content-Type"], response.read().decode()


def get_when_free(port):
    """Who comes while every place is taken is turned away; silent readers lose theirs after a while."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with contextlib.suppress(ConnectionError):
            return get(port)
        time.sleep(0.02)
    return get(port)


def test_totals_are_sums_of_the_windows():
    collector, windows = listened(lost=3)
    found = exposed(collector)
    nic_rx = {"endpoint": "server", "stage": "nic_rx", "index": "0"}
    parts = [s for w in windows for s in w.stages if (s.endpoint, s.stage) == ("server", "nic_rx")]
    assert value(found, "stage_objects_total", **nic_rx) == sum(s.objects for s in parts)
    assert value(found, "stage_calls_total", **nic_rx) == sum(s.calls for s in parts)
    busy = sum(s.busy_cycles for s in parts) / sample_lines.TSC_HZ
    assert value(found, "stage_timed_busy_seconds_total", **nic_rx) == pytest.approx(busy)
    dropped = {"endpoint": "client", "stage": "disp_rx", "index": "0", "reason": "bad_checksum"}
    assert value(found, "stage_dropped_packets_total", **dropped) == 2 * len(windows)
    ports = [p for w in windows for p in w.ports if p.endpoint == "client"]
    assert value(found, "port_sent_bytes_total", endpoint="client") == sum(p.tx_bytes for p in ports)
    workloads = [each for w in windows for each in w.workloads]
    for counter, key in (("offered_messages", "offered"), ("responses", "responses"), ("lost_messages", "lost")):
        assert value(found, f"workload_{counter}_total", workload="echo") == sum(getattr(w, key) for w in workloads)
    assert value(found, "workload_lost_messages_total", workload="echo") == 24
    assert value(found, "pool_free_mbufs", endpoint="server") == windows[-1].pools[1].free
    assert value(found, "windows_total", engine="windtunnel") == len(windows)
    assert value(found, "phase", windtunnel_phase="drain") == 1
    assert value(found, "phase", windtunnel_phase="measure") == 0


def test_latency_is_a_histogram_in_seconds():
    collector, windows = listened()
    found = exposed(collector)
    responses = sum(each.latency.total for w in windows for each in w.workloads)
    assert value(found, "workload_latency_seconds_count", workload="echo") == responses
    total = sum(each.latency.sum for w in windows for each in w.workloads) / 1e9
    assert value(found, "workload_latency_seconds_sum", workload="echo") == pytest.approx(total)
    bucket = "windtunnel_workload_latency_seconds_bucket"
    bounds = sorted((float(dict(labels)["le"]), count) for (name, labels), count in found.items() if name == bucket)
    assert bounds[0][0] == 1e-6 and bounds[-1][0] == float("inf") and bounds[-1][1] == responses
    below = sum(n for w in windows for each in w.workloads for lowest, n in each.latency.counts if lowest <= 199_900)
    assert dict(bounds)[0.0002] == pytest.approx(below, rel=0.01)
    median = value(found, "workload_window_latency_seconds", workload="echo", quantile="0.5")
    assert median == pytest.approx(196e-6, rel=0.1)


def paced(window: Window) -> Window:
    """The window as an open loop leaves it."""
    workloads = [w.model_copy(update={"pacing": w.latency}) for w in window.workloads]
    return window.model_copy(update={"workloads": workloads})


def test_pacing_is_exported_in_open_loop_only():
    closed, windows = listened()
    assert not any("pacing_seconds_count" in name for name, _ in exposed(closed))
    opened = Windows(sample_lines.spec([sample_lines.plan()]))
    for window in windows:
        opened.line("windtunnel", paced(window), "")
    found = exposed(opened)
    for name in ("seconds_count", "seconds_sum"):
        late = value(found, f"workload_pacing_{name}", workload="echo")
        assert late == value(found, f"workload_latency_{name}", workload="echo") > 0
    assert value(found, "workload_window_pacing_seconds", workload="echo", quantile="0.99") > 0


def test_unmeasured_metrics_are_absent():
    found = exposed(listened(sample_lines.plan(level="counts"))[0])
    names = {name for name, _ in found}
    assert "windtunnel_port_doorbells_total" not in names and "windtunnel_port_sent_packets_total" in names
    assert "windtunnel_stage_calls_total" not in {
        name for name, _ in exposed(listened(sample_lines.plan(level="off"))[0])
    }


@pytest.mark.slow
def test_prometheus_without_openmetrics_gets_the_text_format(port):
    with Server(parse(str(port)), listened()[0]):
        assert get(port, accept="text/plain;version=0.0.4")[0].startswith("text/plain")
        assert get(port, accept="*/*")[0].startswith("application/openmetrics-text")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Host: evil.example:9471\r\n", b"403"),
        (b"Host: 127.0.0.1\r\nHost: evil.example\r\n", b"403"),
        (b"Host: 127.0.0.1:9471\r\n", b"200"),
        (b"Host: [::1]:9471\r\n", b"200"),
        (b"Host: localhost\r\n", b"200"),
        (b"", b"200"),
    ],
)
def test_a_name_that_may_have_been_rebound_to_loopback_gets_none(port, head, status):
    """A page in a browser of this host would read them as its own."""
    with Server(parse(f":{port}"), listened()[0]), socket.create_connection(("127.0.0.1", port)) as reader:
        reader.sendall(b"GET /metrics HTTP/1.0\r\n" + head + b"\r\n")
        response = b"".join(iter(lambda: reader.recv(1 << 16), b""))
    assert response.split()[1] == status and (b"windtunnel_" in response) == (status == b"200")


def test_beyond_loopback_any_name_is_the_hosts(port):
    with Server(parse(f"0.0.0.0:{port}"), listened()[0]):
        request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Host": "node.example"})
        with urllib.request.urlopen(request, timeout=10) as response:
            assert b"windtunnel_" in response.read()


def test_a_silent_reader_does_not_block_others(port):
    with Server(parse(f":{port}"), listened()[0]), socket.create_connection(("127.0.0.1", port)):
        assert get(port)[1].endswith("# EOF\n")


@pytest.mark.slow
def test_many_silent_readers_take_neither_threads_nor_the_terminal(port, monkeypatch, capfd):
    monkeypatch.setattr("windtunnel.exchange.metrics_server.HEAD_S", 60.0)
    with Server(parse(f":{port}"), listened()[0]), ExitStack() as readers:
        before, silent = threading.active_count(), []
        for _ in range(MOST_READERS + 4):  # no more than the kernel keeps for who accepts them
            silent.append(readers.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)))
            awaited(lambda: threading.active_count() <= before + MOST_READERS)  # who made room ends in a moment
        assert get_when_free(port)[1].endswith("# EOF\n")
        assert not any(each.recv(1 << 16) for each in silent[:4]), "each made room, and is told nothing"
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("pieces", "most"), [([b"x"] * 9000, MOST_PIECES), ([b"GET / HTTP/1.1\r\n", b"X: y\r\n" * 1500, b"\r\n"], 2)]
)
def test_a_reader_that_sends_little_by_little_or_much_is_not_heard_to_the_end(pieces, most):
    left = list(pieces)
    connected = SimpleNamespace(recv=lambda size: left.pop(0), settimeout=lambda seconds: None)
    assert head_of(connected) == b"" and len(pieces) - len(left) == most


@pytest.mark.slow
def test_the_owner_reads_while_others_hold_all_that_they_may(port, monkeypatch):
    users = chain([61_873] * 40, repeat(os.geteuid()))
    monkeypatch.setattr(connection_users, "user", lambda client, server: next(users))
    monkeypatch.setattr("windtunnel.exchange.metrics_server.HEAD_S", 60.0)
    with Server(parse(f":{port}"), listened()[0]), ExitStack() as readers:
        before = threading.active_count()
        for _ in range(40):
            readers.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
        assert get(port)[1].endswith("# EOF\n")
        assert threading.active_count() <= before + MOST_READERS


def test_the_wait_for_the_other_side_is_a_phase():
    collector, windows = listened()
    collector.line("windtunnel", windows[0].model_copy(update={"phase": "hello"}), "")
    assert value(exposed(collector), "phase", windtunnel_phase="hello") == 1


@pytest.mark.parametrize(
    ("text", "host", "number"),
    [
        (":9464", "127.0.0.1", 9464),
        ("9464", "127.0.0.1", 9464),
        ("localhost:80", "127.0.0.1", 80),
        ("192.0.2.1:9464", "192.0.2.1", 9464),
        ("[::1]:9464", "::1", 9464),
    ],
)
def test_a_port_without_an_address_is_on_loopback(text, host, number):
    assert (parse(text).host, parse(text).port) == (host, number)


@pytest.mark.parametrize("text", ["", ":", ":0", ":65536", "a.example:9464", "::1:9464", "0x10", ":9464/metrics"])
def test_invalid_addresses_are_refused(text):
    with pytest.raises(UserError, match="not a port with or without an IP address"):
        parse(text)


@pytest.mark.slow
def test_metrics_are_served_during_a_run(scenario, tmp_path, port):
    """Which lasts until it is told to stop, after some windows were seen."""
    run = forked.Command(
        ["run", scenario, "--no-report", "--out", "here", "--metrics", f":{port}"],
        cwd=tmp_path,
        env=environment("until_stopped"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    windows, found = 0, {}
    while windows < 2:
        assert run.poll() is None, run.communicate()[0]
        time.sleep(0.02)
        with contextlib.suppress(OSError):
            found = samples(get(port)[1])
            windows = found.get(("windtunnel_windows_total", frozenset({("engine", "windtunnel")})), 0)
    stage = {"endpoint": "client", "stage": "app_tx", "index": "0"}
    assert value(found, "stage_objects_total", **stage) == 32_000 * windows
    run.send_signal(signal.SIGINT)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert f"metrics: http://127.0.0.1:{port}/metrics" in said
    assert "telemetry: dpdk-telemetry.py -f wt-" in said


@pytest.mark.slow
def test_a_port_in_use_is_refused_before_anything_starts(scenario, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = windtunnel("run", scenario, "--out", "here", "--metrics", f":{port}", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: --metrics 127.0.0.1:{port}: Address already in use\nremedy: ")
    assert not (tmp_path / "here").exists()
