"""Latin letters without their accents."""

from __future__ import annotations

from zibaldone.text.remembered import remembered

_UNACCENTED = str.maketrans(
    "áàâäãåéèêëíìîïóòôöõúùûüçñýÿÁÀÂÄÃÅÉÈÊËÍÌÎÏÓÒÔÖÕÚÙÛÜÇÑÝ’",
    "aaaaaaeeeeiiiiooooouuuucnyyAAAAAAEEEEIIIIOOOOOUUUUCNY'",
)


@remembered(10_000)
def unaccented(text: str) -> str:
    """As long as it was; a straight apostrophe for a curved one."""
    return text if text.isascii() else text.translate(_UNACCENTED)
