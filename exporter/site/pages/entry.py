"""The page of each entry: its text, its comments, its neighbours, and the record it was made from.

A function writes them, because a template takes five times as long for thousands of pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from exporter import lossless_json
from exporter.export.interface import ViewFile
from exporter.html.anchors import places_between
from exporter.html.embedded import embedded, replaced
from exporter.html.remote_body import MadeBodies
from exporter.html.tree import BODY_CHARACTERS
from exporter.model.kinds import Kind
from exporter.model.labels import joined_path
from exporter.model.records import Comment, Post, Raw
from exporter.site.captured import capture_link, moment_of
from exporter.site.catalogue import Catalogue, beginning_of, one_line
from exporter.site.pages.comments import comment_list
from exporter.site.pages.contents import with_contents
from exporter.site.pages.site import Site, author_page, category_page, life_link
from exporter.site.post_list import PostSummary
from exporter.site.searched import OtherText, Searched, searched_comment, searched_text
from exporter.site.templating import CONTENT_LANGUAGE, Shell, escaped, root_of

_MAX_MENTIONS = 30


def see_also_parts(site: Site, post: PostSummary) -> str:
    """Return a fingerprint of both lists. Most edits of texts do not change it."""
    if post.id not in site.catalogue.mentions and post.id not in site.catalogue.alike:
        return ""
    mentions, alike = _mentions(site, post), _alike(site, post)
    shown = [(each.page, each.title, str(each.date), each[5:7], each.gone_in) for each in [*mentions, *alike]]
    return repr((len(site.catalogue.mentions.get(post.id, ())), len(mentions), shown))


def see_also(site: Site, post: PostSummary) -> str:
    """Return both lists as HTML; empty if there is nothing."""
    mentions = _mentions(site, post)
    left = len(site.catalogue.mentions.get(post.id, ())) - len(mentions)
    more = f"<p>{site.parts.t('and {n} more', n=left)}</p>\n" if left else ""
    root = root_of(post.page)
    return (
        _section(site, "mentions", site.parts.t("Entries that mention this one"), mentions, root, more)
        + _section(site, "alike", site.parts.t("Entries like this one"), _alike(site, post), root)
    )  # fmt: skip


def _mentions(site: Site, post: PostSummary) -> Sequence[PostSummary]:
    return site.catalogue.mentions.get(post.id, [])[:_MAX_MENTIONS]


def _alike(site: Site, post: PostSummary) -> Sequence[PostSummary]:
    """Return the similar entries except those that mention the entry."""
    named = {each.id for each in _mentions(site, post)}
    return [
        site.catalogue.by_id[each]
        for each in site.catalogue.alike.get(post.id, ())
        if each not in named and each in site.catalogue.by_id
    ]


def _section(site: Site, name: str, title: str, posts: Iterable[PostSummary], root: str, more: str = "") -> str:
    lines = "".join(_line(site, post, root) for post in posts)
    if not lines:
        return ""
    return (
        f'<section class="beside" id="{name}">\n<h2>{title}</h2>\n<ul class="lines">\n{lines}</ul>\n{more}</section>\n'
    )


def _line(site: Site, post: PostSummary, root: str) -> str:
    day = f'<time datetime="{post.date:%Y-%m-%d}">{site.dates.day(post.date)}</time>' if post.date else ""
    return (
        f'<li class="line" data-item>{day}<a href="{root}{post.page}" lang="{CONTENT_LANGUAGE}">'
        f"{site.parts.title(post)}</a>{site.parts.badges(post)}</li>\n"
    )


_MAX_PICTURES: Final = 60
_MAX_CAPTURES: Final = 6
"""Days linked below an entry; each captured page links to all."""
_MAX_TAGS: Final = 60
"""Tags shown at once; the rest can be opened."""
_CHARACTERS_PER_MINUTE: Final = 460
"""Characters of Japanese: 357 aloud (Trauzettel-Klosinski and Dietz 2012, IReST), and 1.3 times as many in silence, as
English is read (Brysbaert 2019: 238 words to 183)."""
_BEGINNING: Final = 1_000
_SHOWN: Final = re.compile(r"(?:<a [^>]*>\s*)?<img [^>]*>")
"""A picture in a text, and the link that it is in, perhaps to a larger one."""
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LANG: Final = f'lang="{CONTENT_LANGUAGE}"'


def entry_files(site: Site) -> Iterator[ViewFile]:
    """Yield the entries' pages, by date."""
    catalogue = site.catalogue
    history = catalogue.history
    changed = {} if history is None else history.changed_entries()
    for before, post, after in _with_neighbours(site.catalogue):
        life = life_link(history, post.id) if history is not None and post.id in changed else None
        parts: list[bytes | str] = [
            post.identity,
            post.listed,
            b"" if before is None else before.listed,
            b"" if after is None else after.listed,
            site.pictures.identity(post.id),
            *(site.words_of(picture) for picture in site.pictures.by_entry.get(post.id, ())),
            repr(changed.get(post.id)) + (life or ""),
            see_also_parts(site, post),
            repr((post.labels.author in site.authors, *map(site.tag_page, post.labels.tags))) if post.labels else "",
            repr(site.owners) if post.comments else "",
            catalogue.link_targets(Kind.ENTRIES, post.id),
            *(catalogue.link_targets(Kind.COMMENTS, comment_id) for comment_id in catalogue.comment_ids(post)),
            *((repr(catalogue.captures[post.id]),) if post.id in catalogue.captures else ()),
            *((repr(site.removals[post.id]),) if post.id in site.removals else ()),
        ]
        page = _EntryPage(site, post, before, after, life)
        yield site.written(post, parts, page.sources, page.write)


def _with_neighbours(catalogue: Catalogue) -> Iterator[tuple[PostSummary | None, PostSummary, PostSummary | None]]:
    """Yield each entry between the posts before and after it; pages have no neighbours."""
    before: PostSummary | None = None
    following = iter(catalogue.dated)
    next(following, None)
    for post in catalogue.posts:
        if post.is_page:
            yield None, post, None
        else:
            yield before, post, next(following, None)
            before = post


class _EntryPage:
    """One page; its methods return its parts as HTML, empty if it lacks the part."""

    def __init__(
        self, site: Site, post: PostSummary, before: PostSummary | None, after: PostSummary | None, life: str | None
    ) -> None:
        self._site = site
        self._t = site.parts.t
        self._post = post
        self._before = before
        self._after = after
        self._life = life
        self._root = root_of(post.page)

    @cached_property
    def _entry(self) -> Post:
        return self._site.catalogue.entry(self._post)

    @cached_property
    def _others(self) -> list[OtherText]:
        return self._site.other_texts(self._post)

    def sources(self) -> list[str]:
        """Return the text of the entry and its continuation."""
        return [self._entry.body, self._entry.more]

    def write(self, shell: Shell, made: MadeBodies | None) -> str:
        """Return the page in its shell; ``made`` has what :meth:`sources` became if another process made it."""
        catalogue, entry = self._site.catalogue, self._entry
        comments = list(catalogue.comments(catalogue.comment_ids(self._post)))
        title, body = self._site.parts.title(self._post), self._body(entry, comments, made)
        return "".join([
            shell.title, title, shell.scripts, self._scripts(), shell.text,
            f'<article class="entry" data-entry="{self._post.page}">\n<div class="leaf">\n', self._header(title), body,
            "</div>\n", self._pictures(body), comment_list(self._site, self._post, comments), "</article>\n",
            see_also(self._site, self._post), self._turn(), self._facts(entry), shell.end,
        ])  # fmt: skip

    def _scripts(self) -> str:
        root = self._root
        before = f'<link rel="prev" href="{root}{self._before.page}">' if self._before else ""
        after = f'<link rel="next" href="{root}{self._after.page}">' if self._after else ""
        scripts = (
            f'<script src="{root}static/{name}.js" defer></script>\n' for name in ("lightbox", "reading", "vertical")
        )
        return f"{''.join(scripts)}{before}{after}"

    def _header(self, title: str) -> str:
        post, root = self._post, self._root
        when, category, gone = self._t("Entries without a date"), "", ""
        if post.date:
            minute = f'<time datetime="{post.date.isoformat()}">{self._site.dates.minute(post.date)}</time>'
            when = minute if post.is_page else f'<a href="{root}year/{post.year}.html#m{post.date.month}">{minute}</a>'
        minutes = round(post.length / _CHARACTERS_PER_MINUTE)
        if minutes > 1:
            when += f"<span>{self._t('{n} min read', n=minutes)}</span>"
        if post.category:
            category = " ".join(map(self._category, post.category_paths))
        if post.gone_in:
            since = self._site.dates.written(post.gone_at)
            last = self._t("Gone upstream since {when}. This is how it last was.", when=since)
            gone = f'<p class="notice" data-gone>{last}</p>\n'
        return (
            f'<header class="title">\n<p class="when">{when}</p>\n<h1 {_LANG}>{title}</h1>\n'
            f'<p class="marks">{category} {self._site.parts.badges(post)}</p>\n{self._labels()}</header>\n{gone}'
        )

    def _category(self, path: tuple[str, ...]) -> str:
        """Return a category; one below others is shown with these."""
        target, name = f"{self._root}{category_page(path)}", escaped(joined_path(path))
        return f'<a class="category" {_LANG} href="{target}">{name}</a>'

    def _labels(self) -> str:
        """Return the writer and the tags."""
        labels, site = self._post.labels, self._site
        if labels is None:
            return ""
        found = ""
        if labels.author:
            name = f"<bdi {_LANG}>{escaped(labels.author)}</bdi>"
            if labels.author in site.authors:
                name = f'<a href="{self._root}{author_page(labels.author)}">{name}</a>'
            found += f'<p class="faint">{self._t("Author")}: {name}</p>\n'
        tags = list(map(self._tag, labels.tags))
        if tags:
            found += f'<ul class="tags">\n{"".join(tags[:_MAX_TAGS])}</ul>\n'
        if tags[_MAX_TAGS:]:
            more = self._t("and {n} more", n=len(tags) - _MAX_TAGS)
            rest = "".join(tags[_MAX_TAGS:])
            found += f'<details>\n<summary>{more}</summary>\n<ul class="tags">\n{rest}</ul>\n</details>\n'
        return found

    def _tag(self, tag: str) -> str:
        page, name = self._site.tag_page(tag), escaped(tag)
        if page == self._post.page:
            return f"<li><bdi {_LANG}>{name}</bdi></li>\n"
        return f'<li><a {_LANG} href="{self._root}{page}">{name}</a></li>\n'

    def _body(self, entry: Post, comments: list[Comment], made: MadeBodies | None) -> str:
        """Return the entry's parts, and keep its texts for the search, which follows soon."""
        if made is None:
            bodies = self._site.bodies_of(self._post.id)
            places = places_between(self.sources())
            made = [bodies.html_and_text(source, self._root, places, colours=True) for source in self.sources()]
        (body, text), (more, more_text) = made
        own = searched_text(entry, text, more_text, self._others)
        self._site.keep_searched(self._post.id, Searched(own, list(map(searched_comment, comments))))
        shown = f'{self._lead(entry)}<div class="body" {_LANG}>{body}</div>\n'
        more_title = escaped(one_line(entry.more_title))
        if more or more_title:
            heading = f"<h2 {_LANG}>{more_title}</h2>" if more_title else f"<h2>{self._t('Continued')}</h2>"
            shown += f'<section class="more">\n{heading}\n<div class="body" {_LANG}>{more}</div>\n</section>\n'
        return with_contents(shown, self._site.t("Contents"))

    def _lead(self, entry: Post) -> str:
        """Return the summary that the writer wrote, unless the text begins with it, and the featured picture."""
        site, bodies, found = self._site, self._site.bodies_of(self._post.id), ""
        excerpt = beginning_of(entry.excerpt) if entry.excerpt else ""
        if excerpt and not beginning_of(entry.body).startswith(excerpt.rstrip("…")):
            found += f'<div class="body lead" {_LANG}>{bodies.html(entry.excerpt, self._root)}</div>\n'
        picture = site.stored_picture(entry.featured) if entry.featured else None
        if picture is not None and picture.path not in _picture_paths(site, entry):
            found += f'<ul class="shots featured">\n{site.shots([picture], self._root)}</ul>\n'
        return found

    def _pictures(self, body: str) -> str:
        """Return the pictures that the entry uses but its text does not show, such as targets of text links."""
        site = self._site
        pictures = site.pictures.by_entry.get(self._post.id)
        if not pictures:
            return ""
        seen = {digest for shown in _SHOWN.findall(body) for digest in _DIGEST.findall(shown)}
        used = [each for each in pictures if seen.isdisjoint(_DIGEST.findall(each.path))]
        if used:
            waiting = {site.stored_picture(each) for source in self.sources() for each in replaced(source)}
            used = [each for each in used if each not in waiting][:_MAX_PICTURES]
        items = site.shots(used, self._root)
        if not items:
            return ""
        heading = self._t("Pictures of this entry")
        return f'<section class="used">\n<h2>{heading}</h2>\n<ul class="shots">\n{items}</ul>\n</section>\n'

    def _turn(self) -> str:
        t = self._t
        earlier, later = t("Previous entry"), t("Next entry")
        before = self._neighbour(self._before, "prev", f"← {earlier}") if self._before else "<span></span>"
        after = self._neighbour(self._after, "next", f"{later} →") if self._after else ""
        label = f"{earlier} / {later}"
        return f'<nav class="turn" aria-label="{label}">\n{before}{after}</nav>\n'

    def _neighbour(self, post: PostSummary, rel: str, label: str) -> str:
        title = f"<span {_LANG}>{self._site.parts.title(post)}</span>"
        return f'<a rel="{rel}" href="{self._root}{post.page}"><small>{label}</small>{title}</a>'

    def _facts(self, entry: Post) -> str:
        t, dates = self._t, self._site.dates
        parts = ['<footer class="facts">\n']
        if entry.updated and entry.updated != entry.date:
            parts.append(f"<p>{t('Last update {when}', when=dates.minute(entry.updated))}</p>")
        if entry.period_date and entry.period_date != entry.date:
            parts.append(f"<p>{t('Period date {when}', when=dates.minute(entry.period_date))}</p>")
        original = self._site.catalogue.original_address(entry)
        if len(self._post.blogs) > 1:
            parts.append(self._copies())
        elif original:
            link = escaped(original)
            parts.append(f'<p>{t("Original address")}: <a href="{link}" rel="noopener noreferrer">{link}</a></p>')
        parts.append(self._captures())
        if entry.featured and self._site.stored_picture(entry.featured) is None:
            parts.append(f"<p>{t('Featured picture')}: <bdi>{escaped(one_line(entry.featured))}</bdi></p>")
        if entry.sources:
            parts.append(f"<p>{t('Sources')}: {escaped(', '.join(map(one_line, entry.sources)))}</p>")
        if not self._site.options.public:
            if self._life:
                parts.append(f'<p><a href="{self._root}{self._life}">{t("How this entry changed")}</a></p>')
            record = escaped(_record(entry.raw, self._site.t("(too long to be shown here)")))
            parts.append(
                f"<details>\n<summary>{t('The record')}</summary>\n"
                f"<p>{t('The values as the service sent them.')}</p>\n"
                f'<pre tabindex="0">{record}</pre>\n</details>\n'
            )
        parts.append("</footer>\n")
        return "".join(parts)

    def _copies(self) -> str:
        """Return the blogs that a moved entry is in, with its date and address in each, and texts that differ."""
        site, root = self._site, self._root
        copies = [] if site.library is None else site.library.copies(self._post.id)
        lines = []
        for copy in sorted(copies, key=lambda each: each.blog.number):
            date = copy.post.date
            day = f'<time datetime="{date.isoformat()}">{site.dates.minute(date)}</time>' if date else ""
            address = escaped(copy.post.permalink)
            link = f'<a href="{address}" rel="noopener noreferrer">{address}</a>' if address else ""
            gone = f'<span class="badge gone">{self._t("gone")}</span>' if copy.gone_at else ""
            lines.append(f"<li>{site.parts.blogs([copy.blog.number])} {day} {gone}\n{link}</li>\n")
        heading = self._t("In {n} blogs", n=len(copies))
        found = f'<section class="copies" id="copies">\n<h2>{heading}</h2>\n<ul class="plain">\n{"".join(lines)}</ul>\n'
        for other in self._others:
            words = self._t("The text in {blog}", blog=other.blog.title)
            body = site.bodies_of(other.post.id).html(f"{other.post.body}\n{other.post.more}", root)
            found += f'<details>\n<summary>{words}</summary>\n<div class="body" {_LANG}>{body}</div>\n</details>\n'
        return f"{found}</section>\n"

    def _captures(self) -> str:
        """Return a link to the captured page for each day with a capture."""
        post, found = self._post, self._site.catalogue.captures.get(self._post.id)
        days: dict[str, str] = {}
        for stamp in found.stamps if found is not None else ():
            moment = moment_of(stamp)
            days.setdefault(self._site.dates.local_day(moment) if moment is not None else stamp, stamp)
        if found is None or not days:
            return ""
        links: list[str] = []
        for day, stamp in [*days.items()][:_MAX_CAPTURES]:
            words = escaped(day) if links else self._t("As it looked on {when}", when=day)
            target = escaped(self._root + capture_link(found.address, stamp, post.id))
            links.append(f'<a href="{target}">{words}</a>')
        return f"<p>{' · '.join(links)}</p>"


def _picture_paths(site: Site, entry: Post) -> set[str]:
    """Return the files of the pictures that an entry's texts show."""
    shown = (site.stored_picture(each.text) for text in (entry.body, entry.more) for each in embedded(text))
    return {picture.path for picture in shown if picture is not None}


def _record(raw: Raw, cut: str) -> str:
    """Return a record as JSON; a value above the size limit for bodies is cut, with a note."""
    short = {
        name: f"{value[:_BEGINNING]}… {cut}" if isinstance(value, str) and len(value) > BODY_CHARACTERS else value
        for name, value in raw.items()
    }
    return lossless_json.dumps(short, pretty=True).decode()
