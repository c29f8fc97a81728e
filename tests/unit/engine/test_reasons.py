"""Codes of reasons: what a verdict says has a cause and a remedy, in the spine and in parts."""

import ast
from pathlib import Path

from windtunnel.engine.reasons import REASONS

SOURCE = Path(__file__).parents[3] / "src" / "windtunnel"


def codes(tree: ast.AST) -> set[str]:
    """The codes that are given to `reason`."""
    return {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "reason" and isinstance(node.args[0], ast.Constant)
    }


def test_every_code_has_its_cause_and_remedy():
    used = {code for file in SOURCE.rglob("verdict.py") for code in codes(ast.parse(file.read_text()))}
    assert {"peer lost"} <= used <= REASONS.keys()
    assert all(why.cause and why.remedy for why in REASONS.values())
