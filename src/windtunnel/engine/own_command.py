"""The command line of this product, for a process of its own."""

import sys

OWN_COMMAND = (sys.executable, "-P", "-c", "from windtunnel.cli import main; main()")
"""-P: no module of the working directory shadows ours."""
