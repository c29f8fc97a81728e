"""What `windtunnel ui` costs and how fast it is: pages with 10,000 runs, its memory, a live update, and a run beside it.

.venv/bin/python bench/ui.py            needs chromium, two CPUs, and some four minutes
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, Request, build_opener

from harness.engine_run import COMMAND
from harness.main import finish_in_directory
from harness.results import Result
from harness.statistics import Goal, interval, judge

from windtunnel.index.index import Index
from windtunnel.live import places
from windtunnel.runs import load
from windtunnel.runs.summary import summarise

RUNS, TRIALS, PAIRS = 10_000, 15, 15
SEARCHES = ("", "echo", "p99 < 50us", "server.batch.app_rx = 32 wire.kind = ring")
PAGES = ("", "runs", "edit", "edit?kind=shipped&name=echo")
MiB = 1024.0
ECHO = Path(__file__).resolve().parents[1] / "scenarios" / "echo.toml"
SETS = [word for key in ("client", "server") for word in ("--set", f"{key}.cores=[1]")]
"""One worker, on CPU 1: the ui and the supervisor have CPU 0."""
LIVE = """() => {
  window.seen = [];
  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    if (event.target.classList.contains("series")) window.seen.push([Date.now() / 1e3, JSON.parse(event.detail.data).times.at(-1)]);
  });
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    finish_in_directory(measured)


def measured(directory: Path) -> Iterator[Result]:
    filled(directory, measured_run(directory / "first"))
    with ui(directory) as (entrance, pid):
        reader = Reader(entrance)
        yield from searched(reader)
        yield from opened(entrance)
        yield memory(pid, "")
        reader.open("history").read()
        yield memory(pid, ", History opened")
    yield live(directory)
    yield beside(directory)


def result(
    name: str, values: list[float], unit: str, limit: float, sense: Any = "at most", reference: str = ""
) -> Result:
    spread, goal = interval(values), Goal(limit, sense, least_samples=1 if len(values) == 1 else TRIALS)
    return Result(name, "", spread, unit, reference=reference, goal=goal, verdict=judge(spread, goal))


def measured_run(directory: Path, duration: str = "2s") -> Path:
    told = [COMMAND, "run", ECHO, "--out", directory, "-q", "--no-report", *SETS, "--set", f"duration={duration}"]
    subprocess.run(told, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return directory


def filled(directory: Path, run: Path) -> None:
    """10,000 directories that have the files of one run, and an index that has read them: it is the list that takes the time."""
    runs = directory / "runs"
    for number in range(RUNS):
        (runs / str(number)).mkdir(parents=True)
        for file in ("run.json", "windows.jsonl"):
            os.link(run / file, runs / str(number) / file)
    index = Index(runs, directory / "cache" / "windtunnel" / "ui")
    index.take("0/run.json")  # its stamp is that of all: they are one file
    index._base.execute(
        f"INSERT INTO entries SELECT * EXCLUDE (number) REPLACE (concat(number, '/run.json') AS path, title || ' ' || number AS title, p99 + number AS p99) "
        f"FROM entries, range(1, {RUNS}) AS numbers(number)"
    )
    index._base.execute(
        f"INSERT INTO facts SELECT concat(numbers.number, '/run.json'), name, facts.number, text FROM facts, range(1, {RUNS}) AS numbers(number)"
    )
    index.close()


class Reader:
    """As a browser that opened the printed address: Python's resolver does not know the names below localhost."""

    def __init__(self, entrance: str):
        place = urlsplit(entrance)
        self._headers, self._here = {"Host": place.netloc}, f"http://127.0.0.1:{place.port}/"
        self._opener = build_opener(HTTPCookieProcessor())
        self.open(f"?{place.query}").read()

    def open(self, path: str) -> Any:
        return self._opener.open(Request(self._here + path, headers=self._headers))


@contextmanager
def ui(directory: Path) -> Iterator[tuple[str, int]]:
    """Printed address and process of a server on CPU 0."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    told = ["taskset", "-c", "0", COMMAND, "ui", directory / "runs", "--listen", f":{port}"]
    variables = os.environ | {"XDG_CACHE_HOME": str(directory / "cache")}
    with subprocess.Popen(told, stdout=subprocess.PIPE, env=variables, text=True) as server:
        try:
            assert server.stdout is not None
            yield server.stdout.readline().strip(), server.pid
        finally:
            server.send_signal(signal.SIGINT)


def searched(reader: Reader) -> Iterator[Result]:
    for search in SEARCHES:
        times = []
        for _ in range(TRIALS):
            began = time.perf_counter()
            with reader.open(f"runs?sort=p99&q={quote(search)}") as page:
                page.read()
            times.append((time.perf_counter() - began) * 1e3)
        yield result(f"{RUNS} runs, search {search!r}", times, "ms", 1000)


@contextmanager
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    options = {"executable_path": "/usr/bin/chromium", "args": ["--no-sandbox"] if os.geteuid() == 0 else []}
    with sync_playwright() as play, play.chromium.launch(**options) as chromium:
        yield chromium.new_page()


def opened(entrance: str) -> Iterator[Result]:
    """From the navigation to the end of what the page's scripts do at its start."""
    with browser() as page:
        page.goto(entrance)
        for path in PAGES:
            times = []
            for _ in range(TRIALS):
                page.goto(urljoin(entrance, f"/{path}"))
                times.append(page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
            yield result(f"page /{path}, interactive", times, "ms", 1000)


def memory(pid: int, when: str) -> Result:
    words = Path(f"/proc/{pid}/status").read_text().split()
    return result(f"memory with {RUNS} runs{when}, at most", [int(words[words.index("VmHWM:") + 1]) / MiB], "MiB", 150)


class Ends(threading.Thread):
    """Reads along, and notes when the line of each window came."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.began: float | None = None

    def run(self) -> None:
        while not (found := places.announced()):
            time.sleep(0.01)
        with socket.socket(socket.AF_UNIX) as reader:
            reader.connect(str(found[-1]))
            for line in reader.makefile():
                at, about = time.time(), json.loads(line)
                if about.get("type") == "window":
                    began = at - about["end_ns"] / 1e9
                    self.began = began if self.began is None else min(self.began, began)


def live(directory: Path) -> Result:
    """From a window's end to its point in the page. The run's beginning is the earliest that any window's line allows."""
    with ui(directory) as (entrance, _), browser() as page:
        page.goto(entrance)
        page.evaluate(LIVE)
        ends = Ends()
        ends.start()
        told = [COMMAND, "run", ECHO, "--out", directory / "live", "-q", "--no-report", *SETS, "--set", "duration=10s"]
        with subprocess.Popen(told, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            while run.poll() is None:
                page.wait_for_timeout(200)
        seen, began = page.evaluate("() => window.seen"), ends.began
    if began is None or not seen:
        raise SystemExit("no window was seen")
    firsts = {end: at for at, end in reversed(seen) if end is not None}  # None: a series without a point yet
    return result(
        "live update after a window's end", [(at - began - end) * 1e3 for end, at in firsts.items()], "ms", 300
    )


def reading(entrance: str, end: threading.Event) -> None:
    """As an open page reads along."""
    with Reader(entrance).open("events") as events:
        while not end.is_set() and events.readline():
            pass


def beside(directory: Path) -> Result:
    """Responses a second with a ui that reads along by those without, in turns."""
    ratios = []
    for pair in range(PAIRS):
        rates = {}
        for with_ui in (pair % 2 == 0, pair % 2 == 1):
            out = directory / f"{pair}-{with_ui}"
            if with_ui:
                end = threading.Event()
                with ui(directory) as (entrance, _):
                    threading.Thread(target=reading, args=(entrance, end), daemon=True).start()
                    measured_run(out)
                    end.set()
            else:
                measured_run(out)
            summary = summarise(load(out))
            rates[with_ui] = sum(row.responses for row in summary.workloads) / summary.measured_s
        ratios.append(rates[True] / rates[False])
    return result("throughput beside a ui that reads along", ratios, "x", 0.995, "at least", "the same run without")


if __name__ == "__main__":
    main()
