"""Forgetting: find everything that an archive holds of some records, and remove it for good.

Only the named records go. Records that quote one of them are listed and stay unchanged.
"""

from __future__ import annotations

import contextlib
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from exporter import lossless_json
from exporter.archive import forgetting
from exporter.archive.archive import Archive
from exporter.archive.atomic import remove_folder
from exporter.archive.captures import captures
from exporter.archive.checks import sha256_or_none
from exporter.archive.documents import run_lines
from exporter.archive.forgetting import Exchanges, Forgetting, names_entry
from exporter.archive.forgotten import Suppressed, id_sign, mark, new_salt, read_notes
from exporter.archive.manifest import run_of
from exporter.archive.segments import line_positions
from exporter.clock import SystemClock, timestamp
from exporter.copies.cache import cached_copies
from exporter.copies.contents import LocalHistory, Relation, relate
from exporter.copies.memory import known_places
from exporter.errors import ArchiveDamaged, BlogExporterError, NoSuchRecord, UsageError
from exporter.frozen import frozen
from exporter.library.blog_addresses import address_builder
from exporter.library.views import finish_forgetting, locked, present_views
from exporter.message import message
from exporter.model.asset import is_sha256
from exporter.model.kinds import Kind, sort_key
from exporter.service.identity import (
    address_sign,
    beginning,
    comment_signs,
    content_sign,
    entry_signs,
    letters,
    shown_signs,
)
from exporter.service.registry import service_of
from exporter.text import printable
from exporter.warc.holding import Sought, find_addresses, find_exchanges, pieces_of
from exporter.warc.page_text import BREAKS, plain, unpacked_page
from exporter.warc.shown import ShownRecords

if TYPE_CHECKING:
    from exporter.archive.forgotten import ForgettingNote
    from exporter.archive.lines import RecordLine
    from exporter.service.interface import Records
    from exporter.settings import Settings

NAMESPACE: Final = "blog-exporter-forgetting"
"""The namespace of signatures by ``ssh-keygen -Y sign``."""
_LEAST_CHARACTERS: Final = 4
"""Shorter texts are not looked for in the log of runs."""
_QUOTED_CHARACTERS: Final = 40
"""The length of the beginning of a text that counts as a quotation of it."""
_LEAST_QUOTED: Final = 12
_COMMON_TO: Final = 3
_MOST_MENTIONS: Final = 1000
_WHOLE_FILE: Final = "export:"
_WHOLE_PAGE: Final = "page:"


@frozen
class ForgettingRequest:
    """The records to forget: ids of comments, names of their writers, and ids of entries with all their comments.

    ``tombstone`` asks for a line on the page of an entry whose comments go.
    """

    comments: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    tombstone: bool = False


@dataclass(slots=True)
class FoundRecords:
    """The records to forget, and every place that holds something of them.

    Attributes:
        records: the ids of everything that goes, by kind.
        comments: the number of comments.
        entries: the number of entries.
        before: the number of requested records that were forgotten before; only data recorded since then goes.
        strangers: the requested names without a comment. Their comments may have been forgotten before.
        lines: the number of lines in versions.
        versions: the versions with these lines.
        files: the paths in ``assets/`` that only these records name.
        whole: the addresses of stored export files and pages that go as a whole, because one of the records is in them.
        runs: the lines of ``runs.jsonl`` that change.
        work: the names in ``.work/`` that are removed.
        caches: cached copies of the archive in the user's cache folder.
        copies: the places of copies, and the day when their locks end, if they are locked.
        apart: those of these folders that no sync reaches, because they were pruned or written by themselves.
        pruned: whether the archive was pruned, which a sync needs an option for.
        mentions: other records that quote one of them, by kind and id; they stay.
        texts: the texts to look for, each with the name of its writer.
        alone: texts that prove a quotation at any length, without a name: a requested name, an entry's title.
        own_ids: the entries that go, as pairs of a service's name and the id there.
        posts: the number of comments that go, by entry.
        digests: the hashes of the files that go.
        seen: the hash of ``SHA256SUMS`` when the archive was read. Every run and every capture changes it.
        signs: by kind, the signs of these records in each of their sources.
        exchanges: the recorded exchanges in captures that go.
        addresses: the addresses in the statements of captures that go.
    """

    seen: str | None
    records: dict[Kind, set[str]] = field(default_factory=lambda: {kind: set() for kind in Kind})
    comments: int = 0
    entries: int = 0
    before: int = 0
    strangers: list[str] = field(default_factory=list)
    lines: int = 0
    versions: set[int] = field(default_factory=set)
    files: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)
    runs: dict[int, str] = field(default_factory=dict)
    work: list[str] = field(default_factory=list)
    caches: list[str] = field(default_factory=list)
    copies: list[tuple[str, str | None]] = field(default_factory=list)
    apart: set[str] = field(default_factory=set)
    pruned: bool = False
    mentions: list[tuple[Kind, str]] = field(default_factory=list)
    texts: set[tuple[str, str]] = field(default_factory=set)
    alone: set[str] = field(default_factory=set)
    shown: set[tuple[Kind, str]] = field(default_factory=set)
    common: set[str] = field(default_factory=set)
    own_ids: set[tuple[str, str]] = field(default_factory=set)
    posts: Counter[str] = field(default_factory=Counter)
    digests: set[str] = field(default_factory=set)
    signs: dict[Kind, set[str]] = field(default_factory=lambda: {kind: set() for kind in Kind})
    exchanges: Exchanges = field(default_factory=dict)
    addresses: frozenset[str] = frozenset()

    @property
    def is_recorded(self) -> bool:
        """Whether a version, a file or a capture holds something that goes."""
        return bool(self.lines or self.records[Kind.ASSETS] or self.runs or self.exchanges or self.addresses)

    def spelled(self) -> set[str]:
        """Return all texts to look for, as the records spell them."""
        return {text for text, _ in self.texts} | self.alone

    def plan(self, at: str, *, tombstone: bool) -> Forgetting:
        """Return the plan to remove everything that was found."""
        shown = sorted(self.posts.items()) if tombstone else []
        return Forgetting(
            at=at,
            records={kind: frozenset(ids) for kind, ids in self.records.items() if ids},
            counted={"entries": self.entries, "comments": self.comments},
            assets=frozenset(self.digests),
            signs={kind: frozenset(signs) for kind, signs in self.signs.items() if signs},
            runs=self.runs,
            exchanges=self.exchanges,
            addresses=self.addresses,
            shown=tuple({"entry": entry_id, "comments": number} for entry_id, number in shown),
        )


def find(archive: Archive, settings: Settings, request: ForgettingRequest) -> FoundRecords:
    """Find the requested records in all versions, and all places that hold them.

    Raises:
        UsageError: the request names nothing.
        NoSuchRecord: no version has a record that it names.
        ArchiveDamaged: a version cannot be read.
    """
    if not (request.comments or request.authors or request.entries):
        raise UsageError(message("Name what to forget: forget DIR comment ID, forget DIR entry ID, or --author NAME."))
    service = service_of(settings, archive.info.service)
    archive.resolve()
    found = FoundRecords(seen=_state(archive))
    before = Suppressed(read_notes(archive.layout))
    _find_comments(archive, service, request, found, before)
    _find_entries(archive, service, request, found, before)
    _note_addresses(archive, service, settings, found)
    with contextlib.suppress(ArchiveDamaged):  # the removal itself names the damage
        _note_common(archive, service, found)
    for kind, text in found.shown:
        found.signs[kind] |= shown_signs(_lines_of(text), found.common)
    shown = _shown(archive, service, found)
    _find_assets(archive, found, shown)
    for kind in (Kind.ENTRIES, Kind.COMMENTS):
        for version, _ in _lines(archive, kind, found.records[kind]):
            found.lines += 1
            found.versions.add(version)
    _find_runs(archive, found)
    _find_mentions(archive, service, found)
    sought, shown = Sought.of(found.texts, found.alone, found.common), _shown(archive, service, found)
    if captures(archive.layout):
        found.exchanges = find_exchanges(archive.layout, sought, shown)
    found.addresses = find_addresses(archive.layout, sought, shown)
    if found.strangers and not found.is_recorded:
        raise _no_comment_by(archive, found)
    found.work = forgetting.removable(archive.layout)
    found.copies = _copies(archive)
    if found.copies:
        found.apart = {place for place, _ in found.copies if _is_apart(archive, place)}
        found.pruned = any(archive.manifest(number).pruned for number in archive.versions())
    found.caches = [str(path) for path in cached_copies(archive.layout)]
    return found


def forget(
    archive: Archive,
    settings: Settings,
    request: ForgettingRequest,
    found: FoundRecords | None = None,
    sign_with: Path | None = None,
) -> ForgettingNote | None:
    """Finish an interrupted removal. Then remove the requested records, if there are any.

    Args:
        archive: the archive.
        settings: the time to wait for the lock, and the options of the views.
        request: the records.
        found: the result of :func:`find`. It is used if the archive is still the same.
        sign_with: an SSH key for the note.

    Raises:
        ArchiveLocked: another process is writing the archive.
        UsageError: the key cannot sign. See also :func:`find`.
        ArchiveDamaged: a file does not match its hash; nothing was changed.
    """
    with locked(archive, settings):
        if not (request.comments or request.authors or request.entries):
            return None
        if found is None or found.seen != _state(archive):
            found = find(archive, settings, request)
        if not found.is_recorded and found.before:
            for name in forgetting.removable(archive.layout):
                remove_folder(archive.layout.work / name)
            return None
        plan = found.plan(timestamp(SystemClock().now()), tombstone=request.tombstone)
        views = present_views(settings, archive.path)
        forgetting.begin(archive.layout, plan)
        return finish_forgetting(archive, views, None if sign_with is None else lambda data: signature(sign_with, data))


def signature(key: Path, data: bytes) -> str:
    """Sign with an SSH key, as ``ssh-keygen -Y sign -n blog-exporter-forgetting`` does.

    Raises:
        UsageError: ssh-keygen is missing, or the key cannot sign.
    """
    command = ["ssh-keygen", "-Y", "sign", "-n", NAMESPACE, "-f", str(key)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603 - a fixed program
    except FileNotFoundError:
        raise UsageError(message("--sign needs ssh-keygen, which was not found: install OpenSSH.")) from None
    if done.returncode:
        reason = printable(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2], 200)
        raise UsageError("{key} cannot sign: {reason}. Give an SSH key with --sign.", key=key, reason=reason)
    return done.stdout.decode("ascii")


def _copies(archive: Archive) -> list[tuple[str, str | None]]:
    locks: dict[str, str] = {}
    if (archive.layout.work / "object-lock.json").kind() is not None:
        from exporter.copies.object_lock import noted_locks  # noqa: PLC0415 - it needs boto3

        locks = {place: f"{end:%Y-%m-%d}" for place, (_, end) in noted_locks(archive.path).items()}
    return [(place, locks.get(place)) for place in known_places(archive.path)]


def _is_apart(archive: Archive, place: str) -> bool:
    """Return whether a copy is a folder that was pruned, or has versions that the archive lacks."""
    if not Archive.exists(Path(place)):
        return False
    with contextlib.suppress(BlogExporterError):
        copy = LocalHistory(Archive.open(Path(place)))
        return relate(LocalHistory(archive), copy).relation in {Relation.UNPRUNED, Relation.PARTED}
    return False


def _state(archive: Archive) -> str | None:
    """Return the hash of ``SHA256SUMS``, which every run and every capture changes."""
    return sha256_or_none(archive.layout.sums)


def _lines(archive: Archive, kind: Kind, wanted: Iterable[str] | None = None) -> Iterator[tuple[int, RecordLine]]:
    """Yield version and line for a kind's lines in all versions, or only for the ids in ``wanted``."""
    ids = None if wanted is None else frozenset(wanted)
    if ids is not None and not ids:
        return
    for version in archive.versions():
        path = archive.layout.segment(version, kind)
        for _, place in line_positions(path, ids):
            yield version, place.read()


def _find_comments(
    archive: Archive, service: Records, request: ForgettingRequest, found: FoundRecords, before: Suppressed
) -> None:
    wanted, authors, entries = set(request.comments), set(request.authors), set(request.entries)
    read = bool(authors or entries)
    states: dict[str, list[Mapping[str, Any]]] = {}
    named: set[str] = set()
    for _, line in _lines(archive, Kind.COMMENTS, None if read else wanted):
        raw: Mapping[str, Any] | None = None if line.removed else line.record()
        names = set() if raw is None or not authors else {of.comment(own).name for of, own in service.each(raw)}
        by_name = names & authors
        of_entry = raw is not None and bool(entries) and service.post_id(raw) in entries
        if not (line.record_id in wanted or by_name or of_entry):
            continue
        named |= by_name
        found.records[Kind.COMMENTS].add(line.record_id)
        if raw is not None:
            states.setdefault(line.record_id, []).append(raw)
    for lacking in sorted(wanted - found.records[Kind.COMMENTS]):
        if before.has(Kind.COMMENTS, service.name, lacking):
            found.before += 1
            continue
        raise NoSuchRecord("{root} has no comment {id} in any version.", root=archive.path, id=printable(lacking, 80))
    found.strangers = sorted(authors - named)
    if found.strangers and not before:
        raise _no_comment_by(archive, found)
    found.alone |= named
    found.comments = len(found.records[Kind.COMMENTS])
    for raws in states.values():
        post_id = service.post_id(raws[-1])
        if post_id not in entries:
            found.posts[post_id] += 1
        for raw in raws:
            _note_comment(service, raw, authors, found)


def _no_comment_by(archive: Archive, found: FoundRecords) -> NoSuchRecord:
    name = printable(found.strangers[0], 80)
    return NoSuchRecord("{root} has no comment by {name!r}.", root=archive.path, name=name)


def _note_comment(service: Records, raw: Mapping[str, Any], authors: Collection[str], found: FoundRecords) -> None:
    for of, own in service.each(raw):
        comment = of.comment(own)
        found.texts.add((comment.text, comment.name))
        if comment.name in authors:
            found.alone |= {each for each in (comment.url, comment.email) if len(each) >= _LEAST_QUOTED}
        found.signs[Kind.COMMENTS] |= comment_signs(comment, sought=False)
        found.shown.add((Kind.COMMENTS, comment.text))
        found.signs[Kind.COMMENTS] |= {id_sign(of.name, each) for each in (of.key(Kind.COMMENTS, own),) if each}


def _note_common(archive: Archive, service: Records, found: FoundRecords) -> None:
    """Note the lines that several other records have, such as a greeting: no page is known by them."""
    pieces = {piece for text, _ in found.texts for piece in pieces_of(text)}
    words = {beginning(line) for text, _ in found.texts for line in _lines_of(text)} - {""}
    having: dict[str, set[tuple[Kind, str]]] = {}
    for kind in (Kind.ENTRIES, Kind.COMMENTS):
        for _, line in _lines(archive, kind):
            if line.removed or line.record_id in found.records[kind]:
                continue
            for of, own in service.each(line.record()):
                text = of.comment(own).text if kind is Kind.COMMENTS else " ".join(of.texts(own))
                shown = plain(text)
                spelled = letters(shown)
                for each in {
                    *(piece for piece in pieces if piece in shown),
                    *(word for word in words if word in spelled),
                }:
                    having.setdefault(each, set()).add((kind, line.record_id))
    found.common = {each for each, others in having.items() if len(others) >= _COMMON_TO}


def _lines_of(text: str) -> Iterator[str]:
    """Yield a text as one line, because its own lines may be short, and then these."""
    yield plain(text)
    yield from map(plain, BREAKS.split(text))


def _find_entries(
    archive: Archive, service: Records, request: ForgettingRequest, found: FoundRecords, before: Suppressed
) -> None:
    wanted = set(request.entries)
    for kind in (Kind.ENTRIES, Kind.ENTRY_LIST):
        for _, line in _lines(archive, kind, wanted):
            found.records[kind].add(line.record_id)
            if line.removed:
                continue
            record = line.record()
            for of, own in service.each(record):
                post = of.post(own) if kind is Kind.ENTRIES else of.post(None, own)
                found.texts |= {(each, post.title) for each in (post.body, post.more, post.excerpt)}
                found.alone |= {each for each in (post.title, post.permalink) if len(each) >= _LEAST_CHARACTERS}
                found.signs[Kind.ENTRIES] |= entry_signs(post, sought=False)
                found.shown |= {(Kind.ENTRIES, text) for text in (post.title, post.body, post.more, post.excerpt)}
                if own_id := of.key(kind, own):
                    found.own_ids.add((of.name, own_id))
                    found.signs[Kind.ENTRIES].add(id_sign(of.name, own_id))
    gone = {each for each in wanted if before.has(Kind.ENTRIES, service.name, each)}
    gone -= found.records[Kind.ENTRIES] | found.records[Kind.ENTRY_LIST]
    for each in sorted(wanted - gone - found.records[Kind.ENTRIES] - found.records[Kind.ENTRY_LIST]):
        raise NoSuchRecord("{root} has no entry {id} in any version.", root=archive.path, id=printable(each, 80))
    found.before += len(gone)
    found.entries = len(wanted - gone)
    both = found.records[Kind.ENTRIES] | found.records[Kind.ENTRY_LIST]
    found.records[Kind.ENTRIES], found.records[Kind.ENTRY_LIST] = set(both), set(both)


def _note_addresses(archive: Archive, service: Records, settings: Settings, found: FoundRecords) -> None:
    """Note the addresses of entries that a pattern builds, because their records state none."""
    if not found.records[Kind.ENTRIES]:
        return
    with contextlib.closing(archive.state()) as state:
        build = address_builder(state, service, settings)
        for _, line in _lines(archive, Kind.ENTRIES, found.records[Kind.ENTRIES]):
            url = None if line.removed else build(line.record_id, line.record())
            with contextlib.suppress(ValueError):
                found.signs[Kind.ENTRIES] |= set() if url is None else {address_sign(url)}


def _shown(archive: Archive, service: Records, found: FoundRecords) -> ShownRecords:
    """Return what tells the pages that show these records, or some that were forgotten before."""
    salt = new_salt()
    new = {mark(bytes.fromhex(salt), kind, sign) for kind, signs in found.signs.items() for sign in signs}
    earlier = [(note.salt, note.marks) for note in read_notes(archive.layout)]
    return ShownRecords([*earlier, *([(salt, new)] if new else [])], service.name)


def _find_assets(archive: Archive, found: FoundRecords, shown: ShownRecords) -> None:
    """Find the files that only these entries use, and the stored export files and pages that contain a record."""
    entries = found.records[Kind.ENTRIES]
    digests: dict[str, set[str]] = {}
    kept: set[str] = set()
    for _, line in _lines(archive, Kind.ASSETS):
        if line.removed:
            continue
        record = line.record()
        url, digest = line.record_id, record.get("sha256")
        digests.setdefault(url, set()).update([digest] if is_sha256(digest) else [])
        refs = record.get("refs")
        users = refs if isinstance(refs, list) else []
        if url.startswith((_WHOLE_FILE, _WHOLE_PAGE)):
            continue
        if not entries or not users or not all(names_entry(each, entries) for each in users):
            kept.add(url)
    holders = _Holders(archive, found, shown)
    for url, states in digests.items():
        is_whole = bool(found.comments or found.entries) and url.startswith(_WHOLE_FILE)
        if is_whole or (url.startswith(_WHOLE_PAGE) and holders.hold(url, states)):
            found.whole.append(url)
        elif url in kept or url.startswith((_WHOLE_FILE, _WHOLE_PAGE)):
            continue
        found.records[Kind.ASSETS].add(url)
    others = {digest for url, each in digests.items() if url not in found.records[Kind.ASSETS] for digest in each}
    stored = archive.assets().files()
    for url in found.records[Kind.ASSETS]:
        found.digests |= digests.get(url, set()) - others
        if not url.startswith((_WHOLE_FILE, _WHOLE_PAGE)):
            with contextlib.suppress(ValueError):
                found.signs[Kind.ASSETS].add(address_sign(url))
            found.signs[Kind.ASSETS] |= {content_sign(each) for each in digests.get(url, set()) - others}
    found.files = sorted(stored[digest].path for digest in found.digests if digest in stored)


class _Holders:
    """Searches stored pages for the records."""

    def __init__(self, archive: Archive, found: FoundRecords, shown: ShownRecords) -> None:
        self._archive = archive
        self._stored = archive.assets().files()
        self._sought = Sought.of(found.texts, found.alone, found.common)
        self._shown = shown

    def hold(self, url: str, digests: Iterable[str]) -> bool:
        """Return whether a stored page with one of these hashes contains a record, or cannot be read."""
        for path in (self._archive.layout.root / self._stored[each].path for each in digests if each in self._stored):
            text = unpacked_page(path.read_bytes())
            if text is None or self._sought.is_in(text):
                return True
            if self._shown.is_on_page(text, url.removeprefix(_WHOLE_PAGE)):
                return True
        return False


def _find_runs(archive: Archive, found: FoundRecords) -> None:
    """Find the lines of ``runs.jsonl`` that quote a record, and note each line without the quotation."""
    texts = [each for each in found.spelled() if len(each) >= _LEAST_CHARACTERS]
    quoted = [lossless_json.text(each)[1:-1] for each in texts]
    urls = [lossless_json.text(each)[1:-1] for each in found.records[Kind.ASSETS]]
    ids = {str(kind): ids for kind, ids in found.records.items()}
    # A sentence may have a title shortened, so its id tells.
    named = [
        lossless_json.dumps({"id": each})[1:-1] for each in found.records[Kind.ENTRIES] | found.records[Kind.ENTRY_LIST]
    ]
    for number, line in enumerate(run_lines(archive.layout.runs), 1):
        run = run_of(line) if line.endswith(b"\n") else None
        if run is None:
            continue
        problems = run.get("problems") or []
        left = [
            each
            for each in problems
            if each["id"] not in ids.get(each["kind"], ())
            and not any(text in lossless_json.dumps(each) for text in (*quoted, *urls))
        ]
        rest = lossless_json.dumps({**run, "problems": left})
        told = lossless_json.dumps(run.get("message"))
        if any(text in rest for text in (*quoted, *urls)) or any(each in told for each in named):
            run.pop("message", None)
            run["error"] = None
            if isinstance(run.get("assets"), dict):
                run["assets"] = {name: [] if isinstance(each, list) else each for name, each in run["assets"].items()}
        elif left == problems:
            continue
        found.runs[number] = (lossless_json.dumps({**run, "problems": left}) + b"\n").decode()


def _contains(service: Records, kind: Kind, line: RecordLine, found: FoundRecords) -> bool:
    """Return whether a record holds the text of an entry to forget. WordPress posts hold their patterns."""
    if kind is not Kind.ENTRIES or not found.own_ids:
        return False
    return any(
        (of.name, each) in found.own_ids for of, own in service.each(line.record()) for each in of.contained(own)
    )


def _find_mentions(archive: Archive, service: Records, found: FoundRecords) -> None:
    """Find other records, in any version, that quote one of the records to forget."""
    texts = {each.strip()[:_QUOTED_CHARACTERS] for each in found.spelled()} - {""}
    quoted = [lossless_json.text(each)[1:-1] for each in texts if len(each) >= _LEAST_QUOTED or each in found.alone]
    for kind in (Kind.ENTRIES, Kind.COMMENTS, Kind.FILES):
        mentions: dict[str, None] = {}
        with contextlib.suppress(ArchiveDamaged):  # then nothing will be forgotten
            for _, line in _lines(archive, kind):
                other = not line.removed and line.record_id not in found.records[kind]
                if other and (any(text in line.data for text in quoted) or _contains(service, kind, line, found)):
                    mentions[line.record_id] = None
        found.mentions += [(kind, record_id) for record_id in sorted(mentions, key=sort_key)]
    del found.mentions[_MOST_MENTIONS:]
