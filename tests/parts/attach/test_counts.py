"""The probe counts what the application did, to the unit."""

import pytest
from attach_tools import COUNTS, READY, RX, STATS, TX, application, observe, observe_wrapped

pytestmark = pytest.mark.slow


def counted(page: dict, direction: int) -> dict:
    channels = [channel for channel in page["channel"] if channel["direction"] == direction]
    return {(c["port"], c["queue"]): (c["calls"], c["packets"], c["refused"]) for c in channels}


def done(queues: list[dict]) -> dict:
    return {(q["port"], q["queue"]): (q["calls"], q["packets"], q["refused"]) for q in queues if q["calls"]}


@pytest.mark.parametrize("release", [(21, 11), (22, 11), (23, 7), (23, 11), (24, 11), (25, 11), (26, 7)])
def test_calls_packets_and_refused_ones_are_the_applications_own(release: tuple[int, int]) -> None:
    with application(release=release, ports=3, lcores=2, take=30) as app:
        reply, page = observe_wrapped(app, "run 1000")
        assert page["release"] == list(release)
        assert page["ports"] == 4
        assert counted(page, RX) == done(reply["rx"])
        assert counted(page, TX) == done(reply["tx"])
        assert any(q["refused"] for q in reply["tx"])
        assert app.foreign() == 0


def test_bursts_are_counted_by_their_size_and_lcores_are_named() -> None:
    with application(ports=1, lcores=2, take=30) as app:
        _, page = observe_wrapped(app, "run 410")
    assert {channel["lcore"] for channel in page["channel"]} == {10, 11}
    for channel in page["channel"]:
        sizes = range(41) if channel["direction"] == RX else range(1, 41)
        assert [channel["bursts"][size] for size in sizes] == [10] * len(sizes)
        assert sum(channel["bursts"]) == channel["calls"]
        assert channel["asked"] == 40


def test_a_queue_of_a_thread_has_one_channel_however_often_the_probe_comes_and_goes() -> None:
    with application(ports=2) as app:
        app.tell("loop")
        page = observe(app.pid, on_us=1000, period_us=3000, **{"for": 300})
        reply = app.tell("halt")
    assert len(page["channel"]) == 4
    assert page["port"][0]["wraps"] > 10
    for channel in page["channel"]:
        queues = reply["rx"] if channel["direction"] == RX else reply["tx"]
        assert 0 < channel["calls"] < queues[channel["port"]]["calls"]


def test_ports_own_counters_are_read_in_both_kinds_of_phases() -> None:
    with application(ports=2) as app:
        app.tell("loop")
        page = observe(app.pid, modes=COUNTS | STATS, on_us=5000, period_us=20000, **{"for": 400})
        reply = app.tell("halt")
    for port, facts in enumerate(page["port"][:2]):
        assert facts["stats"][7] == 77
        assert 0 < facts["stats"][0] <= reply["rx"][port]["packets"]
        assert 0 < facts["stats"][1] <= reply["tx"][port]["packets"]
        for phases, ticks, received, sent in (facts["present"], facts["absent"]):
            assert phases > 3
            assert ticks > 0
            assert received > 0
            assert sent > 0
        assert sum(part[1] for part in (facts["present"], facts["absent"])) < page["hz"]
        assert facts["present"][2] + facts["absent"][2] <= facts["stats"][0]


def test_without_the_mode_no_counter_of_a_port_is_read() -> None:
    with application() as app:
        page = observe(app.pid, modes=COUNTS, **{"for": 50})
    assert page["state"] == READY
    assert page["port"][0]["stats"] == [0] * 8


def test_threads_that_end_leave_channels_which_others_use_only_when_none_is_free() -> None:
    with application(ports=4, lcores=4) as app:
        for round_ in range(18):
            app.tell("lcores")
            _, page = observe_wrapped(app, "run 50")
            assert len(page["channel"]) == min(512, 32 * (round_ + 1))
    assert page["channels_refused"] == 0
    live = [channel for channel in page["channel"] if not channel["ended"]]
    assert len(live) == 32
    assert {channel["calls"] for channel in live if channel["direction"] == RX} == {50}
