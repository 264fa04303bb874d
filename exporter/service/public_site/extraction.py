"""Find a page's main text with trafilatura, which the extra ``pages`` installs. Pure."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final

from exporter.service.public_site.article import Extract

_LIBRARY: Final = "trafilatura"


def extraction() -> Extract | None:
    """Return the function that finds the main text of a page; ``None`` if the library is not installed.

    The library is imported at its first use, because it takes half a second.
    """
    return _extract if find_spec(_LIBRARY) is not None else None


def _extract(source: str) -> str:
    try:
        from trafilatura import extract  # noqa: PLC0415 - see above

        found = extract(
            source, output_format="html", include_images=True, include_links=True, include_formatting=True,
            include_comments=False, favor_recall=True,
        )  # fmt: skip
    except Exception:  # noqa: BLE001 - a page that the library cannot read is guessed, like one without the library
        return ""
    text = str(found or "")
    begin, end = text.find("<body>"), text.rfind("</body>")
    return text[begin + len("<body>") : end].strip() if 0 <= begin < end else text.strip()
