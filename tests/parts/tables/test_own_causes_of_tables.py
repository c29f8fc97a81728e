"""The cause that a diagnosis finds in look-ups."""

from diagnosed_runs import made

from windtunnel.engine.windows import StepWindow
from windtunnel.parts.diagnose.diagnose import diagnose
from windtunnel.runs import Run


def causes(run):
    return {cause.code: cause for cause in diagnose(run).causes}


def looked_up(lookup, method):
    table = {"kind": "exact" if method == "hash" else "ternary", "lookup": lookup, "method": method}
    run = made(
        work={("server", "disp_rx"): 6.0}, scenario={"workload": [{"packet_handler": "match_action", "table": [table]}]}
    )
    name = f"{table['kind']}0"

    def of(window):
        (disp_rx,) = [s for s in window.stages if (s.endpoint, s.stage) == ("server", "disp_rx")]
        cycles = (disp_rx.busy_cycles - disp_rx.stall_cycles) // 2
        step = StepWindow(endpoint="server", stage="disp_rx", index=0, worker=1, step=name, traffic=False, cycles=cycles,
                          packets=500_000, stamps=0)  # fmt: skip
        return window.model_copy(update={"steps": [step]})

    (windows,) = run.windows.values()
    return Run(run.path, run.record, {"windtunnel": [of(window) for window in windows]})


def test_look_ups():
    found = causes(looked_up("single", "linear"))["tables"]
    assert found.sets == ["workload.0.table.0.lookup=bulk", "workload.0.table.0.method=acl"]
    assert "50% of the work of server disp_rx" in found.evidence and found.gain.low <= 0 < found.gain.high
    assert causes(looked_up("bulk", "hash"))["tables"].sets == []


def test_a_run_without_tables_has_no_such_cause():
    assert "tables" not in causes(made())
