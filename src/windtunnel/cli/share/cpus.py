"""The core that tenants share, as it is asked for."""

import os


def shared_cpu(asked: int | None) -> int:
    """The last that may be used, where none is asked for. Raises UserError for one that may not be used."""
    from windtunnel.errors import UserError

    allowed = sorted(os.sched_getaffinity(0))
    if asked is not None and asked not in allowed:
        raise UserError(f"--cpu {asked}: this process may not use it", remedy=f"one of {', '.join(map(str, allowed))}")
    return allowed[-1] if asked is None else asked
