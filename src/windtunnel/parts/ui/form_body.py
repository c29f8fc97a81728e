"""The fields of a browser's form."""

from urllib.parse import parse_qsl

from fastapi import Request

MOST_FIELDS = 50


async def form_fields(request: Request) -> dict[str, str]:
    """The fields in the body of a request; the last one if several have one name. CRLF, which browsers send, becomes LF. Empty if it is malformed."""
    body = (await request.body()).decode(errors="replace")
    try:
        fields = parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        return {}
    return {name: value.replace("\r\n", "\n") for name, value in fields}
