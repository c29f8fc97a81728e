"""The command line. Imports here and at the top of each command are light: `windtunnel --help` answers at once."""


def main() -> None:
    """Runs the command line and exits: 0 done, 1 invalid run, 2 bad input or refused, 130 interrupted."""
    from windtunnel.cli.app import app
    from windtunnel.errors import UserError

    try:
        app()
    except UserError as error:
        from windtunnel.cli.errors import show_error

        show_error(error)
        raise SystemExit(2) from None
