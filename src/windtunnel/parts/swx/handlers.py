"""Prepares the spec of a P4 pipeline before the run."""

from collections.abc import Mapping
from pathlib import Path as File

from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Handler
from windtunnel.errors import UserError
from windtunnel.parts.swx.p4 import SUFFIX, write_spec
from windtunnel.parts.swx.query import compile_spec
from windtunnel.scenario.refusal import Path, Refusal

HANDLER = "swx"


def prepare(handler: Handler, defaults: Mapping[str, str | None], options_path: Path, directory: File) -> Handler:
    """Has the spec of the handler `swx` written, if it is a P4 program, and compiled into the engine's cache. `directory`: that of the scenario.
    Returns the handler with the spec that the engine reads. Raises Refusal in the words of p4c or the engine."""
    if handler.name != HANDLER:
        return handler
    options = {**defaults, **handler.options}
    spec = options.get("spec")
    if not spec:
        raise Refusal(options_path, "swx wants a spec", '{ spec = "router.spec" }, as p4c-dpdk writes it')
    try:
        if spec.endswith(SUFFIX):
            spec = str(write_spec(File(spec), directory))
        compile_spec(find_engine(), spec, options["compiler"] or "gcc")
    except UserError as error:
        named = (*options_path, "spec") if "spec" in handler.options else options_path
        raise Refusal(named, error.message, error.remedy or "a spec that DPDK's SWX pipeline takes") from None
    return handler.model_copy(update={"options": handler.options | {"spec": spec}})
