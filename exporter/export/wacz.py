"""The captures of a blog for archives and libraries: a WACZ file whose list of pages is the list of its posts. Pure.

Posts are found in the captures by their old addresses. A record of the blog that may not be public now is left out,
although its page was public when it was captured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from exporter.export.posts import ExportPost, Posts
from exporter.export.reasons import Reason
from exporter.html.links import AddressPattern
from exporter.warc.cdxj import IndexLine, surt

WACZ: Final = "wacz"
"""The name of the format; it packs captures, so it is none of :data:`~exporter.export.formats.FORMATS`."""
