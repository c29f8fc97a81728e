"""windtunnel share: its commands, one file each, registered in `cli/app.py`."""
