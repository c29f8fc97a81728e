"""A diagnosis as a document: what limits is the verdict, and every number of the diagnosis is there."""

import pytest
from diagnosed_runs import experimental, made
from terminal_views import printed

from windtunnel.engine.verdict import Verdict
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.parts.diagnose.document import diagnosis_document, parts_of
from windtunnel.parts.diagnose.model import Gain, Tried


def shown(diagnosis):
    return printed(diagnosis_document(diagnosis), width=220)


def verdict(diagnosis):
    return [sentence.text for sentence in diagnosis_document(diagnosis).verdict.sentences]


def test_causes_workers_ledgers_and_the_limit_last():
    diagnosis = diagnose(made(client=0.6, server=0.05, work={("server", "app_rx"): 6.0}))
    limit, *evidence = verdict(diagnosis)
    assert limit == "the server's worker on CPU 1 limits" and "has a slack of" in evidence[0]
    text = shown(diagnosis)
    order = ["(handler), gain predicted: +39.", "confidence high", "share of its work", "time of the windows", limit]
    assert [text.index(words) for words in order] == sorted(text.index(words) for words in order)
    assert "60.0% [59.8 .. 60.2]" in text, "the slack of the client's worker"
    assert "server app_rx 60%" in text and "What limits runs/made\nby 12 windows · run valid\n" in text


def test_a_remedy_can_be_pasted():
    text = shown(diagnose(made(client=0.8, server=0.6)))
    assert "remedy: 2,048 messages in flight: --set client.inflight=2048" in text
    assert "gain at most +" in text and "to measure what it brings: --try 1" in text
    host = {"cpus": {"allowed": [0, 1, 2]}}
    text = shown(diagnose(made(client=0.6, server=0.05, work={("server", "app_rx"): 4.0}, host=host)))
    assert "--set workload.0.colocate=false --set 'server.cores=[1, 2]'" in text


def test_if_no_remedy_could_be_tried_it_says_so():
    text = shown(diagnose(made()).model_copy(update={"tried": []}))
    assert "nothing: no remedy of these causes is a change of keys" in text and "brought" not in text


def test_a_gain_that_is_not_known_is_no_zero():
    assert "(link), gain not known, confidence low" in shown(diagnose(made(0.8, 0.7, drops={"emulated_queue_full": 5})))


@pytest.mark.parametrize(
    ("gain", "basis"),
    [
        (Gain(10.0, 30.0), "predicted"),
        (Gain(10.0, 30.1), "bound"),
        (Gain(0.0, 1.0), "bound"),
        (Gain(-1.0, 90.0, measured=True), "measured"),
    ],
)
def test_a_gain_whose_ends_differ_by_more_than_a_factor_of_three_is_a_bound(gain, basis):
    assert gain.basis == basis


def test_the_causes_of_an_invalid_run_are_said_to_be_unsure():
    of_both = {"client": 0.6, "server": 0.05, "work": {("server", "app_rx"): 6.0}}
    text = shown(diagnose(made(**of_both, verdict=Verdict(False, ["steady: not settled"]))))
    assert "the run is invalid: no cause has more than low confidence" in text and "confidence high" not in text
    assert "the run is invalid" not in shown(diagnose(made(**of_both)))


def test_an_experiment_stands_above_the_record():
    remedies = {"in-flight": ({"client.inflight": 4096}, 0.5)}
    diagnosis = diagnose(experimental({"client": 50.0, "server": 60.0}, remedies=remedies))
    by_experiment, *others = verdict(diagnosis)
    assert by_experiment.startswith("by experiment: too few messages in flight limit")
    assert any(sentence.startswith("from the counters: ") for sentence in others)
    text = shown(diagnosis)
    assert (
        "(in-flight), gain measured: +" in text
        and "tried: client.inflight=4096 changes the rate by +" in text
        and "needs ns by slope" in text
    )


def test_what_was_tried_stands_beside_what_was_predicted():
    rows = [
        Tried(code="in-flight", sets=["client.inflight=4096"], predicted=Gain(0.0, 150.0), metric="responses_per_s",
              percent=80.0, low=75.0, high=85.0, verdict="faster", directory="runs/t"),
        Tried(code="losses", sets=["workload.0.timeout=3ms"], predicted=None, verdict="refused: too short"),
    ]  # fmt: skip
    text = shown(diagnose(made()).model_copy(update={"tried": rows}))
    assert "at most +150.0%" in text and "+80.0% [+75.0 .. +85.0]" in text and "refused: too short" in text


def test_the_lines_of_a_ledger_add_up():
    for ledger in diagnose(made(client=0.3, server=0.05)).ledgers:
        (_, whole), *parts = parts_of(ledger)
        total = sum(float(text.split(" [")[0].replace(",", "")) for _, text in parts)
        assert abs(total - float(whole.replace(",", ""))) < 0.5
