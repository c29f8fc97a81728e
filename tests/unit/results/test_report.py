"""The report and the tables: right for every kind of run, deaf to hostile text; metrics of an invalid run are marked as rejected."""

import gzip
import io
import json
import re
from base64 import b64decode

import plotly.graph_objects as go
import pytest
import sample_lines as sample
from rich.console import Console
from sample_runs import HOSTILE, RUNS, Page, execute, shown_by
from terminal_views import printed

from windtunnel import format as fmt
from windtunnel.errors import UserError
from windtunnel.results.charts.limit_line import Limit
from windtunnel.results.document import Chart, Fold, Rejected, Section
from windtunnel.results.run import machine
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.results.run.report import write_run_report
from windtunnel.results.run.side_by_side import side_by_side_document
from windtunnel.results.run.validity import ledger_section
from windtunnel.results.terminal.renderer import document_view
from windtunnel.runs import Verdict, load
from windtunnel.runs.summary import summarise


@pytest.fixture(scope="module", params=RUNS)
def run(request, tmp_path_factory):
    """One of each kind, with its report."""
    finished = execute(tmp_path_factory.mktemp("kind") / "run", *RUNS[request.param])
    assert write_run_report(finished.path) == finished.path / "report.html"
    return finished


@pytest.fixture
def both(tmp_path):
    return execute(tmp_path / "run", *RUNS["both sides"])


@pytest.fixture
def invalid(tmp_path):
    return execute(tmp_path / "invalid", *RUNS["both sides"], Verdict(False, ["peer lost: gone"]))


def test_the_least_limit_that_parts_know_is_drawn(both, monkeypatch):
    limits = [Limit("server", times, f"limit of {times}") for times in (1.5, 1.2, 2.0)]
    monkeypatch.setattr(machine, "part_functions", lambda *_: [lambda run: limits[:2], lambda run: limits[2:]])
    (section,) = machine.port_section(both, summarise(both))
    (note,) = plots_of(section.blocks)[0]["layout"]["annotations"]
    assert note["text"].startswith("limit of 1.2: ")


def plots_of(blocks) -> list[dict]:
    """Every plot of the blocks, in their order."""
    found = []
    for block in blocks:
        if isinstance(block, Chart):
            found.append(block.plot)
        elif isinstance(block, Section | Fold | Rejected):
            found += plots_of(block.blocks)
    return found


def titles_with_plots(finished) -> set[str]:
    sections = [block for block in run_document(finished).blocks if isinstance(block, Section)]
    return {section.title for section in sections if plots_of(section.blocks)}


def ledger_of(engines) -> str:
    (section,) = ledger_section(engines)
    return section.blocks[0].text


def page_of(finished) -> Page:
    return Page(write_run_report(finished.path).read_text())


def test_the_report_is_one_file_without_external_resources(run):
    page = Page((run.path / "report.html").read_text())
    assert {attrs[name] for _, attrs in page.tags for name in ("src", "href", "srcset", "action") if name in attrs} == {
        "data:,"
    }
    policies = [attrs["content"] for tag, attrs in page.tags if tag == "meta" and "content" in attrs]
    assert any(policy.startswith("default-src 'none'") for policy in policies)


def test_every_plot_has_its_place_and_its_colours_and_is_valid_for_plotly(run):
    plots = {f"_plot-{n}": plot for n, plot in enumerate(plots_of(run_document(run).blocks))}
    html = (run.path / "report.html").read_text()
    page = Page(html)
    assert plots.keys() <= page.ids
    assert json.loads(page.scripts[1]) == json.loads(json.dumps(plots))
    for drawn in plots.values():
        go.Figure(json.loads(re.sub(r"var\(--[a-z0-9-]+\)", "#123456", json.dumps(drawn))))
    style = html.partition("<style>")[2].partition("</style>")[0]
    named = set(re.findall(r"var\((--[a-z0-9-]+)\)", json.dumps(plots) + style))
    assert named <= set(re.findall(r"(--[a-z0-9-]+):", style))


def test_the_page_brings_plotly_in_a_third_of_its_size(both):
    page = write_run_report(both.path).read_text()
    assert len(page) < 1_500_000
    script = gzip.decompress(b64decode(Page(page).scripts[0])).decode()
    assert "plotly.js (cartesian - minified) v" in script[:200]


def test_what_is_counted_or_timed_is_called_per_packet(run):
    page = Page((run.path / "report.html").read_text())
    shown = page.text + "".join(page.scripts[1:2]) + printed(run_document(run))
    found = re.findall(
        r"(?:ns|ticks|packets|messages|responses|Mpps) an? (?:packet|message|second|doorbell|burst|load|stage call)\b",
        shown,
        re.IGNORECASE,
    )
    assert found == []


def test_only_measured_metrics_have_a_plot(tmp_path):
    def shown(name):
        return titles_with_plots(execute(tmp_path / name.replace(" ", "-"), *RUNS[name]))

    throughput = "Throughput over time, and ports"
    assert shown("both sides") == {"Where the time goes", "Time of each worker", throughput, "Latency", "Bursts"}
    assert shown("packets alone") == {throughput, "Bursts"}
    assert shown("not accounted") == {throughput, "Latency"}


def test_numbers_of_the_page_are_those_of_the_metrics(both):
    text = page_of(both).text
    summary = summarise(both)
    for row in summary.stages:
        assert f"{row.mpps:.3f}" in text and fmt.number(row.work_ns) in text
    assert fmt.rate(summary.workloads[0].responses_per_s) in text
    assert fmt.duration(summary.workloads[0].latency.p999) in text
    assert "valid" in text and "wire ring" in text and "memory hugepages" in text
    assert "net_ring moves mbufs" in text and "bad_checksum" in text and "not available" in text


def test_every_view_marks_emulated_faults(tmp_path):
    finished = execute(tmp_path / "run", *RUNS["histograms"])
    mark = "emulated on what client and server send: loss 1%"
    assert mark in page_of(finished).text
    assert mark in printed(run_document(finished)) and mark in run_json(finished)["emulated"]
    assert "emulated" in printed(side_by_side_document([finished, finished]))


def test_hostile_text_is_escaped(tmp_path):
    plan = sample.plan(title=HOSTILE)
    plan = plan.model_copy(update={"workloads": [plan.workloads[0].model_copy(update={"name": HOSTILE})]})
    about = {"question": HOSTILE, "notes": [HOSTILE], "resolved": {"title": HOSTILE, HOSTILE: 1}}
    finished = execute(tmp_path / "run", [plan], ["windtunnel"], **about)
    page = page_of(finished)
    assert len(page.scripts) == 3 and not [tag for tag, _ in page.tags if tag == "img"]
    assert page.text.count(HOSTILE) >= 5
    assert "<script" not in json.dumps(plots_of(run_document(finished).blocks))
    finished = execute(tmp_path / "invalid", [plan], ["windtunnel"], Verdict(False, [HOSTILE]), **about)
    page = page_of(finished)
    assert len(page.scripts) == 3 and page.text.count(HOSTILE) >= 5


def test_terminal_markup_in_a_title_is_escaped(tmp_path):
    finished = execute(tmp_path / "run", [sample.plan(title="[red]no[/red] [/]")], ["windtunnel"], notes=["[/bold]"])
    assert "[red]no[/red] [/]" in printed(run_document(finished)) and "[/bold]" in printed(run_document(finished))
    assert "[red]no[/red] [/]" in printed(side_by_side_document([finished, finished]))


def test_an_invalid_run_shows_rejected_metrics_below_its_reasons(invalid):
    html = write_run_report(invalid.path).read_text()
    views = [Page(html).text, printed(run_document(invalid))]
    for view in views:
        assert "peer lost: gone" in view and "invalid" in view and "all 8 measured windows" in view
        assert view.index("peer lost: gone") < view.index(f"{summarise(invalid).stages[0].mpps:.3f}")
    beside = printed(side_by_side_document([invalid, invalid]))
    assert "peer lost: gone" in beside and "rejected" in beside
    assert run_json(invalid)["rejected"] is True
    assert run_json(invalid)["metrics"] == summarise(invalid).json()
    assert json.loads((invalid.path / "run.json").read_text())["rejected"] is True
    before, inside = html.partition("<body>")[2].split('<div class="rejected">')
    assert "peer lost: gone" in before and "<strong>" not in before and "<td>" not in before
    assert inside.index("<strong>") < inside.index("<h2>Ledger")


def test_off_a_terminal_each_line_of_rejected_metrics_has_the_word(invalid, both):
    shown = printed(run_document(invalid), width=300).splitlines()
    numbers = [line for line in shown if "app_tx" in line or "p99" in line or " Mpps" in line]
    assert numbers and all(line.startswith("rejected  ") for line in numbers)
    assert not any(line.startswith("rejected") for line in printed(run_document(both)).splitlines())
    assert 'class="rejected"' not in write_run_report(both.path).read_text()


def test_on_a_terminal_rejected_metrics_are_grey_and_as_wide_as_it(invalid):
    console = Console(width=80, force_terminal=True, color_system="standard", record=True, file=io.StringIO())
    console.print(document_view(run_document(invalid)))
    lines = console.export_text(styles=True, clear=False).splitlines()
    (stage,) = [line for line in lines if "app_tx" in line and "client" in line]
    assert "┃" in stage and "\x1b[2m" in stage and "rejected" not in stage
    assert max(map(len, console.export_text().splitlines())) <= 80


def test_limits_that_were_relaxed_are_named_wherever_valid_stands(tmp_path):
    about = {"resolved": {"title": "t", "validity": {"max_drift": 1.0, "max_unsent": 0.001}}}
    finished = execute(tmp_path / "run", *RUNS["both sides"], **about)
    limit = "max_drift 100% instead of 10%"
    views = [
        page_of(finished).text,
        *map(printed, (run_document(finished), side_by_side_document([finished, finished]))),
    ]
    for view in views:
        assert "valid, limits relaxed" in view and limit in view
        assert "max_unsent" not in view.replace('"max_unsent"', "")
    assert run_json(finished)["relaxed"] == [limit]
    assert json.loads((finished.path / "run.json").read_text())["relaxed"] == [limit]
    assert load(finished.path).record.verdict_words == "valid, limits relaxed"


def test_a_run_that_died_before_its_first_line_has_a_report(tmp_path):
    finished = execute(
        tmp_path / "run",
        *RUNS["two engines"],
        Verdict(False, ["engine died: SIGSEGV while starting EAL"]),
        lines=lambda plan: sample.engine_lines(plan)[:1],
    )
    assert "SIGSEGV while starting EAL" in page_of(finished).text
    assert "no window was measured" in printed(run_document(finished)) and "rejected" not in printed(
        run_document(finished)
    )
    assert run_json(finished)["metrics"] is None and run_json(finished)["rejected"] is False
    assert "none, an engine gave no result" in ledger_of(finished.record.engines)


def test_an_open_ledger_names_the_missing_objects(both):
    engine = both.record.engines[0]
    assert ledger_of([engine]).startswith("ledger: closed")
    mbufs = [
        each.model_copy(update={"missing": missing}) for each, missing in zip(engine.result.mbufs, (12, 0), strict=True)
    ]
    messages = [each.model_copy(update={"missing": -3}) for each in engine.result.messages]
    result = engine.result.model_copy(update={"mbufs": mbufs, "messages": messages})
    missing = ledger_of([engine.model_copy(update={"result": result})])
    assert missing == "ledger open: 12 mbufs of the client, -3 messages of echo"


def test_tables_fit_80_columns_without_cutting_a_number(run):
    shown = printed(run_document(run), width=80)
    assert "…" not in shown
    for row in summarise(run).stages:
        assert f"{row.mpps:.3f}" in shown and row.stage in shown


def test_every_view_reports_a_truncated_window(both):
    path = both.path / "windows.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    finished = load(both.path)
    for view in (printed(run_document(finished)), printed(side_by_side_document([finished, finished]), 200)):
        assert "cut off by a crash" in view
    assert "cut off by a crash" in page_of(finished).text


def test_show_prints_one_run(tmp_path):
    finished = execute(tmp_path / "run", *RUNS["two engines"])
    shown = shown_by(finished.path)
    assert "wire memif" in shown and "ledger: closed" in shown and "p99.9" in shown


def test_show_compares_runs_and_warns_of_different_memory(tmp_path):
    same = [execute(tmp_path / name, *RUNS["both sides"]).path for name in ("a", "b")]
    other = execute(tmp_path / "c", *RUNS["histograms"]).path
    assert "memory modes differ" not in shown_by(*same)
    mixed = shown_by(*same, other)
    assert "memory modes differ (a hugepages, b hugepages, c no-huge)" in " ".join(mixed.split())


def test_show_json_is_a_list_with_every_run(tmp_path):
    paths = [execute(tmp_path / name, *RUNS[name]).path for name in ("both sides", "packets alone")]
    first, second = json.loads(shown_by("--json", *paths))
    assert first["metrics"]["workloads"][0]["latency"]["p50"] > 0 and first["verdict"] == {"valid": True, "reasons": []}
    assert second["metrics"]["workloads"] == [] and second["metrics"]["stages"][0]["work_ns"] is None


def test_show_html_rewrites_the_report(both):
    assert shown_by("--html", both.path).split() == [str(both.path / "report.html")]
    assert (both.path / "report.html").read_text().startswith("<!doctype html>")


def test_show_refuses_bad_arguments(tmp_path):
    with pytest.raises(UserError, match="not a run directory"):
        shown_by(tmp_path)
    with pytest.raises(UserError, match="exclude each other"):
        shown_by("--json", "--html", tmp_path)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (fmt.duration(None), "–"),
        (fmt.duration(0), "0 ns"),
        (fmt.duration(999.4), "999 ns"),
        (fmt.duration(999.6), "1.00 µs"),
        (fmt.duration(12_345), "12.3 µs"),
        (fmt.duration(999_999), "1.00 ms"),
        (fmt.duration(250e9), "250 s"),
        (fmt.rate(1_234_567), "1.23 M/s"),
        (fmt.rate(999_999), "1.00 M/s"),
        (fmt.rate(12), "12.0 /s"),
        (fmt.number(12_345.67), "12,345.7"),
        (fmt.count(1_000_000), "1,000,000"),
        (fmt.percent(0.1234), "12.3%"),
        (fmt.size(300 << 20), "300 MiB"),
        (fmt.size(12), "12 B"),
    ],
)
def test_numbers_are_formatted_for_people(shown, text):
    assert shown == text


def test_nic_counters_are_kept_and_losses_reported(tmp_path):
    counted = {"rx_good_packets": 5, "rx_missed_errors": 1234}

    def lines(plan):
        for line in sample.engine_lines(plan):
            yield line.model_copy(update={"xstats": {"server": counted}}) if line.type == "result" else line

    run = execute(tmp_path / "run", [sample.plan()], ["windtunnel"], lines=lines)
    assert run.record.engines[0].result.xstats == {"server": counted}
    page = Page(write_run_report(run.path).read_text()).text
    assert "Counters of the server’s NIC" in page and "rx_good_packets" in page
    told = "the server's NIC lost packets: rx_missed_errors 1,234"
    assert told in page and f"warning: {told}" in printed(run_document(run))


def test_a_drop_stands_with_its_cause_and_what_to_do(tmp_path):
    def dropping(stage):
        drops = {"misdirected": 3, "of_another_release": 1} if stage.stage == "disp_rx" else {}
        return stage.model_copy(update={"drops": drops})

    def lines(plan):
        for line in sample.engine_lines(plan):
            windows = line.type == "window"
            yield line.model_copy(update={"stages": list(map(dropping, line.stages))}) if windows else line

    run = execute(tmp_path / "run", *RUNS["both sides"], lines=lines)
    html = write_run_report(run.path).read_text()
    drops = html.partition("<h2>Drops</h2>")[2].partition("</section>")[0]
    assert drops.count("On pci try another steering; on other wires use one dispatcher.") == 2  # of both sides
    assert drops.count("of_another_release</td><td>") == 2 and drops.count(">–</td>") == 2
