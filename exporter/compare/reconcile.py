"""Compare the archive's posts with a new home's, one by one. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import unquote, urlsplit

from exporter.compare.archived import slug_of
from exporter.compare.comments import compare_comments, find_comments, notices_as_comments
from exporter.compare.marks import MOST_COMPARED, STYLED, lost_links, lost_passages
from exporter.compare.matching import Matches
from exporter.compare.pictures import compare_pictures
from exporter.compare.posts import (
    Announced,
    Aspect,
    Difference,
    Fault,
    HomeState,
    NewPost,
    OldPost,
    PictureFacts,
    Scope,
    ShownAs,
    Unchecked,
    When,
)
from exporter.compare.stated import CUT, StatedComparison, is_cut
from exporter.compare.texts import first_difference, same_words, without_schemes, word_letters
from exporter.compare.videos import with_frames_for_videos
from exporter.html.links import host_of
from exporter.message import message
from exporter.model.records import CommentKind

_TIME_TOLERANCE: Final = timedelta(minutes=2)
"""Exports shift posts with equal titles and times by seconds."""

_OWN_SLUGS_SHARE: Final = 0.5
"""If more than this share of a home's slugs differs from those of exports, the home makes slugs by its own rule."""

_STRIPPED: Final = message("WordPress removes videos, sounds and frames from posts of this user, as the move warned")
_OWN_RULE: Final = message("the new home makes slugs by its own rule")
_FEW_PAGES: Final = 3
_CONTEXT_LETTERS: Final = 10
_PASSAGE_LETTERS: Final = 40
_UNIQUE_LETTERS: Final = 6
"""A longer comment is not on a page by chance."""


_INDEX: Final = re.compile(r"(?:^|/)index\.(?:html?|md)$|\.(?:html?|md)$")


@dataclass(frozen=True, slots=True)
class PostResult:
    """The result for an entry. ``key`` identifies the new post; empty if it is missing."""

    old: OldPost
    key: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison.

    Attributes:
        results: those for the entries to move, and for other entries that the new home shows nevertheless.
        extra: the new posts that the archive does not have.
        not_asked: the number of entries that were not to be moved and are not shown.
        later_comments: the number of comments in the new home that the archive does not have.
        unchecked: the parts that were not compared.
        announced: the differences that were reported before, and do not count.
    """

    results: Sequence[PostResult]
    extra: Sequence[NewPost]
    not_asked: int
    later_comments: int
    unchecked: Sequence[Unchecked]
    announced: Sequence[Announced] = ()

    @property
    def identical(self) -> int:
        """The number of entries without any difference."""
        return sum(not result.differences for result in self.results)

    @property
    def whole(self) -> bool:
        """Whether nothing is missing or changed, and everything wanted was compared."""
        return self.identical == len(self.results) and not any(each.asked for each in self.unchecked)

    def counts(self) -> Counter[Fault]:
        """Return the number of entries with each kind of difference."""
        return Counter(change for result in self.results for change in {each.change for each in result.differences})


def reconcile(
    olds: Sequence[OldPost],
    home: HomeState,
    matches: Matches,
    facts: Mapping[str, PictureFacts],
    scope: Scope,
    followed: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare every pair of posts, and list the posts without a partner.

    Args:
        olds: the archive's posts.
        home: the posts of the new home.
        matches: the pairs.
        facts: the new home's pictures by address.
        scope: the parts to compare.
        followed: the targets of old addresses, see :meth:`~exporter.compare.posts.Home.follow`.
    """
    comparing = _Comparing(olds, home, matches, facts, scope, followed or {})
    results, not_asked = comparing.results()
    extra = [home.posts[new] for new in matches.extra if home.posts[new].article and Aspect.EXTRA in scope.aspects]
    unchecked = [*home.unchecked, *comparing.unchecked()]
    return Comparison(results, extra, not_asked, comparing.later_comments, unchecked, comparing.announced())


@dataclass
class _Comparing:
    """Compares pairs, and counts the parts that could not be compared; the arguments are those of :func:`reconcile`.

    Attributes:
        later_comments: see :class:`Comparison`.
    """

    _olds: Sequence[OldPost]
    _home: HomeState
    _matches: Matches
    _facts: Mapping[str, PictureFacts]
    _scope: Scope
    _followed: Mapping[str, str]
    later_comments: int = 0

    def __post_init__(self) -> None:
        self._news = self._home.posts
        self._skipped: Counter[tuple[Aspect, str, bool]] = Counter()
        self._announced: Counter[tuple[Aspect, str]] = Counter()
        self._not_held = 0
        pairs = [(self._olds[old], self._news[new]) for old, new in self._matches.pairs.items()]
        self._own_names = _has_own_names(pairs)
        self._partners = {old.id: (old, new) for old, new in pairs}
        self._targets = {
            old.id: [place_of_page(each) for each in new.addresses] for old, new in pairs if old.asked and new.addresses
        }
        self._shows_comments = _shows_comments(pairs)
        self._shows_styles = any(new.whole or _shows_styles(old, new) for old, new in pairs)
        self._shows_categories = _shows_names(pairs, _categories)
        self._stated = StatedComparison(
            self._home, self._facts, self._followed, self._scope, place_of_page, leads_to,
            shows_categories=self._shows_categories,
            shows_tags=_shows_names(pairs, lambda old: () if old.stated is None else old.stated.tags),
        )  # fmt: skip

    def results(self) -> tuple[list[PostResult], int]:
        """Return the results, and the number of entries without one because they were not to be moved."""
        again: defaultdict[int, list[str]] = defaultdict(list)
        for copy, original in self._matches.again.items():
            again[original].append(self._news[copy].key)
        made: list[PostResult] = []
        for at, old in enumerate(self._olds):
            new = self._matches.pairs.get(at)
            unseen = self._home.partial if old.status is ShownAs.PUBLISH else self._home.withheld
            if new is None and old.asked and unseen:
                self._skip(Aspect.TEXT if old.status is ShownAs.PUBLISH else Aspect.HELD_BACK, unseen)
                continue
            if new is None:
                differences = [Difference(Fault.MISSING)] if old.asked else []
            else:
                differences = list(self._pair(old, self._news[new]))
            if old.asked:
                differences += [Difference(Fault.DUPLICATE, "", key) for key in again[at]]
            if old.asked or differences:
                made.append(PostResult(old, "" if new is None else self._news[new].key, tuple(differences)))
        return made, sum(not old.asked for old in self._olds) - sum(not result.old.asked for result in made)

    def unchecked(self) -> Iterator[Unchecked]:
        """Yield the parts that were left out by choice or could not be compared."""
        for aspect in Aspect:
            if aspect not in self._scope.aspects:
                yield Unchecked(aspect, 0, message("left out by choice"), asked=False)
        if self._home.withheld and not any(aspect is Aspect.HELD_BACK for aspect, _, _ in self._skipped):
            yield Unchecked(Aspect.HELD_BACK, 0, self._home.withheld, asked=False)
        for (aspect, why, asked), count in self._skipped.items():
            yield Unchecked(aspect, count, why, asked=asked)
        if self._not_held and Aspect.PICTURES in self._scope.aspects:
            yield Unchecked(
                Aspect.PICTURES, self._not_held, message("the archive does not have them either"), asked=False
            )

    def announced(self) -> list[Announced]:
        """Return the differences that were reported before."""
        return [Announced(aspect, count, why) for (aspect, why), count in self._announced.items()]

    def _pair(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        if not self._is_as_visible(old, new):
            before = old.status if old.stated is None else old.stated.audience or old.status
            yield Difference(Fault.STATUS, str(before), str(new.status))
        if not old.asked:
            return
        old = with_frames_for_videos(old, new)
        for aspect, compare in (
            (Aspect.TITLE, self._title), (Aspect.TEXT, self._text), (Aspect.DATE, self._date),
            (Aspect.SLUG, self._slug), (Aspect.CATEGORY, self._category), (Aspect.PICTURES, self._pictures),
            (Aspect.TEXT, self._players), (Aspect.TEXT, self._lines),
            (Aspect.LINKS, self._links), (Aspect.LINKS, self._own_links), (Aspect.LINKS, self._other_links),
            (Aspect.FORMATTING, self._formatting), (Aspect.COMMENTS, self._comments),
        ):  # fmt: skip
            if aspect in self._scope.aspects:
                yield from compare(old, new)
        for found in self._stated.compare(old, new):
            if isinstance(found, Unchecked):
                self._skip(found.aspect, found.why, found.count, asked=found.asked)
            elif isinstance(found, Announced):
                self._announced[found.aspect, found.why] += found.count
            else:
                yield found

    def _is_as_visible(self, old: OldPost, new: NewPost) -> bool:
        """Return whether the right people see a post, as far as the new home tells these apart."""
        public = new.status in {ShownAs.PUBLISH, ShownAs.PASSWORD}
        wanted = None if old.stated is None else old.stated.audience
        if old.status is ShownAs.PUBLISH:
            return new.status is ShownAs.PUBLISH
        if wanted is ShownAs.SCHEDULED and self._home.exact:
            # WordPress publishes it at its date, and no post before its date.
            return new.status in {ShownAs.SCHEDULED, ShownAs.DRAFT, ShownAs.PUBLISH}
        if wanted is None or not self._home.exact or not old.asked:
            return not public
        return new.status is wanted

    def _skip(self, aspect: Aspect, why: str, count: int = 1, *, asked: bool = True) -> None:
        if count:
            self._skipped[aspect, why, asked] += count

    def _title(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        if word_letters(old.title) and not same_words(old.title, new.titles):
            yield Difference(Fault.TITLE, old.title, next(iter(new.titles), ""))

    def _text(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        if new.status is ShownAs.PASSWORD:
            self._skip(Aspect.TEXT, message("it is behind a password"))
        elif new.whole and old.letters != new.letters:
            yield Difference(Fault.TEXT, *first_difference(old.letters, new.letters))
        elif not new.whole:
            for text in old.texts:
                if text not in new.letters:
                    yield Difference(Fault.TEXT, *missing_piece(text, new.letters))
                    return

    def _players(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        if not old.players or new.players is None:
            return
        # Markdown exports replace a player by a link to the player's host or to its page.
        hosts = set(filter(None, map(host_of, new.links)))
        linked = sum(any(host in unquote(address) for host in hosts) for address in old.players)
        if new.players + linked < len(old.players) and self._home.strips_frames:
            self._announced[Aspect.TEXT, _STRIPPED] += 1
        elif new.players + linked < len(old.players):
            yield Difference(Fault.PLAYER_MISSING, str(len(old.players)), str(new.players))

    def _lines(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        """Yield the first place where two lines became one, as far as the text arrived."""
        if new.starts is None:
            return
        begin = 0
        for text, starts in zip(old.texts, old.starts, strict=False):
            at = new.letters.find(text, begin)
            if at < 0:
                return
            begin = at + len(text)
            lost = sorted(start for start in starts or () if at + start not in new.starts)
            if lost:
                before = text[max(0, lost[0] - _CONTEXT_LETTERS) : lost[0]]
                after = text[lost[0] : lost[0] + _CONTEXT_LETTERS]
                yield Difference(Fault.LINE_BREAKS, f"{before} / {after}", before + after)
                return

    def _date(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        if old.when is None:
            self._skip(Aspect.DATE, message("the archive has no date for them either"), asked=False)
        elif new.when is None:
            self._skip(Aspect.DATE, message("the new home shows no date"))
        elif not _same_moment(old.when, new.when):
            yield Difference(Fault.DATE, f"{old.when:%Y-%m-%d %H:%M}", str(new.when.shown)[:16])

    def _slug(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        if not new.slug or self._own_names:
            self._skip(Aspect.SLUG, _OWN_RULE if new.slug else message("the new home does not show their slugs"))
        elif new.slug in old.slugs:
            return
        elif why := _why_announced(old, new):
            self._announced[Aspect.SLUG, why] += 1
        else:
            yield Difference(Fault.SLUG, next(iter(old.slugs), ""), new.slug)

    def _category(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        if not old.category or old.stated is not None:
            return
        if new.names is None or not self._shows_categories:
            self._skip(Aspect.CATEGORY, message("the new home does not show them"))
        elif same_words(old.category, new.names):
            return
        elif self._is_hidden_category(old):
            self._skip(Aspect.CATEGORY, message("only private posts have them, so none was made"), asked=False)
        elif is_cut(old.category, new.names):
            self._announced[Aspect.CATEGORY, CUT] += 1
        else:
            yield Difference(Fault.CATEGORY, old.category, ", ".join(new.names))

    def _is_hidden_category(self, old: OldPost) -> bool:
        """Return whether a private entry's category is missing in the new home, which would show it to everybody."""
        known = self._home.categories
        return old.status is not ShownAs.PUBLISH and known is not None and not same_words(old.category, known)

    def _pictures(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        self._not_held += old.unknown_pictures
        if new.status is ShownAs.PASSWORD:
            self._skip(Aspect.PICTURES, message("they are behind a password"), len(old.pictures))
            return
        found = compare_pictures(old.pictures, new.pictures, self._facts, self._scope)
        yield from found.differences
        if found.unknown and self._scope.fetch:
            self._skip(Aspect.PICTURES, found.why, found.unknown)
        elif found.unknown:
            self._skip(Aspect.PICTURES, message("they were not fetched, by choice"), found.unknown, asked=False)

    def _links(self, _old: OldPost, new: NewPost) -> Iterator[Difference]:
        for address in dict.fromkeys(new.links):
            if host_of(address) in self._scope.old_hosts:
                yield Difference(Fault.LINK_ON_OLD_HOST, "", address)

    def _own_links(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        """Yield the links to the blog's posts that lead elsewhere. Links to the old host are reported already."""
        if new.status is ShownAs.PASSWORD or any(host_of(each) in self._scope.old_hosts for each in new.links):
            return
        there = [place_of_page(each) for each in new.links]
        for entry_id in dict.fromkeys(old.own_links):
            target = self._targets.get(entry_id)
            if target is None or any(leads_to(each, target) for each in there):
                continue
            before, post = self._partners[entry_id]
            if any(slug_of(each) in {post.slug, *before.slugs} for each in new.links if not new.whole):
                continue
            yield Difference(Fault.LINK_ASTRAY, before.title or entry_id, self._astray(old, new, there))

    def _astray(self, old: OldPost, new: NewPost, there: Sequence[str]) -> str:
        """Return the link that is probably wrong; empty without one."""
        right = [self._targets[each] for each in old.own_links if each in self._targets]
        hosts = {host_of(each) for each in new.addresses}
        for address, place in zip(new.links, there, strict=True):
            if host_of(address) in hosts and not any(leads_to(place, target) for target in right):
                return address
        return ""

    def _other_links(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        """Yield the links to other sites, to files and inside the text that lead elsewhere or nowhere."""
        if new.status is ShownAs.PASSWORD or old.marked is None or new.marked is None:
            return  # :meth:`_formatting` reports this
        lost = lost_links(old.marked.links, new.marked.links, new.marked.frames)
        for each, now in lost.found:
            if _arrived(each.words, old, new) and not (self._home.words and each.address == "#"):
                yield Difference(Fault.LINK_ELSEWHERE, " ".join(filter(None, (each.words, each.address))), now)
        if lost.unsearched:
            self._skip(Aspect.LINKS, message("they have over {most:,} links that changed", most=MOST_COMPARED))

    def _formatting(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        """Yield the marked passages whose text arrived without the mark."""
        if new.status is ShownAs.PASSWORD:
            return
        if old.marked is None or new.marked is None:
            self._skip(Aspect.FORMATTING, message("the texts are too complex"), asked=False)
            return
        unsearched = 0
        for key, passages in old.marked.passages.items():
            lost = lost_passages(passages, new.marked.passages.get(key, ()))
            if key == STYLED and lost.found and not self._shows_styles:
                self._skip(Aspect.FORMATTING, message("the new home shows no colours and sizes"), asked=False)
                continue
            unsearched += lost.unsearched
            for each in lost.found:
                if _arrived(each, old, new):
                    yield Difference(key[0], _cut(each))
        if unsearched:
            self._skip(
                Aspect.FORMATTING,
                message("they have over {most:,} passages that the new home splits or lost", most=MOST_COMPARED),
            )

    def _comments(self, old: OldPost, new: NewPost) -> Iterator[Difference]:
        if new.comments is not None:
            olds = tuple(replace(each, text=without_schemes(each.text)) for each in old.comments)
            if self._home.withheld:  # WordPress shows strangers no hidden comments, trackbacks and pingbacks
                listed = [each.visible and each.kind is CommentKind.COMMENT for each in olds]
                hidden = sum(each.asked and not seen for each, seen in zip(olds, listed, strict=True))
                self._skip(Aspect.HELD_BACK, self._home.withheld, hidden)
                olds = tuple(replace(each, asked=seen) for each, seen in zip(olds, listed, strict=True))
            self._skip(
                Aspect.COMMENTS,
                message("they are trackbacks and pingbacks, of which WordPress' API makes comments only"),
                notices_as_comments(olds, new.comments),
                asked=False,
            )
            found = compare_comments(olds, new.comments)
            self.later_comments += found.extra
            yield from found.differences
        elif self._shows_comments:
            yield from find_comments(old.comments, new.page)
        else:
            shown = sum(comment.visible for comment in old.comments)
            self._skip(Aspect.COMMENTS, message("the new home shows no comments"), shown)


def missing_piece(text: str, page: str) -> tuple[str, str]:
    """Return the place where a page begins to differ from a text, and the text of the page there."""
    there, cut = 0, len(text)
    while there < cut:
        middle = (there + cut + 1) // 2
        there, cut = (middle, cut) if text[:middle] in page else (there, middle - 1)
    at = page.find(text[:there])
    return first_difference(text, page[at : at + len(text)] if there else "")


def _same_moment(old: datetime, new: When) -> bool:
    """Return whether two dates are equal as shown, or as moments in time."""
    if not isinstance(new.shown, datetime):
        return new.shown == old.date()
    if abs(new.shown - old.replace(tzinfo=None)) <= _TIME_TOLERANCE:
        return True
    return new.instant is not None and abs(new.instant - old) <= _TIME_TOLERANCE


def _why_announced(old: OldPost, new: NewPost) -> str:
    """Return why a name in an address differs if that was reported before; empty otherwise."""
    if new.slug == old.given_name:
        return message("WordPress chose other names, as the move reported")
    if new.whole and any(name.isdecimal() and new.slug == f"{name}-2" for name in old.slugs):
        return message("WordPress adds -2 to names of digits alone")
    return ""


def _has_own_names(pairs: Sequence[tuple[OldPost, NewPost]]) -> bool:
    named = [(old, new) for old, new in pairs if new.slug]
    return sum(
        new.slug not in old.slugs and not _why_announced(old, new) for old, new in named
    ) > _OWN_SLUGS_SHARE * len(named)


def _categories(old: OldPost) -> Sequence[str]:
    return (
        ([old.category] if old.category else []) if old.stated is None else [path[-1] for path in old.stated.categories]
    )


def _shows_names(pairs: Sequence[tuple[OldPost, NewPost]], wanted: Callable[[OldPost], Sequence[str]]) -> bool:
    """Return whether any page shows one of its entry's names; a few pages without them may have lost them."""
    named = [(names, new) for old, new in pairs if old.asked and new.names is not None and (names := wanted(old))]
    if len(named) < _FEW_PAGES:
        return True
    return any(
        new.categories is not None
        or any(same_words(name, new.names or ()) or is_cut(name, new.names or ()) for name in names)
        for names, new in named
    )


def _shows_comments(pairs: Sequence[tuple[OldPost, NewPost]]) -> bool:
    """Return whether any page without separate comments has the letters of a comment."""
    return any(
        len(comment.text) >= _UNIQUE_LETTERS and comment.text in new.page and comment.text not in old.letters
        for old, new in pairs
        if new.comments is None
        for comment in old.comments
    )


def _shows_styles(old: OldPost, new: NewPost) -> bool:
    """Return whether a page shows a coloured or resized passage of an entry."""
    olds = () if old.marked is None else old.marked.passages.get(STYLED, ())
    news = () if new.marked is None else new.marked.passages.get(STYLED, ())
    lost = lost_passages(olds, news)
    return bool(news) and len(lost.found) + lost.unsearched < len(olds)


def _arrived(passage: str, old: OldPost, new: NewPost) -> bool:
    """Return whether the new home has the text of a passage as often as the entry. A missing text is reported alone."""
    return new.letters.count(passage) >= max(1, old.letters.count(passage))


def _cut(passage: str) -> str:
    return passage if len(passage) <= _PASSAGE_LETTERS else f"{passage[: _PASSAGE_LETTERS - 1]}…"


def place_of_page(address: str) -> str:
    """Return the path and query of an absolute address, in one form for all its spellings.

    The host is not included, because a site may be built for another host.
    """
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    path = unicodedata.normalize("NFC", unquote(parts.path)).strip("/")
    return _INDEX.sub("", path).strip("/") + (f"?{parts.query}" if parts.query else "")


def leads_to(place: str, targets: Iterable[str]) -> bool:
    """Return whether a place leads to a page; the site's base path may come first."""
    return any(place == target or (target and place.endswith(f"/{target}")) for target in targets)
