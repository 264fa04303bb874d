"""The originals of thumbnails whose addresses lead to them, by the public rules of picture hosts. Pure.

An address by such a rule is a guess: the host may have deleted the original, or a name may only look like a
thumbnail's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from exporter.html.links import absolute, is_picture

_ENDING: Final = r"\.(?:jpe?g|png|gif|webp)"
_MAX_CHARACTERS: Final = 2_000


class OriginalRule(NamedTuple):
    """A rule of a picture host.

    Attributes:
        name: the host for people.
        place: fits the addresses of thumbnails, without the scheme.
        original: returns the address of the original, with a scheme.
    """

    name: str
    place: re.Pattern[str]
    original: Callable[[re.Match[str], str], str]


def _joined(*groups: int) -> Callable[[re.Match[str], str], str]:
    """Return a rule that keeps some groups of the address and drops the rest."""
    return lambda found, scheme: f"{scheme}://" + "".join(found[group] for group in groups)


def _of_photon(found: re.Match[str], _scheme: str) -> str:
    """Return the address behind Jetpack's picture proxy, which states by ``ssl`` how it was read."""
    secure = "1" in parse_qs(found[2]).get("ssl", ["0"])
    return f"{'https' if secure else 'http'}://{found[1]}"


RULES: Final[tuple[OriginalRule, ...]] = (
    OriginalRule(
        "Hatena Fotolife",
        re.compile(r"cdn\.image\.st-hatena\.com/image/[a-z]+/[0-9a-f]+/[^/]+/(https?(?:%3A|:).+)", re.IGNORECASE),
        lambda found, _: unquote(found[1]),
    ),
    OriginalRule(
        "Hatena Fotolife",
        re.compile(
            r"((?:cdn-ak[0-9]*\.f\.st-hatena\.com|(?:img\.)?f\.hatena\.ne\.jp)/images/fotolife/[^?]+/[0-9]{14})"
            rf"_(?:[0-9]{{2,4}}|m|t)({_ENDING})(?:\?.*)?",
        ),
        _joined(1, 2),
    ),
    OriginalRule(
        "Ameba",
        re.compile(rf"(stat[0-9]*\.ameba\.jp/user_images/(?:[^/?]+/)+)t[0-9]{{8}}_([0-9]{{8,24}}{_ENDING})(?:\?.*)?"),
        lambda found, scheme: f"{scheme}://{found[1]}o{found[2]}",
    ),
    OriginalRule(
        "Ameba", re.compile(r"(stat[0-9]*\.ameba\.jp/user_images/[^?]+)\?(?:.*&)?(?:caw|cpd|cat)=.*"), _joined(1)
    ),
    OriginalRule("WordPress (Jetpack)", re.compile(r"i[0-3]\.wp\.com/([^/?]+\.[^/?]+/[^?]+)\?(.+)"), _of_photon),
    OriginalRule(
        "WordPress.com",
        re.compile(r"([^/?]+\.files\.wordpress\.com/[^?]+)\?(?:.*&)?(?:w|h|resize|fit|crop|quality)=.*"),
        _joined(1),
    ),
    OriginalRule(
        "WordPress",
        re.compile(
            rf"([^/?]+/(?:[^?]*/)?wp-content/uploads/[^?]*?)-[1-9][0-9]{{1,4}}x[1-9][0-9]{{1,4}}({_ENDING})(?:\?.*)?",
            re.IGNORECASE,
        ),
        _joined(1, 2),
    ),
    OriginalRule(
        "Blogger",
        re.compile(
            r"((?:[0-9a-z]+\.bp\.blogspot\.com|blogger\.googleusercontent\.com/img/[ab])/[^?]+)"
            r"/(?:[swh][1-9][0-9]{0,4}(?:-[0-9a-z]{1,8}){0,6})(/[^/?]+)(?:\?.*)?"
        ),
        lambda found, scheme: f"{scheme}://{found[1]}/s0{found[2]}",
    ),
    OriginalRule(
        "Blogger",
        re.compile(
            r"((?:blogger|lh[0-9])\.googleusercontent\.com/[^?=]+)=[swh][1-9][0-9]{0,4}(?:-[0-9a-z]{1,8}){0,6}"
            r"(?:\?.*)?"
        ),
        lambda found, scheme: f"{scheme}://{found[1]}=s0",
    ),
    OriginalRule(
        "livedoor Blog", re.compile(rf"(livedoor(?:\.4)?\.blogimg\.jp/[^?]+)-s({_ENDING})(?:\?.*)?"), _joined(1, 2)
    ),
    OriginalRule(
        "FC2 Blog",
        re.compile(rf"(blog-imgs-[0-9]+(?:-origin)?\.fc2\.com/[^?]+[^/?])s({_ENDING})(?:\?.*)?", re.IGNORECASE),
        _joined(1, 2),
    ),
    OriginalRule(
        "Seesaa Blog",
        re.compile(rf"([^/?]+\.up\.seesaa\.net/image/[^?]+)-thumbnail[0-9]?({_ENDING})(?:\?.*)?", re.IGNORECASE),
        _joined(1, 2),
    ),
    OriginalRule(
        "goo blog",
        re.compile(r"(blogimg\.goo\.ne\.jp)/image/upload/[^/?]+/v[0-9]+(/user_image/[^?]+)(?:\?.*)?"),
        _joined(1, 2),
    ),
)  # fmt: skip
"""The rules, the surest first. Each one names its hosts, or the folder that only its program has."""


def originals(address: str) -> Iterator[str]:
    """Yield the address of the original of a picture, if a rule fits the picture's own address.

    Args:
        address: absolute, as :func:`exporter.html.links.absolute` returns it.
    """
    if len(address) > _MAX_CHARACTERS:
        return
    scheme, _, place = address.partition("://")
    for rule in RULES:
        found = rule.place.fullmatch(place)
        if found is None:
            continue
        original = absolute(rule.original(found, scheme), "")
        if original is not None and original != address and _is_file(original):
            yield original
            # A picture behind a proxy may itself be a thumbnail.
            yield from (each for each in originals(original) if each != address)
        return


def _is_file(address: str) -> bool:
    parts = urlsplit(address)
    return is_picture(address) or "googleusercontent.com" in parts.netloc
