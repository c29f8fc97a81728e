"""A directory that somebody sent: a run with a scenario that names a plug-in beside it, whose code nothing opens that only reads; a run or an
export with links, which lead nowhere. The plug-in writes a file as soon as it is opened."""

import io
import json
import os
import re
import shutil
from pathlib import Path

import duckdb
import pytest
from command_line import SCENARIO, in_process
from comparing import made
from part_samples import part_samples
from rich.table import Table
from rich.text import Text
from sent_runs import marking_runs, rename_oddly

from windtunnel.cli import as_option
from windtunnel.engine.find import VARIABLE, find_engine
from windtunnel.errors import UserError
from windtunnel.exchange.tables import FORMATS, export, files, restore
from windtunnel.results.terminal.harmless import HarmlessConsole
from windtunnel.runs import load

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler to build a plug-in")


@pytest.fixture
def mark(tmp_path) -> Path:
    return marking_runs(tmp_path)


@pytest.fixture
def odd(mark):
    rename_oddly(mark)


def said(mark: Path, *words: str) -> str:
    done = in_process(*words, cwd=mark.parent / "runs", **{VARIABLE: str(find_engine())})
    return done.stdout + done.stderr


READS = ["show a", "show a --json", "compare a b --force", "history .", "export a tables"]
READS += [
    "history sent.toml",
    "history sent.toml .",
    "history a b sent.toml",
]  # the last as a pattern of the shell has it


@pytest.mark.parametrize("words", READS)
def test_a_command_that_reads_opens_no_plug_in(mark, words):
    assert "Traceback" not in said(mark, *words.split())
    assert not mark.exists()


@pytest.mark.parametrize(
    "words",
    [
        *(f"{command} 1" for command in part_samples("READING_COMMAND")),
        "compare 1 2",
        "study 3",
        "study 3 --plan",
        "history . 1",
        "show 1",
    ],
)
def test_a_file_in_the_place_of_a_directory_opens_none(mark, words):
    """Who names one is told what is there, and nothing of it runs."""
    runs = mark.parent / "runs"
    for name in ("1", "2"):
        shutil.copy(runs / "sent.toml", runs / name)
    (runs / "3").write_text('scenario = "sent.toml"\n[[factor]]\nkey = "client.inflight"\nvalues = [32]\n')
    shown = said(mark, *words.split())
    assert not mark.exists()
    assert "not a directory, and the name of a scenario or study ends in .toml" in shown or "show" in words, shown


def test_check_opens_it(mark):
    assert "valid" in said(mark, "check", "sent.toml")
    assert mark.exists()


@pytest.mark.parametrize(
    "words",
    ["show a", "compare a b --force", *(f"{command} a" for command in part_samples("READING_COMMAND")), "history a b"],
)
def test_json_about_a_run_whose_name_is_not_utf_8(odd, mark, words):
    command, *runs = (os.fsdecode(word.encode() + b"\xe9") if len(word) == 1 else word for word in words.split())
    done = in_process(command, *runs, "--json", cwd=mark.parent / "runs")
    assert runs[0] in json.dumps(json.loads(done.stdout), ensure_ascii=False)


EVIL = "[red]a[link=b]c:warning:d\x1b]0;owned\x07e\x1b[2Jf\x9b31mg\x7fh\u202ei"
"""It would colour what follows, be a link, name the terminal's window, clear it, and turn the text round."""
SPELLED_OUT = "[red]a[link=b]c:warning:d\\u001b]0;owned"


@pytest.fixture
def evil(tmp_path) -> Path:
    """A directory with one of such a name, whose runs, one of them invalid, would steer the terminal by every word; and such files."""
    words = {"title": EVIL, "question": EVIL, "host": {"hostname": EVIL}, "labels": {"x": EVIL}}
    scenario = {"title": EVIL, "workload": [{"handler": EVIL}]}
    versions = {"engine": EVIL, "dpdk": EVIL}
    for name, invalid in (("a", None), ("b", None), ("c", f"engine died: {EVIL}")):
        made(tmp_path / EVIL / name, scenario=scenario, versions=versions, invalid=invalid, **words)
    text = SCENARIO.format(duration="60ms").replace("L-App", "[red]a[link=b]c:warning:\u202e")
    (tmp_path / f"{EVIL}.toml").write_text(text)
    (tmp_path / EVIL / "echo.toml").write_text(text)
    factor = '[[factor]]\nkey = "client.inflight"\nvalues = [32]\n'
    (tmp_path / EVIL / "study.toml").write_text(f'scenario = "echo.toml"\nrepeats = 1\n{factor}')
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "show EVIL/a",
        "show EVIL/c",
        "show EVIL/a EVIL/b",
        "show EVIL/a --json",
        "show EVIL/a --html",
        "show EVIL/a --format markdown",
        *(f"show EVIL/a --as {name}" for name in as_option.FORMATS),
        "compare EVIL/a EVIL/b --force",
        "compare EVIL/a EVIL/b --force -q",
        "compare EVIL/a EVIL/b --force --json",
        "compare EVIL/a EVIL/c",
        "history EVIL",
        "history EVIL -q",
        "history EVIL --json",
        "export EVIL/a EVIL.tables",
        "export EVIL/c tables --include-invalid",
        *(f"{command} EVIL/a" for command in part_samples("READING_COMMAND")),
        *(f"{command} EVIL/a --json" for command in part_samples("READING_COMMAND")),
        "check EVIL.toml",
        "check EVIL.toml --json",
        "run EVIL.toml --out EVIL.run",
        "run EVIL.toml --out EVIL.run -q",
        "run EVIL.toml --out EVIL.run --json",
        "run EVIL.toml --out EVIL.run --repeat 2",
        "study EVIL/study.toml --plan",
        "study EVIL/study.toml --out EVIL.out",
        *(f"{command} EVIL.toml --plan" for command in part_samples("PLANNING_COMMAND")),
        "search EVIL.toml --out EVIL.found --trial 60ms --trial-sum 60ms --bursts 0 --no-latency --within 1s",
        "host ladder --most 64KiB --rounds 1 --out EVIL.json",
        "init echo EVIL.new.toml",
        "import run EVIL.json",
        "share serve EVIL.toml --check",
        "share restore EVIL.journal",
        "show --EVIL",
        "EVIL",
    ],
)
def test_no_word_steers_the_terminal(evil, words):
    done = in_process(*(word.replace("EVIL", EVIL) for word in words.split()), cwd=evil)
    shown = done.stdout + done.stderr
    assert shown and "Traceback" not in shown
    assert not {c for c in shown if not c.isprintable()} - {"\n"}, shown
    written = (
        shown.replace("\\\\", "\\") if "markdown" in words else shown
    )  # where a backslash that stands for itself has another one
    assert SPELLED_OUT in written.replace(r"\x1b", r"\u001b") or "owned" not in shown, shown
    assert not words.endswith("--json") or json.loads(done.stdout)


def test_no_row_of_a_query_steers_the_terminal(evil):
    in_process("study", f"{EVIL}/study.toml", "--out", "study", "-q", cwd=evil)
    query = ("study", "query", f"""select '{EVIL}' as "{EVIL}" from results limit 1""", "--study", "study")
    shown = [in_process(*query, *form, cwd=evil).stdout for form in ([], ["--json"], ["--parquet", f"{EVIL}.parquet"])]
    assert all(SPELLED_OUT in each and not {c for c in each if not c.isprintable()} - {"\n"} for each in shown), shown
    assert json.loads(shown[1]) == [{EVIL: EVIL}]
    assert in_process(*query, "--csv", cwd=evil).stdout == f"{EVIL}\n{EVIL}\n"  # to a file or a pipe
    values = ("study", "query", "select -1.5 as a, '=x' as b, '-1' as c from results limit 1", "--study", "study")
    assert in_process(*values, "--csv", cwd=evil).stdout == "a,b,c\n-1.5,=x,-1\n"


def test_json_keeps_its_values(evil):
    [document] = json.loads(in_process("show", f"{EVIL}/a", "--json", cwd=evil).stdout)
    assert (document["title"], document["path"]) == (EVIL, f"{EVIL}/a")


def test_a_terminal_gets_the_styles_of_ours_and_the_words_of_others(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    console = HarmlessConsole(force_terminal=True, file=io.StringIO(), width=160)
    table = Table("column")
    table.add_row(Text(EVIL, "bold"))
    console.print(table, Text(EVIL, "red"), EVIL)
    written = console.file.getvalue()
    assert "\x1b[1m" in written and "\x1b[31m" in written
    assert written.count(SPELLED_OUT) == 3
    assert not re.search("\x1b\\]|\x1b\\[2J|\x07|\x9b|\u202e", written)


def test_an_export_follows_no_link_out_of_the_run(tmp_path):
    (tmp_path / "secret").write_text("secret")
    run = made(tmp_path / "run")
    (run / "engine.log").symlink_to(tmp_path / "secret")
    with pytest.raises(UserError, match="a link, which is not copied"):
        export(load(run), tmp_path / "tables", "csv")
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize("name", ["run.json", "windows.jsonl", "counters.jsonl"])
def test_no_command_reads_a_private_run_through_links_of_a_sent_one(tmp_path, name):
    made(tmp_path / "sent", 6.0)
    made(tmp_path / "other", 6.0)
    made(tmp_path / "private", 6.0, title="SECRET")
    (tmp_path / "private" / "counters.jsonl").write_text("SECRET\n")
    (tmp_path / "sent" / name).unlink(missing_ok=True)
    (tmp_path / "sent" / name).symlink_to(tmp_path / "private" / name)
    here = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    for words in (
        "show sent",
        "show sent --html",
        "export sent tables",
        "compare other sent",
        *(f"{command} sent" for command in part_samples("READING_COMMAND")),
    ):
        if name == "counters.jsonl" and not words.startswith(("show", "export")):
            continue
        done = in_process(*words.split(), cwd=tmp_path)
        assert done.returncode == 2 and re.search("a link, which is not (followed|copied)", done.stderr), done
        assert "SECRET" not in done.stdout + done.stderr
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == here


def test_a_clock_without_a_frequency_is_no_record(tmp_path):
    run = made(tmp_path / "run")
    record = json.loads((run / "run.json").read_text())
    record["engines"][0]["hello"]["tsc_hz"] = 0
    (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match="tsc_hz: Input should be greater than 0"):
        load(run)


def test_a_link_to_a_run_is_shown_for_who_names_it(tmp_path):
    made(tmp_path / "run", title="mine")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    assert "mine" in in_process("show", "link", cwd=tmp_path).stdout
    assert in_process("export", "link", "tables", cwd=tmp_path).returncode == 0


@pytest.fixture
def secret(tmp_path) -> Path:
    """A directory of the reader's, with a file that nobody else may read."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "id_rsa").write_text("secret")
    (tmp_path / "secrets" / "id_rsa").chmod(0o600)
    return tmp_path / "secrets"


def swap(directory: Path, other: Path) -> None:
    """As who may write above it does."""
    directory.rename(directory.with_name("moved"))
    directory.symlink_to(other)


def first_of(monkeypatch, name: str, before) -> None:
    """Calls `before` at the first call of a function of the export's."""
    real, calls = getattr(files, name), []

    def called(*given):
        if not calls:
            calls.append(before())
        return real(*given)

    monkeypatch.setattr(files, name, called)


def test_an_export_of_another_directory_than_was_read_is_refused(tmp_path, secret):
    run = load(made(tmp_path / "run"))
    made(secret / "run", at_s=1)
    for other in (secret, secret / "run"):
        swap(run.path, other)
        with pytest.raises(UserError, match="not a run directory|another directory than the one that was read"):
            export(run, tmp_path / "tables", "csv")
        assert not (tmp_path / "tables").exists()
        run.path.unlink()
        (tmp_path / "moved").rename(run.path)


def test_an_export_stays_in_the_directories_that_it_opened(tmp_path, secret, monkeypatch):
    run, to = load(made(tmp_path / "run")), tmp_path / "tables"

    def both():
        swap(run.path, secret)
        to.rename(tmp_path / "made")
        to.symlink_to(secret)

    first_of(monkeypatch, "_export", both)
    export(run, to, "csv")
    assert not (tmp_path / "made" / "files" / "id_rsa").exists() and (tmp_path / "made" / "windows.csv").exists()
    assert [path.name for path in secret.iterdir()] == ["id_rsa"]


def test_an_import_stays_in_the_directories_that_it_opened(tmp_path, secret, monkeypatch):
    exported = export(load(made(tmp_path / "run")), tmp_path / "tables", "csv")
    (exported / "files" / "id_rsa").write_text("mine")
    spoil(exported / "export.json", '"files": []', '"files": ["id_rsa"]')

    def both():
        swap(exported, secret)
        (tmp_path / "again").rename(tmp_path / "made")
        (tmp_path / "again").symlink_to(secret)

    (secret / "files").mkdir()
    (secret / "id_rsa").rename(secret / "files" / "id_rsa")
    first_of(monkeypatch, "_restore", both)
    restore(exported, tmp_path / "again")
    assert (tmp_path / "made" / "id_rsa").read_text() == "mine"
    assert [path.name for path in secret.iterdir()] == ["files"]


def spoil(file: Path, old: str, new: str) -> None:
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_name_of_a_sent_export_is_a_name(tmp_path):
    exported = export(load(made(tmp_path / "run")), tmp_path / "tables", "csv")
    spoil(exported / "export.json", '"files": []', '"files": ["a\\u0000b"]')
    with pytest.raises(UserError, match="is not the name of one of the run's other files"):
        restore(exported, tmp_path / "again")


@pytest.mark.parametrize(
    ("bomb", "words"),
    [
        ("SELECT repeat('x', 1000000) AS engine, * EXCLUDE engine FROM {} CROSS JOIN range(3000)", "Out of Memory"),
        ("SELECT repeat('x', 100) AS engine, * EXCLUDE engine FROM {} CROSS JOIN range(9000)", "too long texts"),
        ("SELECT * EXCLUDE range FROM {} CROSS JOIN range(1000000)", r"more than 1\d,\d\d\d rows"),
        ("SELECT * EXCLUDE range, range AS started_ns FROM {} CROSS JOIN range(100000)", "more than 90,000 rows"),
    ],
)
def test_a_small_file_with_gigabytes_in_it_is_refused(tmp_path, monkeypatch, bomb, words):
    monkeypatch.setattr(files, "MOST_ROWS", 90_000)
    monkeypatch.setattr(files, "MOST_TEXT", 1 << 19)
    monkeypatch.setitem(files.BOUNDS, "memory_limit", "100MB")
    exported = export(load(made(tmp_path / "run")), tmp_path / "tables", "parquet")
    table = exported / "windows.parquet"
    one = f"(FROM read_parquet('{table}') LIMIT 1)"
    duckdb.execute(f"COPY ({bomb.format(one)}) TO '{table}.new' (FORMAT parquet)")
    table.with_suffix(".parquet.new").rename(table)
    assert table.stat().st_size < 1 << 20
    with pytest.raises(UserError, match=rf"windows\.parquet: .*{words}"):
        restore(exported, tmp_path / "again")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", ["g*", "it's", "[a]?"])
def test_no_character_of_a_directorys_name_is_a_pattern(tmp_path, form, name):
    run = load(made(tmp_path / "run"))
    exported = export(run, tmp_path / name, form)
    shutil.copytree(exported, tmp_path / "good")
    spoil(tmp_path / "good" / "run.json", '"version"', '"vision"')
    assert restore(exported, tmp_path / "again").windows == run.windows


@pytest.mark.parametrize("link", ["files", "files/engine.log", "run.json", "export.json", "windows.csv"])
def test_an_import_follows_no_link_out_of_the_export(tmp_path, link):
    run = made(tmp_path / "run")
    (run / "engine.log").write_text("a log")
    exported = export(load(run), tmp_path / "tables", "csv")
    (exported / link).rename(tmp_path / "elsewhere")
    (exported / link).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="a link, which is not"):
        restore(exported, tmp_path / "again")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("words", ["show a", "show a b"])
def test_no_value_begins_a_line_of_its_own(mark, words):
    """`::error::` at the beginning of one is an annotation in the log of a CI."""
    forged = "x\n::error::forged"
    file = mark.parent / "runs" / "a" / "run.json"
    record = json.loads(file.read_text()) | {"title": forged, "question": forged, "labels": {"a": forged}}
    file.write_text(json.dumps(record | {"verdict": {"valid": False, "reasons": [forged]}}))
    shown = said(mark, *words.split())
    assert r"x\n::error::forged" in shown and not re.search(r"^[│ ]*::error::", shown, re.MULTILINE), shown
