"""The pictures of one post against those of its new home. Pure.

Two pictures are the same when their bytes are, or when one may be a resized or compressed copy of the other: the ratio
of their sides is the same, up to the pixel that rounding may cost the smaller one. A copy may be turned by a right
angle, as WordPress turns what the camera held upright.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from exporter.compare.picture_look import PictureLook, same_look
from exporter.compare.posts import Difference, Fault, Picture, PictureFacts
from exporter.html.links import host_of, meaning
from exporter.message import message

_RESIZED: Final = re.compile(r"-(?:[0-9]{1,5}x[0-9]{1,5}|scaled|rotated|e[0-9]{10,13}|[0-9]{1,3})(?=\.[a-z0-9]+$)")
"""What WordPress adds to the names of copies, and of files whose name was taken."""
_LEAST_SIDE: Final = 600
_LEAST_PART: Final = 0.25
"""A copy's longer side has at least so many pixels, or this part of the old one's: readers still see what it shows."""

OldLook = Callable[[Picture], PictureLook]


class ComparedPictures(NamedTuple):
    """The differences, and how many pictures could not be compared, with the reason of the first."""

    differences: list[Difference]
    unknown: int = 0
    why: str = ""


def compare_pictures(
    olds: Sequence[Picture],
    news: Sequence[str],
    facts: Mapping[str, PictureFacts],
    old_hosts: frozenset[str],
    old_look: OldLook | None = None,
) -> ComparedPictures:
    """Pair pictures by their bytes, their names, and then their order, and compare them.

    Args:
        olds: those of the archived post that the archive holds.
        news: the addresses of those that the new post shows.
        facts: what is known of these addresses.
        old_hosts: the hosts that die with the old blog.
        old_look: returns what a picture of the archive looks like; with ``None`` only sizes are compared.
    """
    shown = dict.fromkeys(news)
    still = [address for address in shown if host_of(address) in old_hosts]
    differences = [Difference(Fault.PICTURE_ON_OLD_HOST, "", address) for address in still]
    as_before = {meaning(address) for address in still}
    wanted = [picture for picture in olds if meaning(picture.address) not in as_before]
    there = [address for address in shown if address not in still]
    pairs = _pairs(wanted, there, facts)
    unknown, why = 0, ""
    for at, picture in enumerate(wanted):
        if at not in pairs:
            differences.append(Difference(Fault.PICTURE_MISSING, picture.address))
            continue
        address = pairs[at]
        found = facts.get(address, PictureFacts(unknown=message("it was not asked for")))
        if found.gone:
            differences.append(Difference(Fault.PICTURE_MISSING, picture.address, f"{address} ({found.gone})"))
        elif found.unknown or found.sha256 is None:
            unknown, why = unknown + 1, why or found.unknown
        elif not same_picture(picture, found) or (found.look is not None and found.look.broken):
            differences.append(
                Difference(Fault.PICTURE_CHANGED, _described(picture, picture.address), _described(found, address))
            )
        elif old_look is not None and picture.sha256 != found.sha256:
            unseen = _unseen(picture, found, old_look)
            if unseen is None:
                after = message("{address} (another picture)", address=address)
                differences.append(Difference(Fault.PICTURE_CHANGED, _described(picture, picture.address), after))
            elif unseen:
                unknown, why = unknown + 1, why or unseen
    return ComparedPictures(differences, unknown, why)


def _unseen(old: Picture, new: PictureFacts, old_look: OldLook) -> str | None:
    """Return why two looks could not be compared, empty if they are the same, ``None`` if they differ."""
    there = new.look or PictureLook(unknown=message("it was not decoded"))
    here = PictureLook() if there.unknown else old_look(old)
    unknown = there.unknown or here.unknown or here.broken
    if unknown:
        return unknown
    return "" if same_look(here.light, there.light) else None


def same_picture(old: Picture, new: PictureFacts) -> bool:
    """Tell whether a picture is the old one, or may be a resized or compressed copy of it."""
    if old.sha256 == new.sha256:
        return True
    if not (old.width and old.height and new.width and new.height):
        return False
    if max(new.width, new.height) < min(_LEAST_SIDE, max(old.width, old.height) * _LEAST_PART):
        return False
    turned = (new.height, new.width)
    return any(_same_ratio(old.width, old.height, *sides) for sides in ((new.width, new.height), turned))


def _same_ratio(width: int, height: int, new_width: int, new_height: int) -> bool:
    # Whole pixels: the exact height of the copy is off by less than one, and likewise its width.
    return min(abs(new_width * height / width - new_height), abs(new_height * width / height - new_width)) <= 1.0


def _pairs(olds: Sequence[Picture], news: Sequence[str], facts: Mapping[str, PictureFacts]) -> dict[int, str]:
    pairs: dict[int, str] = {}
    free = dict.fromkeys(news)
    tests: list[Callable[[Picture, str], bool]] = [
        lambda old, new: new in facts and facts[new].sha256 == old.sha256,
        lambda old, new: _file(new) in {old.name, _file(old.address)} - {""},
        lambda old, new: _RESIZED.sub("", _file(new)) in {old.name, _file(old.address)} - {""},
        lambda old, new: new in facts and bool(facts[new].sha256) and same_picture(old, facts[new]),
        lambda _old, _new: True,
    ]
    for test in tests:
        for at, old in enumerate(olds):
            if at not in pairs and free:
                fitting = next((new for new in free if test(old, new)), None)
                if fitting is not None:
                    pairs[at] = fitting
                    del free[fitting]
    return pairs


def _file(address: str) -> str:
    return unquote(urlsplit(address).path.rpartition("/")[2]).lower()


def _described(size: Picture | PictureFacts, address: str) -> str:
    return f"{address} ({size.width}x{size.height})" if size.width and size.height else address
