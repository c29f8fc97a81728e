"""The results of a study that somebody sent: a row that no run of it has made is refused in words, by all that fits a model to it."""

import duckdb
import pytest
from in_process import run
from planted_studies import ENTRIES, SIZES, a_ladder, a_study

from windtunnel.errors import UserError


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    path = a_study(tmp_path_factory.mktemp("sent") / "study", lambda point: 20 + point[ENTRIES] / 1e3, {ENTRIES: SIZES})
    (path.parent / "ladder.json").write_text(a_ladder().model_dump_json())
    return path


@pytest.fixture
def changed(study):
    """Changes cells of its results, and puts them back."""
    file = study / "results.parquet"
    before = file.read_bytes()

    def change(expression):
        duckdb.execute(f"COPY (SELECT * REPLACE ({expression}) FROM '{file}') TO '{file}.new' (FORMAT parquet)")
        (study / "results.parquet.new").replace(file)

    yield change
    file.write_bytes(before)


@pytest.mark.parametrize("command", ["fit", "validate"])
@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("NULL::VARCHAR AS directory", "other points or runs"),
        ("repeat('x', 300) AS directory", "other points or runs"),
        ("'../../other' AS directory", "other points or runs"),
        ("'/etc' AS directory", "other points or runs"),
        ("'runs/../../x' AS directory", "other points or runs"),
        ("[NULL]::VARCHAR[] AS relaxed", "other points or runs"),
        ("NULL::DOUBLE AS entries", "other points or runs"),
        ("'nan'::DOUBLE AS entries", "other points or runs"),
        ("'inf'::DOUBLE AS entries", "other points or runs"),
        ("-1.0::DOUBLE AS entries", "a size or load of the study is -1"),
        ("1e-310::DOUBLE AS server_disp_rx_work_ns", "nothing to fit: "),
    ],
)
def test_a_row_that_no_run_has_made_is_refused(study, changed, command, expression, message):
    changed(expression)
    of = ["--of", "server_disp_rx_work_ns"] if command == "fit" else []
    done = run("model", command, study, "--ladder", study.parent / "ladder.json", *of)
    assert isinstance(done.exception, UserError), done.exception
    assert message in done.exception.message
