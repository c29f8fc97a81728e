"""Crossed parameters: every pair of values in `./test`, and all combinations in the slice crosses of the long tier."""

import itertools
from typing import Any

import pytest
from allpairspy import AllPairs

_LONG = pytest.mark.long("crosses")


def cross(names: str, *values: list[Any]) -> pytest.MarkDecorator:
    """A parametrization by a covering array of pairs."""
    pairs = [tuple(row) for row in AllPairs(values)]
    rows = itertools.product(*values)
    return pytest.mark.parametrize(names, [row if row in pairs else pytest.param(*row, marks=_LONG) for row in rows])


def each_once(names: str, first: list[Any], second: list[Any]) -> pytest.MarkDecorator:
    """Two parameters of as many values, for what costs more than pairs are worth: each value once."""
    once = list(zip(first, second, strict=True))
    rows = itertools.product(first, second)
    return pytest.mark.parametrize(names, [row if row in once else pytest.param(*row, marks=_LONG) for row in rows])
