"""What pages state and the code knows, side by side: neither changes alone."""

import inspect
import re
from pathlib import Path

import sample_lines
from sample_runs import RUNS, execute
from terminal_views import printed

from windtunnel.engine.wires import of_snapshot
from windtunnel.exchange.openmetrics import PHASES, Windows
from windtunnel.part_registry import part_modules
from windtunnel.results.run.document import run_document
from windtunnel.runs.registry.percentiles import DECIDING
from windtunnel.version import __version__
from windtunnel_sharing.cli.reproduce import reproduce
from windtunnel_sharing.daemon.keys import Serve

DOCS = Path(__file__).resolve().parents[2] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text()


def row(text: str, first: str) -> list[str]:
    """Cells of the row of a table that begins with `first`."""
    (line,) = (line for line in text.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_openmetrics_family_is_on_a_page():
    """Counters are on the generated page, the others on that of live interfaces and on those of parts."""
    of_parts = (Path(name) for part in part_modules("catalogue") for name in part.FILES if name.endswith(".md"))
    pages = [DOCS / "reference/live.md", *(DOCS.parent / name for name in of_parts)]
    by_hand = {name for file in pages for name in re.findall(r"`windtunnel_(\w+)`", file.read_text())}
    generated = re.findall(r"^\| \w+ \| `\w+` \| [^|]+ \| `(\w+)` \|", page("reference/counters.md"), re.MULTILINE)
    served = {
        family.name.removeprefix("windtunnel_") + ("_total" if family.type == "counter" else "")
        for family in Windows(sample_lines.spec([sample_lines.plan()])).collect()
    }
    assert len(generated) > 30 and len(served) > 50
    assert served == by_hand | {f"{name}_total" for name in generated}


def test_phases_of_openmetrics_are_on_the_page():
    phases = row(page("reference/live.md"), "`windtunnel_phase` (state set)")[-1]
    assert re.sub(r" \(.*?\)", "", phases).split(", ") == list(PHASES)


def test_default_slicers_are_on_the_page():
    text = page("explanation/sharing.md")
    reproduced = inspect.signature(reproduce).parameters["slicer"].default
    assert row(text, "`share serve`")[1].startswith(f"`{Serve.model_fields['slicer'].default}`")
    assert row(text, "`share reproduce`")[1] == f"`{reproduced}`"


def test_percentiles_that_are_goals_are_on_the_page_of_searches():
    (goals,) = (line for line in page("how-to/search.md").splitlines() if line.startswith("| `p50`"))
    assert re.findall(r"`(p[\d.]+)`", goals.split("|")[1]) == [percentile.name for percentile in DECIDING]


def test_drivers_that_were_tried_are_those_of_the_guests():
    table = page("reference/guests.md").partition("## Wire pci")[2].partition("\n## ")[0]
    tried = {name.removeprefix("e1000_") for name in re.findall(r"\| net_(\w+) \|", table)}
    (named,) = re.findall(r"Only (.+?) were \[tried\]", page("reference/ports.md"), re.DOTALL)
    assert set(re.findall(r"`(\w+)`", named)) == tried == {"em", "igb", "virtio", "vmxnet3"}


def test_every_wire_is_on_the_overview():
    overview = page("reference/wires.md").partition("\n## ")[0]
    named = {name for line in overview.splitlines() if line.startswith("| ") for name in re.findall(r"`(\w+)`", line)}
    assert of_snapshot().keys() == named - {"record"}


def test_what_was_measured_has_a_date_and_is_no_explanation():
    a_date = re.compile(r"\b20\d\d-\d\d-\d\d\b")
    dated = [name for name in sorted(DOCS.glob("measurements/*.md")) if name.name != "index.md"]
    assert len(dated) > 4
    for file in dated:
        assert a_date.search(file.read_text()), file.name
        assert f"]({file.name})" in page("measurements/index.md")
    for file in [*DOCS.glob("explanation/*.md"), DOCS / "how-to/measure-well.md"]:
        assert not a_date.search(file.read_text()), (
            f"{file.name}: what was measured on a day belongs to docs/measurements"
        )


def test_a_release_has_one_version():
    assert f"\nversion: {__version__}\n" in (DOCS.parent / "CITATION.cff").read_text()
    assert re.search(
        rf"^## (Unreleased: )?{re.escape(__version__)}\b", (DOCS.parent / "CHANGELOG.md").read_text(), re.MULTILINE
    )


def columns(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def test_the_sample_of_the_readme_is_what_a_run_prints(tmp_path):
    """The sample leaves columns and rows out, and adds none."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", (DOCS.parent / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    (sample,) = (text for language, text in fenced if not language)
    shown = printed(run_document(execute(tmp_path / "run", *RUNS["both sides"])), width=200).splitlines()
    for first in ("stage", "workload"):
        (of_sample,) = (columns(line) for line in sample.splitlines() if columns(line)[0] == first)
        (of_run,) = (columns(line) for line in shown if columns(line)[0] == first)
        assert [name for name in of_run if name in of_sample] == of_sample
    for first in ("ledger: ", "verdict: "):
        (line,) = (line for line in sample.splitlines() if line.startswith(first))
        assert any(each.startswith(line) for each in shown), (line, shown)
