"""What the engine says of a spec: the object that it compiles, or why not."""

from pathlib import Path

from windtunnel.engine.query import query

COMPILE_TIMEOUT_S = 300


def compile_spec(engine: Path, spec: str, compiler: str) -> Path:
    """Compiles a DPDK SWX spec, or finds it compiled; returns the object. Raises UserError in the engine's words: FILE:LINE."""
    return Path(query(engine, ["--spec", spec, "--compiler", compiler], COMPILE_TIMEOUT_S).strip())
