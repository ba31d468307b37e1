"""Fields of forms."""

from __future__ import annotations

from starlette.datastructures import FormData


def field(form: FormData, name: str) -> str:
    """A text as it was typed: browsers send line breaks as CR LF. Empty where there is none."""
    value = form.get(name, "")
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""
