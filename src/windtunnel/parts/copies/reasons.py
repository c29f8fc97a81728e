"""Why a run with copies may be invalid."""

from windtunnel.engine.reason import OURS, Reason

REASONS = {
    "copies wrong": Reason(
        "A body arrived with other bytes than it was sent with. The reason names the first wrong byte.",
        f'Look at the copier and at its driver: run again with `engine = "cpu"` to tell it from the rest. {OURS}',
        is_fault=True,
    ),
    "copier wrong": Reason(
        "A copier of your own took or reported more copies than it may, or an end that is none. It was not called again.",
        "Look at what its hooks return: `windtunnel/copier.h` has their rules.",
        is_fault=True,
    ),
    "copies never ended": Reason(
        "A copier took copies and did not report their end within `timeout`. Their mbufs are not used again.",
        "Raise `timeout` of the copies if the device is slow under this load. Otherwise look at the device and its driver.",
        is_fault=True,
    ),
}
