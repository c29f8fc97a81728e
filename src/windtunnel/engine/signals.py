"""The signal that ended a process, by name."""

import signal


def signal_name(exit_code: int | None) -> str | None:
    """Of an exit code as `subprocess` has it, -N for signal N; None where no signal ended the process."""
    if exit_code is None or exit_code >= 0:
        return None
    try:
        return signal.Signals(-exit_code).name
    except ValueError:  # real-time signals have numbers only
        return f"signal {-exit_code}"
