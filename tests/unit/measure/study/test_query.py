"""SQL over studies: what it gives, and all that it cannot reach."""

import csv
import io
import json
import shutil

import duckdb
import numpy as np
import pytest
from study_tools import HEAD, finished, invoke, on_paper, refused, written

from windtunnel.errors import UserError
from windtunnel.measure.study import locked_sql, sql
from windtunnel.measure.study import query as query_module
from windtunnel.measure.study.columns import COLUMNS
from windtunnel.measure.study.query import query

TYPED = """\
[[factor]]
key = "workload.0.request"
values = ["64B", "1KiB"]
[[factor]]
key = "client.rate"
name = "offered_rate"
values = ["1kpps", "2.5kpps"]
[[factor]]
key = "wire.udp_checksum"
values = [true, false]
[[factor]]
key = "server.response_mbuf"
values = ["request", "new"]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("query")
    with on_paper():
        return finished(written(directory, TYPED, HEAD + "repeats = 1\n"), directory / "it's [a] study*")


def test_columns_are_typed(study):
    found = dict(query("select column_name, column_type from (describe results)", [study.path]).rows)
    factors = {"request": "BIGINT", "offered_rate": "DOUBLE", "udp_checksum": "BOOLEAN", "response_mbuf": "VARCHAR"}
    assert found == {"study": "VARCHAR"} | factors | {name: kind for name, (kind, _) in COLUMNS.items()}


def test_a_table_holds_every_run(study):
    response = query(
        "select request, offered_rate, udp_checksum, response_mbuf, valid, reasons, p50 from results", [study.path]
    )
    assert len(response.rows) == 16
    assert {row[0] for row in response.rows} == {64, 1024} and {row[1] for row in response.rows} == {1000.0, 2500.0}
    assert {row[2:][0] for row in response.rows} == {True, False}
    assert {tuple(row[5]) for row in response.rows} == {()} and {row[6] for row in response.rows} == {1500}


def test_latest_study_below_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "no study below" in refused("study", "query", "from results").message
    file = written(tmp_path, head=HEAD + "repeats = 1\n")
    with on_paper():
        invoke("study", file, "--out", "runs/first", "-q")
        invoke("study", file, "--out", "runs/second", "-q")
    assert json.loads(invoke("study", "query", "select distinct study from results", "--json")) == [{"study": "second"}]


def test_several_studies_are_queried_together(study, tmp_path):
    with on_paper():
        other = finished(written(tmp_path, head=HEAD + "repeats = 1\n"), tmp_path / "other")
    sql = "select study, count(*) n, count(request) r, count(inflight) i from results group by 1 order by 2"
    assert query(sql, [study.path, other.path]).rows == [("other", 3, 0, 3), (study.path.name, 16, 16, 0)]


def test_output_formats(study, tmp_path):
    sql = (
        "select request, count(*) n, max(started) t, list(distinct valid) v, null x from results group by 1 order by 1"
    )
    said = invoke("study", "query", sql, "--study", study.path)
    assert "request" in said and "1,024" in said and "2 rows" in said
    rows = json.loads(invoke("study", "query", sql, "--study", study.path, "--json"))
    assert [(row["request"], row["n"], row["x"]) for row in rows] == [(64, 8, None), (1024, 8, None)]
    lines = list(csv.DictReader(io.StringIO(invoke("study", "query", sql, "--study", study.path, "--csv"))))
    assert [(line["request"], line["v"]) for line in lines] == [("64", "[True]"), ("1024", "[True]")]
    file = tmp_path / "it's.parquet"
    assert invoke("study", "query", sql, "--study", study.path, "--parquet", file) == f"{file}\n"
    kept = duckdb.execute("select request, n, t, v from read_parquet(?)", [str(file)]).fetchall()
    assert kept == [tuple(row[:4]) for row in query(sql, [study.path]).rows]
    assert "exists already" in refused("study", "query", sql, "--study", study.path, "--parquet", file).message
    assert "exclude each other" in refused("study", "query", sql, "--csv", "--json").message


def test_maps_and_bytes_are_written_as_they_are(study, tmp_path):
    sql = r"select map([date '2020-01-01'], [1]) as m, '\xFF\x00a'::BLOB as b"
    printed = json.loads(invoke("study", "query", sql, "--study", study.path, "--json"))
    assert printed[0]["m"] == {"2020-01-01": 1}
    file = tmp_path / "x.parquet"
    invoke("study", "query", sql, "--study", study.path, "--parquet", file)
    assert duckdb.execute("select m::VARCHAR, b from read_parquet(?)", [str(file)]).fetchall() == [
        ("{2020-01-01=1}", b"\xff\x00a")
    ]


def test_what_json_has_no_number_for_is_null(study):
    sql = "select 'nan'::DOUBLE as a, ['-inf'::DOUBLE, 1.5] as b, 'NaN' as c"
    printed = invoke("study", "query", sql, "--study", study.path, "--json")
    assert json.loads(printed, parse_constant=pytest.fail) == [{"a": None, "b": [None, 1.5], "c": "NaN"}]


@pytest.mark.parametrize(
    "sql",
    [
        "copy results to '{0}'",
        "copy (select 1) to '{0}'",
        "export database '{0}'",
        "attach '{0}' as other",
        "create table t as select 1",
        "drop view results",
        "insert into study0 select * from study0",
        "select 1; copy results to '{0}'",
        "set enable_external_access = true",
        "install httpfs",
        "load httpfs",
        "pragma database_list",
        "explain select 1",
        "select * from read_text('/etc/hostname')",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select * from glob('/etc/*')",
        "select * from study_of_python",
        "from sniff_csv('/etc/passwd')",
        "",
        ";",
        "selec 1",
        "select nothing from results",
        "select 1/",
        "select error('no')",
        "select cast('x' as integer)",
    ],
)
def test_statements_that_are_not_queries_of_results_are_refused(study, tmp_path, sql):
    study_of_python = {"a": np.arange(3)}
    assert study_of_python
    with pytest.raises(UserError) as refusal:
        query(sql.format(tmp_path / "out"), [study.path])
    assert refusal.value.message.startswith("the query") and refusal.value.remedy
    assert not (tmp_path / "out").exists()


def test_an_unknown_column_is_refused_with_the_known_ones(study):
    with pytest.raises(UserError) as refusal:
        query("select responses_per_sec from results", [study.path])
    assert "responses_per_s" in refusal.value.remedy


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all"])
def test_a_damaged_table(tmp_path, content):
    with on_paper():
        study = finished(written(tmp_path, head=HEAD + "repeats = 1\n"), tmp_path / "out")
    study.results.write_bytes(content)
    with pytest.raises(UserError, match=r"results.parquet: cannot be read"):
        query("from results", [study.path])
    with pytest.raises(UserError, match="not a study"):
        query("from results", [tmp_path])


def test_rows_are_written_through_no_link_of_the_directory(tmp_path):
    """As a study that somebody sent may have."""
    (tmp_path / "victim").write_text("mine")
    for name in (".results.parquet.json", ".results.parquet.tmp"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    sql.write_parquet(tmp_path / "results.parquet", [("a", "BIGINT")], [[1]])
    assert (tmp_path / "victim").read_text() == "mine" and (tmp_path / "results.parquet").is_file()


def test_any_value_comes_back_from_parquet(tmp_path):
    types = ("BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN", "VARCHAR[]", "INTEGER")
    columns = list(zip(("a", "b", "c", "d", "e", "it's"), types, strict=True))
    rows = [
        [-(2**63), 1e-300, 'it\'s "a"\n\x00é\u2028', True, ["x,y", "'"], 1],
        [2**63 - 1, float("inf"), "", False, [], None],
        [None, None, None, None, None, None],
    ]
    file = tmp_path / "a[b]'c*.parquet"
    sql.write_parquet(file, columns, rows)
    found = duckdb.read_parquet(str(tmp_path / "a[[]b]'c[*].parquet")).fetchall()
    assert [list(row) for row in found] == rows
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    with pytest.raises(UserError, match="same name"):
        sql.write_parquet(tmp_path / "x", [("a", "BIGINT"), ("A", "BIGINT")], [])
    with pytest.raises(UserError, match="cannot be written"):
        sql.write_parquet(tmp_path / "nowhere" / "x.parquet", [("a", "BIGINT")], [[1]])


@pytest.mark.parametrize(
    ("rows", "refusal"),
    [
        ("SELECT 1::TINYINT AS x FROM range(100001)", "more than 100,000 rows or 1 MiB"),
        ("SELECT repeat('x', 100) AS x FROM range(20000)", "more than 100,000 rows or 1 MiB"),
        ("SELECT repeat('x', 100) AS x, 1 AS row, 2 AS COLUMNS FROM range(20000)", "more than 100,000 rows or 1 MiB"),
        ("SELECT uuid() || repeat('x', 30000000) AS x FROM range(2)", "cannot be read: .*allocate"),
    ],
    ids=["rows", "texts", "texts beside a column called row", "one text"],
)
def test_results_of_some_kib_with_gigabytes_in_them_are_refused(study, tmp_path, monkeypatch, rows, refusal):
    monkeypatch.setitem(locked_sql.BOUNDS, "memory_limit", "50MB")
    monkeypatch.setattr(query_module, "MOST_BYTES", 1 << 20)
    shutil.copy(study.path / "study.json", tmp_path)
    duckdb.execute(f"COPY ({rows}) TO '{tmp_path}/results.parquet' (FORMAT parquet)")
    with pytest.raises(UserError, match=rf"results\.parquet: {refusal}"):
        query("select count(x) from results", [tmp_path])
