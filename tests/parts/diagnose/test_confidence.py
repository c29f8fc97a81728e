"""How sure a cause is: by planted faults whose first cause had the same kind of evidence."""

import pytest
from diagnosed_runs import made
from terminal_views import printed

from windtunnel.engine.verdict import Verdict
from windtunnel.parts.diagnose import confidence as counted
from windtunnel.parts.diagnose.confidence import COUNTED, NOT_COUNTED, chance, confidence, evidence_of
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.document import diagnosis_document
from windtunnel.parts.diagnose.model import Gain, Limit

COSTLY = {"client": 0.6, "server": 0.05, "work": {("server", "app_rx"): 6.0}}


def limit(kind):
    return Limit(kind=kind, workers=[], engines=[], stage=None, words="", evidence=[])


@pytest.mark.parametrize(
    ("gain", "kind", "evidence"),
    [
        (None, "worker", "unknown"),
        (Gain(3.0, 4.0, measured=True), "tie", "measured"),
        (Gain(0.0, 40.0), "worker", "bounded"),
        (Gain(3.0, 40.0), "worker", "predicted"),
        (Gain(3.0, 40.0), "tie", "tied"),
        (Gain(3.0, 40.0), "unknown", "tied"),
    ],
)
def test_evidence_is_what_is_known_of_the_gain(gain, kind, evidence):
    assert evidence_of(gain, limit(kind)) == evidence


def test_a_chance_is_a_share_of_cases_and_few_cases_have_none(monkeypatch):
    monkeypatch.setattr(
        counted, "COUNTED", {"measured": (18, 18), "bounded": (3, 8), "tied": (4, 4), "unknown": (0, 0)}
    )
    assert chance("measured") == pytest.approx(0.95) and confidence("measured") == "high"
    assert chance("bounded") == pytest.approx(0.4) and confidence("bounded") == "low"
    assert chance("tied") is None and confidence("tied") == NOT_COUNTED["tied"] == "medium"


def test_no_bin_has_more_right_than_there_were():
    assert COUNTED.keys() == NOT_COUNTED.keys()
    assert all(0 <= right <= of for right, of in COUNTED.values())


def said(monkeypatch, right, of, **about):
    monkeypatch.setattr(counted, "COUNTED", COUNTED | {"predicted": (right, of)})
    found = diagnose(made(**COSTLY, **about))
    return found, printed(diagnosis_document(found))


def test_the_first_cause_has_its_chance(monkeypatch):
    found, text = said(monkeypatch, 17, 18)
    assert found.chance == pytest.approx(0.9) and found.causes[0].confidence == "high"
    assert text.count("confidence high (90%)") == 1 and "not known" not in text.partition("(handler)")[0]


def test_a_cause_that_is_not_known_comes_with_what_would_tell(monkeypatch):
    found, text = said(monkeypatch, 1, 8)
    assert found.chance == pytest.approx(0.2) and found.causes[0].confidence == "low"
    assert "what the cause is, is not known: 20% of first causes like this one were right. --probe measures" in text


def test_an_invalid_run_has_no_chance(monkeypatch):
    found, text = said(monkeypatch, 17, 18, verdict=Verdict(False, ["rate: it fell"]))
    assert found.chance is None and found.causes[0].confidence == "low" and "(90%)" not in text
