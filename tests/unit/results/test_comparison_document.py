"""A comparison as a document: what a terminal shows of several points, and what only its page has."""

from comparing import compared, in_turn, made
from report_plots import plots
from sample_runs import Page
from terminal_views import printed

from windtunnel.results.comparison import comparison_document
from windtunnel.results.page.renderer import render


def test_the_verdict_and_what_was_changed_are_shown(tmp_path):
    a, b = in_turn(tmp_path, 8, 6.0, 5.0)
    document = comparison_document(compared(a, b), [("report", "there.html")])
    shown = printed(document, 200)
    assert document.title == "B against A: slower" and "changed: nothing; A and B are equal" in shown
    assert shown.index("responses_per_s") < shown.index("─ verdict ─") < shown.index("echo: slower, responses_per_s")
    assert shown.rstrip().endswith("report there.html") and "client.app_tx" in shown
    page = Page(render(document)).text
    assert "16 runs, in the order of time" in page and str(b / "07") in page and "intervals of 99%" in page


def test_of_several_points_a_terminal_has_the_metrics_that_decide(tmp_path):
    for side, mpps, at in (("a", 6.0, 0), ("b", 4.0, 1000)):
        for batch in (8, 32):
            for n in range(3):
                scenario = {"title": "echo", "server": {"batch": {"app_rx": batch}}, "workload": [{"handler": "l_app"}]}
                made(tmp_path / side / f"{batch}-{n}", mpps, at + batch + n, seed=batch + n, scenario=scenario)
    document = comparison_document(compared(tmp_path / "a", tmp_path / "b"))
    shown, page = printed(document, 200), render(document)
    assert shown.count("server.batch.app_rx = 8") == 2 and "over 2 points, echo: slower" in shown
    assert shown.count(" p99 ") == 0 and page.count(">p99</td>") == 2
    assert len(plots(page)) == 4
