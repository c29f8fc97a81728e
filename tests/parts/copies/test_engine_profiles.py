"""Copy engines as TOML: what is missing or wrong in one is refused with file and line, and curves are read as the engine reads them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windtunnel.errors import UserError
from windtunnel.parts.copies.engine_profiles import Curve, load_profile, read_profile, shipped, text_of

DSA = text_of("dsa-spr")
SIZES = st.lists(st.integers(1, 1 << 24), min_size=1, max_size=12, unique=True).map(sorted)


def line_of(text: str, start: str) -> int:
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.startswith(start))


def refused(tmp_path, text: str) -> str:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(UserError) as error:
        load_profile("mine.toml", tmp_path)
    assert error.value.remedy
    return error.value.message.replace(f"{tmp_path}/", "")


def test_every_shipped_number_has_a_source_or_a_reason():
    for name in shipped():
        profile = load_profile(name)
        assert profile.name == name
        for path, known in profile.entries():
            assert len(known.source or known.why) > 20, path
        assert all(
            known.source or any(path in words for words in profile.assumptions()) for path, known in profile.entries()
        )


def test_dsa_in_the_words_of_the_plan():
    plan = load_profile("dsa-spr").plan()
    assert plan.name == "dsa-spr" and plan.device is not None
    assert (plan.device.queue, plan.device.at_once, plan.device.reports_bursts) == (128, 1, True)
    assert plan.device.latency_ns + 1e6 / plan.device.bytes_per_ns[0].value == pytest.approx(28_420, rel=0.21)


def test_a_file_of_ones_own_may_have_no_device(tmp_path):
    (tmp_path / "mine.toml").write_text(DSA[: DSA.index("[device]")].replace('"dsa-spr"', '"mine"'))
    mine = load_profile("mine.toml", tmp_path)
    assert mine.name == "mine" and mine.device is None and mine.plan().device is None
    assert [path for path, _ in mine.entries()] == ["caller.burst", "caller.copy", "caller.poll", "caller.end"]


@pytest.mark.parametrize(
    ("key", "table"), [("burst", "caller"), ("copy", "caller"), ("rate", "device"), ("queue", "device")]
)
def test_a_missing_number_is_named_with_the_line_of_its_table(tmp_path, key, table):
    lines = DSA.splitlines()
    del lines[line_of(DSA, f"{key} ") - 1]
    text = "\n".join(lines)
    assert refused(tmp_path, text) == f"mine.toml:{line_of(text, f'[{table}]')}: {table}.{key} is missing"


WRONG = [
    ("poll", "{ assumed = -1, why = \"x\" }", "caller.poll.assumed is -1"),
    ("poll", "{ assumed = inf, why = \"x\" }", "caller.poll.assumed is inf"),
    ("poll", "{ value = 3 }", "caller.poll needs value and source, or assumed and why"),
    ("poll", "{ value = 3, why = \"x\" }", "needs value and source"),
    ("poll", "{ value = 3, source = \"x\", assumed = 3, why = \"x\" }", "needs value and source"),
    ("poll", "{ value = 3, source = \"x\", why = \"x\" }", "needs value and source"),
    ("poll", "{ value = 3, source = \"x\", assumed = 4 }", "needs value and source"),
    ("poll", "{ source = \"x\", assumed = 3, why = \"x\" }", "needs value and source"),
    ("poll", "{ assumed = \"3\", why = \"x\" }", 'caller.poll.assumed is "3"'),
    ("queue", "{ value = 0, source = \"x\" }", "device.queue must be a whole number from 1 on"),
    ("queue", "{ value = 1.5, source = \"x\" }", "device.queue must be a whole number"),
    ("at_once", "{ value = 5000, source = \"x\" }", "device.at_once must be at most 4096"),
    ("reports_bursts", "{ value = 1, source = \"x\" }", "device.reports_bursts.value is 1"),
    ("rate", "{ value = [], source = \"x\" }", "device.rate.value is a list"),
    ("rate", "{ value = [[1]], source = \"x\" }", "device.rate.value.0 is a list"),
    ("rate", "{ value = [[1, 0]], source = \"x\" }", "device.rate has a rate of 0"),
    ("rate", "{ value = [[1, 2], [1, 3]], source = \"x\" }", "device.rate has sizes that do not ascend"),
    ("rate", "{ value = [[0, 2]], source = \"x\" }", "device.rate has a size that is not a whole number of bytes"),
    ("rate", "{ value = [[1.5, 2]], source = \"x\" }", "not a whole number of bytes"),
    ("copy", "{ value = [[1, 0], [2, 1]], source = \"x\" }", "caller.copy has several points, and one is 0"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "text", "words"), WRONG)
def test_a_wrong_number_is_refused_with_its_line(tmp_path, key, text, words):
    lines = DSA.splitlines()
    number = line_of(DSA, f"{key} ")
    lines[number - 1] = f"{key} = {text}"
    said = refused(tmp_path, "\n".join(lines))
    assert words in said and said.startswith(f"mine.toml:{number}:")


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("{ value = [[1, 3]] }", "{ value = 16, source"),
        ('{ value = [[2, 1], [1, 1]], source = "x" }', "copiers dsa-spr"),
    ],
)
def test_a_remedy_is_of_what_is_wrong(tmp_path, text, remedy):
    lines = DSA.splitlines()
    lines[line_of(DSA, "copy ") - 1] = f"copy = {text}"
    (tmp_path / "mine.toml").write_text("\n".join(lines))
    with pytest.raises(UserError) as error:
        load_profile("mine.toml", tmp_path)
    assert remedy in error.value.remedy


def test_an_unknown_key_no_toml_no_file_no_name(tmp_path):
    said = refused(tmp_path, DSA + 'colour = { assumed = 1, why = "none" }\n')
    assert said == f'mine.toml:{len(DSA.splitlines()) + 1}: unknown key "device.colour"'
    assert refused(tmp_path, "[engine\n").startswith("mine.toml:1:")
    for name, words in (("none.toml", "no such file"), ("dsa", 'no profile "dsa"')):
        with pytest.raises(UserError, match=words):
            load_profile(name, tmp_path)


def curve(sizes: list[int], values: list[float]) -> Curve:
    return Curve(value=[[size, value] for size, value in zip(sizes, values, strict=True)], source="a test")


CURVES = SIZES.flatmap(
    lambda sizes: st.builds(
        curve, st.just(sizes), st.lists(st.floats(0.001, 1e6), min_size=len(sizes), max_size=len(sizes))
    )
)


@given(CURVES, st.integers(1, 1 << 25))
def test_a_curve_goes_through_its_points_and_stays_between_them(found, size):
    for at, value in found.given:
        assert found.at(int(at)) == pytest.approx(value)
    below = [value for at, value in found.given if at <= size][-1:]
    above = [value for at, value in found.given if at >= size][:1]
    assert min(below + above) * (1 - 1e-9) <= found.at(size) <= max(below + above) * (1 + 1e-9)


@given(st.floats(0.01, 100), st.integers(1, 1 << 20), st.integers(2, 1 << 10), st.floats(0, 1))
def test_a_power_of_the_size_is_straight(factor, size, times, way):
    found = curve([size, size * times], [factor * size, factor * size * times])
    between = max(size, int(size * times**way))
    assert found.at(between) == pytest.approx(factor * between)


@given(st.text(max_size=200) | st.builds(lambda cut: DSA[:cut], st.integers(0, len(DSA))))
def test_any_text_is_a_profile_or_refused_in_words(text):
    try:
        assert list(read_profile(Path("mine.toml"), text).entries())
    except UserError as error:
        assert error.message.startswith("mine.toml:") and error.remedy


def test_a_line_of_a_file_elsewhere_is_not_quoted(tmp_path, monkeypatch):
    """A scenario may name any file, and who reads the refusal may have no right to read it."""
    sent, env = tmp_path / "sent", tmp_path / "env.toml"
    sent.mkdir()
    env.write_text('name = "SECRET\n')
    monkeypatch.chdir(sent)
    with pytest.raises(UserError) as refused:
        load_profile("../env.toml", sent)
    assert "env.toml:1: this line is not right" in refused.value.message and "SECRET" not in str(refused.value)
    with pytest.raises(UserError) as refused:
        load_profile(str(env))
    assert "env.toml:1: this line is not right" not in refused.value.message, "the user has named it"
