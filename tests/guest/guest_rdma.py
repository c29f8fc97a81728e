"""Runs of the wire "rdma" over libibverbs on a RoCE device of software (rdma_rxe), in guests: `make -C tests/guest rdma`.

The witness is the device, which counts its packets. It prints what it compares, and what perftest measures in the same guest.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from in_guest import guest as view
from in_guest import supervised
from rdma_guest import RdmaGuest, one_guest, two_guests
from real_runs import assert_sound, ports
from rxe_counters import counted, perftest
from scenario_tools import written

from windtunnel.engine.lines import Hello, Peer
from windtunnel.engine.supervisor import Listener
from windtunnel.engine.windows import Window
from windtunnel.runs import Run
from windtunnel.runs.joined import join
from windtunnel.runs.metrics import workload_rows
from windtunnel.scenario import OneSide, load, resolve

SIDES = ("server", "client")
MESSAGE, PIECE = 128, 4096
SEND = {"handler": "l_app", "request": MESSAGE, "response": MESSAGE}
ONE_SIDED = {"handler": "empty", "request": 22, "response": 22}
KINDS = {
    "rc": ({"type": "rc"}, SEND),
    "ud": ({"type": "ud"}, SEND),
    "read": ({"type": "rc", "operation": "read", "piece": PIECE, "region": "4MiB"}, ONE_SIDED),
    "write": ({"type": "rc", "operation": "write", "piece": PIECE, "region": "4MiB"}, ONE_SIDED),
}
SHORT = {"duration": "1s", "warmup": "200ms", "window": "500ms", "drain": "5s", "memory": "no-huge"}
PERFTEST = {
    "rc": (f"ib_send_lat -s {MESSAGE} -n 1000", f"ib_send_bw -s {MESSAGE} -n 5000"),
    "ud": (f"ib_send_lat -c UD -s {MESSAGE} -n 1000", f"ib_send_bw -c UD -s {MESSAGE} -n 5000"),
    "read": (f"ib_read_lat -s {PIECE} -n 1000", f"ib_read_bw -s {PIECE} -n 2000"),
    "write": (f"ib_write_lat -s {PIECE} -n 1000", f"ib_write_bw -s {PIECE} -n 2000"),
}


@dataclass(frozen=True)
class Place:
    """Where the sides are: in two guests, or in one."""

    server: RdmaGuest
    client: RdmaGuest

    def of(self, side: str) -> RdmaGuest:
        return self.server if side == "server" else self.client


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    with one_guest(tmp_path_factory.mktemp("one")) as guest:
        yield Place(guest, guest)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with two_guests(tmp_path_factory.mktemp("two")) as (server, client):
        yield Place(server, client)


def scenario(kind: str, inflight: int = 16) -> dict:
    wire, workload = KINDS[kind]
    return SHORT | {
        "wire": {"kind": "rdma", "provider": "verbs"} | wire,
        "client": {"ip": "10.9.0.2", "inflight": inflight, "batch": {"app_tx": min(inflight, 16)}, "cores": [0]},
        "server": {"ip": "10.9.0.1", "cores": [1]},
        "workload": [workload | {"timeout": "1min"}],
    }


def run_both(place: Place, data: dict, directory: Path) -> list[Run]:
    """One process with both sides."""
    spec = resolve(load(written(directory, data), []), view())
    return [supervised(place.client.engine(), spec, directory / "run")]


def run_sides(place: Place, data: dict, directory: Path, **listeners: Listener) -> list[Run]:
    """A process each. `listeners`: by the side whose lines they get."""
    file = written(directory, data)

    def run(side: str) -> Run:
        spec = resolve(load(file, []), view(), OneSide(side))
        heard = [listeners[side]] if side in listeners else []
        return supervised(place.of(side).engine(), spec, directory / side, *heard)

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, SIDES))


def run_joined(place: Place, data: dict, directory: Path) -> list[Run]:
    """A process each, whose runs are one."""
    runs = run_sides(place, data, directory)
    assert join(runs).record.verdict.valid
    return runs


def check(place: Place, kind: str, directory: Path, runner) -> None:
    """Runs, and compares the packets with those that the devices counted."""
    devices = {place.server, place.client}
    before = counted(devices)
    runs = runner(place, scenario(kind), directory)
    seen = counted(devices) - before
    for run in runs:
        assert_sound(run)
    sent, received = (sum(ports(run, side)[f"{way}_packets"] for run in runs for side in SIDES) for way in ("tx", "rx"))
    sent_by_device, received_by_device = seen["sent"] - seen["management"], seen["received"] - seen["management"]
    print(
        f"\n  {kind}: {sent:,} packets sent, {sent_by_device:,} by the device and {seen['management']} of rdma_cm;",
        end="",
    )
    print(f" {received:,} received, {received_by_device:,} by the device", end="")
    if kind == "ud":
        assert sent_by_device == sent > 0 and received <= received_by_device <= sent
    else:
        assert sent_by_device >= sent > 0 and received_by_device >= received


def values(run: Run) -> tuple[float, float]:
    """Median latency in us, and responses a second."""
    [name] = [name for name in run.windows if run.windows[name][0].workloads]
    [row] = workload_rows(run.windows[name], ["0"])
    return row.latency.p50 / 1000, row.responses_per_s


@pytest.mark.parametrize("kind", KINDS)
def test_in_one_process(one, kind, tmp_path):
    check(one, kind, tmp_path, run_both)


@pytest.mark.parametrize("kind", KINDS)
def test_in_two_processes(one, kind, tmp_path):
    check(one, kind, tmp_path, run_joined)


@pytest.mark.parametrize("kind", KINDS)
def test_in_two_guests(two, kind, tmp_path):
    check(two, kind, tmp_path, run_joined)


@pytest.mark.parametrize("kind", KINDS)
def test_perftest_beside(one, kind, tmp_path):
    """Shown, not judged: a guest without KVM says nothing about time. perftest's latency of sends and writes is half a round trip."""
    latency, rate = PERFTEST[kind]
    for inflight, program in ((1, latency), (64, rate)):
        place = tmp_path / f"{inflight}"
        place.mkdir()
        [_, client] = run_sides(one, scenario(kind, inflight), place)
        assert_sound(client)
        p50_us, per_s = values(client)
        print(f"\n  {kind}, {inflight} in flight: p50 {p50_us:.1f} us, {per_s:,.0f} responses/s; {program}: ", end="")
        print(
            ", ".join(f"{name} {value:g}" for name, value in perftest(one.server, one.client, program).items()), end=""
        )


def killing(guest: RdmaGuest) -> Listener:
    """Kills the engine whose lines it gets in the first measured window."""
    found: list[int] = []

    def hear(name: str, line: object, raw: str) -> None:
        if isinstance(line, Hello):
            found.append(line.pid)
        if isinstance(line, Window) and line.phase == "measure" and found:
            guest.well(f"kill -9 {found.pop()}")

    return hear


def assert_lost(run: Run) -> None:
    """A run whose peer is gone: invalid, and every ledger closed."""
    assert "peer lost: the engine saw the other side go" in run.record.verdict.reasons
    [engine] = run.record.engines
    assert all(ledger.missing == 0 for ledger in [*engine.result.mbufs, *engine.result.messages])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("killed", SIDES)
def test_a_peer_that_is_killed_ends_the_run(one, kind, killed, tmp_path):
    data = scenario(kind) | {"duration": "1min"}
    runs = dict(zip(SIDES, run_sides(one, data, tmp_path, **{killed: killing(one.of(killed))}), strict=True))
    gone, [left] = runs.pop(killed), runs.values()
    assert_lost(left)
    windows = sum(map(len, left.windows.values())) - sum(map(len, gone.windows.values()))
    print(f"\n  {kind}, {killed} killed: the other one went on for {windows} windows of {SHORT['window']}", end="")


@pytest.mark.parametrize("kind", ["rc", "ud"])
def test_a_host_that_loses_power_ends_the_run(kind, tmp_path):
    """Nothing tells of it: on RC what is not acknowledged, on UD what does not come."""

    def hear(name: str, line: object, raw: str) -> None:
        if isinstance(line, Window) and line.phase == "measure":
            server.run("reboot -f -n")

    with two_guests(tmp_path / "guests") as (server, client):
        data = scenario(kind) | {"duration": "1min"}
        [_, left] = run_sides(Place(server, client), data, tmp_path, server=hear)
    assert_lost(left)


def refused(run: Run) -> str:
    [reason] = run.record.verdict.reasons
    return reason


def test_locked_memory_that_is_too_small(one, tmp_path):
    """No limit holds for root: the engine gets no CAP_IPC_LOCK. busybox has a setpriv of its own, which cannot do that."""
    spec = resolve(load(written(tmp_path, scenario("rc")), []), view())
    engine = one.client.engine("ulimit -l 64; /usr/bin/setpriv --bounding-set=-ipc_lock")
    said = refused(supervised(engine, spec, tmp_path / "run"))
    assert "locked memory" in said and "ulimit -l" in said


@pytest.mark.parametrize(
    ("gone", "again"),
    [
        (
            "rdma link delete rxe0 && rmmod rdma_rxe",
            "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev dummy0",
        ),
        ("rmmod rdma_ucm", "modprobe rdma_ucm"),
    ],
)
def test_no_device(one, gone, again, tmp_path):
    one.client.well(gone)
    try:
        [run] = run_both(one, scenario("rc"), tmp_path)
    finally:
        one.client.well(again)
    assert "no RDMA device has the address 10.9.0." in refused(run)


def test_a_second_client_is_told(one, tmp_path):
    """And the first one goes on."""
    data = scenario("rc") | {"duration": "8s"}
    spec = resolve(load(written(tmp_path, data), []), view(), OneSide("client"))
    with ThreadPoolExecutor(1) as pool:
        late: list[Future[Run]] = []

        def hear(name: str, line: object, raw: str) -> None:
            if isinstance(line, Peer):
                late.append(pool.submit(supervised, one.client.engine(), spec, tmp_path / "late"))

        for run in run_sides(one, data, tmp_path, server=hear):
            assert_sound(run)
        assert "the server has another client" in refused(late[0].result())
