"""Windows by an application's own telemetry, which is a socket of the tests."""

import json
import socket
import threading

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
        with connection:
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
        return Application(pid=7, command=("/opt/broker",), release="22.11", prefix="rte", runtime=tmp_path)

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


@pytest.mark.parametrize("response", [[], {}, "words", {"ipackets": -1}, {"ipackets": "many"}, {"ipackets": 1.5}])
def test_counters_that_are_none_are_not_known(application, response):
    with Telemetry(application(stats_0=response)) as telemetry:
        assert telemetry.window().ports[0].ipackets is None


@pytest.mark.parametrize("response", [{}, "words", ["0"], [True], list(range(2000)), b"not json", b"[" * 5000, b"{}"])
def test_what_is_no_list_of_ports_is_refused_in_words(application, response):
    with pytest.raises(UserError, match="telemetry"):
        Telemetry(application(list=response, stats_0=counting(1)))


def test_an_application_that_ends_is_said(application):
    responses = iter([counting(1)(), None])
    with Telemetry(application(stats_0=lambda: next(responses))) as telemetry, pytest.raises(ProcessLookupError):
        telemetry.window()


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
