"""What tries mutants (tests/mutants): the same ones for a seed, in a copy of the checkout, until a test fails."""

import importlib.util
import itertools
import re
import sys
from pathlib import Path

import pytest
from mutant_tools import (
    CHECKOUT,
    DRAWN,
    FILES,
    LIMITS,
    Mutant,
    Reasons,
    Results,
    Scratch,
    Stage,
    Trial,
    can_forbid_writes,
    cpp_mutations,
    draw,
    limits_mutant,
    make_checkout,
    mutant_of,
    row_of,
    run_stage,
    stages_of,
    status_of,
)

AREAS = {"large": ["large/*.txt"], "small": ["small/*.txt"]}


def less_by_one(text, line):
    """One mutation of each line with a number."""
    lines = text.splitlines()
    if number := re.search(r"\d+", lines[line - 1]):
        lines[line - 1] = lines[line - 1].replace(number[0], str(int(number[0]) - 1))
        yield "less", lambda: "\n".join([*lines, ""])
        yield "nothing", lambda: None


@pytest.fixture
def files(tmp_path):
    for name, lines in {"large/a.txt": 12, "large/b.txt": 12, "small/c.txt": 5}.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("".join(f"line {number}\nno number\n" for number in range(1, lines + 1)))
    return tmp_path


def drawn(files, seed=1, count=None):
    return list(itertools.islice(draw(files, "python", AREAS, less_by_one, seed), count))


def test_a_seed_draws_the_same_mutants_every_time(files):
    assert drawn(files) == drawn(files)
    assert drawn(files) != drawn(files, seed=2)
    assert sorted(each.place for each in drawn(files)) == sorted(each.place for each in drawn(files, seed=2))


def test_areas_take_turns_whatever_their_size(files):
    areas = [each.file.split("/")[0] for each in drawn(files)]
    assert areas[:10] == ["large", "small"] * 5
    assert areas[10:] == ["large"] * 19


def test_a_change_elsewhere_changes_no_other_mutant(files):
    before = [each.change for each in drawn(files) if each.file == "large/a.txt"]
    (files / "large/b.txt").write_text("line 7\n")
    text = (files / "large/a.txt").read_text()
    (files / "large/a.txt").write_text(f"no number either\n{text}")
    assert [each.change for each in drawn(files) if each.file == "large/a.txt"] == before


def test_a_mutant_names_its_line_and_what_differs():
    mutant = limits_mutant("size <= MOST", "size < MOST")
    assert (mutant.place, mutant.change) == (f"{LIMITS}:5", "return size <= MOST -> return size < MOST")


@pytest.mark.parametrize(
    ("code", "mutated"),
    [
        ("    if (a < b) {", {"    if (a <= b) {", "    if (a >= b) {", "    if (!(a < b)) {"}),
        ("    std::vector<int> *p, &q = x->y;", set()),
        (
            "    sum += most - n;  // a < b",
            {f"    sum {new};  // a < b" for new in ("-= most - n", "= most - n", "+= most + n")},
        ),
        ("    sum = most - n;", {"    sum = most + n;", "    ;"}),
        ("    free_all(x, 0);", {"    ;", "    free_all(x, (0 + 1));", "    free_all(x, (0 - 1));"}),
        ('    say("1 < 2 && true");', {"    ;"}),
        ("#define most 2", set()),
    ],
)
def test_what_is_mutated_of_a_line_of_the_engine(code, mutated):
    texts = {make() for _, make in cpp_mutations(f"first\n{code}\nlast\n", 2)}
    assert texts == {f"first\n{each}\nlast\n" for each in mutated}


@pytest.mark.parametrize("area", DRAWN["python"])
def test_every_file_that_is_drawn_has_a_module_and_tests(area):
    files = [file for glob in DRAWN["python"][area] for file in CHECKOUT.glob(glob)]
    assert files or all(glob.startswith("src/windtunnel/parts/") for glob in DRAWN["python"][area]), "no part is gone"
    for file in files:
        mutant = Mutant("python", file.relative_to(CHECKOUT).as_posix(), 1, "", "", "", "")
        stages = {stage.name: stage.command for stage in stages_of(mutant, CHECKOUT)}
        assert importlib.util.find_spec(stages["import"][-1].removeprefix("import ")).origin == str(file)
        assert list((CHECKOUT / stages["mirror"][-3]).rglob("test_*.py"))


def test_a_mutant_of_the_engine_meets_its_suites_and_its_fuzzers():
    mutant = Mutant("c++", "engine/control/hello.cc", 1, "", "", "", "")
    assert [stage.name for stage in stages_of(mutant, CHECKOUT)] == ["build", "suites", "fuzzers", "runs", "slow"]
    assert [stage.name for stage in stages_of(mutant, CHECKOUT, quick=True)] == ["build", "suites"]


def test_every_reason_is_of_a_line_that_is_there():
    Reasons(CHECKOUT / "tests/mutants/reasons.toml", CHECKOUT)


ENTRY = '[[survivor]]\nfile = "limits.py"\nline = "MOST = 64"\nmutation = "MOST = 65"\nreason = "No size is 65."\n'


def test_a_reason_excuses_one_mutant_alone(tmp_path):
    (tmp_path / LIMITS).parent.mkdir(parents=True)
    (tmp_path / LIMITS).write_text(FILES[LIMITS])
    (tmp_path / "reasons.toml").write_text(ENTRY.replace("limits.py", LIMITS))
    reasons = Reasons(tmp_path / "reasons.toml", tmp_path)
    assert reasons.of(limits_mutant("64", "65")) == "No size is 65."
    assert reasons.of(limits_mutant("64", "63")) is None


def test_a_reason_may_be_of_a_line_with_a_comment_behind_spaces(tmp_path):
    line = "int most = 64;      /* of all */"
    mutation = line.replace("64", "65")
    (tmp_path / "limits.h").write_text(line)
    entry = ENTRY.replace("limits.py", "limits.h").replace("MOST = 64", line).replace("MOST = 65", mutation)
    (tmp_path / "reasons.toml").write_text(entry)
    reasons = Reasons(tmp_path / "reasons.toml", tmp_path)
    assert reasons.of(mutant_of("c++", "limits.h", "constant + 1", line, mutation)) == "No size is 65."


@pytest.mark.parametrize(
    ("entry", "refusal"),
    [
        (ENTRY.replace("MOST = 64", "MOST = 32"), "limits.py has no line: MOST = 32"),
        (ENTRY.replace("limits.py", "none.py"), "none.py has no line"),
        (ENTRY.replace("No size is 65.", ""), "an entry has"),
        (ENTRY.replace("mutation", "mutant"), "an entry has"),
    ],
)
def test_a_reason_without_its_line_is_refused(tmp_path, entry, refusal):
    (tmp_path / "limits.py").write_text(FILES[LIMITS])
    (tmp_path / "reasons.toml").write_text(entry)
    with pytest.raises(SystemExit, match=refusal):
        Reasons(tmp_path / "reasons.toml", tmp_path)


def test_rows_are_known_again(tmp_path):
    outcomes = {
        "65": "killed by unit: test_x (1 s)",
        "63": "SURVIVED",
        "60": "no mutant: the same engine",
        "0": "excused: why",
    }
    mutants = {new: limits_mutant("64", new) for new in outcomes}
    results = Results(tmp_path / "mutants.tsv", resume=False)
    for number, (new, outcome) in enumerate(outcomes.items(), start=1):
        results.add(row_of(mutants[new], number, outcome))
    assert results.count() == (1, 1, 1)
    assert (
        "2\tpython\tsrc/windtunnel/sizes/limits.py:1\tby hand\tMOST = 64 -> MOST = 63\tSURVIVED\n"
        in results.file.read_text()
    )

    again = Results(tmp_path / "mutants.tsv", resume=True)
    again.add(row_of(mutants["65"], 1, outcomes["65"]))
    assert {new: again.known(mutant) for new, mutant in mutants.items()} == outcomes
    assert again.count() == (1, 0, 0)
    assert Results(tmp_path / "mutants.tsv", resume=True).known(mutants["63"]) == "SURVIVED"
    assert Results(tmp_path / "mutants.tsv", resume=False).known(mutants["63"]) is None


@pytest.fixture
def scratch(tmp_path):
    made = Scratch(make_checkout(tmp_path / "origin"), tmp_path / "scratch")
    made.build()
    return made


@pytest.mark.slow
def test_a_mutant_is_in_the_copy_alone_and_for_its_time(scratch):
    file, before = scratch.checkout / LIMITS, status_of(scratch.origin)
    modified_ns = file.stat().st_mtime_ns
    with scratch.applied(limits_mutant("64", "63")):
        assert file.read_text().startswith("MOST = 63\n")
        assert (scratch.origin / LIMITS).read_text() == FILES[LIMITS]
    assert (file.read_text(), file.stat().st_mtime_ns) == (FILES[LIMITS], modified_ns)
    assert status_of(scratch.origin) == before == ""


@pytest.mark.slow
def test_a_copy_that_was_left_with_a_mutant_is_mended(scratch, tmp_path):
    (scratch.checkout / LIMITS).write_text("MOST = 63\n")
    scratch.engine.write_text("mutated\n")
    with pytest.raises(SystemExit, match="mutants are being tried"):
        Scratch(scratch.origin, tmp_path / "scratch")
    scratch.close()
    again = Scratch(scratch.origin, tmp_path / "scratch")
    again.build()
    assert (again.checkout / LIMITS).read_text() == FILES[LIMITS]
    assert again.engine.read_text() == "engine\n"


@pytest.mark.slow
def test_a_test_kills_what_it_notices_and_nothing_else(scratch, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # all plugins take seconds to import
    monkeypatch.setenv("PYTEST_PLUGINS", "xdist.plugin")
    trial = Trial(scratch, "python", quick=True)
    assert re.fullmatch(
        r"killed by named: tests/unit/sizes/test_limits.py::test_fits \(\d+ s\)",
        trial.outcome(limits_mutant("<=", "<")),
    )
    assert re.match(r"killed by import: NameError", trial.outcome(limits_mutant("64", "sixty")))
    assert trial.outcome(limits_mutant("size <= MOST", "MOST >= size")) == "SURVIVED"


@pytest.mark.slow
def test_nothing_is_left_of_a_stage(tmp_path):
    """Not even what has left its session."""
    detached = "import time; open('pid', 'w').close(); time.sleep(600)"
    script = (
        "import pathlib, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {detached!r}], start_new_session=True)\n"
        "while not pathlib.Path('pid').exists():\n    time.sleep(0.01)\n"
        "pathlib.Path('pid').write_text(str(child.pid))\n"
    )
    assert run_stage(Stage("unit", (sys.executable, "-c", script), "unit"), tmp_path, None).passed
    state = Path("/proc", (tmp_path / "pid").read_text(), "stat")
    assert not state.exists() or state.read_text().rpartition(") ")[2][0] == "Z"


@pytest.mark.slow
@pytest.mark.root
@pytest.mark.skipif(not can_forbid_writes(), reason="needs root, for a mount namespace")
def test_as_root_a_stage_cannot_write_to_the_checkout_it_comes_from(tmp_path):
    origin, copy = tmp_path / "origin", tmp_path / "copy"
    origin.mkdir()
    copy.mkdir()
    touch = Stage("unit", ("touch", str(copy / "file"), str(origin / "file")), "unit")
    ended = run_stage(touch, copy, None, origin)
    assert "Read-only file system" in ended.by
    assert (copy / "file").exists() and not (origin / "file").exists()


@pytest.mark.slow
def test_a_stage_that_selects_no_test_kills_nothing(tmp_path):
    (tmp_path / "test_none.py").write_text("def test_none():\n    assert False\n")
    none = Stage("named", (sys.executable, "-m", "pytest", "-q", "test_none.py", "-k", "other"), "unit")
    assert run_stage(none, tmp_path, None).passed


@pytest.mark.slow
def test_a_stage_that_takes_too_long_has_failed(tmp_path):
    ended = run_stage(Stage("unit", ("sleep", "600"), "unit"), tmp_path, 0.2)
    assert not ended.passed and ended.by.startswith("time limit")


@pytest.mark.long("mutants")
def test_python_is_mutated_where_it_computes():
    from python_operators import python_mutations

    text = '"""A module."""\n\n\ndef fits(size: int | None = 1, *, most: int = 2) -> int | bool:\n    return size is not None and size <= most\n'
    made = [[make() for _, make in python_mutations(text, line)] for line in (1, 4, 5)]
    kept = [{text.splitlines()[line] for text in texts if text} for line, texts in zip((0, 3, 4), made, strict=True)]
    assert kept[0] == set()
    assert {re.sub(r" +", " ", each) for each in kept[1]} == {
        text.splitlines()[3].replace("= 1", f"= {one}").replace("= 2", f"= {two}")
        for one, two in [(2, 2), (0, 2), (1, 3), (1, 1)]
    }
    assert "    return size is not None or size <= most" in kept[2]
    assert "    return size is not None and size < most" in kept[2]
    assert not any(" is most" in each for each in kept[2])
