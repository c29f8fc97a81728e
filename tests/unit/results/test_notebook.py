"""What results show in a notebook, and the DataFrames that they become."""

import sys
from html.parser import HTMLParser

import pytest
from comparing import in_turn, made
from study_tools import finished, on_paper, written

import windtunnel
from windtunnel import load
from windtunnel.errors import UserError


class Cells(HTMLParser):
    """The texts of a page; anything that could act is refused."""

    def __init__(self, html: str):
        super().__init__()
        self.texts: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        assert tag in ("div", "b", "br", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "s")
        assert attrs in ([], [("style", "text-align: right")])

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    directory = tmp_path_factory.mktemp("study")
    with on_paper():
        return finished(written(directory), directory / "out")


def test_a_run(tmp_path):
    run = load(made(tmp_path / "one"))
    texts = Cells(run._repr_html_()).texts
    assert run.record.title in texts and any("verdict: valid" in text for text in texts) and "workload" in texts
    frame = run.to_pandas()
    assert list(frame["workload"]) == ["echo"] and frame["latency_p99"][0] > 0
    assert set(run.to_pandas("stages")["endpoint"]) == {"client", "server"}
    with pytest.raises(UserError, match='no table "figures"'):
        run.to_pandas("figures")


def test_an_invalid_run_shows_its_reasons_and_rejected_metrics(tmp_path):
    run = load(made(tmp_path / "one", invalid="<script>alert(1)</script>"))
    texts = Cells(run._repr_html_()).texts
    assert "<script>alert(1)</script>" in texts and any("its metrics are rejected" in text for text in texts)
    good = load(made(tmp_path / "two"))
    assert "<s>" in run._repr_html_() and "<s>" not in good._repr_html_()
    assert set(run.to_pandas()["rejected"]) == {True} and set(good.to_pandas()["rejected"]) == {False}
    assert "rejected" not in Cells(good._repr_html_()).texts


def test_an_invalid_run_without_a_window_shows_its_reasons_alone(tmp_path):
    directory = made(tmp_path / "one", invalid="engine died: SIGSEGV")
    (directory / "windows.jsonl").write_text("")
    texts = Cells(load(directory)._repr_html_()).texts
    assert "engine died: SIGSEGV" in texts and "workload" not in texts and "verdict: invalid" in texts
    with pytest.raises(UserError, match="without a measured window"):
        load(directory).to_pandas()


def test_a_study(study):
    frame = study.to_pandas()
    assert len(frame) == len(study.rows) and {"inflight", "p99"} <= set(frame.columns)
    assert len(study.to_pandas("points")) == len(study.record.points)
    assert study.record.title in Cells(study._repr_html_()).texts


def test_a_comparison(tmp_path):
    a, b = in_turn(tmp_path, 8, 6.0, 5.0)
    comparison = windtunnel.compare(a, b)
    frame = comparison.to_pandas()
    (row,) = frame[(frame["metric"] == "responses_per_s") & (frame["workload"] == "echo")].to_dict("records")
    assert row["b"] < row["a"] and row["shown"]
    assert list(comparison.to_pandas("verdicts")["verdict"]) == ["slower"]
    assert "B against A: slower" in Cells(comparison._repr_html_()).texts


def test_without_pandas_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError, match='needs the Python package "pandas"') as caught:
        load(made(tmp_path / "one")).to_pandas()
    assert caught.value.remedy == f"{sys.executable} -m pip install pandas"


def test_dir_lists_what_there_is():
    assert set(windtunnel.__all__) <= set(dir(windtunnel))
    assert all(getattr(windtunnel, name) is not None for name in dir(windtunnel))
