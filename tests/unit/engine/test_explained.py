"""Every drop and every reason of a verdict has its cause and what to do, and the page of them has them all."""

import re

import pytest

from windtunnel.engine.drops import DROPS
from windtunnel.engine.reasons import REASONS, reason
from windtunnel.runs.record import DID_NOT_FINISH, NO_END
from windtunnel.runs.validity import BAD_CHECKS, Check
from windtunnel.schemas import drops_page
from windtunnel.schemas.generate import CHECKOUT

EXPLAINED = {**DROPS, **REASONS, **BAD_CHECKS, DID_NOT_FINISH: NO_END}
NEVER_BAD = {"steady", "accounting", "resolution", "samples", "emulated"}


def test_the_drops_are_those_of_the_engine():
    macro = (
        (CHECKOUT / "engine/core/drop.h").read_text().partition("#define WT_DROP_REASONS(X)")[2].partition("\n\n")[0]
    )
    assert list(DROPS) == re.findall(r"\bX\((\w+)\)", macro)


def test_the_reasons_are_all_codes_and_all_checks_that_can_be_bad():
    assert reason("peer lost", "gone") == "peer lost: gone"
    description = Check.model_fields["name"].description
    assert set(BAD_CHECKS) == set(description.split(", ")) - NEVER_BAD


@pytest.mark.parametrize("name", EXPLAINED)
def test_each_has_cause_and_remedy_in_sentences_and_is_on_the_page(name):
    explained = EXPLAINED[name]
    assert all(re.fullmatch(r"[A-Z`].*[.]", words) for words in (explained.cause, explained.remedy))
    row = f"| `{name}` | {explained.cause} | {explained.remedy} |\n"
    assert drops_page.page().count(row) == 1
