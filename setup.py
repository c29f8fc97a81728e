"""Into the wheel go man pages and completions, which the command line writes itself. All else is in pyproject.toml."""

import sys
import tempfile
from distutils.command.install_data import install_data  # which setuptools brings along
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent


class InstallShare(install_data):
    """Files for share/, made when they are installed: into a wheel, or for `pip install --editable`."""

    def run(self) -> None:
        sys.path.insert(0, str(HERE / "src"))
        from windtunnel.cli import manual

        with tempfile.TemporaryDirectory() as made:
            manual.write(Path(made))
            places = [path for path in Path(made).rglob("*") if path.is_file()]
            self.data_files = [(f"share/{path.parent.relative_to(made)}", [str(path)]) for path in places]
            super().run()


# without a file the command would not be called
setup(cmdclass={"install_data": InstallShare}, data_files=[("share", [])])
