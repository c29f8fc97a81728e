"""Run directories of every kind, made from sample lines, and what a browser would show of their reports."""

from html.parser import HTMLParser

import in_process
import sample_lines as sample

from windtunnel.runs import RunWriter, Verdict

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>"


FAULTS = {"loss": 0.01, "duplicate": 0.0, "reorder": 0.0, "reorder_depth": 1}


RUNS = {
    "both sides": ([sample.plan()], ["windtunnel"]),
    "histograms": ([sample.plan(level="histograms", memory="no-huge", faults=FAULTS)], ["windtunnel"]),
    "packets alone": ([sample.plan(("server",), wire="null", level="counts")], ["windtunnel"]),
    "not accounted": ([sample.plan(level="off")], ["windtunnel"]),
    "two engines": (
        [sample.plan(("server",), wire="memif"), sample.plan(("client",), wire="memif")],
        ["server", "client"],
    ),
}


def execute(directory, plans, names, verdict=None, lines=sample.engine_lines, **about):
    writer = RunWriter(directory, sample.spec(plans, names, **about), {"hostname": "here", "cpus": {"model": None}})
    for name, plan in zip(names, plans, strict=True):
        for line in lines(plan):
            writer.line(name, line, line.model_dump_json())
    return writer.finish(verdict or Verdict(True))


def first_windows(plan, count):
    """The lines of a run that has no more windows."""
    return [line for line in sample.engine_lines(plan) if line.type != "window" or line.index < count]


class Page(HTMLParser):
    """What a browser would load and show: tags with their attributes, the text outside scripts and styles."""

    def __init__(self, html: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.ids: set[str] = set()
        self.text = ""
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids |= {value for name, value in attrs if name == "id"}
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


def shown_by(*arguments):
    result = in_process.run("show", *arguments, COLUMNS="120")
    if result.exception:
        raise result.exception
    return result.stdout
