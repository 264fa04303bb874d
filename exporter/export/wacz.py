"""The captures of a blog for archives and libraries: a WACZ file whose list of pages is the list of its posts. Pure.

Posts are found in the captures by their old addresses. A record of the blog that may not be public now is left out,
although its page was public when it was captured.
"""

from __future__ import annotations

from typing import Final

WACZ: Final = "wacz"
"""The name of the format; it packs captures, so it is none of :data:`~exporter.export.formats.FORMATS`."""
