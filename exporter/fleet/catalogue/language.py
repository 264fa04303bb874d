"""Which language a text is in, as far as its script tells. Pure."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_LOOKED_AT: Final = 4_000
_FEWEST: Final = 2
_JAPANESE_SHARE: Final = 20
_SCRIPTS: Final = {
    "ko": re.compile("[\u1100-\u11ff\uac00-\ud7af]"),
    "und-Hani": re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"),
    "und-Latn": re.compile("[A-Za-z\u00c0-\u024f]"),
    "und-Cyrl": re.compile("[\u0400-\u04ff]"),
    "th": re.compile("[\u0e00-\u0e7f]"),
    "und-Arab": re.compile("[\u0600-\u06ff]"),
    "he": re.compile("[\u0590-\u05ff]"),
    "el": re.compile("[\u0370-\u03ff]"),
    "und-Deva": re.compile("[\u0900-\u097f]"),
}
_KANA: Final = re.compile("[\u3041-\u30ff\uff66-\uff9d]")


def language_of(text: str) -> str | None:
    """Return a text's language as a BCP 47 tag, told from its script; ``None`` where it has no letters to speak of.

    A script that many languages share gives ``und-`` and its name, such as ``und-Latn``: English is not told from
    French. One kana in twenty letters is Japanese, since nothing else is written with them.
    """
    beginning = text[:_LOOKED_AT]
    kana = len(_KANA.findall(beginning))
    counts = Counter({tag: len(script.findall(beginning)) for tag, script in _SCRIPTS.items()})
    letters = kana + counts.total()
    if letters < _FEWEST:
        return None
    return "ja" if kana * _JAPANESE_SHARE >= letters else counts.most_common(1)[0][0]
