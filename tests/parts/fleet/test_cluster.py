"""What becomes of testbeds whose nodes are killed or fall silent, by the calls of a Ray on paper; and addresses without a cluster."""

import socket
from types import SimpleNamespace

import pytest

pytest.importorskip("ray", reason="Ray is not installed: ./test installs it")
from ray.exceptions import RayError

from windtunnel.errors import UserError
from windtunnel.parts.fleet import cluster as module
from windtunnel.parts.fleet import connection
from windtunnel.parts.fleet.messages import Joined, Lost, Refused, Replied

pytestmark = pytest.mark.slow  # it imports Ray

SILENCE_S = 6.0


class Call:
    """A call of an actor: it has ended when it has an outcome, a value or an error."""

    def __init__(self):
        self.outcome = None


class PaperRay:
    """Stands for the module `ray`, with one actor whose latest calls a test ends; its clock is the test's."""

    def __init__(self):
        self.now, self.calls, self.killed = 0.0, {}, []

    def remote(self, kind):
        methods = {name: SimpleNamespace(remote=lambda *_, name=name: self._begun(name)) for name in vars(kind)}
        actor = SimpleNamespace(**methods)
        return SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda: actor))

    def _begun(self, name):
        self.calls[name] = Call()
        return self.calls[name]

    def nodes(self):
        return [{"Alive": True, "Resources": {"testbed:alpha": 1.0}}]

    def wait(self, calls, num_returns, timeout):
        return [call for call in calls if call.outcome is not None], []

    def get(self, call, timeout):
        if isinstance(call.outcome, Exception):
            raise call.outcome
        return call.outcome

    def kill(self, actor):
        self.killed.append(actor)


@pytest.fixture
def ray(monkeypatch):
    paper = PaperRay()
    monkeypatch.setattr(module, "ray", paper)
    monkeypatch.setattr(module, "monotonic", lambda: paper.now)
    return paper


@pytest.fixture
def running(ray):
    """A testbed that has joined and executes a job."""
    testbeds = module.RayCluster(["alpha"], SILENCE_S)
    testbeds.invite("alpha")
    assert testbeds.events(0) == []
    ray.calls["about"].outcome = "about alpha"
    assert testbeds.events(0) == [Joined("alpha", "about alpha")]
    testbeds._invited["alpha"].replied_at = 0.0  # its default factory is the clock of the import
    testbeds.start("alpha", "a request")
    return testbeds


def test_a_testbed_that_does_not_reply_is_asked_and_then_lost(ray, running):
    ray.now = SILENCE_S / 3
    running.events(0)
    assert "is_there" not in ray.calls
    ray.now += 0.1
    assert running.events(0) == [] and "is_there" in ray.calls
    ray.now = SILENCE_S
    assert running.events(0) == []
    ray.now += 0.1
    assert running.events(0) == [Lost("alpha", "silent for 6 s")]


def test_a_testbed_that_replies_may_take_its_time(ray, running):
    for _ in range(5):
        ray.now += SILENCE_S / 3 + 0.1
        assert running.events(0) == []
        ray.calls["is_there"].outcome = 1.0
        assert running.events(0) == []
    ray.calls["execute"].outcome = "ended"
    assert running.events(0) == [Replied("alpha", "ended")]
    ray.now += 10 * SILENCE_S
    assert running.events(0) == [], "it is free, and nobody waits for it"


def test_a_killed_node_ends_its_call_and_the_testbed_is_lost(ray, running):
    ray.calls["execute"].outcome = RayError("The node died.\nIts address was 10.0.0.7")
    assert running.events(0) == [Lost("alpha", "The node died.")]
    running.dismiss("alpha")
    assert len(ray.killed) == 1 and running.events(0) == []


def test_a_question_that_fails_does_not_end_a_run(ray, running):
    """Ray ends calls seconds before it ends workers: only the run itself, or silence, says that it is lost."""
    ray.now = SILENCE_S / 2
    running.events(0)
    ray.calls["is_there"].outcome = RayError("cut")
    assert running.events(0) == []
    ray.now = SILENCE_S + 0.1
    assert running.events(0) == [Lost("alpha", "silent for 6 s")]


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (Refused("no engine", "build one"), "no engine; build one"),
        (RayError("x\nModuleNotFoundError: No module named 'windtunnel'\n"), "No module named 'windtunnel': install"),
    ],
)
def test_a_testbed_that_cannot_join_is_lost_with_the_reason(ray, outcome, why):
    testbeds = module.RayCluster([], SILENCE_S)
    testbeds.invite("alpha")
    ray.calls["about"].outcome = outcome
    [lost] = testbeds.events(0)
    assert isinstance(lost, Lost) and why in lost.why


@pytest.mark.parametrize(
    ("resources", "wanted", "words"),
    [
        ([{"testbed:alpha": 1.0}], ["omega"], "testbed omega: no node of the Ray cluster has it"),
        ([{"testbed:alpha": 2.0}], [], "testbed alpha: its resource is 2, and not 1"),
        ([{"testbed:alpha": 1.0}] * 2, [], "testbed alpha: two nodes have this name"),
        ([{"CPU": 2.0}], [], "no node of the Ray cluster has a testbed"),
    ],
)
def test_testbeds_that_cannot_be_told_apart_are_refused(ray, resources, wanted, words):
    ray.nodes = lambda: [{"Alive": True, "Resources": each} for each in resources]
    with pytest.raises(UserError, match=words):
        module.RayCluster(wanted, SILENCE_S)


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_an_address_without_a_cluster_is_refused(scheme):
    """Where something listens that is no Ray, and where nothing does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}127.0.0.1:{server.getsockname()[1]}"
        with (
            pytest.raises(UserError, match="no Ray cluster responds there"),
            connection.connected(address, 0.2, without_token=True),
        ):
            pass
    with (
        pytest.raises(UserError, match="no Ray cluster responds there"),
        connection.connected(address, 0.2, without_token=True),
    ):
        pass


def test_a_cluster_that_cannot_serve_says_why(monkeypatch):
    """Not where in Ray it happened: what a traceback ends with."""
    said = 'Initialization failure from server:\nTraceback (most recent call last):\n  File "x.py", line 7\nRuntimeError: no port\n'

    def fail(*_, **__):
        raise ConnectionAbortedError(said)

    monkeypatch.setattr(connection, "_check_there", lambda *_: None)
    monkeypatch.setattr(connection.ray, "init", fail)
    words = "can be used there: Initialization failure from server: RuntimeError: no port$"
    with pytest.raises(UserError, match=words), connection.connected("ray://lab:10001", 1, without_token=True):
        pass
