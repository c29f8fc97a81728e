"""Has an engine open the handlers of a plan as its run would, and end: what they refuse is known before there is a run."""

import contextlib
import tempfile
from pathlib import Path

from windtunnel.engine import leftovers
from windtunnel.engine.history import History
from windtunnel.engine.outputs import Outputs
from windtunnel.engine.own_directory import for_temporary
from windtunnel.engine.plan import Eal, Plan
from windtunnel.engine.process import EngineProcess
from windtunnel.engine.readable import readable
from windtunnel.engine.supervisor import setup_silence_s


def try_handlers(binary: Path, plan: Plan) -> History:
    """What the engine said until its end. It opens no port, so that no NIC is touched. Raises UserError if it cannot be started."""
    plan = plan.model_copy(update={"eal": _without_nics(plan.eal)})
    with tempfile.TemporaryDirectory(dir=for_temporary()) as place, Outputs(Path(place) / "engine.log") as outputs:
        engine = EngineProcess(binary, "check", plan, outputs, handlers_only=True)
        try:
            _listen(engine, setup_silence_s(plan))
        finally:  # after Ctrl-C too
            engine.kill_group()
            engine.end()
            leftovers.remove_files(plan.eal.file_prefix)
    return engine.history


def _listen(engine: EngineProcess, silence_s: float) -> None:
    """Reads lines until the engine has ended; kills it if it stays silent."""
    while engine.out_open and engine.history.protocol_error is None:
        if not readable(engine.out_fd, engine.pid_fd, seconds=silence_s):
            if readable(engine.pid_fd, seconds=0):
                engine.kill_group()  # what a handler has started has the pipe open
            else:
                engine.kill(f"no line for {silence_s:.1f} s")
        with contextlib.suppress(BlockingIOError):
            for _ in engine.read():
                pass
    readable(engine.pid_fd, seconds=silence_s)


def _without_nics(eal: Eal) -> Eal:
    args = list(eal.args)
    while "-a" in args:
        at = args.index("-a")
        args[at : at + 2] = []
    others = [] if "--no-pci" in args else ["--no-pci", "--iova-mode=va"]
    return eal.model_copy(update={"args": [*args, *others]})
