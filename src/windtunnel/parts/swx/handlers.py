"""Checks the spec of a P4 pipeline before the run, and says which program compiles it."""

from collections.abc import Mapping
from typing import Any

from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Handler
from windtunnel.errors import UserError
from windtunnel.parts.swx.query import compile_spec
from windtunnel.scenario.refusal import Path, Refusal

HANDLER = "swx"
COMPILERS = ("gcc", "clang")
"""Compilers that are no program of a scenario's choice."""


def code(options: Mapping[str, Any]) -> list[str]:
    """The compiler that a handler's options name, if it is none of the known ones: it runs when the handler is opened."""
    compiler = options.get("compiler") or "gcc"
    return [] if compiler in COMPILERS else [str(compiler)]


def check(handler: Handler, defaults: Mapping[str, str | None], options_path: Path) -> None:
    """Has the engine compile the spec of the handler `swx` into its cache. Raises Refusal in the engine's words."""
    if handler.name != HANDLER:
        return
    options = {**defaults, **handler.options}
    spec = options.get("spec")
    if not spec:
        raise Refusal(options_path, "swx wants a spec", '{ spec = "router.spec" }, as p4c-dpdk writes it')
    try:
        compile_spec(find_engine(), spec, options["compiler"] or "gcc")
    except UserError as error:
        named = (*options_path, "spec") if "spec" in handler.options else options_path
        raise Refusal(named, error.message, error.remedy or "a spec that DPDK's SWX pipeline takes") from None
