"""Words that describe a picture, told apart from file names that services and editors fill in. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from exporter.html.tree import tag_set

_MAX_NAME_CHARACTERS: Final = 200
"""Longer texts are descriptions."""
_ENDING: Final = re.compile(r"\.(?:avif|bmp|gif|heic|heif|jfif|jpe|jpe?g|jxl|png|svg|tiff?|webp)$")
_HATENA: Final = re.compile(r"\[?[fg]:(?:id:)?[^\s:]+:[0-9]{6,}[a-z]?(?::\S*)?\]?")
"""A picture in Hatena Fotolife, such as ``f:id:user:20200101123456j:plain``."""
_ADDRESS: Final = re.compile(r"(?:https?:|//|data:|/|\{)\S*")
"""An address, or an emoji of Ameba such as ``{emoji:001_char3.png}``."""
_PARTS: Final = re.compile(r"[0-9]+|[^\W\d_]+")
_HASH: Final = re.compile(r"[0-9a-f]{8,}")
_NAMES: Final = tag_set(
    "album alt attachment blogger camera capture cimg dcim dji download downloadfile dsc dscf dscn fb file foto gif "
    "gopr hpim image images imag img imgp jpeg jpg kimg line mvimg noimage pano photo photos pic pict picture "
    "pixta png pxl received scan screenshot sdim snapchat snapshot thumb thumbnail unnamed untitled webp whatsapp "
    "イメージ ギャラリー スクショ スクリーンショット サムネイル ダウンロード ファイル 写真 名称未設定 無題 画像"
)
"""Words that cameras, phones, services and editors write as a name, alone or with a number."""
_BESIDE: Final = tag_set("a am at bmp copy e edited full hdr j large medium no of p pm s small wa x")
"""Words that programs add to these names."""


def picture_words(text: str, address: str = "") -> str:
    """Return the words of an alternative text or title that a person wrote; empty for a file name.

    A file name in Japanese is returned without its ending, because a person chose its words.

    Args:
        text: the alternative text or the title.
        address: the picture's address; its file name in Latin letters is no description.
    """
    words = " ".join(text.split())
    if not words or len(words) > _MAX_NAME_CHARACTERS:
        return words
    name = unicodedata.normalize("NFKC", words).casefold()
    ending = _ENDING.search(name)
    stem = name[: ending.start()] if ending else name
    if _HATENA.fullmatch(name) or _ADDRESS.fullmatch(name) or _is_generated(stem):
        return ""
    if not stem.isascii():
        return words.rpartition(".")[0] if ending else words
    return "" if ending or stem == _stem(address) else words


@lru_cache(maxsize=2_048)
def _is_generated(stem: str) -> bool:
    """Return whether a name without its ending is made of numbers, hashes and names that programs write.

    Punctuation counts as made by a program, symbols do not.
    """
    parts = _PARTS.findall(stem.replace("screen shot", "screenshot").removesuffix("のコピー"))
    if not parts:
        # Nobody names a file with a note, a star, an emoji or a face of symbols alone.
        return not any(unicodedata.category(each).startswith("S") for each in stem)
    letters = [part for part in parts if not part.isdigit()]
    digits = sum(len(part) for part in parts if part.isdigit())
    known = [part for part in letters if part in _NAMES]
    if not letters or (known and len(known) + sum(part in _BESIDE for part in letters) == len(letters)):
        return True
    if digits and _HASH.fullmatch("".join(parts)):
        return True
    if parts[0] in known and digits >= 6:
        return True
    only = letters[0] if len(letters) == 1 else ""
    return 0 < len(only) <= 6 and only.isascii() and digits >= 3 and " " not in stem


def _stem(address: str) -> str:
    """Return an address's file name without its ending, normalized as alternative texts are."""
    name = unquote(address.partition("?")[0].rpartition("/")[2])
    return _ENDING.sub("", unicodedata.normalize("NFKC", name).casefold())
