"""What a run exposes in OpenMetrics, from sample lines."""

import sample_lines
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from windtunnel.engine.windows import Window
from windtunnel.exchange.openmetrics import Windows


def samples(text: str) -> dict[tuple[str, frozenset], float]:
    """Name and labels -> value; the parser raises where this is no OpenMetrics."""
    families = list(text_string_to_metric_families(text))
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(found: dict, name: str, **labels: str) -> float:
    return found[f"windtunnel_{name}", frozenset(labels.items())]


def listened(plan=None, **about) -> tuple[Windows, list[Window]]:
    plan = plan or sample_lines.plan()
    windows = Windows(sample_lines.spec([plan]))
    lines = sample_lines.engine_lines(plan, **about)
    for line in lines:
        windows.line("windtunnel", line, "")
    return windows, [line for line in lines if isinstance(line, Window)]


def exposed(collector: Windows) -> dict:
    """What a server has for those who ask."""
    return samples(generate_latest(collector).decode())
