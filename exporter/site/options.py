"""What a site is to be like. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NAME: Final = "site"
"""The view's folder."""


@dataclass(frozen=True, slots=True)
class SiteOptions:
    """The owner's choices.

    Attributes:
        title: what the site calls the blog; its id when empty.
        language: of the interface, ``ja`` or ``en``.
        content_language: of what the blog's people wrote, a BCP 47 tag.
        assets: from the site's folder to the one that holds ``assets/``, with a slash at its end, or empty.
        public: whether strangers will read it: no history, no raw records, no word on the archive itself.
        base: the address relative addresses of the content start from; made of the blog's id when empty.
        entry_addresses: how the blog's own addresses are made from an entry's record, see
            :class:`~exporter.render.addresses.AddressPattern`.
    """

    title: str = ""
    language: str = "ja"
    content_language: str = "ja"
    assets: str = "../../"
    public: bool = False
    base: str = ""
    entry_addresses: tuple[str, ...] = ()
