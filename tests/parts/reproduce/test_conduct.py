"""Commands of claims run once, in order, and what they write decides. The command line is a script here."""

import json
import os
import shutil
import signal
import sys
import tarfile
from pathlib import Path
from threading import Thread

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.reproduce import claim_record, conduct
from windtunnel.parts.reproduce.claim import read
from windtunnel.parts.reproduce.plot import plotly_of
from windtunnel.runs.directories import making

SCRIPT = """
import json, os, pathlib, signal, sys
with open("calls", "a") as calls: calls.write(" ".join(sys.argv[1:]) + "\\n")
behaviour, *values = sys.argv[1].split(",")
if behaviour == "exit": sys.exit(int(values[0]))
if behaviour == "study" and not pathlib.Path("go").exists(): sys.exit(130)
if behaviour == "wait":
    signals = {signal.SIGINT, signal.SIGHUP}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with open("began", "w") as began: began.write("!")
    signal.sigwait(signals)
    pathlib.Path("in good order").touch()
    sys.exit(130)
print(json.dumps([{"repeat": n, "value": None if value == "null" else float(value)} for n, value in enumerate(values)]))
"""
CLAIM = """\
id = "007/{name}"
place = "page 1"
says = "It is 42."
holds_if = "it is 42"
takes = "{takes}"
[[command]]
name = "one"
run = "{run}"
stdout = "one.json"
[[quantity]]
what = "the answer"
sql = "SELECT value FROM read_json('{place}/one.json') ORDER BY repeat"
{bounds}
"""


@pytest.fixture(autouse=True)
def own_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    monkeypatch.setattr(conduct, "OWN_COMMAND", (sys.executable, str(script)))


def claim(run="values,42", bounds="at_least = 42\nexact = true", name="answer", takes="1s", more=""):
    file = Path(f"{name}.toml")
    file.write_text(CLAIM.format(run=run, bounds=bounds, name=name, takes=takes, place="{place}") + more)
    return read(file)


def calls():
    return Path("calls").read_text().splitlines()


def reproduce(*claims, **options):
    return conduct.reproduce(claims, Path("out"), **options)


@pytest.mark.parametrize(
    ("run", "bounds", "outcome"),
    [
        ("values,42", "at_least = 42\nexact = true", "holds"),
        ("values,41.9", "at_least = 42\nexact = true", "does not hold"),
        ("values,42,41", "at_least = 42\nexact = true", "does not hold"),
        ("values,42,43", "at_least = 42\nat_most = 42.5\nexact = true", "does not hold"),
        ("values,50,51,50,51,50,51,50,51", "at_least = 42", "holds"),
        ("values,30,31,30,31,30,31,30,31", "at_least = 42", "does not hold"),
        ("values,50,51,50,51,50,51,50,51", "at_most = 42", "does not hold"),
        ("values,30,60,35,55,40,45,30,60", "at_least = 42", "not shown"),
        ("values,50,51,50,51,50,51,50", "at_least = 42", "not shown"),
    ],
)
def test_the_interval_and_the_bounds_decide(run, bounds, outcome):
    (state,) = reproduce(claim(run, bounds)).claims
    assert state.outcome == outcome and state.record.outcome == outcome


def test_a_claim_of_a_model_never_just_holds():
    modelled = claim(name="right", takes='1s"\nmodelled = true#')
    assert [state.outcome for state in reproduce(modelled).claims] == ["modelled"]
    assert [state.outcome for state in reproduce(claim("values,1", takes='1s"\nmodelled = true#')).claims] == [
        "does not hold"
    ]


def test_each_case_is_a_finding_and_the_worst_decides():
    more = """
[[quantity]]
what = "parts"
exact = true
at_least = 1
sql = "SELECT unnest(['left', 'right']) AS case, unnest([1, 0]) AS value"
"""
    (state,) = reproduce(claim(more=more)).claims
    assert [(finding.what, finding.outcome) for finding in state.record.findings] == [
        ("the answer", "holds"),
        ("parts, left", "holds"),
        ("parts, right", "does not hold"),
    ]
    assert (state.outcome, state.because) == ("does not hold", "contradicted by: parts, right")


def test_what_is_decided_is_not_decided_again():
    first = reproduce(claim()).claims[0].record
    assert reproduce(claim()).claims[0].record == first and len(calls()) == 1


def test_results_of_another_text_of_the_claim_are_kept_and_decide_nothing():
    first = reproduce(claim()).claims[0].record
    changed = reproduce(claim(bounds="at_most = 41\nexact = true")).claims[0]
    assert changed.outcome == "not shown" and "of another text of the claim (name another directory" in changed.because
    assert reproduce(claim()).claims[0].record == first and len(calls()) == 1


def test_exact_values_are_all_there():
    (state,) = reproduce(claim("values,42,null,42")).claims
    assert state.outcome == "not shown" and state.record.findings[0].values == 2


def test_nothing_is_shown_by_no_values():
    none = "sql = \"SELECT value FROM read_json('{place}/one.json') WHERE value < 0\"\nwhat = 'none'\nat_least = 1\n"
    (state,) = reproduce(claim(more=f"[[quantity]]\n{none}")).claims
    assert (state.outcome, state.because) == ("not shown", "the intervals do not decide: none")


def test_an_interrupted_command_is_run_again_and_those_before_it_are_not():
    more = '[[command]]\nname = "two"\nrun = "exit,130"\n'
    result = reproduce(claim(more=more), claim(name="later", takes="2s"))
    assert result.interrupted and [state.outcome for state in result.claims] == [None, None]
    (Path("out") / "007-answer" / "two").mkdir()
    again = reproduce(claim(more=more), claim(name="later", takes="2s"))
    assert again.interrupted and calls() == ["values,42", "exit,130", "exit,130"]
    assert not (Path("out") / "007-answer" / "two").exists()


def test_ctrl_c_ends_a_command_in_good_order():
    os.mkfifo("began")

    def press_ctrl_c() -> None:
        Path("began").read_text()
        os.kill(os.getpid(), signal.SIGINT)

    presser = Thread(target=press_ctrl_c)
    presser.start()
    assert reproduce(claim("wait"), claim(name="later", takes="2s")).interrupted
    presser.join()
    assert Path("in good order").exists() and calls() == ["wait"]


def test_a_study_goes_on_in_its_directory():
    study = claim(name="later", more='[[command]]\nname = "two"\nrun = "study 1"\n')
    assert reproduce(study).interrupted
    rows = Path("out") / "007-later" / "two" / "rows"
    rows.mkdir(parents=True)
    Path("go").touch()
    assert reproduce(study).claims[0].outcome == "holds" and rows.exists()


def test_a_claim_may_name_other_exit_codes():
    more = '[[command]]\nname = "two"\nrun = "exit,1"\nexits = [0, 1]\n'
    assert reproduce(claim(more=more)).claims[0].outcome == "holds"


def test_a_directory_below_a_file_cannot_be_written():
    Path("out").write_text("mine")
    (state,) = reproduce(claim()).claims
    assert state.outcome == "not shown" and "out/007-answer" in state.because, state.because
    assert Path("out").read_text() == "mine" and not Path("calls").exists()


def test_a_command_that_fails_leaves_its_claim_undecided_and_the_others_are_decided():
    states = reproduce(claim("exit,2"), claim(name="later", takes="2s")).claims
    assert [state.outcome for state in states] == ["not shown", "holds"]
    assert "the command one ended with exit code 2" in states[0].because and "007-answer/one.log" in states[0].because


def test_a_query_that_is_wrong_is_named():
    wrong = claim(more='[[quantity]]\nwhat = "x"\nat_least = 1\nsql = "SELECT valu FROM read_json(\'one.json\')"\n')
    assert 'claim 007/answer, "x"' in reproduce(wrong).claims[0].because
    nameless = claim(name="b", more='[[quantity]]\nwhat = "x"\nat_least = 1\nsql = "SELECT 1"\n')
    assert 'no column "value"' in reproduce(nameless).claims[0].because


PLOT = """
[plot]
x = "repeats"
y = "answer"
logarithmic = ["x"]
[[plot.curve]]
name = "here <b>"
sql = "SELECT 1 + repeat % 2 AS x, {value} AS y FROM read_json('{place}/one.json')"
[[plot.curve]]
name = "of the document"
published = true
sql = "SELECT 1 AS x, 42 AS y"
"""


def test_a_plot_has_medians_with_their_spread_and_the_documents_own_numbers():
    plotted = claim("values,40,42,44,42,42,42", more=PLOT.replace("{value}", "value"), bounds="at_least = 1")
    (state,) = reproduce(plotted).claims
    here, published = state.record.plot.curves
    assert [point.model_dump() for point in here.points] == [
        {"x": 1, "y": 42, "low": 40, "high": 44},
        {"x": 2, "y": 42, "low": 42, "high": 42},
    ]
    measured, dashed = plotly_of(state.record.plot)["data"]
    assert (measured["name"], measured["error_y"]["array"]) == ("here &lt;b&gt;", [2, 0])
    assert (published.published, dashed["x"], dashed["y"], dashed["mode"]) == (True, [1], [42], "markers")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("'x'", 'claim 007/answer, "here <b>": a value of y is no finite number: x'),
        ("'nan'::DOUBLE", "a value of y is no finite number: nan"),
        ("valu", 'claim 007/answer, "here <b>": '),
        ("value AS z, value", ""),
    ],
)
def test_a_point_of_a_plot_is_a_number(value, message):
    (state,) = reproduce(claim(more=PLOT.replace("{value}", value))).claims
    assert message in state.because and (state.outcome == "not shown") == bool(message)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT interval '99999999 years' AS value", "too large"),
        ("SELECT 1 AS value, 42 AS value", 'the query has the column "value" twice'),
        ("SELECT length(repeat('x', 3000000000)) AS value", "Failed to allocate block"),
        ("SELECT unnest([1, 'nan'::DOUBLE]) AS value", "a value of value is no finite number: nan"),
        ("SELECT 'inf'::DOUBLE AS value", "a value of value is no finite number: inf"),
        ("SELECT '42' AS value", "a value of value is no finite number: 42"),
        ("SELECT [42] AS value", "a value of value is no finite number: [42]"),
        ("SELECT true AS value", "a value of value is no finite number: True"),
        ("SELECT DATE '2026-01-01' AS value", "a value of value is no finite number: 2026-01-01"),
        ("SELECT 42 AS value FROM range(100001)", "the query has more than 100,000 rows"),
        ("SELECT range AS case, 42 AS value FROM range(200)", "has 200 cases, more than 100"),
        ("-- nothing", "it is not one SELECT"),
        ("SELECT 42 AS value; SELECT 1 AS value", "it is not one SELECT"),
        ("COPY (SELECT 42 AS value) TO '{place}/claim.json'", "it is not one SELECT"),
    ],
)
def test_what_is_no_number_decides_nothing_and_ends_no_other_claim(sql, message):
    quantity = f'[[quantity]]\nwhat = "x"\nexact = true\nat_most = 1e9\nsql = "{sql}"\n'
    wrong, right = reproduce(claim(more=quantity), claim(name="later", takes="2s")).claims
    assert message in wrong.because and (wrong.outcome, right.outcome) == ("not shown", "holds")


def test_a_decimal_is_a_number():
    quantity = '[[quantity]]\nwhat = "x"\nat_most = 2\nexact = true\nsql = "SELECT 1.5 AS value"'
    assert reproduce(claim(more=quantity)).claims[0].outcome == "holds"


def test_ctrl_c_ends_a_query_without_an_end():
    endless = "SELECT count(*) AS value FROM range(10000000) a, range(10000000) b, range(10000000) c WHERE a.range + b.range + c.range < 0"
    more = f'[[quantity]]\nwhat = "x"\nat_most = 2\nsql = "{endless}"'

    def press_ctrl_c() -> None:
        while not Path("calls").exists():
            pass
        os.kill(os.getpid(), signal.SIGINT)

    presser = Thread(target=press_ctrl_c)
    presser.start()
    assert reproduce(claim(more=more)).interrupted
    presser.join()


@pytest.fixture
def sent(tmp_path):
    """A directory of a claim that somebody else has begun: its record says what they like."""
    reproduce(claim("values,41"))
    place = Path("out") / "007-answer"
    record = json.loads((place / "claim.json").read_text())
    (place / "claim.json").write_text(json.dumps(record | {"outcome": "holds"}))
    (place / ".seal").write_text("0" * 64)
    Path("calls").unlink()
    return place


def test_what_somebody_sent_decides_nothing(sent):
    (state,) = reproduce(claim("values,41")).claims
    assert "out/007-answer was not begun by you on this host" in state.because and state.outcome == "not shown"
    assert not Path("calls").exists() and claim_record.last_verdicts(Path()) == {}


def test_a_directory_that_comes_back_changed_decides_nothing():
    """Who has published a directory, seals included, may get a copy of it with another verdict."""
    reproduce(claim())
    published = Path("out") / "007-answer"
    shutil.copytree(published, "runs/sent/007-answer")
    assert list(claim_record.last_verdicts(Path())) == ["007/answer"]
    shutil.rmtree(published)
    assert claim_record.last_verdicts(Path()) == {}
    (state,) = conduct.reproduce([claim()], Path("runs/sent")).claims
    assert "was not begun by you" in state.because


def test_a_verdict_that_was_changed_is_none():
    reproduce(claim())
    file = Path("out") / "007-answer" / "claim.json"
    file.write_text(file.read_text().replace('"holds"', '"does not hold"'))
    assert claim_record.read(file.parent) is None
    assert reproduce(claim()).claims[0].outcome == "holds"


@pytest.mark.parametrize("name", ["one.json", "one.log", "claim.toml", "claim.json", "."])
def test_no_link_of_a_directory_that_somebody_sent_is_written_through(sent, name, tmp_path):
    target = tmp_path / "mine"
    if name == ".":
        sent.rename(target)
        before = {file.name: file.read_bytes() for file in target.iterdir()}
        sent.symlink_to(target)
        reproduce(claim("values,41"))
        assert {file.name: file.read_bytes() for file in target.iterdir()} == before
        return
    target.write_text("mine")
    (sent / "one.done").unlink()
    (sent / name).unlink()
    (sent / name).symlink_to(target)
    reproduce(claim("values,41"))
    assert target.read_text() == "mine"


@pytest.mark.parametrize("name", ["one.log", "claim.toml", "claim.json", ".seal"])
def test_a_fifo_of_a_directory_that_somebody_sent_is_not_waited_for(sent, name):
    (sent / name).unlink()
    os.mkfifo(sent / name)
    reproduce(claim("values,41"))
    claim_record.last_verdicts(Path())


@pytest.mark.parametrize("name", ["one", "one.log"])
def test_even_in_a_directory_of_ones_own_no_link_is_followed(name, tmp_path):
    assert reproduce(claim("exit,130")).interrupted
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    path = Path("out") / "007-answer" / name
    path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "mine" / ("." if name == "one" else "file"))
    assert reproduce(claim("exit,130")).interrupted
    assert (tmp_path / "mine" / "file").read_text() == "mine" and not path.is_symlink()


@pytest.mark.parametrize("name", ["one.json", "one.log", "one/rows", "one.done", ""])
def test_what_was_changed_in_a_directory_of_ones_own_is_made_again(name):
    """An archive was unpacked over it: its own verdict is none, and what its own data say is not asked."""
    reproduce(claim())
    place = Path("out") / "007-answer"
    (place / "claim.json").write_text("{}")
    if name:
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text('[{"repeat": 0, "value": 1}]')
    (state,) = reproduce(claim()).claims
    assert state.outcome == "holds" and len(calls()) == (2 if name else 1)


@pytest.mark.parametrize("planted", ["before it began", "after its end"])
def test_a_study_does_not_go_on_with_what_others_have_put_there(planted):
    study = claim("study,42", more='[[command]]\nname = "two"\nrun = "study 1"\n')
    assert reproduce(study).interrupted
    if planted == "after its end":
        Path("go").touch()
        reproduce(study)
        (Path("out") / "007-answer" / "claim.json").unlink()
    rows = Path("out") / "007-answer" / "two" / "rows"
    rows.mkdir(parents=True)
    Path("go").touch()
    assert reproduce(study).claims[0].outcome == "holds" and not rows.exists() and calls()[-1] == "study 1"


def test_a_file_that_no_command_has_written_is_named():
    assert reproduce(claim("study,42")).interrupted
    (Path("out") / "007-answer" / "two.json").write_text('[{"repeat": 1, "value": 1}]')
    (Path("out") / "007-answer" / ".one.json.tmp").write_text("of a call that was killed")
    Path("go").touch()
    (state,) = reproduce(claim("study,42")).claims
    assert "007-answer/two.json: no command of the claim has written it" in state.because
    (Path("out") / "007-answer" / "two.json").unlink()
    assert reproduce(claim("study,42")).claims[0].outcome == "holds" and calls() == ["study,42"] * 2


def test_what_is_changed_while_a_later_command_runs_decides_nothing():
    more = '[[command]]\nname = "two"\nrun = "exit,0"\n'

    def change(claim, command):
        if command == "exit,0":
            (Path("out") / "007-answer" / "one.json").write_text('[{"repeat": 0, "value": 41}]')

    (state,) = reproduce(claim(more=more), announce=change).claims
    assert "was changed meanwhile" in state.because and state.outcome == "not shown"
    assert reproduce(claim(more=more)).claims[0].outcome == "holds"
    assert calls() == ["values,42", "exit,0", "values,42"], "what the second has written is the same"


def test_a_directory_that_was_unpacked_again_is_none_of_ones_own():
    """Its files have the same inodes: Python's tarfile writes into those that are there, and a file system gives numbers again."""
    reproduce(claim())
    place = Path("out") / "007-answer"
    with tarfile.open("published.tar", "w") as archive:
        archive.add(place)
    assert claim_record.read(place)
    before = (place.stat().st_ino, (place / "claim.toml").stat().st_ino)
    with tarfile.open("published.tar") as archive:
        archive.extractall(filter="data")
    assert before == (place.stat().st_ino, (place / "claim.toml").stat().st_ino)
    assert claim_record.read(place) is None and claim_record.last_verdicts(Path()) == {}
    assert "was not begun by you" in reproduce(claim()).claims[0].because and len(calls()) == 1


def test_a_verdict_is_of_the_directory_that_it_was_made_in():
    for name in ("out", "other"):
        conduct.reproduce([claim()], Path(name))
    for name in ("claim.json", ".claim.json.seal"):
        shutil.copyfile(Path("other") / "007-answer" / name, Path("out") / "007-answer" / name)
    assert claim_record.read(Path("out") / "007-answer") is None
    Path("other").rename("moved")
    assert claim_record.read(Path("moved") / "007-answer"), "it may be moved"


@pytest.mark.parametrize("out", ["shared", "shared/new", "shared/mine", "link"])
def test_nothing_is_done_in_a_directory_to_whose_way_others_may_write(out, tmp_path):
    """They could put a link in its place, and what is written and removed there would be what the link leads to."""
    shared = tmp_path / "shared"
    (shared / "mine").mkdir(parents=True)
    (tmp_path / "link").symlink_to(shared / "mine")
    shared.chmod(0o777)
    with pytest.raises(UserError, match=f"{out}: other users may write into it, or into a directory above it"):
        conduct.reproduce([claim()], Path(out))
    assert not Path("calls").exists() and [path.name for path in shared.iterdir()] == ["mine"]
    shared.chmod(0o1777)
    assert conduct.reproduce([claim()], Path(out)).claims[0].outcome == "holds", "as in /tmp"


def test_nothing_is_done_if_others_take_the_directory_away_once_it_is_made(monkeypatch):
    """What is missing is nobody's at the first look, and whose it is has to be seen at the second one."""
    monkeypatch.setattr(conduct, "_begin", lambda claim, place: None)
    (state,) = reproduce(claim()).claims
    assert "out/007-answer: other users may write into it" in state.because and not Path("calls").exists()


def test_no_directory_is_made_through_what_was_missing_a_moment_before(tmp_path, monkeypatch):
    """Its owner takes it away, and puts it back with a link in it."""
    (tmp_path / "shared").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "shared").chmod(0o777)
    (tmp_path / "shared" / "link").symlink_to(tmp_path / "outside")
    monkeypatch.setattr(conduct, "check_way", lambda directory, is_there=False: None)
    (state,) = conduct.reproduce([claim()], tmp_path / "shared" / "link" / "new").claims
    assert "other users may put something else there" in state.because
    assert not list((tmp_path / "outside").iterdir())


def test_nothing_is_done_if_others_may_write_the_directory_meanwhile(monkeypatch):
    def making_first(place):
        place.parent.chmod(0o777)
        return making(place)

    monkeypatch.setattr(conduct, "making", making_first)
    (state,) = reproduce(claim()).claims
    assert "out/007-answer: other users may write into it" in state.because and not Path("calls").exists()


def test_a_directory_whose_name_is_a_pattern_is_refused():
    (state,) = conduct.reproduce([claim()], Path("gl[ob]")).claims
    assert "its name has one of *?[{" in state.because and state.outcome == "not shown"


def test_no_claim_is_begun_that_takes_longer_than_what_is_left():
    clock = iter(range(0, 1000, 10))
    states = reproduce(
        claim(name="quick", takes="5s"), claim(name="slow", takes="60s"), within_s=30, clock=lambda: next(clock)
    ).claims
    assert [(state.id, state.outcome) for state in states] == [("007/quick", "holds"), ("007/slow", None)]


def test_the_newest_verdict_of_each_claim_is_known_and_a_damaged_one_is_none(tmp_path):
    for number in (1, 2):
        conduct.reproduce([claim(f"values,{40 + number}")], tmp_path / "runs" / f"r{number}")
    kept = claim_record.last_verdicts(tmp_path / "runs")
    assert kept["007/answer"][1] == tmp_path / "runs" / "r2" / "007-answer"
    assert conduct.states([claim("values,42")], kept).claims[0].outcome == "holds"
    assert conduct.states([claim("values,43")], kept).claims[0].outcome is None, "of another text"
    file = tmp_path / "runs" / "r2" / "007-answer" / "claim.json"
    for damaged in ("", "[" * 100_000, json.dumps({"version": 2})):
        file.write_text(damaged)
        assert claim_record.read(file.parent) is None


def test_a_claim_that_this_host_cannot_decide_runs_nothing():
    states = reproduce(claim(takes='1s"\nneeds = ["nic"]#')).claims
    assert states[0].outcome == "not shown" and states[0].because.startswith("this needs a NIC")
    assert not Path("calls").exists()
    with pytest.raises(UserError):
        claim(takes='1s"\nneeds = [1]#')


@pytest.mark.parametrize(
    "sql",
    ["SELECT 1 AS value FROM read_text('/etc/hostname')", "COPY (SELECT 1) TO '{place}/../taken'", "INSTALL httpfs"],
)
def test_a_query_reads_the_directory_of_its_claim_and_nothing_else(sql):
    state = reproduce(claim(more=f'[[quantity]]\nwhat = "x"\nat_least = 1\nsql = "{sql}"\n')).claims[0]
    assert state.outcome == "not shown" and 'claim 007/answer, "x"' in state.because
    assert not list(Path().rglob("taken"))
