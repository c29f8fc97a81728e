"""How the command line ends where no command can say it."""

import os

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


@pytest.mark.parametrize(("umask", "mode"), [(0, 0o664), (0o022, 0o644), (0o077, 0o600)])
def test_nothing_is_made_that_all_may_write(monkeypatch, tmp_path, umask, mode):
    monkeypatch.setattr(cli, "_run", lambda: (tmp_path / "file").write_text(""))
    before = os.umask(umask)
    try:
        cli.main()
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode
