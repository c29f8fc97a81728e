"""The engine as Python sees it: the plan it is given, the JSON lines it answers with, and its supervisor."""
