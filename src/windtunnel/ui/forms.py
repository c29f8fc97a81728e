"""What a browser's form says."""

from urllib.parse import parse_qsl

from fastapi import Request

MOST_FIELDS = 50


async def said(request: Request) -> dict[str, str]:
    """Its fields; of several with one name the last. Line ends are those of Unix: a browser sends others. Empty where it cannot be read."""
    body = (await request.body()).decode(errors="replace")
    try:
        fields = parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}
    return {name: value.replace("\r\n", "\n") for name, value in fields}
