"""What OpenMetrics has of copies."""

import sample_lines
from openmetrics_tools import exposed, listened, value

from windtunnel.parts.copies.window import CopyWindow


def test_copies_are_counted_by_application_and_reason():
    plan = sample_lines.plan()
    collector, [first, *_] = listened(plan)
    part = CopyWindow(
        workload=0, application=1, worker=0, copies=90, by_cpu={"failed": 4}, uncopied=0, bytes=5000, completion=None
    )
    for _ in range(2):
        collector.line("windtunnel", first.model_copy(update={"copies": [part]}), "")
    found, where = exposed(collector), {"workload": "echo", "application": "1"}
    assert value(found, "copies_made_total", **where) == 180
    assert value(found, "copies_bytes_total", **where) == 10_000
    assert value(found, "copies_by_cpu_total", **where, reason="failed") == 8
