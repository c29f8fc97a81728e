"""Labels: what a user may mark a run with, and where it is kept and shown."""

import json

import pytest
from sample_runs import HOSTILE, RUNS, Page, execute, shown_by

from windtunnel.errors import UserError
from windtunnel.results.page.renderer import render
from windtunnel.results.run.document import run_document
from windtunnel.runs import load
from windtunnel.runs.labels import MOST_CHARACTERS, MOST_LABELS, labels_of


def test_labels_are_read_in_their_order():
    assert list(labels_of(["firmware=22.31", "commit=a=b", "_x.y-z=ü"]).items()) == [
        ("firmware", "22.31"),
        ("commit", "a=b"),
        ("_x.y-z", "ü"),
    ]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["commit"], "no key=value"),
        (["=abc"], "an empty key"),
        (["commit="], "an empty value"),
        (["a b=c"], "a key that is not"),
        (["1st=c"], "a key that is not"),
        (["ключ=c"], "a key that is not"),
        (["commit=a", "commit=b"], "commit: given twice"),
        (["commit=a\nb"], "a control character"),
        (["commit=\x1b[31m"], "a control character"),
        (["commit=a\u202eb"], "a control character"),
        (["commit=\udcff"], "a control character"),
        ([f"commit={'a' * (MOST_CHARACTERS + 1)}"], "more than"),
        ([f"key{n}=a" for n in range(MOST_LABELS + 1)], "at most"),
    ],
)
def test_what_is_no_label_is_refused_in_words(texts, said):
    with pytest.raises(UserError, match=said) as refused:
        labels_of(texts)
    assert refused.value.remedy and refused.value.message.isprintable()


def test_a_label_is_in_the_record_and_shown(tmp_path):
    execute(tmp_path / "run", *RUNS["both sides"], labels={"commit": "8fe5ed78", "fw": HOSTILE})
    assert json.loads((tmp_path / "run" / "run.json").read_text())["labels"] == {"commit": "8fe5ed78", "fw": HOSTILE}
    assert "labels commit=8fe5ed78" in shown_by(tmp_path / "run")
    assert json.loads(shown_by("--json", tmp_path / "run"))[0]["labels"]["commit"] == "8fe5ed78"
    page = Page(render(run_document(load(tmp_path / "run"))))
    assert f"fw={HOSTILE}" in page.text  # text, and no element
    execute(tmp_path / "other", *RUNS["both sides"])
    assert "commit=8fe5ed78" in shown_by(tmp_path / "run", tmp_path / "other")
    file = tmp_path / "other" / "run.json"
    document = json.loads(file.read_text())
    del document["labels"]
    file.write_text(json.dumps(document))
    assert load(tmp_path / "other").record.labels == {}, "a record from before labels"
