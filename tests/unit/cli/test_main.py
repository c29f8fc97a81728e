"""How the command line ends where no command can say it."""

import pytest

from windtunnel import cli


def ended(monkeypatch, error: BaseException):
    def run():
        raise error

    monkeypatch.setattr(cli, "_run", run)
    cli.main()


def of_an_import() -> ImportError:
    error = ImportError("numpy.core.multiarray failed to import")
    error.__cause__ = KeyboardInterrupt()
    return error


@pytest.mark.parametrize(
    "error",
    [
        KeyboardInterrupt(),
        of_an_import(),
        Exception("SchemaError: Error building `list` serializer:\n  KeyboardInterrupt: "),
    ],
    ids=["plain", "import", "schema"],
)
def test_ctrl_c_during_an_import_is_an_interrupt(monkeypatch, error):
    with pytest.raises(SystemExit) as end:
        ended(monkeypatch, error)
    assert end.value.code == 130


@pytest.mark.parametrize("error", [ImportError("no module named x"), ValueError("wrong")])
def test_other_errors_stay_what_they_are(monkeypatch, error):
    with pytest.raises(type(error)) as said:
        ended(monkeypatch, error)
    assert said.value is error
