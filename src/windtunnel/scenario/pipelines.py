"""The spec of a P4 pipeline, compiled before the run: what is wrong with it is said at its line, and no window waits for a compiler."""

from windtunnel.engine.find import find_engine
from windtunnel.engine.plan import Handler
from windtunnel.engine.query import compile_spec
from windtunnel.errors import UserError
from windtunnel.scenario.refusal import Path, Refusal

HANDLER = "swx"


def check_pipeline(handler: Handler, fallback: dict[str, str | None], options_path: Path) -> None:
    """Has the engine compile what `swx` will run, into its cache; `fallback` holds the options' defaults. Raises Refusal in
    the engine's words."""
    options = fallback | handler.options
    spec = options.get("spec")
    if not spec:
        raise Refusal(options_path, "swx wants a spec", '{ spec = "router.spec" }, as p4c-dpdk writes it')
    try:
        compile_spec(find_engine(), spec, options["compiler"] or "gcc")
    except UserError as error:
        named = (*options_path, "spec") if "spec" in handler.options else options_path
        raise Refusal(named, error.message, error.remedy or "a spec that DPDK's SWX pipeline takes") from None
