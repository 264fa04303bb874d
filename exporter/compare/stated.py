"""Compare the parts of a post that only some services state: categories with parents, tags, author and more. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

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
    StatedParts,
    Unchecked,
)
from exporter.compare.texts import first_difference, only_words, same_words, word_letters
from exporter.html.links import host_of
from exporter.message import message

Found = Iterator[Difference | Unchecked | Announced]

_NOT_SHOWN: Final = message("the new home does not show them")
_PARENTS_NOT_SHOWN: Final = message("the new home does not show the categories above them")
_PRIVATE_ONLY: Final = message("only private posts have them, so none was made")
_NO_TERMS: Final = message("pages of WordPress have none")
CUT: Final = message("they are longer than the new home holds, which cut them")
_CUT_LETTERS: Final = 40
"""A shorter beginning of a name is another name."""
_NO_ACCOUNT: Final = message("the new home has no account of their name")
_OTHER_HOST: Final = message("they are on another host, which must redirect them to the new home")
_NOT_FOLLOWED: Final = message("the new home did not say where they lead")


@dataclass(frozen=True, slots=True)
class StatedComparison:
    """Compares the stated parts of pairs of posts.

    Attributes:
        home: the new home.
        facts: its pictures by address.
        followed: the targets of old addresses, see :meth:`~exporter.compare.posts.Home.follow`.
        scope: the parts to compare.
        place_of: returns the path of an address in one form.
        leads_to: returns whether a path leads to one of others.
        shows_categories: whether any page of the home shows a category of its entry.
        shows_tags: the same for tags.
    """

    home: HomeState
    facts: Mapping[str, PictureFacts]
    followed: Mapping[str, str]
    scope: Scope
    place_of: Callable[[str], str]
    leads_to: Callable[[str, Sequence[str]], bool]
    shows_categories: bool = True
    shows_tags: bool = True

    def compare(self, old: OldPost, new: NewPost) -> Found:
        """Yield a pair's differences, and the parts that could not be compared."""
        stated = old.stated
        if stated is None:
            return
        for aspect, compare in (
            (Aspect.CATEGORY, self._categories), (Aspect.TAGS, self._tags), (Aspect.AUTHOR, self._author),
            (Aspect.KIND, self._kind), (Aspect.EXCERPT, self._excerpt), (Aspect.FEATURED, self._featured),
            (Aspect.ADDRESS, self._address),
        ):  # fmt: skip
            if aspect in self.scope.aspects:
                yield from compare(old, stated, new)

    def _categories(self, old: OldPost, stated: StatedParts, new: NewPost) -> Found:
        if stated.categories and has_no_terms(new):
            yield Announced(Aspect.CATEGORY, 1, _NO_TERMS)
            return
        for path in stated.categories:
            if new.categories is None:
                if new.names is None or not self.shows_categories:
                    yield Unchecked(Aspect.CATEGORY, 1, _NOT_SHOWN)
                    return
                there = same_words(path[-1], new.names)
                if there and len(path) > 1:
                    yield Unchecked(Aspect.CATEGORY, 1, _PARENTS_NOT_SHOWN, asked=False)
            else:
                there = [*map(word_letters, path)] in [[*map(word_letters, each)] for each in new.categories]
            if not there and self._is_hidden(old, path[-1]):
                yield Unchecked(Aspect.CATEGORY, 1, _PRIVATE_ONLY, asked=False)
            elif not there and is_cut(path[-1], new.names or ()):
                yield Announced(Aspect.CATEGORY, 1, CUT)
            elif not there:
                shown = new.names or () if new.categories is None else map(_path_name, new.categories)
                yield Difference(Fault.CATEGORY, _path_name(path), ", ".join(shown))

    def _tags(self, old: OldPost, stated: StatedParts, new: NewPost) -> Found:
        if stated.tags and has_no_terms(new):
            yield Announced(Aspect.TAGS, 1, _NO_TERMS)
            return
        names = new.names if new.tags is None else new.tags
        if stated.tags and (names is None or not (self.shows_tags or self.home.words)):
            yield Unchecked(Aspect.TAGS, 1, _NOT_SHOWN)
            return
        for tag in stated.tags:
            if not self._is_among(tag, names or ()):
                if self._is_hidden(old, tag):
                    yield Unchecked(Aspect.TAGS, 1, _PRIVATE_ONLY, asked=False)
                elif is_cut(tag, names or ()):
                    yield Announced(Aspect.TAGS, 1, CUT)
                else:
                    yield Difference(Fault.TAGS, tag, ", ".join(names or ()))

    def _is_among(self, tag: str, names: Sequence[str]) -> bool:
        """Return whether a tag is among names. Some generators take no spaces and signs in tags."""
        return same_words(tag, names) or (self.home.words and only_words(tag) in map(only_words, names))

    def _is_hidden(self, old: OldPost, name: str) -> bool:
        """Return whether a category or tag is missing because the new home would show it to everybody."""
        known = self.home.categories
        return old.status is not ShownAs.PUBLISH and known is not None and not same_words(name, known)

    def _author(self, _old: OldPost, stated: StatedParts, new: NewPost) -> Found:
        if not stated.author:
            return
        if new.author is None:
            yield Unchecked(Aspect.AUTHOR, 1, _NOT_SHOWN, asked=False)
        elif not same_words(stated.author, [new.author]):
            if self.home.authors is not None and not same_words(stated.author, self.home.authors):
                yield Unchecked(Aspect.AUTHOR, 1, _NO_ACCOUNT, asked=False)
            else:
                yield Difference(Fault.AUTHOR, stated.author, new.author)

    def _kind(self, _old: OldPost, stated: StatedParts, new: NewPost) -> Found:
        if new.is_page is None:
            if stated.page:
                yield Unchecked(Aspect.KIND, 1, _NOT_SHOWN, asked=False)
        elif new.is_page is not stated.page:
            yield Difference(Fault.KIND, *map(_kind_name, (stated.page, new.is_page)))

    def _excerpt(self, _old: OldPost, stated: StatedParts, new: NewPost) -> Found:
        if not stated.excerpt:
            return
        if new.excerpt is None:
            yield Unchecked(Aspect.EXCERPT, 1, _NOT_SHOWN, asked=False)
        elif new.excerpt != stated.excerpt:
            yield Difference(Fault.EXCERPT, *first_difference(stated.excerpt, new.excerpt))

    def _featured(self, _old: OldPost, stated: StatedParts, new: NewPost) -> Found:
        picture = stated.featured
        if picture is None:
            return
        if new.featured is None:
            yield Unchecked(Aspect.FEATURED, 1, _NOT_SHOWN, asked=False)
            return
        found = compare_pictures([picture], [new.featured] if new.featured else [], self.facts, self.scope)
        for each in found.differences:
            yield Difference(Fault.FEATURED, picture.address, each.after)
        if found.unknown:
            yield Unchecked(Aspect.FEATURED, 1, found.why, asked=self.scope.fetch)

    def _address(self, _old: OldPost, stated: StatedParts, new: NewPost) -> Found:
        targets = [self.place_of(each) for each in (*new.addresses, *new.aliases)]
        if not stated.permalink or not targets or self.leads_to(self.place_of(stated.permalink), targets):
            return
        target = self.followed.get(stated.permalink)
        if target and self.leads_to(self.place_of(target), targets):
            return
        if self.home.host and self.home.host != host_of(stated.permalink):
            yield Unchecked(Aspect.ADDRESS, 1, _OTHER_HOST, asked=False)
        elif target is None:
            yield Unchecked(Aspect.ADDRESS, 1, _NOT_FOLLOWED, asked=False)
        else:
            yield Difference(Fault.ADDRESS, stated.permalink, target)


def has_no_terms(new: NewPost) -> bool:
    """Return whether a post is a page of WordPress, which has no categories and tags."""
    return new.whole and new.is_page is True


def is_cut(name: str, shown: Sequence[str]) -> bool:
    """Return whether the beginning of a long name is shown."""
    whole = word_letters(name)
    return len(whole) > _CUT_LETTERS and any(
        len(each) >= _CUT_LETTERS and whole.startswith(each) for each in map(word_letters, shown)
    )


def _kind_name(is_page: bool) -> str:
    return message("page") if is_page else message("post")


def _path_name(path: Sequence[str]) -> str:
    return " / ".join(path)
