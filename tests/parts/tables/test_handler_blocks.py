"""What the list of handlers says of tables."""

from windtunnel.engine.query import Handler
from windtunnel.part_registry import part_functions
from windtunnel.parts.tables.pipeline import METHODS
from windtunnel.results.document import Sentence


def sections_beside(name: str) -> list:
    handlers = [Handler(name=name, kind="packet", help="", options=[])]
    return [section for sections in part_functions("handler_blocks", "sections") for section in sections(handlers)]


def test_the_kinds_and_methods_of_tables_stand_beside_their_handler():
    assert sections_beside("l2fwd") == []
    [section] = sections_beside("match_action")
    said = "\n".join(block.text for block in section.blocks if isinstance(block, Sentence))
    assert all(f"{kind} by {', '.join(methods)}" in said for kind, methods in METHODS.items())
