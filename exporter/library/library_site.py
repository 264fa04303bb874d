"""``library build``: one site from several blogs by one person, with moved posts shown once."""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from exporter import lossless_json
from exporter.archive.archive import Archive, read_consistently
from exporter.archive.reader import require_outside_archives
from exporter.compare.moved import Moves, Pair, Traits, letters_of_text, moved_posts, traits_of
from exporter.errors import UsageError
from exporter.export.folder import check_target, stored_blocks, write_export
from exporter.export.interface import Content, ExportFile, Summary, Unchanged, ViewFile, WrittenFile
from exporter.html.embedded import Use, embedded
from exporter.html.links import AddressPattern, absolute, host_of, meaning
from exporter.html.text import text_of
from exporter.library.blog_addresses import address_builder
from exporter.library.export import check_apart, listed
from exporter.library.same_posts import SamePosts, read_same_posts
from exporter.library.views import site_options, titled
from exporter.library.visibility import read_at
from exporter.message import message
from exporter.model.asset import Asset
from exporter.model.kinds import Kind
from exporter.service.registry import service_of
from exporter.site import SiteOptions
from exporter.site.history import ArchiveHistory
from exporter.site.library import BlogRecords, Library, LibraryBlog, LibraryService, WithoutRecords, blog_keys, own_id
from exporter.site.thumbnails import JoinedThumbnails, Thumbnails
from exporter.site.view import PublicRecords, SiteView
from exporter.translation import translated

if TYPE_CHECKING:
    from exporter.archive.state import State
    from exporter.model.publication import Declared
    from exporter.service.interface import Records
    from exporter.settings import Settings

FORMAT: Final = "library"
INDEX: Final = "library.index"
"""The file with a line for every other file, by which the next build finds unchanged ones."""
_ENOUGH_LETTERS: Final = 0.9
"""The oldest copy of a moved post is shown if its text has this part of the letters of the longest copy."""
_HOSTS_ASKED: Final = 100
"""The entries of a blog whose addresses show its hosts."""


@dataclass(frozen=True, slots=True)
class LibraryOptions:
    """The owner's choices.

    Attributes:
        title: of the site.
        language: ``ja`` or ``en``; by default that of the newest blog's site.
        pairs: the file that corrects which posts are the same.
        public: whether the site will be published.
        force: whether to replace an earlier library.
    """

    title: str = ""
    language: str | None = None
    pairs: Path | None = None
    public: bool = False
    force: bool = False


@dataclass(frozen=True, slots=True)
class LibraryBuilt:
    """A written library: its first page, its report, how many of its files were made, and the moves it recognised."""

    start: Path
    document: dict[str, Any]
    made: int
    moved: int
    doubtful: int


class _Opened(NamedTuple):
    """An archive that is being read: its whole state, and the records for the site."""

    archive: Archive
    state: State
    source: BlogRecords
    options: SiteOptions


@dataclass(slots=True)
class _Found:
    """Which posts and comments are the same, by their ids in the library."""

    posts: list[tuple[str, ...]] = field(default_factory=list)
    comments: list[tuple[str, ...]] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    moves: Moves = field(default_factory=lambda: Moves([], [], []))
    ids: list[str] = field(default_factory=list)


def build_library(
    archives: Sequence[tuple[Path, Settings]],
    target: Path,
    options: LibraryOptions,
    declared: Callable[[Archive, Records, Settings, State], Declared] | None = None,
) -> LibraryBuilt:
    """Write one site of several archives into a folder outside of them.

    Args:
        archives: the folder and the settings of each archive, the oldest home first.
        target: a new folder, or with ``force`` one with an earlier library.
        options: the owner's choices.
        declared: returns how a blog's flags are meant, for a public site; may raise.

    Raises:
        UsageError: an archive is named twice, the folder cannot be written, the file of pairs is invalid, or nothing
            says which entries of a blog are public.
        NoArchive, ArchiveDamaged: an archive cannot be read.
    """
    places = Counter(path.resolve() for path, _ in archives)
    twice = next((path for path, number in places.items() if number > 1), None)
    if twice is not None:
        raise UsageError("{path} is named twice; name each archive once.", path=twice)
    require_outside_archives(target)
    for path, _ in archives:
        check_apart(target, path)
    check_target(target, force=options.force)
    same = SamePosts() if options.pairs is None else read_same_posts(options.pairs)

    def read(number: int, opened: list[Archive]) -> LibraryBuilt:
        if number < len(archives):
            return read_consistently(archives[number][0], lambda each: read(number + 1, [*opened, each]))
        with contextlib.ExitStack() as states:
            found = _opened(opened, [settings for _, settings in archives], states)
            return _written(found, [settings for _, settings in archives], target, options, same, declared)

    return read(0, [])


def _opened(archives: Sequence[Archive], settings: Sequence[Settings], states: contextlib.ExitStack) -> list[_Opened]:
    keys = blog_keys(archive.info.blog_id for archive in archives)
    titles: Counter[str] = Counter()
    found = []
    for number, (archive, own) in enumerate(zip(archives, settings, strict=True), 1):
        version, blog_id = archive.resolve(), archive.info.blog_id
        service = service_of(own, archive.info.service)
        state = states.enter_context(contextlib.closing(archive.state(version)))
        options = titled(site_options(own, archive.path), state, service)
        title = options.title or blog_id
        titles[title] += 1
        if titles[title] > 1:
            title = f"{title} ({keys[number - 1]})"
        patterns = [AddressPattern(text, "entry_url") for text in options.entry_addresses]
        build = address_builder(state, service, own) if not patterns else _filled(patterns[0])
        gone = ArchiveHistory(archive, service, version).gone_entries()
        blog = LibraryBlog(keys[number - 1], number, title, blog_id, version, archive.manifest(version).finished_at)
        found.append(_Opened(archive, state, BlogRecords(blog, state, service, build, gone), options))
    return found


def _filled(pattern: AddressPattern) -> Callable[[str, Mapping[str, Any]], str | None]:
    return lambda _, raw: pattern.fill(raw)


def _written(
    opened: Sequence[_Opened],
    settings: Sequence[Settings],
    target: Path,
    options: LibraryOptions,
    same: SamePosts,
    declared: Callable[[Archive, Records, Settings, State], Declared] | None,
) -> LibraryBuilt:
    sources = [each.source for each in opened]
    found = _moved(sources, same)
    left_out = dict.fromkeys(Kind, 0)
    if options.public and declared is not None:
        flags = [
            declared(each.archive, each.source.service, own, each.state)
            for each, own in zip(opened, settings, strict=True)
        ]
        sources, left_out = _public(opened, flags, found)
    library = Library(sources, found.posts, found.comments, found.hosts)
    newest = opened[-1].options
    language = options.language or newest.language
    title = options.title or translated(message("My blogs"), language)
    chosen = SiteOptions(title=title, language=language, assets="", public=options.public)
    thumbnails = JoinedThumbnails([Thumbnails(each.archive.layout) for each in opened])
    view = SiteView(LibraryService(sources, library), None, chosen, thumbnails=thumbnails, library=library)
    folder = _LibraryFolder(target, view.edition)
    files = chain(view.files(library), _picture_files(library, [each.archive for each in opened]))

    def document(written: list[WrittenFile]) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "side": "public" if options.public else "all",
            "folder": str(target.resolve()),
            "blogs": [_described(each, one.archive.path, library) for each, one in zip(sources, opened, strict=True)],
            "written": {str(kind): len(library.ids(kind)) for kind in Kind},
            "left_out": {str(kind): number for kind, number in left_out.items()},
            "moved": _pairs(found, sources, found.moves.pairs, {each for group in found.posts for each in group}),
            "doubtful": [] if options.public else _pairs(found, sources, found.moves.doubtful),
            **listed(written, public=options.public),
        }

    written = write_export(folder.files(files), opened[0].archive.path, target, document)
    return LibraryBuilt(
        target / "index.html", document(written), folder.made, len(found.posts),
        0 if options.public else len(found.moves.doubtful),
    )  # fmt: skip


def _described(source: BlogRecords, path: Path, library: Library) -> dict[str, Any]:
    blog = source.blog
    blogs = (library.blogs_of_entry(each) for each in library.ids(Kind.ENTRIES))
    moved = sum(len(each) > 1 and blog in each for each in blogs)
    return {
        "key": blog.key, "blog_id": blog.blog_id, "title": blog.title, "archive": str(path.absolute()),
        "version": blog.version, "entries": len(source.records.ids(Kind.ENTRIES)), "moved": moved,
    }  # fmt: skip


def _pairs(
    found: _Found, sources: Sequence[BlogRecords], pairs: Iterable[Pair], only: set[str] | None = None
) -> list[dict[str, Any]]:
    """Return pairs as a report names them: ids in both blogs, and how sure the program is."""
    blogs = {source.blog.key: source for source in sources}

    def named(index: int) -> dict[str, Any]:
        key, own = own_id(found.ids[index])
        post = blogs[key].post(blogs[key].entry(own), None, own)
        return {"post": f"{key}/{own}", "address": post.permalink or None, "date": post.date and post.date.isoformat()}

    return [
        {"posts": [named(pair.one), named(pair.other)], "score": None if pair.score > 100 else round(pair.score, 2)}
        for pair in pairs
        if only is None or only.issuperset((found.ids[pair.one], found.ids[pair.other]))
    ]


def _moved(sources: Sequence[BlogRecords], same: SamePosts) -> _Found:
    """Find the posts and comments that are in several blogs."""
    found = _Found(hosts=_hosts(sources))
    traits: list[Traits] = []
    of_address: dict[str, int] = {}
    for source in sources:
        hosts = found.hosts - {host_of(source.blog.base)}
        for own in chain(source.records.ids(Kind.ENTRIES), source.gone):
            post = source.post(source.entry(own), None, own)
            text = f"{post.body}\n{post.more}"
            address = meaning(post.permalink) if post.permalink else ""
            of_address.setdefault(address or post.id, len(traits))
            quoted = _quoted(text, source.blog.base, hosts)
            traits.append(
                traits_of(source.blog.number, post.title, text_of(text), post.date, filter(None, [address]), quoted)
            )
            found.ids.append(post.id)
    by_id = {record_id: index for index, record_id in enumerate(found.ids)}

    def index_of(name: str) -> int:
        key, _, own = name.partition("/")
        address = absolute(name, "") if "://" in name else None
        index = of_address.get(meaning(address)) if address is not None else None
        if index is None:
            index = next((by_id.get(each.blog.id_of(own)) for each in sources if each.blog.key == key), None)
        if index is None:
            raise UsageError(
                "{path}: no blog has the entry {name!r}. Name it by its address, or as KEY/ID from the report of the "
                "library.",
                path=same.path,
                name=name,
            )
        return index

    def read(index: int) -> str:
        key, own = own_id(found.ids[index])
        source = next(each for each in sources if each.blog.key == key)
        post = source.post(source.entry(own), None, own)
        return text_of(f"{post.body}\n{post.more}")

    declared = [[(index_of(one), index_of(other)) for one, other in pairs] for pairs in (same.same, same.different)]
    found.moves = moved_posts(traits, read, *declared)
    for group in found.moves.groups:
        longest = max(traits[index].length for index in group)
        shown = next(index for index in group if traits[index].length >= longest * _ENOUGH_LETTERS)
        found.posts.append(tuple(found.ids[each] for each in (shown, *(each for each in group if each != shown))))
    found.comments = _moved_comments(sources, found.posts)
    return found


def _hosts(sources: Sequence[BlogRecords]) -> set[str]:
    """Return the hosts of the entries' addresses."""
    found = {host_of(source.blog.base) for source in sources}
    for source in sources:
        for own in source.records.ids(Kind.ENTRIES)[:_HOSTS_ASKED]:
            found.add(host_of(source.post(source.entry(own), None, own).permalink))
    return found - {""}


def _quoted(text: str, base: str, hosts: set[str]) -> list[str]:
    """Return the addresses in other blogs that a text links to, in one spelling."""
    if not any(host in text for host in hosts):
        return []
    links = (absolute(found.text, base) for found in embedded(text) if found.use is Use.LINKED)
    return list(dict.fromkeys(meaning(link) for link in links if link is not None and host_of(link) in hosts))


def _moved_comments(sources: Sequence[BlogRecords], groups: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return comments that moved with their posts: one from each blog, with equal names and texts."""
    shown_as = {each: group[0] for group in groups for each in group}
    found: defaultdict[tuple[str, str, str, int], list[str]] = defaultdict(list)
    for source in sources:
        seen: Counter[tuple[str, str, str]] = Counter()
        for own, raw in source.records.scan(Kind.COMMENTS) if shown_as else ():
            entry_id = shown_as.get(source.blog.id_of(source.service.post_id(raw)))
            if entry_id is None:
                continue
            comment = source.service.comment(raw)
            # Exports write a title that the new home lacks before the text.
            words = letters_of_text(f"{comment.title} {text_of(comment.text)}")
            key = entry_id, letters_of_text(comment.name), words
            if key[2]:
                found[*key, seen[key]].append(source.blog.id_of(own))
                seen[key] += 1
    return [tuple(same) for same in found.values() if len(same) > 1]


def _public(
    opened: Sequence[_Opened], flags: Sequence[Declared], found: _Found
) -> tuple[list[BlogRecords], dict[Kind, int]]:
    """Return the public records of each blog, and how many others there are.

    A post or comment is left out in all blogs if one of them has it and does not show it to everybody. A blog that no
    longer has a post does not hide it.
    """

    def public(each: _Opened, declared: Declared, hidden: Mapping[Kind, set[str]]) -> PublicRecords:
        service, moment = each.source.service, read_at(each.archive, each.source.blog.version)
        return PublicRecords(WithoutRecords(each.state, hidden), declared, moment, service)

    shown = [public(each, own, {}) for each, own in zip(opened, flags, strict=True)]
    of_key = {each.source.blog.key: (each.state, records) for each, records in zip(opened, shown, strict=True)}
    hidden: defaultdict[str, defaultdict[Kind, set[str]]] = defaultdict(lambda: defaultdict(set))

    def is_hidden(kind: Kind, record_id: str) -> bool:
        key, own = own_id(record_id)
        state, records = of_key[key]
        return state.identity(kind, own) is not None and records.identity(kind, own) is None

    for kind, groups in ((Kind.ENTRIES, found.posts), (Kind.COMMENTS, found.comments)):
        for group in groups:
            if any(is_hidden(kind, each) for each in group):
                for key, own in map(own_id, group):
                    hidden[key][kind].add(own)
    sources, left_out = [], Counter[Kind]()
    for each, said, records in zip(opened, flags, shown, strict=True):
        key = each.source.blog.key
        remaining = public(each, said, hidden[key]) if key in hidden else records
        left_out.update({kind: len(each.state.ids(kind)) - len(remaining.ids(kind)) for kind in Kind})
        sources.append(replace(each.source, records=remaining, gone={}))
    found.posts = _remaining(found.posts, sources, Kind.ENTRIES)
    found.comments = _remaining(found.comments, sources, Kind.COMMENTS)
    return sources, dict(left_out)


def _remaining(groups: Iterable[Sequence[str]], sources: Sequence[BlogRecords], kind: Kind) -> list[tuple[str, ...]]:
    """Return the groups without the records that no source has; a single record is no group."""
    known = {source.blog.id_of(own) for source in sources for own in source.records.ids(kind)}
    kept = (tuple(each for each in group if each in known) for group in groups)
    return [group for group in kept if len(group) > 1]


def _picture_files(library: Library, archives: Sequence[Archive]) -> Iterator[ViewFile]:
    """Yield the stored files of all archives, each once."""
    roots = {blog.key: archive.path for blog, archive in zip(library.blogs, archives, strict=True)}
    seen: set[str] = set()
    for asset_id, raw in library.scan(Kind.ASSETS):
        path = Asset.from_raw(raw).path
        if path is not None and path not in seen:
            seen.add(path)
            place = roots[own_id(asset_id)[0]].joinpath(*path.split("/"))
            yield ViewFile(path, path.encode(), partial(_content, place))


def _content(path: Path) -> bytes:
    return b"".join(stored_blocks(path))


class _LibraryFolder:
    """A library's files; an earlier build may have written most of them.

    Args:
        target: the folder, which is unchanged since it was written if it exists.
        edition: changes with the program and with what all pages show.

    Attributes:
        made: how many files were made.
    """

    def __init__(self, target: Path, edition: str) -> None:
        self._target = target
        self._edition = edition
        self._fingerprints: dict[str, str] = {}
        self._known = self._read()
        self.made = 0

    def files(self, files: Iterable[ViewFile]) -> Iterator[ExportFile]:
        """Yield the files to write, and then the index."""
        for file in files:
            self._fingerprints[file.path] = fingerprint = file.fingerprint.hex()
            before, known = self._known.get(file.path, ("", None))
            if known is not None and before == fingerprint:
                yield Unchanged(self._target.joinpath(*file.path.split("/")), known)
            else:
                self.made += 1
                yield Content(file.path, iter([file.render()]))
        yield Summary(INDEX, self._lines)

    def _lines(self, written: Sequence[WrittenFile]) -> Iterator[bytes]:
        yield lossless_json.dumps([FORMAT, self._edition]) + b"\n"
        for file in written:
            yield lossless_json.dumps([file.path, self._fingerprints[file.path], file.bytes, file.sha256]) + b"\n"

    def _read(self) -> dict[str, tuple[str, WrittenFile | None]]:
        """Return the fingerprint of each file that the folder has; none if another program or other options made it."""
        found: dict[str, tuple[str, WrittenFile | None]] = {}
        with contextlib.suppress(OSError, lossless_json.NotJson, ValueError, TypeError):
            first, *rest = (self._target / INDEX).read_bytes().splitlines()
            if lossless_json.loads(first) == [FORMAT, self._edition]:
                for line in rest:
                    path, fingerprint, size, digest = lossless_json.loads(line)
                    if (self._target / path).is_file():
                        found[path] = fingerprint, WrittenFile(path, size, digest)
        return found
