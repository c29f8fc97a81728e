"""Files of claims: the shipped ones, and what is refused with file and line."""

import pytest

from windtunnel.errors import UserError
from windtunnel.parts.reproduce.claim import DOCUMENTS, read, selected, shipped
from windtunnel.parts.reproduce.needs import missing

CLAIM = """\
id = "007/answer"
place = "page 1"
says = "It is 42."
holds_if = "it is 42"

[[command]]
name = "one"
run = "version"

[[quantity]]
what = "the answer"
sql = "SELECT 42 AS value"
at_least = 42
"""


@pytest.fixture
def written(tmp_path):
    def write(old="", new=""):
        assert old in CLAIM
        file = tmp_path / "mine.toml"
        file.write_text(CLAIM.replace(old, new, 1))
        return file

    return write


def test_each_shipped_claim_can_be_read_and_has_its_place():
    claims = shipped()
    assert len({claim.id for claim in claims}) == len(claims) > 30
    for claim in claims:
        number, _, name = claim.id.partition("/")
        assert number in DOCUMENTS and claim.source.file.name == f"{number}-{name}.toml"


def test_two_files_of_one_id_are_refused(written, tmp_path):
    written()
    (tmp_path / "other.toml").write_text(CLAIM)
    with pytest.raises(UserError, match="other.toml and .*mine.toml have the same id"):
        selected([str(tmp_path / name) for name in ("mine.toml", "mine.toml", "other.toml")])


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        ('id = "007/answer"', 'id = "007"', "mine.toml:1: id"),
        ('says = "It is 42."\n', "", "says is missing"),
        ('what = "the answer"', 'wat = "the answer"', 'mine.toml:11: unknown key "wat"'),
        ("at_least = 42\n", "", "has no bound"),
        (
            '[[command]]\nname = "one"\nrun = "version"\n',
            "",
            "has commands and quantities, or says why it is undecided",
        ),
        ('holds_if = "it is 42"', 'holds_if = "it is 42"\nundecided = "no time"', "or says why it is undecided"),
        ('name = "one"', 'name = "../one"', "mine.toml:7: "),
        (
            'run = "version"',
            'run = "run {nothing}"',
            "mine.toml:8: command.0.run: {nothing} is none of {out}, {place}, ",
        ),
        ('run = "version"', 'run = "show \'one"', "mine.toml:8: command.0.run: it cannot be split into words: "),
        ('run = "version"', 'run = "run {out.parent}"', "mine.toml:8: command.0.run: {out.parent} is none of {out}, "),
        ('run = "version"', 'run = "run {out:>10}"', "mine.toml:8: command.0.run: {out:>10} is none of "),
        ('run = "version"', 'run = "run {out"', "mine.toml:8: command.0.run: {out is none of "),
        (
            'run = "version"',
            'run = "version"\nstdout = "claim.json"',
            "mine.toml:9: command.0.stdout: claim.json is a file",
        ),
        (
            'run = "version"',
            'run = "version"\nstdout = "one.done"',
            "mine.toml:9: command.0.stdout: one.done is a file",
        ),
        ('run = "version"', 'run = "version"\nstdout = "one.log"', "mine.toml:9: command.0.stdout: one.log is a file"),
        (
            "[[quantity]]",
            '[[command]]\nname = "two"\nrun = "version"\nstdout = "one"\n[[quantity]]',
            "two commands write one",
        ),
        ("[[quantity]]", '[[command]]\nname = "one"\nrun = "version"\n[[quantity]]', "two commands are called one"),
        ("at_least = 42", "at_least = 42\nat_most = 41", "at_least is 42, above at_most, 41"),
        ('holds_if = "it is 42"', 'holds_if = "it is 42"\ntakes = "fast"', "mine.toml:5: takes"),
        ('holds_if = "it is 42"', 'holds_if = "it is 42"\nneeds = ["moon"]', 'mine.toml:5: needs.0: "moon" is no need'),
    ],
)
def test_a_fault_is_refused_with_its_line(written, old, new, refusal):
    with pytest.raises(UserError) as refused:
        read(written(old, new))
    assert refusal in refused.value.message


def test_words_select_claims(written):
    assert [claim.id for claim in selected(["000/frames", "000/frames"])] == ["000/frames"]
    assert {claim.id.partition("/")[0] for claim in selected(["003"])} == {"003"}
    assert selected(["all"]) == shipped()
    assert [claim.id for claim in selected([str(written())])] == ["007/answer"]
    with pytest.raises(UserError, match='no claim "frames"'):
        selected(["frames"])


def test_needs_count_the_cpus_that_may_be_used(written, monkeypatch):
    claim = read(written('holds_if = "it is 42"', 'holds_if = "it is 42"\nneeds = ["cpus:3"]'))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    assert missing(claim.needs) == ["3 CPUs, and this process may use 2"]
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    assert missing(claim.needs) == []
