"""The version: one number for the package, the engine (meson reads this file), the changelog and run.json."""

__version__ = "0.6.0"
