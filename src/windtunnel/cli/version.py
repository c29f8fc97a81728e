"""windtunnel --version: the package, the engine and its DPDK."""

from windtunnel.engine.find import find_engine
from windtunnel.engine.query import version
from windtunnel.errors import UserError
from windtunnel.printing import print_values
from windtunnel.version import __version__


def show_version() -> None:
    """Prints one line each. A missing engine or one that does not respond is reported."""
    print(f"windtunnel {__version__}")
    try:
        engine = find_engine()
        print_values(f"{version(engine)} at {engine}")
    except UserError as error:
        print_values(f"engine: {error.message}" + (f" ({error.remedy})" if error.remedy else ""))
