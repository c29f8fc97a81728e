"""The version, which is that of windtunnel beside it, what this package needs, and the man pages of `windtunnel share`."""

import runpy
import sys
import tempfile
from distutils.command.install_data import install_data  # which setuptools brings along
from pathlib import Path

from setuptools import setup

HERE = Path(__file__).resolve().parent
WINDTUNNEL = HERE.parent / "src"
VERSION = runpy.run_path(str(WINDTUNNEL / "windtunnel" / "version.py"))["__version__"]


class InstallShare(install_data):
    """Files for share/, made when they are installed: the command line of windtunnel writes them."""

    def run(self) -> None:
        self.run_command("egg_info")  # names the command
        sys.path[:0] = [str(HERE / "src"), str(WINDTUNNEL)]
        from windtunnel.cli import manual

        with tempfile.TemporaryDirectory() as made:
            manual.write_extension(Path(made), "share")
            places = [path for path in Path(made).rglob("*") if path.is_file()]
            self.data_files = [(f"share/{path.parent.relative_to(made)}", [str(path)]) for path in places]
            super().run()


setup(
    version=VERSION,
    install_requires=[f"windtunnel=={VERSION}", "fastapi>=0.115", "httpx>=0.27", "uvicorn>=0.30"],
    cmdclass={"install_data": InstallShare},
    data_files=[("share", [])],  # without a file the command would not be called
)
