"""The addresses of YouTube videos alone on a line, which WordPress replaces by frames. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from exporter.compare.posts import NewPost, OldPost

_ADDRESS: Final = re.compile(r"https?://(?:(?:www\.|m\.)?youtube\.com/watch\?v=|youtu\.be/)([\w-]{11})", re.ASCII)
_FRAME: Final = re.compile(r"(?:https?:)?//www\.youtube(?:-nocookie)?\.com/embed/([\w-]{11})(?![\w-])", re.ASCII)


def with_frames_for_videos(old: OldPost, new: NewPost) -> OldPost:
    """Return an entry without the addresses of videos for which a post of WordPress has a further frame."""
    if not new.whole or new.marked is None:
        return old
    frames = _framed(new.marked.frames) - _framed(old.players)
    if not frames:
        return old
    texts: list[str] = []
    starts: list[frozenset[int] | None] = []
    left = frames.copy()
    for text, lines in zip(old.texts, old.starts, strict=True):
        ordered = sorted(lines or ())
        for begin, end in _between(text, left):
            texts.append(text[begin:end])
            inside = ordered[bisect_right(ordered, begin) : bisect_left(ordered, end)]
            starts.append(None if lines is None else frozenset(each - begin for each in inside))
    letters = "".join(old.letters[begin:end] for begin, end in _between(old.letters, frames))
    return replace(old, texts=tuple(texts), starts=tuple(starts), letters=letters)


def _framed(addresses: Iterable[str]) -> Counter[str]:
    return Counter(found[1] for found in map(_FRAME.match, addresses) if found)


def _between(text: str, frames: Counter[str]) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text between the addresses of framed videos, and take these frames."""
    cuts = [0]
    for found in _ADDRESS.finditer(text):
        if frames[found[1]] > 0:
            frames[found[1]] -= 1
            cuts += found.span()
    ends = pairwise([*cuts, len(text)])
    yield from (part for number, part in enumerate(ends) if number % 2 == 0 and part[0] < part[1])
