"""Out and in again: whatever windows hold, in every format, and in words where an export is none."""

import json
import shutil
import stat
import typing
from itertools import count, islice
from types import UnionType
from typing import Annotated

import duckdb
import jsonschema
import pytest
import sample_lines as sample
from annotated_types import Ge, Le
from command_line import windtunnel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from importing import imported
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from sample_runs import execute, first_windows
from variant_tools import variants_of

import windtunnel as library
from windtunnel.engine.histogram import Histogram
from windtunnel.engine.line_model import Line
from windtunnel.engine.windows import Window
from windtunnel.errors import UserError
from windtunnel.exchange.tables import FORMATS, export, restore, shape, unfold
from windtunnel.exchange.tables import fold as fold_module
from windtunnel.exchange.tables.files import Manifest
from windtunnel.runs import load
from windtunnel.schemas.generate import CHECKOUT

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


PLAN = sample.plan().model_copy(update={"variants": variants_of(2)})
POSITIONS = {
    "worker": len(PLAN.workers),
    "workload": len(PLAN.workloads),
    "variant": len(PLAN.variants.variants),
}
"""Fields that name something in the plan, and how many of it there are."""


def values_of_field(name: str, field: FieldInfo) -> st.SearchStrategy:
    if name in POSITIONS:
        return st.integers(0, POSITIONS[name] - 1)
    return values_of(Annotated[field.annotation, field])


def values_of(kind, *bounds) -> st.SearchStrategy:
    """Anything that a field of this type may hold. `bounds`: of a number, beside those of 64 bits."""
    if typing.get_origin(kind) is Annotated:
        kind, *metadata = typing.get_args(kind)
        bounds = [bound for one in metadata for bound in (one.metadata if isinstance(one, FieldInfo) else [one])]
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, UnionType):
        return st.one_of(*(values_of(one, *bounds) for one in inner))
    if origin is typing.Literal:
        return st.sampled_from(inner)
    if origin is list:
        return st.lists(values_of(inner[0]), max_size=2)
    if origin is tuple:
        return st.tuples(*map(values_of, inner))
    if origin is dict:
        return st.dictionaries(*map(values_of, inner), max_size=3)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {name: values_of_field(name, field) for name, field in kind.model_fields.items()}
        return st.fixed_dictionaries(fields).map(kind.model_validate)
    return {
        type(None): st.none(),
        bool: st.booleans(),
        int: st.from_type(Annotated[int, Ge(0), Le(2**64 - 1), *bounds]),
        float: st.floats(allow_nan=False, allow_infinity=False),
        str: TEXTS,
    }[kind]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """With four windows, which are 5,000 rows."""
    place = tmp_path_factory.mktemp("export") / "run"
    return execute(place, [PLAN], ["windtunnel"], lines=lambda plan: first_windows(plan, 4)).path


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    return export(load(run), tmp_path_factory.mktemp("exported") / "out", "csv")


def write_windows(directory, windows):
    lines = [json.dumps({"engine": "windtunnel"} | window.model_dump(mode="json")) + "\n" for window in windows]
    (directory / "windows.jsonl").write_text("".join(lines))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(windows=st.lists(values_of(Window), min_size=1, max_size=2))
def test_any_windows_survive_the_round_trip(form, windows, run, tmp_path_factory):
    """The windows are made from the models: a field that is added to them is in this test, and fails it where it is forgotten."""
    directory = tmp_path_factory.mktemp(form)
    copy = directory / "run"
    copy.mkdir()
    (copy / "run.json").write_bytes((run / "run.json").read_bytes())
    write_windows(copy, windows)
    before = load(copy)
    assert before.windows == {"windtunnel": windows}
    after = restore(export(before, directory / "out", form), directory / "again")
    assert after.record == before.record and after.windows == before.windows and after.problems == before.problems


@pytest.mark.parametrize("form", FORMATS)
def test_a_run_with_all_its_files(run, tmp_path, form):
    before = load(run)
    (run / "engine.log").write_bytes(b"\xff EAL\n")
    after = restore(export(before, tmp_path / "out", form), tmp_path / "again")
    assert (after.record, after.windows) == (before.record, before.windows)
    for name in ("engine.log", "latency.hlog", "run.json"):
        assert (after.path / name).read_bytes() == (run / name).read_bytes()
    document = json.loads((tmp_path / "out" / "export.json").read_text())
    jsonschema.validate(document, Manifest.model_json_schema())
    assert {f"{name}.{form}" for name in document["tables"]} <= {path.name for path in (tmp_path / "out").iterdir()}


def test_tables_have_the_counters_under_their_names(run, tmp_path):
    import duckdb

    export(load(run), tmp_path / "out", "parquet")
    windows = load(run).windows["windtunnel"]
    with duckdb.connect() as database:
        objects, bits = database.execute(
            f"SELECT sum(objects), (SELECT sum(key * value) FROM '{tmp_path}/out/bursts.parquet') FROM '{tmp_path}/out/stages.parquet'"
        ).fetchone()
        latency = database.execute(
            f"SELECT sum(count) FROM '{tmp_path}/out/buckets.parquet' WHERE \"of\" = 'workloads' AND name = 'latency'"
        ).fetchone()
    assert objects == bits == sum(stage.objects for window in windows for stage in window.stages)
    assert latency == (sum(w.latency.total for window in windows for w in window.workloads),)


def test_no_table_has_a_column_twice_and_every_field_has_one():
    for table in shape.tables().values():
        names = [column.name for column in table.all]
        assert len(names) == len(set(names)), table.name
    for model in (Window, Histogram, *shape.parts_of(Window).lists.values()):
        parts = shape.parts_of(model)
        laid_out = {column.name for column in parts.plain} | {*parts.lists, *parts.counters, *parts.histograms}
        assert laid_out | ({"counts"} if model is Histogram else set()) == set(model.model_fields)


def test_a_field_of_no_known_shape_is_kept_as_json():
    class Odd(Line):
        numbers: list[int]
        either: int | str

    assert [(column.name, column.json) for column in shape.parts_of(Odd).plain] == [("numbers", True), ("either", True)]


def test_a_run_without_windows_stays_without(run, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_bytes((run / "run.json").read_bytes())
    before = load(tmp_path / "run")
    after = restore(export(before, tmp_path / "out", "csv"), tmp_path / "again")
    assert after.problems == before.problems == ["windows.jsonl: missing: the run has no windows"]


def spoil(directory, name, old, new):
    file = directory / name
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: (d / "export.json").unlink(), "not an export, it has no export.json"),
        (lambda d: (d / "export.json").write_text("{"), "export.json: not JSON"),
        (
            lambda d: spoil(d, "export.json", '"version": 2', '"version": 1'),
            "export of version 1, this windtunnel reads",
        ),
        (lambda d: spoil(d, "export.json", '"latency.hlog"', '"../latency.hlog"'), "is not the name of one"),
        (lambda d: spoil(d, "export.json", '"latency.hlog"', '"run.json"'), "is not the name of one"),
        (lambda d: spoil(d, "export.json", '"latency.hlog"', '""'), "export.json: files: a name is empty"),
        (lambda d: spoil(d, "export.json", '"latency.hlog"', '"gone.log"'), "gone.log: No such file"),
        (lambda d: (d / "pools.csv").unlink(), "pools.csv: No such file"),
        (lambda d: (d / "pools.csv").write_text("x\n1\n"), "pools.csv: cannot be read"),
        (lambda d: spoil(d, "windows.csv", "measure", "mesure"), "phase: Input should be"),
        (lambda d: spoil(d, "windows.csv", '"windtunnel",3,', '"windtunnel",2,'), "window 2 of windtunnel stands 2"),
        (
            lambda d: spoil(d, "pools.csv", '"windtunnel",3,', '"windtunnel",99,'),
            "a row without its parent: windtunnel",
        ),
        (lambda d: spoil(d, "pools.csv", '"windtunnel",3,', ",3,"), "must all be there"),
        (lambda d: spoil(d, "windows.csv", '"windtunnel",3,', '"windtunnel",-3,'), "windows.csv: cannot be read"),
        (lambda d: spoil(d, "run.json", '"version"', '"vision"'), "record of version None"),
    ],
)
def test_an_incomplete_export_is_refused_and_leaves_no_file(exported, tmp_path, change, words):
    shutil.copytree(exported, tmp_path / "out")
    change(tmp_path / "out")
    with pytest.raises(UserError) as refused:
        restore(tmp_path / "out", tmp_path / "again")
    assert words in refused.value.message
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("repeat('[', 100000)", "probe: not JSON: recursion limit exceeded"),
        ("repeat('[],', 400000)", "too long texts"),
        ("NULL", "probe: not JSON: EOF"),
    ],
)
def test_json_of_a_cell_is_there_and_has_a_bound(run, tmp_path, text, words):
    """A few KiB of Parquet may be a text that takes gigabytes."""
    out = export(load(run), tmp_path / "out", "parquet")
    windows, spoilt = out / "windows.parquet", tmp_path / "spoilt.parquet"
    duckdb.execute(f"COPY (SELECT * REPLACE ({text} AS probe) FROM '{windows}') TO '{spoilt}'")
    spoilt.replace(windows)
    with pytest.raises(UserError, match=words):
        restore(out, tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_window_of_more_rows_than_any_has_is_refused_before_they_are_kept(run, tmp_path, monkeypatch):
    monkeypatch.setattr(fold_module, "MOST_WINDOW_ROWS", 100)
    with pytest.raises(UserError, match="window 0 of windtunnel has more than 100 rows"):
        restore(export(load(run), tmp_path / "out", "parquet"), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_window_is_made_before_the_rows_of_the_next_ones_are_read(run):
    """An export that somebody sent may have millions of rows."""
    window = load(run).windows["windtunnel"][0]
    rows = list(unfold.rows("windtunnel", [window]))

    def endless(name):
        for number in count():
            for table, row in rows:
                if table == name:
                    yield row | {"window": number}

    found = fold_module.fold({name: endless(name) for name in shape.tables() if name in dict(rows)})
    assert list(islice(found, 3)) == [("windtunnel", window)] * 3


def test_a_copy_is_read_by_nobody_who_may_not_read_the_run(run, tmp_path):
    private = tmp_path / "private"
    shutil.copytree(run, private)
    for path in private.iterdir():
        path.chmod(0o600)
    private.chmod(0o700)
    out = export(load(private), tmp_path / "out", "csv")
    again = restore(out, tmp_path / "again").path
    whole = [path for made in (out, again) for path in (made, *made.iterdir())]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in whole}
    open_ones = {name for name, mode in modes.items() if mode & 0o077}
    assert open_ones <= {"files", "export.json"}, "which have no text of the run's"
    assert {modes["out"], modes["again"]} == {0o700} and modes["windows.csv"] == modes["windows.jsonl"] == 0o600


def test_an_existing_directory_is_not_written_to(run, exported, tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match="exists already"):
        export(load(run), tmp_path / "out", "csv")
    assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(UserError, match="exists already"):
        restore(exported, tmp_path / "out")


@pytest.mark.slow
def test_the_commands(run, tmp_path):
    done = windtunnel("export", run, "tables", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0 and done.stdout == "tables\n"
    said, _ = imported("run", tmp_path / "tables", "--out", tmp_path / "again")
    assert "valid" in said and load(tmp_path / "again").windows == load(run).windows
    with (run / "windows.jsonl").open("a") as file:
        file.write('{"engine"')
    done = windtunnel("export", run, "more", cwd=tmp_path)
    assert done.returncode == 0 and "cut off by a crash" in done.stderr
    spoiled = windtunnel("export", tmp_path, "none", cwd=tmp_path)
    assert spoiled.returncode == 2 and not (tmp_path / "none").exists()


def test_the_library(run, tmp_path):
    tables = library.export(run, tmp_path / "tables", "csv")
    assert library.import_run(tables, tmp_path / "again").windows == load(run).windows


@pytest.mark.slow
def test_files_of_run_and_export_match_the_schemas(scenario, tmp_path):
    """comparison.json is held to its own in test_compare_run."""
    assert windtunnel("run", scenario, "-q", "--no-report", "--out", "here", cwd=tmp_path).returncode == 0
    restore(export(load(tmp_path / "here"), tmp_path / "out", "csv"), tmp_path / "again")
    schemas = (json.loads((CHECKOUT / "schemas" / f"{name}.json").read_text()) for name in ("run", "windows"))
    run, window = map(jsonschema.Draft202012Validator, schemas)
    for directory in ("here", "again"):
        run.validate(json.loads((tmp_path / directory / "run.json").read_text()))
        lines = (tmp_path / directory / "windows.jsonl").read_text().splitlines()
        assert lines
        for line in lines:
            window.validate(json.loads(line))


def test_a_valid_run_whose_windows_are_gone_says_so(run, tmp_path):
    (tmp_path / "run.json").write_bytes((run / "run.json").read_bytes())
    (tmp_path / "windows.jsonl").touch()
    assert load(tmp_path).problems == ["windows.jsonl: empty: the run has no windows"]
