"""How site generators spell names in addresses: those of categories, tags, writers and posts. Pure.

A generator makes an address of each name. Names whose addresses are equal share a page, and others end the build. The
exports state a separate address for each of these; all other names keep the one that the generator makes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from exporter.export.names import plain_name, slug

_ADDRESS_BYTES: Final = 180
"""Leaves space for extensions and numbers of pages in a file name."""
_BASE_BYTES: Final = 60
_DEVICE: Final = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")
"""File names that Windows cannot hold, with any extension."""
_UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f"#%*/:<>?\\|]|^[.\s]|[.\s]$')


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The addresses of a site generator.

    Attributes:
        address: returns the address that the generator makes of a name.
        taken: matches such addresses that the generator uses itself, in small letters.
        post_taken: matches the names of posts, in small letters, whose pages would be at the place of another page.
    """

    address: Callable[[str], str]
    taken: re.Pattern[str] | None = None
    post_taken: re.Pattern[str] | None = None

    def post_name(self, name: str) -> str:
        """Return a post's name in ASCII for its address; empty if the generator needs another one."""
        plain = plain_name(name)
        is_taken = self.post_taken is not None and self.post_taken.fullmatch(plain)
        return "" if is_taken or _DEVICE.fullmatch(plain) else plain

    def addresses(self, names: Iterable[str], *, every: bool = False) -> dict[str, str]:
        """Return an address for each name that cannot keep the generator's, or for every name.

        They depend on the name alone, so they are the same in the next export.
        """
        kept: set[str] = set()
        found: dict[str, str] = {}
        others: list[str] = []
        for name in dict.fromkeys(names):
            made = self.address(name)
            if self._is_usable(made) and _folded(made) not in kept:
                kept.add(_folded(made))
                found |= {name: made} if every else {}
            elif name:
                others.append(name)
        for name in others:
            for digits in range(8, 33):
                address = _stated(name, digits)
                if address not in kept:
                    break
            kept.add(address)
            found[name] = address
        return found

    def _is_usable(self, address: str) -> bool:
        folded = address.casefold()
        is_taken = self.taken is not None and self.taken.fullmatch(folded)
        return (
            any(map(str.isalnum, address))
            and not (is_taken or _UNSAFE.search(address) or _DEVICE.fullmatch(folded))
            and len(address.encode("utf-8", "replace")) <= _ADDRESS_BYTES
        )


def _folded(address: str) -> str:
    """Return the form in which two addresses are equal to a file system or to some version of a generator."""
    return re.sub("[-_]+", "-", unicodedata.normalize("NFKC", address).casefold()).strip("-")


def _stated(name: str, digits: int) -> str:
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()[:digits]
    return "-".join(part for part in (slug(name, _BASE_BYTES).lower(), digest) if part)


def _hugo(name: str) -> str:
    r"""Keep letters, digits, marks and ``._#+~@/\%``; a space becomes a hyphen, any other character nothing."""
    kept = re.sub(r"[^\w\s.#+~@/\\%\u0300-\u036f\u3099\u309a-]", "", name.strip().lower())
    return re.sub(r"\s+", "-", kept)


def _pelican(name: str) -> str:
    """Keep letters, digits and ``_``, as its default ``SLUG_REGEX_SUBSTITUTIONS`` with ``SLUGIFY_USE_UNICODE`` does."""
    kept = re.sub(r"[^\w\s-]", "", unicodedata.normalize("NFKC", name))
    return re.sub(r"[-\s]+", "-", kept.strip()).lower()


def _words(name: str) -> str:
    return slug(name, _ADDRESS_BYTES).lower()


ELEVENTY: Final = AddressRules(_words)
"""Its filter ``slugify`` keeps Latin letters and digits alone, so most Japanese names have the same, empty address. The
export replaces the filter by one that keeps letters of every language."""

ELEVENTY_COLLECTIONS: Final = re.compile(r"(?:all|posts)\Z|\[|.*\]\Z")
"""Matches names that tags cannot have: Eleventy and its base blog use them for lists of their own, and hide them."""

HUGO: Final = AddressRules(_hugo, taken=re.compile(r"index\..*|page"))
"""Writes ``index.html`` and ``index.xml`` next to the folders of terms, and ``page/2`` for long lists."""

PELICAN: Final = AddressRules(_pelican, post_taken=re.compile("(?:archives|authors|categories|index|tags)[0-9]*"))
"""Writes these lists next to the pages of posts, with the number of the page in long ones."""


def count_stated(stated: Container[str], names: Iterable[str]) -> int:
    """Count the distinct names that have a stated address."""
    return sum(name in stated for name in set(names))


def shown_addresses(stated: Mapping[str, str], names: Iterable[str]) -> list[str]:
    """Return the names with those replaced that have a stated address."""
    return [stated.get(name, name) for name in names]
