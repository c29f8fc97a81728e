"""The plots that a report holds."""

import json
import re

SCRIPT = re.compile(r'<script type="application/json" id="_plots">(.*?)</script>', re.DOTALL)


def plots(page: str) -> dict:
    found = SCRIPT.search(page)
    return json.loads(found[1]) if found else {}
