"""Mutants of a Python file: the operators of cosmic-ray."""

import ast
import warnings
from collections.abc import Iterator
from functools import cache, partial

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider
from draw import Mutation
from parso.tree import NodeOrLeaf

# Equal small numbers and short texts are the same object in CPython: these mutants mostly differ in nothing.
TO_IDENTITY = ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE")
# Without these a program has the same values.
WITHOUT_EFFECT = {"cache", "cached_property", "final", "lru_cache", "override"}


@cache
def operators() -> dict[str, Operator]:
    """By name; those that take arguments of the user's are left out."""
    provider = OperatorProvider()
    compared = "ReplaceComparisonOperator_"
    to_identity = {f"{compared}{old}_{new}" for old in TO_IDENTITY for new in ("Is", "IsNot")}
    from_identity = {f"{compared}{old}_{new}" for old in ("Is", "IsNot") for new in TO_IDENTITY}
    return {
        name: provider[name]()
        for name in provider
        if not provider[name].arguments() and name not in to_identity | from_identity
    }


def python_mutations(text: str, line: int) -> Iterator[Mutation]:
    """Every mutation of what begins on this line. What is no Python any more, and what differs in annotations alone, is none."""
    here = [node for node in _nodes(text) if node.start_pos[0] <= line <= node.end_pos[0]]
    for name, operator in operators().items():
        for nth in range(_begin_on(line, here, operator).count(True)):
            yield name, partial(_mutated, text, line, operator, nth)


def _mutated(text: str, line: int, operator: Operator, nth: int) -> str | None:
    begin_here = _begin_on(line, _nodes(text), operator)
    occurrence = [at for at, begins_here in enumerate(begin_here) if begins_here][nth]
    mutated = mutate_code(text, operator, occurrence)
    return None if mutated is None or _executed(mutated) in (None, _executed(text)) else mutated


@cache
def _nodes(text: str) -> list[NodeOrLeaf]:
    return list(ast_nodes(get_ast(text)))


def _begin_on(line: int, nodes: list[NodeOrLeaf], operator: Operator) -> list[bool]:
    """For each mutation of the operator, in the order in which cosmic-ray counts them."""
    return [begins == line for node in nodes for (begins, _), _ in operator.mutation_positions(node)]


def _executed(text: str) -> str | None:
    """The program without what changes nothing that it computes; None: it cannot be compiled."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(text)
            compile(text, "mutant", "exec")
    except SyntaxError:
        return None
    return ast.dump(_WithoutAnnotations().visit(tree))


class _WithoutAnnotations(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        """What may be given by position or by name alone stops a programmer, not a program."""
        node.args, node.posonlyargs = [*node.posonlyargs, *node.args, *node.kwonlyargs], []
        node.kwonlyargs = []
        node.defaults, node.kw_defaults = [*node.defaults, *(each for each in node.kw_defaults if each)], []
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        node.decorator_list = [each for each in node.decorator_list if _name(each) not in WITHOUT_EFFECT]
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Nor does `strict` of zip() stop a program."""
        if _name(node) == "zip":
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "strict"]
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Nor do `frozen` and `slots` of dataclasses."""
        for each in node.decorator_list:
            if isinstance(each, ast.Call) and _name(each) == "dataclass":
                each.keywords = [keyword for keyword in each.keywords if keyword.arg not in ("frozen", "slots")]
        return self.generic_visit(node)


def _name(called: ast.expr) -> str:
    """Of a decorator or a function, with arguments or without."""
    return ast.unparse(called.func if isinstance(called, ast.Call) else called).rsplit(".", 1)[-1]
