"""Recognise the posts that a person moved from one blog to another. Pure.

If two different posts were joined, one would be hidden. So a pair needs strong evidence: text and date must agree, or
text, title and numbers if the dates differ. Weaker evidence makes a doubtful pair, which a person decides.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import datetime
from enum import IntEnum
from functools import lru_cache
from heapq import nsmallest
from typing import Final, NamedTuple
from zlib import crc32

from exporter.compare.texts import sketch

_NOT_LETTERS: Final = re.compile(r"[\W_]+")
_NUMBER: Final = re.compile(r"\d+")
_REPOSTED: Final = re.compile(
    r"再掲|再録|再投稿|再放送|リポスト|アンコール|\brepost|\brerun|from the archives", re.IGNORECASE
)
_MARKED_CHARACTERS: Final = 60
"""The beginning of a text that may say that it is published again."""
_PIECE_LETTERS: Final = 6
_SKETCHED_LETTERS: Final = 4_000
_SKETCH_PIECES: Final = 32
_START_LETTERS: Final = 30
_MAX_SHARING_POSTS: Final = 24
"""If more posts share a title, a minute or a piece of text, it identifies none of them."""
_MIN_SHARED_PIECES: Final = 6
_SHORT_TEXT: Final = 20
"""Letters. A shorter text cannot identify its post, which may consist of a picture."""
_CUT_TEXT: Final = 40
"""Letters that a shorter text must have to count as the beginning of a longer one."""
_PLAIN_TEXT: Final = 60
_LONG_TEXT: Final = 100
_BULK: Final = 5
"""Pairs with different dates are accepted if the two blogs have at least this number of them."""
_MINUTE: Final = 60
_HALF_HOUR: Final = 1_800
_DAY: Final = 86_400
_WIDEST_ZONES: Final = 14 * 3_600
"""The most seconds by which a wrong time zone shifts a time."""
_KEPT_TEXTS: Final = 512
_COMPARED_CHARACTERS: Final = 40_000
_MAX_PAIRS: Final = 1_000_000
"""The limit for pairs counted at once. Beyond it, only pieces of text in exactly two posts make new pairs."""


class Closeness(IntEnum):
    """How well the dates of two posts agree."""

    UNKNOWN = 0
    """A date is missing, or the dates agree in no way."""
    ZONE = 2
    """They differ by a time zone, or one has only the day of the other."""
    MINUTE = 3
    """They are in the same minute, in local time or in UTC."""


class Traits(NamedTuple):
    """The properties by which a post is recognised in another blog.

    Attributes:
        blog: the number of its blog.
        title: the letters of its title, see :func:`letters_of_text`.
        date: when it was written.
        length: the letters of its text.
        whole: a hash of its letters; 0 without any.
        start: a hash of the first of them; 0 if there are few.
        pieces: the smallest hashes of pieces of its text.
        addresses: its own addresses.
        quoted: the addresses in other blogs that its text links to.
        reposted: whether it says that it is published again.
    """

    blog: int
    title: str
    date: datetime | None
    length: int
    whole: int
    start: int
    pieces: array[int]
    addresses: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    reposted: bool = False


class Pair(NamedTuple):
    """Two posts that are or may be the same.

    Attributes:
        one: the index of the first.
        other: the index of the second one, in another blog.
        score: up to 4 for the text, 2 for the title, 3 for the date, and 1 if one quotes the other's address.
    """

    one: int
    other: int
    score: float


class Moves(NamedTuple):
    """The recognised moves.

    Attributes:
        groups: the indexes of posts that are the same, at most one of each blog, in the order of the blogs.
        pairs: the accepted pairs.
        doubtful: pairs for a person to decide, the surest first.
    """

    groups: list[tuple[int, ...]]
    pairs: list[Pair]
    doubtful: list[Pair]


def letters_of_text(text: str) -> str:
    """Return only the letters and digits, case-folded. A move to another service does not change these."""
    return _NOT_LETTERS.sub("", unicodedata.normalize("NFKC", text).casefold())


def traits_of(
    blog: int,
    title: str,
    text: str,
    date: datetime | None,
    addresses: Iterable[str] = (),
    quoted: Iterable[str] = (),
) -> Traits:
    """Return the traits of a post.

    Args:
        blog: the number of its blog.
        title: as text.
        text: without markup.
        date: when it was written.
        addresses: its own, in one spelling.
        quoted: those in other blogs that it links to, in the same spelling.
    """
    letters = letters_of_text(text)
    data = letters[:_SKETCHED_LETTERS].encode("utf-16-le", "surrogatepass")
    width = 2 * _PIECE_LETTERS
    pieces = {crc32(data[at : at + width]) for at in range(0, max(0, len(data) - width + 1), 2)}
    return Traits(
        blog,
        letters_of_text(title)[:200],
        date,
        len(letters),
        hash(letters) if letters else 0,
        hash(letters[:_START_LETTERS]) if len(letters) >= _START_LETTERS else 0,
        array("I", nsmallest(_SKETCH_PIECES, pieces)),
        tuple(addresses),
        tuple(quoted),
        bool(_REPOSTED.search(title) or _REPOSTED.search(text[:_MARKED_CHARACTERS])),
    )


def moved_posts(
    posts: Sequence[Traits],
    text_of: Callable[[int], str],
    same: Iterable[tuple[int, int]] = (),
    different: Iterable[tuple[int, int]] = (),
) -> Moves:
    """Return which posts are the same.

    Args:
        posts: the posts of all blogs.
        text_of: returns the text of the post at an index.
        same: pairs that a person declared to be the same.
        different: pairs that a person declared to be different.
    """
    judge = _Judge(posts, text_of)
    forbidden = {frozenset(pair) for pair in different}
    given = [Pair(one, other, float("inf")) for one, other in same]
    sure, late, near = list(given), [], []
    for one, other in sorted(judge.candidates()):
        if frozenset((one, other)) in forbidden:
            continue
        match judge.verdict(one, other):
            case _Verdict.SAME, score:
                sure.append(Pair(one, other, score))
            case _Verdict.LATE, score:
                late.append(Pair(one, other, score))
            case _Verdict.NEAR, score:
                near.append(Pair(one, other, score))
    bulk = Counter((posts[each.one].blog, posts[each.other].blog) for each in late)
    for pair in late:
        enough = bulk[posts[pair.one].blog, posts[pair.other].blog] >= _BULK
        (sure if enough else near).append(pair)
    groups = _Groups(posts, forbidden)
    accepted = [pair for pair in sorted(sure, key=_surest_first) if groups.join(pair)]
    doubtful = [pair for pair in sorted(near, key=_surest_first) if not groups.has_partner(pair)]
    return Moves(groups.found(), accepted, doubtful)


def _surest_first(pair: Pair) -> tuple[float, int, int]:
    return -pair.score, pair.one, pair.other


class _Groups:
    """Posts that are the same, at most one of each blog."""

    def __init__(self, posts: Sequence[Traits], forbidden: set[frozenset[int]]) -> None:
        self._posts = posts
        self._forbidden = forbidden
        self._of: dict[int, list[int]] = {}

    def join(self, pair: Pair) -> bool:
        """Join the groups of a pair; return whether that is possible."""
        one, other = (self._of.get(each, [each]) for each in pair[:2])
        if one is other:
            return True
        blogs = [self._posts[each].blog for each in (*one, *other)]
        if len(set(blogs)) < len(blogs) or any(frozenset((a, b)) in self._forbidden for a in one for b in other):
            return False
        joined = [*one, *other]
        self._of.update(dict.fromkeys(joined, joined))
        return True

    def has_partner(self, pair: Pair) -> bool:
        """Return whether one post of a pair already has a partner in the other's blog."""
        blogs = [{self._posts[each].blog for each in self._of.get(index, ())} for index in pair[:2]]
        return self._posts[pair.other].blog in blogs[0] or self._posts[pair.one].blog in blogs[1]

    def found(self) -> list[tuple[int, ...]]:
        """Return all groups."""
        groups = {id(group): group for group in self._of.values()}.values()
        return sorted(tuple(sorted(group, key=lambda each: self._posts[each].blog)) for group in groups)


class _Verdict(IntEnum):
    """The conclusion from the evidence about two posts."""

    OTHER = 0
    NEAR = 1
    """A person should decide."""
    LATE = 2
    """The same text under another date. Such pairs are accepted if there are many."""
    SAME = 3


class _Judge:
    """Finds the pairs worth comparing, and compares them."""

    def __init__(self, posts: Sequence[Traits], text_of: Callable[[int], str]) -> None:
        self._posts = posts
        self._letters = lru_cache(_KEPT_TEXTS)(lambda index: letters_of_text(text_of(index)[:_COMPARED_CHARACTERS]))
        self._repeated: set[int] = set()

    def candidates(self) -> set[tuple[int, int]]:
        """Return pairs from two blogs that share a rare property, and note posts that their own blog repeats."""
        keys: tuple[Callable[[Traits], Iterable[Hashable]], ...] = (
            lambda post: [post.whole] if post.length >= _SHORT_TEXT else (),
            lambda post: [post.start] if post.start else (),
            lambda post: [post.title] if post.title else (),
            _titled_days,
            _minutes,
        )
        found: set[tuple[int, int]] = set()
        for key in keys:
            found.update(self._sharing(key))
        found.update(self._quoting())
        found.update(self._alike())
        return found

    def _sharing(self, keys: Callable[[Traits], Iterable[Hashable]]) -> Iterator[tuple[int, int]]:
        of: defaultdict[Hashable, list[int]] = defaultdict(list)
        for index, post in enumerate(self._posts):
            for key in keys(post):
                of[key].append(index)
        for indexes in of.values():
            if 1 < len(indexes) <= _MAX_SHARING_POSTS:
                yield from self._pairs(indexes)

    def _quoting(self) -> Iterator[tuple[int, int]]:
        of = {address: index for index, post in enumerate(self._posts) for address in post.addresses}
        for index, post in enumerate(self._posts):
            for address in post.quoted:
                if address in of:
                    yield from self._pairs([index, of[address]])

    def _pairs(self, indexes: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield the pairs of different blogs, each in the order of the blogs."""
        ordered = sorted(indexes, key=lambda index: (self._posts[index].blog, index))
        for at, one in enumerate(ordered):
            for other in ordered[at + 1 :]:
                if self._posts[one].blog != self._posts[other].blog:
                    yield one, other

    def _alike(self) -> Iterator[tuple[int, int]]:
        """Yield the pairs that share several pieces of text."""
        rows = array("Q")
        for index, post in enumerate(self._posts):
            rows.extend(piece << 32 | index for piece in post.pieces)
        shared: Counter[int] = Counter()
        common: Counter[int] = Counter()
        run: list[int] = []
        before = -1
        for row in [*sorted(rows), -1]:
            piece, index = row >> 32, row & 0xFFFFFFFF
            if piece != before:
                if len(run) > (_MAX_SHARING_POSTS if len(shared) < _MAX_PAIRS else 2):
                    common.update(run)
                else:
                    shared.update(one << 32 | other for at, one in enumerate(run) for other in run[at + 1 :])
                run, before = [], piece
            run.append(index)
        self._repeated.update(index for index, number in common.items() if number * 2 >= len(self._posts[index].pieces))
        for both, number in shared.items():
            one, other = both >> 32, both & 0xFFFFFFFF
            if self._posts[one].blog == self._posts[other].blog:
                if number * 2 >= min(len(self._posts[one].pieces), len(self._posts[other].pieces)):
                    self._repeated |= {one, other}
            elif number >= _MIN_SHARED_PIECES:
                yield from self._pairs([one, other])

    def verdict(self, one: int, other: int) -> tuple[_Verdict, float]:
        """Return the conclusion and the score; see :class:`Pair`."""
        before, after = self._posts[one], self._posts[other]
        closeness = close(before.date, after.date)
        titled = bool(before.title) and before.title == after.title
        quoted = not {*before.addresses}.isdisjoint(after.quoted) or not {*after.addresses}.isdisjoint(before.quoted)
        text = self._likeness(one, other)
        score = 4 * max(text.dice, text.held * 0.9) + 2 * titled + closeness + quoted
        if closeness is Closeness.MINUTE:
            near_title = titled or _holds(before.title, after.title)
            begins = bool(before.start) and before.start == after.start
            verdict = self._of_same_minute(text, titled=titled, near_title=near_title, begins=begins)
        elif closeness is Closeness.ZONE:
            verdict = self._of_same_day(text, titled=titled)
        else:
            verdict = self._of_other_days(one, other, text, titled=titled, quoted=quoted)
        return verdict, score

    @staticmethod
    def _of_same_minute(text: _Likeness, *, titled: bool, near_title: bool, begins: bool) -> _Verdict:
        if text.longest < _SHORT_TEXT:
            return _Verdict.SAME if titled and text.equal else _Verdict.OTHER
        is_cut = text.held >= 0.8 and text.shortest >= _CUT_TEXT
        if (titled and (text.dice >= 0.3 or text.held >= 0.5)) or (near_title and (text.dice >= 0.5 or is_cut)):
            return _Verdict.SAME
        if text.equal or (text.dice >= 0.7 and text.shortest >= _CUT_TEXT) or (is_cut and begins):
            return _Verdict.SAME
        return _Verdict.NEAR if titled or text.dice >= 0.5 or is_cut else _Verdict.OTHER

    @staticmethod
    def _of_same_day(text: _Likeness, *, titled: bool) -> _Verdict:
        is_cut = text.held >= 0.85 and text.shortest >= _CUT_TEXT
        if titled and (text.dice >= 0.6 or is_cut) and text.longest >= _SHORT_TEXT and text.numbers:
            return _Verdict.SAME
        if text.dice >= 0.85 and text.shortest >= _PLAIN_TEXT and text.numbers:
            return _Verdict.SAME
        near = text.longest >= _SHORT_TEXT and ((titled and text.dice >= 0.4) or text.dice >= 0.7)
        return _Verdict.NEAR if near else _Verdict.OTHER

    def _of_other_days(self, one: int, other: int, text: _Likeness, *, titled: bool, quoted: bool) -> _Verdict:
        before, after = self._posts[one], self._posts[other]
        again = before.reposted != after.reposted
        alone = one not in self._repeated and other not in self._repeated
        same_text = text.numbers and alone and (text.dice >= 0.97 or text.inside)
        enough = text.shortest >= _LONG_TEXT if titled else text.shortest >= 2 * _LONG_TEXT
        if quoted and not again and text.numbers and (text.dice >= 0.8 or text.inside) and text.shortest >= _PLAIN_TEXT:
            return _Verdict.SAME
        if same_text and enough and not again:
            return _Verdict.LATE
        near = text.dice >= 0.8 and text.shortest >= _PLAIN_TEXT and alone and text.numbers
        return _Verdict.NEAR if near and (titled or quoted) else _Verdict.OTHER

    def _likeness(self, one: int, other: int) -> _Likeness:
        texts = self._letters(one), self._letters(other)
        short, long = sorted(texts, key=len)
        if texts[0] == texts[1] and self._posts[one].whole == self._posts[other].whole:
            return _Likeness(len(short), len(long), float(bool(short)), float(bool(short)), True, bool(short), True)
        pieces = sketch(short), sketch(long)
        both = len(pieces[0] & pieces[1])
        dice = 2 * both / (len(pieces[0]) + len(pieces[1])) if pieces[0] and pieces[1] else 0.0
        held = both / len(pieces[0]) if pieces[0] else 0.0
        inside = bool(short) and len(short) * 10 >= len(long) * 6 and short in long
        return _Likeness(len(short), len(long), dice, held, False, inside, _same_numbers(short, long, held))


class _Likeness(NamedTuple):
    """How similar two texts are.

    Attributes:
        shortest: the letters of the shorter one.
        longest: the letters of the longer one.
        dice: the shared pieces, as a part of the pieces of both.
        held: the shared pieces, as a part of those of the shorter one.
        equal: whether they are the same.
        inside: whether the longer one is the shorter one with some words before or after it.
        numbers: whether their numbers agree. They differ if a person filled in the same form twice.
    """

    shortest: int
    longest: int
    dice: float
    held: float
    equal: bool
    inside: bool
    numbers: bool


def _same_numbers(short: str, long: str, held: float) -> bool:
    few, many = Counter(_NUMBER.findall(short)), Counter(_NUMBER.findall(long))
    missing = sum((few - many).values())
    extra = sum((many - few).values()) if held >= 0.9 and len(short) * 10 >= len(long) * 9 else 0
    # The end of a cut text may be half a number.
    allowed = 1 if len(short) * 10 < len(long) * 9 else 0
    return missing <= allowed and extra == 0


def _holds(one: str, other: str) -> bool:
    """Return whether one title contains the other: some services add the blog's name."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _PIECE_LETTERS and short in long


def close(one: datetime | None, other: datetime | None) -> Closeness:
    """Return how well two dates agree. Both have a time zone."""
    if one is None or other is None:
        return Closeness.UNKNOWN
    apart = abs(one.timestamp() - other.timestamp())
    walls = one.replace(tzinfo=None), other.replace(tzinfo=None)
    shown = abs((walls[0] - walls[1]).total_seconds())
    if min(apart, shown) <= _MINUTE:
        return Closeness.MINUTE
    if any(each.hour == each.minute == each.second == 0 for each in walls) and walls[0].date() == walls[1].date():
        return Closeness.ZONE
    rest = min(shown % _HALF_HOUR, -shown % _HALF_HOUR)
    return Closeness.ZONE if shown <= _WIDEST_ZONES and rest <= _MINUTE else Closeness.UNKNOWN


def _minutes(post: Traits) -> list[Hashable]:
    """Return the minute of a post's date in local time and in UTC; none if it has only a day."""
    if post.date is None or (post.date.hour == post.date.minute == post.date.second == 0):
        return []
    wall = post.date.replace(tzinfo=None)
    return [("shown", wall.toordinal(), wall.hour, wall.minute), ("fact", int(post.date.timestamp()) // _MINUTE)]


def _titled_days(post: Traits) -> list[Hashable]:
    """Return the title with the day and with the next, so that posts of a series are compared only with close dates."""
    if post.date is None or not post.title:
        return []
    day = int(post.date.timestamp()) // _DAY
    return [(post.title, day), (post.title, day + 1)]
