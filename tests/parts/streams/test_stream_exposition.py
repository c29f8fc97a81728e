"""What OpenMetrics has of streams."""

from openmetrics_tools import exposed, listened, value
from streams_samples import stream_plan


def test_a_stream_counts_the_bytes_of_acknowledged_writes():
    plan = stream_plan()
    collector, windows = listened(plan)
    responses = sum(each.responses for w in windows for each in w.workloads)
    found = exposed(collector)
    assert value(found, "stream_acknowledged_bytes_total", workload="echo") == responses << 20
