"""Kept results are shown as they were: byte by byte, in every view."""

import difflib

import pytest
from net import cases, file_of, kept, kept_files, shown, surroundings, unpack

pytestmark = pytest.mark.slow
CASES = sorted(cases())
HOW = "If the difference is wanted, `python tests/net/net.py keep` keeps it, and the commit names it."


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    directory = unpack(tmp_path_factory.mktemp("net"))
    with surroundings(directory):
        yield directory


def test_every_view_was_kept_and_none_is_gone():
    assert {file_of(*case) for case in CASES} == kept_files(), HOW


@pytest.mark.parametrize(("name", "view"), CASES)
def test_it_is_shown_as_it_was(inputs, name, view):
    then, now = kept(name, view), shown(name, view, inputs)
    if then != now:
        lines = difflib.unified_diff(then.splitlines(), now.splitlines(), "then", "now", lineterm="", n=1)
        pytest.fail("\n".join([HOW, *(line[:300] for line in list(lines)[:80])]), pytrace=False)
