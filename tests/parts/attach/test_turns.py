"""Where a turn's time goes, sizes, latency and delays. Sleeps last as long as they are told, or longer: so each share has a bound from
below, and all of them together one from above."""

import pytest
from attach_tools import COUNTS, LATENCY, RX, SIZED, TIMED, TX, application, observe, observe_wrapped

pytestmark = pytest.mark.slow
MS = 1000


def received(page: dict, port: int = 0) -> dict:
    (channel,) = [c for c in page["channel"] if c["direction"] == RX and c["port"] == port]
    return channel


def test_a_timed_turn_is_split_into_driver_rx_application_and_driver_tx() -> None:
    costs = {"rx_us": 2 * MS, "app_us": 5 * MS, "tx_us": 1 * MS}
    with application(ports=1, burst=8, **costs) as app:
        _, page = observe_wrapped(app, "run 90", modes=COUNTS | TIMED, timed_every=1, interrupted_us=10_000_000)
    turns, rx, application_, tx = received(page)["timed"][8]
    ms = page["hz"] / 1000
    assert turns >= 56  # 7 of each 8, and of the 9th call on which a block ends none
    assert rx >= 2 * ms * turns
    assert application_ >= 5 * ms * turns
    assert tx >= 1 * ms * turns
    assert rx + application_ + tx <= page["present_ticks"]
    assert sum(timed[0] for timed in received(page)["timed"]) == turns
    assert received(page)["interrupted_turns"] == 0


def test_seven_turns_of_eight_are_timed_and_the_call_that_ends_a_block_begins_none() -> None:
    with application(ports=1, burst=1) as app:
        _, page = observe_wrapped(app, "run 900", modes=COUNTS | TIMED, timed_every=1, interrupted_us=10_000_000)
    assert 7 * 98 <= received(page)["timed"][1][0] <= 7 * 100


def test_blocks_have_turns_between_them() -> None:
    with application(ports=1, burst=1) as app:
        _, page = observe_wrapped(app, "run 100000", modes=COUNTS | TIMED, timed_every=100, interrupted_us=10_000_000)
    blocks = received(page)["timed"][1][0] / 7
    assert 900 < blocks < 1100  # 1,000 in the mean, and 17 their standard deviation


def test_a_turn_that_lasts_longer_than_the_bound_is_in_no_time() -> None:
    with application(ports=1, burst=4, app_us=3 * MS) as app:
        _, page = observe_wrapped(app, "run 60", modes=COUNTS | TIMED, timed_every=1, interrupted_us=1000)
    channel = received(page)
    assert sum(timed[0] for timed in channel["timed"]) == 0
    assert channel["interrupted_turns"] >= 42
    assert channel["interrupted_ticks"] >= channel["interrupted_turns"] * 3 * page["hz"] / 1000


def test_empty_receive_calls_are_turns_of_no_packets() -> None:
    with application(ports=1) as app:
        _, page = observe_wrapped(app, "run 4100", modes=COUNTS | TIMED, timed_every=1, interrupted_us=10_000_000)
    channel = received(page)
    assert channel["bursts"][0] == 100
    assert 0 < channel["timed"][0][0] <= 100
    assert all(channel["timed"][size][0] for size in range(41))


@pytest.mark.parametrize(("length", "power"), [(64, 6), (127, 6), (128, 7), (1518, 10)])
def test_lengths_are_counted_in_powers_of_two(length: int, power: int) -> None:
    with application(ports=1, burst=4, bytes=length) as app:
        _, page = observe_wrapped(app, "run 900", modes=COUNTS | TIMED | SIZED, timed_every=1)
    channel = received(page)
    assert channel["sized_packets"] > 700
    assert channel["sizes"][power] == channel["sized_packets"]
    assert channel["sized_bytes"] == length * channel["sized_packets"]


def delay_at(bin_: int) -> int:
    """The smallest delay of a bin of the page."""
    return bin_ if bin_ < 16 else (16 + bin_ % 16) << (bin_ // 16 - 1)


def test_a_packet_is_met_again_although_addresses_and_time_to_live_are_others() -> None:
    with application(ports=2, burst=8, app_us=2 * MS) as app:
        _, page = observe_wrapped(
            app, "run 90", modes=COUNTS | TIMED | LATENCY, timed_every=1, interrupted_us=10_000_000
        )
    for port in (0, 1):
        channel = received(page, port)
        met = sum(channel["delays"])
        assert met > 30
        assert channel["delays_lost"] == 0
        shortest = next(bin_ for bin_, count in enumerate(channel["delays"]) if count)
        assert delay_at(shortest + 1) > 2 * page["hz"] / 1000


def test_an_mbuf_that_has_other_bytes_by_now_is_no_packet_that_was_met() -> None:
    with application(ports=1, burst=8, other=1) as app:
        _, page = observe_wrapped(app, "run 900", modes=COUNTS | TIMED | LATENCY, timed_every=1)
    channel = received(page)
    assert sum(channel["delays"]) == 0
    assert channel["delays_lost"] > 500


def test_packets_that_are_not_sent_are_lost_after_a_while_and_others_are_watched() -> None:
    with application(ports=1, burst=8, take=0, app_us=1 * MS) as app:
        app.tell("loop")
        page = observe(app.pid, modes=COUNTS | TIMED | LATENCY, timed_every=1, interrupted_us=10_000, **{"for": 1500})
        app.tell("halt")
    channel = received(page)
    assert sum(channel["delays"]) == 0
    assert 2 <= channel["delays_lost"] <= 15


def test_a_delay_is_for_each_packet_of_one_thread_and_for_as_long_as_it_was_asked() -> None:
    with application(ports=1, lcores=2, burst=8) as app:
        first = min(int(tid) for tid in app.tids() if tid != str(app.pid) and app.comm(tid) != "wt-attach")
        _, page = observe_wrapped(app, "run 500", delay_thread=first, delay_ticks=1000, fill_ticks=500, delay_ms=60_000)
    channels = {c["thread"]: c for c in page["channel"] if c["direction"] == RX}
    assert set(channels) > {first}
    for thread, channel in channels.items():
        least = 500 * (8 * 1000 + 500) if thread == first else 0
        assert channel["delayed_ticks"] >= least
        assert bool(channel["delayed_ticks"]) == (thread == first)


def test_a_thread_that_receives_from_no_port_is_delayed_where_it_sends() -> None:
    with application(ports=1, lcores=2, burst=8, sender=1) as app:
        lcores = [int(tid) for tid in app.tids() if tid != str(app.pid) and app.comm(tid) != "wt-attach"]
        _, counted = observe_wrapped(app, "run 100")
        (sender,) = set(lcores) - {c["thread"] for c in counted["channel"] if c["direction"] == RX}
        _, page = observe_wrapped(app, "run 500", delay_thread=sender, delay_ticks=1000, delay_ms=60_000)
    delayed = {(c["thread"], c["direction"]): c["delayed_ticks"] for c in page["channel"]}
    assert delayed.pop((sender, TX)) >= 500 * 8 * 1000
    assert set(delayed.values()) == {0}


def test_a_call_is_delayed_by_a_millisecond_at_most() -> None:
    with application(ports=1, burst=8) as app:
        (lcore,) = [tid for tid in app.tids() if tid != str(app.pid) and app.comm(tid) != "wt-attach"]
        app.tell("loop")
        page = observe(app.pid, delay_thread=int(lcore), delay_ticks=0xFFFFFFFF, delay_ms=60_000, **{"for": 500})
        app.tell("halt")
    channel = received(page)
    least_calls = 25  # of a thread that waits all the time for half a second: one that waited longer has fewer
    assert channel["calls"] > least_calls
    assert channel["delayed_ticks"] > 0.9 * channel["calls"] / 1000 * page["hz"]


def test_no_call_is_delayed_once_the_time_for_it_is_over() -> None:
    with application(ports=1, burst=8) as app:
        (lcore,) = [tid for tid in app.tids() if tid != str(app.pid) and app.comm(tid) != "wt-attach"]
        _, page = observe_wrapped(app, "run 100", delay_thread=int(lcore), delay_ticks=1000, delay_ms=0)
    assert received(page)["calls"] == 100
    assert received(page)["delayed_ticks"] == 0
    assert {c["direction"] for c in page["channel"]} == {RX, TX}
