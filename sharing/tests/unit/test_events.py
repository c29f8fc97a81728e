"""Events, as they go to those who watch."""

import os

from pydantic_core import to_json

from windtunnel_sharing.daemon.events import KEPT, MOST_TEXT, Events


def test_a_name_of_any_bytes_is_an_event():
    """A process may call itself anything, and so does a cgroup of a tenant's."""
    events = Events()
    events.publish("released", name=os.fsdecode(b"\xff\xfe\n"), tid=7, why=None)
    (event,) = events.since(0)
    assert event["name"] == "\\xff\\xfe\n" and event["tid"] == 7 and "why" not in event
    assert to_json(event)


def test_a_fact_has_a_bounded_length():
    events = Events()
    events.publish("released", given="x" * 100_000)
    assert len(events.since(0)[0]["given"]) == MOST_TEXT + 3


def test_events_of_a_kind_displace_none_of_another():
    events = Events()
    events.publish("ended", tenant="a")
    for tid in range(2 * KEPT):
        events.publish("strayed", tid=tid)
    events.publish("added", tenant="b")
    kept = events.since(0)
    assert [kept[0]["event"], kept[-1]["event"]] == ["ended", "added"] and len(kept) == KEPT + 2
    assert [event["id"] for event in events.since(kept[5]["id"])] == [event["id"] for event in kept[6:]]
