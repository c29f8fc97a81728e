"""The engine as Python sees it: the plan it is given, the JSON lines that it writes, and its supervisor."""
