"""Whatever the observer or the application does, the application goes on as it was, and nothing stays behind."""

import os
import signal
from pathlib import Path

import pytest
from attach_tools import (
    COUNTS,
    LATENCY,
    READY,
    REFUSED,
    RX,
    SIZED,
    SLOW_MOTION_TSAN,
    STATS,
    TIMED,
    application,
    observe,
    observer,
    wait_for,
)

pytestmark = pytest.mark.slow
ALL = COUNTS | TIMED | SIZED | LATENCY | STATS
FOREVER = {"for": 600_000}


def test_without_a_lease_nothing_is_wrapped_and_nothing_runs() -> None:
    with application() as app:
        assert app.foreign() == 0
        (watcher,) = [tid for tid in app.tids() if app.comm(tid) == "wt-attach"]
        status = Path(f"/proc/{app.pid}/task/{watcher}/status")

        def switches() -> str:
            return next(line for line in status.read_text().splitlines() if line.startswith("voluntary"))

        wait_for(lambda: status.read_text().split("State:\t")[1][0] == "S", "asleep")
        before = switches()
        app.tell("run 200000")
        assert switches() == before


def test_signals_of_the_application_never_reach_the_probes_thread() -> None:
    with application() as app:
        (watcher,) = [tid for tid in app.tids() if app.comm(tid) == "wt-attach"]
        status = Path(f"/proc/{app.pid}/task/{watcher}/status").read_text()
    blocked = int(next(line for line in status.splitlines() if line.startswith("SigBlk")).split()[1], 16)
    assert all(
        blocked >> (number - 1) & 1 for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1)
    )


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSTOP])
def test_an_observer_that_is_gone_leaves_nothing(end: signal.Signals) -> None:
    with application() as app, observer(app.pid, modes=ALL, **FOREVER) as watching:
        app.tell("loop")
        wait_for(lambda: app.foreign() == 4, "wrapped")
        os.kill(watching.process.pid, end)
        wait_for(lambda: app.foreign() == 0, "unwrapped")
        reply = app.tell("halt")
        assert all(queue["calls"] for queue in reply["rx"])


def test_a_lease_that_ends_too_far_ahead_is_none() -> None:
    with application() as app:
        page = observe(app.pid, lease_ms=3000, **{"for": 100})
    assert page["port"][0]["wraps"] == 0


def test_a_second_observer_is_refused_and_the_first_one_goes_on() -> None:
    with application() as app, observer(app.pid, **FOREVER):
        with observer(app.pid) as second:
            assert "another observer" in second.refusal()
        wait_for(lambda: app.foreign() == 4, "wrapped")


@pytest.mark.parametrize("how", ["fork", "clone"])
def test_a_child_has_no_watcher_and_counts_nothing(how: str) -> None:
    with application() as app, observer(app.pid, modes=ALL, **FOREVER):
        wait_for(lambda: app.foreign() == 4, "wrapped")
        child = app.tell(how)
        assert child["threads"] == 1
        assert child["calls"] == 1
        if how == "fork":
            assert child["foreign"] == 0
            assert child["memfds"] == 0
        assert app.foreign() == 4
        assert all(queue["calls"] == 0 for queue in app.tell("pointers")["rx"])


def test_calls_of_a_child_are_not_in_the_page_of_its_parent() -> None:
    with application(ports=1) as app, observer(app.pid, **{"for": 1000}) as watching:
        wait_for(lambda: app.foreign() == 2, "wrapped")
        for how in ("fork", "clone"):
            assert app.tell(how)["calls"] == 1
        assert watching.page()["channel"] == []


def test_a_program_that_begins_anew_has_nothing_of_the_lease() -> None:
    with application() as app, observer(app.pid, **FOREVER):
        wait_for(lambda: app.foreign() == 4, "wrapped")
        assert app.tell("exec")["foreign"] == 0
        assert app.memfds() == 1
        assert observe(app.pid, **{"for": 50})["port"][0]["wraps"] == 1


@pytest.mark.parametrize("duty", [{"on_us": 5000, "period_us": 5000}, {"on_us": 1000, "period_us": 2000}])
def test_ports_that_are_restarted_under_load(duty: dict[str, int]) -> None:
    with application(ports=3, lcores=2) as app, observer(app.pid, modes=ALL, timed_every=2, **FOREVER, **duty):
        app.tell("loop")
        wait_for(lambda: app.foreign(), "wrapped")
        app.tell("restart 3000")
        app.tell("halt")


def test_a_restarted_port_is_wrapped_again_and_counted_as_displaced() -> None:
    with application(ports=1) as app, observer(app.pid, **{"for": 1500}) as watching:
        wait_for(lambda: app.foreign() == 2, "wrapped")
        for _ in range(3):
            app.tell("restart 1")
            wait_for(lambda: app.foreign() == 2, "wrapped again")
        page = watching.page()
    assert page["port"][0]["wraps"] == 4
    assert page["port"][0]["displaced"] == 6
    assert app


def test_a_function_that_was_put_there_meanwhile_stays() -> None:
    with application(ports=1) as app:
        observe(app.pid, **{"for": 100})
        with observer(app.pid, on_us=100_000, period_us=2_000_000, **FOREVER) as watching:
            wait_for(lambda: app.foreign() == 2, "wrapped")
            watching.process.send_signal(signal.SIGSTOP)
            app.tell("displace")
            wait_for(lambda: app.foreign() == 0, "left")
            assert app.tell("run 10")["rx"][0]["calls"] == 10


@pytest.mark.parametrize("port", [0, 1])
def test_what_is_no_code_is_refused_in_words_and_other_ports_are_given_back(port: int) -> None:
    with application() as app:
        app.tell(f"data {port}")
        page = observe(app.pid, **{"for": 200})
        assert page["state"] == REFUSED
        assert "no address of code" in page["refusal"]
        assert app.foreign() == 1  # its own
        wait_for(lambda: "wt-attach" not in app.threads(), "the watcher ended")


@pytest.mark.parametrize("release", [(21, 8), (20, 11), (26, 11), (30, 2)])
def test_a_release_that_is_not_known_is_refused_in_words(release: tuple[int, int]) -> None:
    with application(release=release) as app:
        page = observe(app.pid, **{"for": 50})
        assert page["state"] == REFUSED
        assert f"DPDK {release[0]}.{release[1]:02d} is not known" in page["refusal"]
        assert app.foreign() == 0
        assert "wt-attach" not in app.threads()


def test_a_hundred_leases_in_a_row_under_load() -> None:
    with application(ports=2, lcores=2) as app:
        app.tell("loop")
        for _ in range(100):
            page = observe(app.pid, modes=ALL, timed_every=1, **{"for": 20})
            assert app.foreign() == 0
        app.tell("halt")
    assert page["state"] == READY
    assert 0 < page["lease_ends"] <= 100  # one that was over before the watcher got a CPU is none
    assert page["port"][0]["wraps"] == page["port"][1]["wraps"] == page["lease_ends"]
    assert page["port"][0]["displaced"] == 0
    assert len([channel for channel in page["channel"] if channel["direction"] == RX]) == 4


def test_the_watcher_shares_nothing_with_the_data_path_that_is_torn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TSAN_OPTIONS", f"halt_on_error=0 log_path={tmp_path}/race")
    with application(preload=False, program=SLOW_MOTION_TSAN, lcores=2) as app:
        lcore = next(int(tid) for tid in app.tids() if tid != str(app.pid) and app.comm(tid) != "wt-attach")
        duty = {"modes": ALL, "timed_every": 2, "on_us": 2000, "period_us": 4000}
        with observer(app.pid, delay_thread=lcore, delay_ticks=10, delay_ms=600_000, **FOREVER, **duty):
            app.tell("loop")
            wait_for(app.foreign, "wrapped")
            app.tell("restart 300")
            app.tell("halt")
            app.tell("lcores")
            app.tell("run 500")
    assert [path.read_text() for path in tmp_path.glob("race.*")] == []
