"""A run with variants in the terminal, in run.json and in `--json`, and through an export and back."""

import json

import pytest
import sample_lines as sample
from sample_runs import execute
from terminal_views import printed
from variant_tools import variants_of

from windtunnel.engine.windows import Window
from windtunnel.exchange.tables import export, restore
from windtunnel.results.page.renderer import render
from windtunnel.results.run.as_json import run_json
from windtunnel.results.run.document import run_document
from windtunnel.results.run.workloads import variant_section
from windtunnel.runs import load
from windtunnel.runs.rows import Middle

TICKS = 600


def delay(stage, variant: int) -> int:
    return TICKS * stage.objects * variant if (stage.endpoint, stage.stage) == ("server", "app_rx") else 0


def in_turn(of):
    """The sample's lines with measured windows of both variants in turn; the second one delays the server's app_rx."""
    found, measured = [], 0
    for line in sample.engine_lines(of):
        if isinstance(line, Window):
            variant = measured % 2 if line.phase == "measure" else 0
            measured += line.phase == "measure"
            stages = [stage.model_copy(update={"delay_cycles": delay(stage, variant)}) for stage in line.stages]
            phase = "variant" if variant else line.phase
            line = line.model_copy(update={"variant": variant, "phase": phase, "stages": stages})
        found.append(line)
    return found


@pytest.fixture
def run(tmp_path):
    plan = sample.plan().model_copy(update={"variants": variants_of(2)})
    return execute(tmp_path / "run", [plan], ["windtunnel"], lines=in_turn)


def test_the_terminal_has_a_row_for_each_variant(run):
    text = printed(run_document(run))
    (head,) = [line for line in text.splitlines() if "ns per message" in line]
    assert "delay" in head and "95% interval" in head
    assert "as it is  (metrics)" in text and "batch 1" in text
    assert "batch 1  (metrics)" not in text
    assert f"{TICKS / sample.TSC_HZ * 1e9:.0f}" in next(line for line in text.splitlines() if "batch 1" in line)


def test_a_run_without_variants_has_no_such_table(tmp_path):
    plain = execute(tmp_path / "run", [sample.plan()], ["windtunnel"])
    assert "ns per message" not in printed(run_document(plain))
    assert plain.record.variants == []


def test_the_table_says_how_many_windows_are_excluded_and_shows_no_delay_where_there_is_none(run):
    rows = [row.__class__(**(vars(row) | {"windows": 3, "delay_ns": 0.0})) for row in run.record.variants]
    rows[1] = rows[1].__class__(**(vars(rows[1]) | {"ns_per_message": Middle(12.5, 12.0, 13.0)}))
    (section,) = variant_section(rows)
    text = printed(section)
    assert "2 of 8 windows of all variants are excluded" in text
    assert "12.50" in text and "[12.00 .. 13.00]" in text and "delay" not in text


def test_run_json_and_json_have_the_rows(run):
    kept = json.loads((run.path / "run.json").read_text())["variants"]
    assert [row["name"] for row in kept] == ["as it is", "batch 1"]
    assert [row["windows"] for row in kept] == [4, 4]
    assert kept[1]["delay_ns"] == pytest.approx(TICKS / sample.TSC_HZ * 1e9, rel=0.02)
    shown = json.loads(json.dumps(run_json(run)))
    assert shown["metrics"]["variants"] == kept
    assert shown["metrics"]["measured_s"] == 4 * sample.WINDOW_NS / 1e9
    assert load(run.path).record.variants == run.record.variants


def test_the_report_has_a_row_for_each(run, tmp_path):
    table = render(run_document(run)).partition("<h2>Variants</h2>")[2].partition("</table>")[0]
    assert table.count("<tr>") == 1 + 2 and "as it is" in table and "batch 1" in table
    assert "<h2>Variants</h2>" not in render(run_document(execute(tmp_path / "plain", [sample.plan()], ["windtunnel"])))


def test_an_export_keeps_the_variants(run, tmp_path):
    export(run, tmp_path / "tables", "json")
    again = restore(tmp_path / "tables", tmp_path / "again")
    assert again.windows == run.windows and again.record.variants == run.record.variants
