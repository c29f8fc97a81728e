"""Run directories of one side each, as its host would have left them, without a run."""

import sample_lines as sample
from sample_runs import first_windows

from windtunnel.engine.lines import Peer
from windtunnel.runs import RunWriter, Verdict


def one_side(directory, side, session="ab" * 16, verdict=None, hostname="here", validity=None, **changes):
    """A run of one side as its host would have left it; `session` None: it met nobody."""
    plan = sample.plan((side,), wire="af_packet").model_copy(update={"hello_wait_ns": 1} | changes)
    about = {"resolved": {"title": plan.title, "client": {"of": side}, "server": {"of": side}}}
    writer = RunWriter(directory, sample.spec([plan], [side], **about), {"hostname": hostname})
    lines = first_windows(plan, 5)
    if session:
        lines.insert(4, Peer(type="peer", at_ns=1, session=session))
    for line in lines:
        writer.line(side, line, line.model_dump_json())
    return writer.finish(verdict or Verdict(True), validity)
