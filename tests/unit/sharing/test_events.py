"""Events, as they go to those who watch."""

import os

from pydantic_core import to_json

from windtunnel.sharing.daemon.events import Events


def test_a_name_of_any_bytes_is_an_event():
    """A process may call itself anything, and so does a cgroup of a tenant's."""
    events = Events()
    events.publish("released", name=os.fsdecode(b"\xff\xfe\n"), tid=7, why=None)
    (event,) = events.since(0)
    assert event["name"] == "\\xff\\xfe\n" and event["tid"] == 7 and "why" not in event
    assert to_json(event)
