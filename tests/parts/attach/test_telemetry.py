"""Windows by an application's own telemetry, which is a socket of the tests."""

import dataclasses
import json
import os
import socket
import subprocess
import threading
import time
from contextlib import suppress

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.attach.observed_run import ObservedRunWriter
from windtunnel.parts.attach.page import STATISTICS
from windtunnel.parts.attach.processes import Application
from windtunnel.parts.attach.telemetry import Telemetry
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.results.markdown import render
from windtunnel.results.run.document import run_document


class Server:
    """Answers commands one after the other, as its table has them; what is callable is called."""

    def __init__(self, directory, responses):
        self.responses = {"/info": {"version": "DPDK 22.11.11"}, "/ethdev/list": [0]} | responses
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listening.bind(str(directory / "dpdk_telemetry.v2"))
        self._listening.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        connection, _ = self._listening.accept()
        with connection, suppress(BrokenPipeError, ConnectionResetError):  # who has asked may go first
            connection.send(json.dumps({"version": "DPDK 22.11.11", "pid": 7, "max_output_len": 16384}).encode())
            while command := connection.recv(1024).decode():
                response = self.responses[command]
                response = response() if callable(response) else response
                if response is None:
                    return
                if not isinstance(response, bytes):
                    response = json.dumps({command.partition(",")[0]: response}).encode()
                connection.send(response)

    def close(self):
        self._listening.close()
        self._thread.join()


def counting(step, **others):
    """Counters that grow by `step` with each response."""
    value = {"at": 0}

    def respond():
        value["at"] += step
        return dict.fromkeys(STATISTICS, value["at"]) | others

    return respond


@pytest.fixture
def application(tmp_path):
    servers = []

    def of(**responses):
        servers.append(
            Server(tmp_path, {f"/ethdev/{name.replace('_', ',')}": response for name, response in responses.items()})
        )
        return Application(pid=os.getpid(), command=("/opt/broker",), release="22.11", prefix="rte", runtime=tmp_path)

    yield of
    for server in servers:
        server.close()


def test_windows_are_what_the_ports_counted(application):
    with Telemetry(application(stats_0=counting(100))) as telemetry:
        assert telemetry.release() == "22.11.11"
        [port] = telemetry.window().ports
        assert (port.ipackets, port.obytes, port.port) == (100, 100, 0)
        assert telemetry.window().index == 1


def test_counters_that_were_set_back_are_not_known(application):
    with Telemetry(application(stats_0=counting(-1, ipackets=5))) as telemetry:
        assert telemetry.window().ports[0].opackets is None


@pytest.mark.parametrize(
    "response", [[], {}, "words", {"ipackets": -1}, {"ipackets": "many"}, {"ipackets": 1.5}, {"ipackets": 1 << 70}]
)
def test_counters_that_are_none_are_not_known(application, response):
    with Telemetry(application(stats_0=response)) as telemetry:
        assert telemetry.window().ports[0].ipackets is None


@pytest.mark.parametrize(
    "response", [{}, "words", ["0"], [True], [-1], [64], list(range(2000)), b"not json", b"[" * 5000, b"{}"]
)
def test_what_is_no_list_of_ports_is_refused_in_words(application, response):
    with pytest.raises(UserError, match="telemetry"):
        Telemetry(application(list=response, stats_0=counting(1)))


def test_an_application_that_ends_is_said(application):
    responses = iter([counting(1)(), None])
    with Telemetry(application(stats_0=lambda: next(responses))) as telemetry, pytest.raises(ProcessLookupError):
        telemetry.window()


@pytest.mark.parametrize("version", [7, "x" * 10000, "DPDK 22.11\x1b]0;a\x07", "DPDK \ud800", "DPDK " + "2" * 100])
def test_a_release_that_is_none_is_not_known(application, version):
    with Telemetry(application(list=[])) as telemetry:
        for response in ([version], version, {"version": version}):
            telemetry._ask = lambda _, response=response: response
            assert telemetry.release() is None


def test_an_application_that_says_each_thing_late_keeps_nobody_waiting(application, monkeypatch):
    """A reading of many ports has one time for all of them: between readings Ctrl-C is heeded."""
    monkeypatch.setattr("windtunnel.parts.attach.telemetry.PATIENCE_S", 0.5)

    def late():
        time.sleep(0.1)
        return dict.fromkeys(STATISTICS, 1)

    with pytest.raises(UserError, match="does not answer"):
        Telemetry(application(list=list(range(50)), **{f"stats_{port}": late for port in range(50)}))


def test_a_link_in_the_place_of_the_socket_leads_to_no_other_program(application, tmp_path):
    """The directory is of a name that the process chooses: it would have root connect to sockets that are root's alone."""
    broker = application(list=[])
    (tmp_path / "led").mkdir()
    (tmp_path / "led/dpdk_telemetry.v2").symlink_to(tmp_path / "dpdk_telemetry.v2")
    with pytest.raises(UserError, match="no socket of its user"):
        Telemetry(dataclasses.replace(broker, runtime=tmp_path / "led"))
    with Telemetry(broker):
        pass


def test_another_process_that_listens_there_is_named_and_not_asked(application):
    broker = application(list=[])
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            with pytest.raises(UserError, match=f"process {os.getpid()} listens at"):
                Telemetry(dataclasses.replace(broker, pid=other.pid))
        finally:
            other.kill()


@pytest.mark.parametrize("runtime", [None, "/nowhere"])
def test_an_application_without_telemetry_is_refused_in_words(runtime):
    with pytest.raises(UserError, match="telemetry|runtime"):
        Telemetry(Application(pid=7, command=("/opt/broker",), release="22.11", prefix="rte", runtime=runtime))


def test_the_result_says_what_telemetry_does_not_show(application, tmp_path):
    broker = application(stats_0=counting(100))
    writer = ObservedRunWriter(tmp_path / "run", broker, "22.11.11", "telemetry")
    with Telemetry(broker) as telemetry:
        for _ in range(6):
            writer.append(telemetry.window())
    run = writer.finish([], telemetry.tsc_hz)
    text = render(run_document(run))
    assert "What limits is not known" in text
    assert "Port 0 missed 600 packets" in text
    assert diagnose(run).limit.kind == "unknown"
