"""Records that several services gave for the same thing, such as the text of a file and the page of that entry. Pure.

A joined record is ``{"id": …, "newest": SERVICE, "sources": {SERVICE: RECORD, …}}``: each record as its service gave
it, and the service whose reading changed the record last. A comment has ``post_id`` and ``parent`` too, because each
service has other ids. ``"gone": {SERVICE: EVIDENCE, …}`` names the services that had the record and no longer have it.
A record without ``sources`` is one of the service that ``archive.json`` names.

Services contradict each other about who may see a record, because they were read at different times. Then:

1. A record that an address showed publicly at the newest reading is public. Only the records that are public too count
   then: a file may still have the text of an earlier draft.
2. Otherwise a service that had the record and no longer has it took it back, so the record is private.
3. Otherwise the most hidden statement counts, because a file does not say when its blog was last as it states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from exporter import lossless_json
from exporter.model.kinds import Kind, key_of
from exporter.model.publication import STATUS_ORDER, Cause, Declared, Hidden, PostStatus, Verdict
from exporter.model.records import Audience, Comment, CommentStatus, Post, Raw, Upload, User
from exporter.service.export_file import ExportFile
from exporter.service.interface import BlogService, Records

if TYPE_CHECKING:
    from exporter.lossless_json import Frozen

SOURCES: Final = "sources"
NEWEST: Final = "newest"
GONE: Final = "gone"
_LINKS: Final = ("post_id", "parent")
_MEMBERS: Final = frozenset({"id", *_LINKS, SOURCES, NEWEST, GONE})
_DECLARED: Final = (
    "flag_settings", "flag_hint", "key_fields", "post_flags",
    "comment_flags", "access_flag", "period_flag", "deleted_flag", "usual_access", "bodies", "attributes", "roles",
    "kept_fields", "post_fields", "upload_fields", "likely_in_addresses", "unlikely_in_addresses", "extension_field",
    "timezone", "name",
)  # fmt: skip
_OPENNESS: Final = (
    Audience.PRIVATE, Audience.DRAFT, Audience.SCHEDULED, Audience.PASSWORD, Audience.MEMBERS, Audience.PUBLIC,
)  # fmt: skip
_SHOWING: Final = (CommentStatus.SPAM, CommentStatus.HIDDEN, CommentStatus.PENDING, CommentStatus.SHOWN)

_UNREAD: Final = Verdict(PostStatus.PRIVATE, Cause(Hidden.FLAG, SOURCES))
"""A service of the record is not known to this program."""
T = TypeVar("T", Post, Comment, Upload)


def parts_of(raw: Raw) -> dict[str, Raw] | None:
    """Return the records in a joined record by their services; ``None`` if the record is not joined."""
    parts = raw.get(SOURCES)
    if not isinstance(parts, dict) or not parts or not raw.keys() <= _MEMBERS:
        return None
    return dict(parts) if all(isinstance(part, dict) for part in parts.values()) else None


def gone_of(raw: Raw) -> dict[str, Raw]:
    """Return the evidence from services that no longer have a record, by their names."""
    gone = raw.get(GONE) if parts_of(raw) is not None else None
    return {name: each for name, each in gone.items() if isinstance(each, dict)} if isinstance(gone, dict) else {}


def links_of(raw: Raw) -> dict[str, Any]:
    """Return the ids, in the archive, of the records to which a joined comment belongs."""
    return {name: raw[name] for name in _LINKS if name in raw}


def joined_record(
    main: BlogService,
    kind: Kind,
    record_id: str,
    *,
    newest: str,
    parts: Mapping[str, Raw],
    gone: Mapping[str, Raw],
    links: Mapping[str, Any],
) -> Frozen:
    """Return the record to store: the main service's own one if no other one ever had it.

    Args:
        main: the service that ``archive.json`` names.
        kind: the record's kind.
        record_id: its id in the archive.
        newest: the service whose reading changes it.
        parts: the services' own records.
        gone: the evidence of those that no longer have it.
        links: as from :func:`links_of`.
    """
    if list(parts) == [main.name] and not gone and main.key(kind, parts[main.name]) == record_id:
        return lossless_json.freeze(parts[main.name])
    members = {"id": record_id, NEWEST: newest, **links}
    if gone:
        members[GONE] = dict(gone)
    # The parts are joined as texts, because an object that plain JSON would change remembers its own text.
    texts = [b"%b:%b" % (lossless_json.text(name), lossless_json.freeze(part).data) for name, part in parts.items()]
    head = lossless_json.dumps(members).removesuffix(b"}")
    whole = b'%b,"%b":{%b}}' % (head, SOURCES.encode(), b",".join(sorted(texts)))
    return lossless_json.freeze(lossless_json.loads(whole))


class JoinedRecords(Records):
    """Reads joined records, and those of the main service of an archive.

    Args:
        main: the service that ``archive.json`` names.
        others: returns a service by its name, or ``None``.
        order: the names of all services. If their values differ, that of ``main`` is used, then that of the first
            service here. The last one reads pages; its values are used only if no other service has a value.
    """

    def __init__(self, main: BlogService, others: Callable[[str], BlogService | None], order: Sequence[str]) -> None:
        self.main = main
        self._others = others
        names = [*order] if main.name == order[-1] else [main.name, *order]
        self._order = {name: number for number, name in enumerate(reversed(names))}
        self._services: dict[str, BlogService | None] = {main.name: main}
        for name in _DECLARED:
            if hasattr(main, name):
                setattr(self, name, getattr(main, name))

    def key(self, kind: Kind, raw: Any) -> str | None:
        """Return a record's id."""
        if isinstance(raw, dict) and parts_of(raw) is not None:
            return key_of(raw.get("id"))
        return self.main.key(kind, raw)

    def title(self, kind: Kind, raw: Raw) -> str:
        """Return the title of the first record that has one."""
        return next(filter(None, (service.title(kind, part) for service, part in self.each(raw))), "")

    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Read an entry. Its audience is ``PRIVATE`` if it was taken back."""
        pairs = self._posts(raw, item)
        if not pairs:
            return self.main.post(raw, item)
        counted = _counted(pairs, _is_public, self.is_live, raw, item)
        pairs = counted or pairs
        found = [post for _, post in pairs]
        first = found[0]
        if len(found) > 1:
            stated = [post.audience for post in found if post.audience is not None]
            audience = min(stated, key=_OPENNESS.index, default=None)
            sources = tuple(service.name for service, _ in pairs)
            unshown = next((post.unshown for post in found if post.body or post.more), ())
            first = replace(
                _filled(found), audience=audience, others=tuple(found[1:]), sources=sources, unshown=unshown
            )
        if counted is None:
            first = replace(first, audience=Audience.PRIVATE)
        joined_id = next((key for each in (raw, item) if each and (key := self._joined_id(each))), None)
        return replace(first, id=joined_id or first.id, raw=raw or {}, item=item)

    def comment(self, raw: Raw) -> Comment:
        """Read a comment. Its status is ``HIDDEN`` if it was taken back."""
        pairs = self._comments(raw)
        if not pairs:
            return self.main.comment(raw)
        counted = _counted(pairs, _is_shown, self.is_live, raw)
        found = [comment for _, comment in counted or pairs]
        first = _filled(found)
        joined_id = self._joined_id(raw)
        if joined_id is None:
            return first
        stated = [comment.status for comment in found if comment.status is not None]
        return replace(
            first,
            id=joined_id,
            post_id=self.post_id(raw),
            parent=key_of(raw.get("parent")) or "",
            status=CommentStatus.HIDDEN if counted is None else min(stated, key=_SHOWING.index, default=None),
            raw=raw,
        )

    def post_id(self, raw: Raw) -> str:
        """Return the id of a comment's entry."""
        return key_of(raw.get("post_id")) or "" if parts_of(raw) is not None else self.main.post_id(raw)

    def extras(self, kind: Kind, raw: Raw) -> int:
        """Return how many fields of its services' records have content that no neutral record has."""
        return sum(service.extras(kind, part) for service, part in self.each(raw))

    def category_id(self, raw: Raw) -> str | None:
        """Return the id of an entry's category in the main service."""
        return None if parts_of(raw) is not None else self.main.category_id(raw)

    def upload(self, raw: Raw) -> Upload:
        """Read an uploaded file."""
        found = [service.upload(part) for service, part in self.each(raw)]
        if not found:
            return self.main.upload(raw)
        joined_id = self._joined_id(raw)
        return found[0] if joined_id is None else replace(_filled(found), id=joined_id, raw=raw)

    def user(self, raw: Raw) -> User:
        """Read the user."""
        return next((service.user(part) for service, part in self.each(raw)), None) or self.main.user(raw)

    def blog_title(self, user: Raw) -> str:
        """Return the title that one of the services states."""
        stated = (service.blog_title(part) for service, part in self.each(user))
        return next(filter(None, stated), "") or self.main.blog_title(user)

    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Return the status of an entry. It is private if one of its services is unknown."""
        raw, item = post.raw or None, post.item
        if parts_of(raw or {}) is None and parts_of(item or {}) is None:
            return self.main.publication(post, declared, as_of)
        if self._has_unknown(raw or {}) or self._has_unknown(item or {}):
            return _UNREAD
        pairs = _counted(self._posts(raw, item), _is_public, self.is_live, raw, item)
        if pairs is None:
            return Verdict(PostStatus.PRIVATE, Cause(Hidden.WITHDRAWN, _withdrew(raw, item)))
        stated = [pair for pair in pairs if pair[1].audience is not None]
        found = [service.publication(part, declared, as_of) for service, part in stated or pairs]
        return min(found, key=lambda verdict: STATUS_ORDER.index(verdict.status), default=_UNREAD)

    def is_undeclared(self, declared: Declared) -> bool:
        """Return whether the owner must still declare which entries are public."""
        return self.main.is_undeclared(declared)

    def is_visible(self, comment: Comment, declared: Declared) -> bool:
        """Return whether a comment is public. All its services must be known."""
        if parts_of(comment.raw) is None:
            return self.main.is_visible(comment, declared)
        if self._has_unknown(comment.raw):
            return False
        pairs = _counted(self._comments(comment.raw), _is_shown, self.is_live, comment.raw)
        return bool(pairs) and all(service.is_visible(part, declared) for service, part in pairs or ())

    def why_hidden(self, comment: Comment) -> Cause:
        """Return why a comment is not public."""
        if parts_of(comment.raw) is None:
            return self.main.why_hidden(comment)
        pairs = _counted(self._comments(comment.raw), _is_shown, self.is_live, comment.raw)
        if pairs is None:
            return Cause(Hidden.WITHDRAWN, _withdrew(comment.raw))
        hidden = (service.why_hidden(part) for service, part in pairs if part.status is not CommentStatus.SHOWN)
        return next(hidden, self.main.why_hidden(comment))

    def flags(self, raw: Raw) -> Raw:
        """Return the main service's record, whose flags the owner declares."""
        return self.parts(raw).get(self.main.name, {})

    def parts(self, raw: Raw) -> dict[str, Raw]:
        """Return the records in a record by their services."""
        return parts_of(raw) or {self.main.name: raw}

    def each(self, raw: Raw) -> list[tuple[BlogService, Raw]]:
        """Return the services that this program knows with their records, the deciding one first."""
        if not raw:
            return []
        known = ((self._service(name), part) for name, part in self.parts(raw).items())
        found = [(service, part) for service, part in known if service is not None]
        return sorted(found, key=lambda pair: self._rank(pair[0]))

    def _comments(self, raw: Raw) -> list[tuple[BlogService, Comment]]:
        """Return a comment as each of its services has it, the deciding one first."""
        return [(service, service.comment(part)) for service, part in self.each(raw)]

    def is_live(self, name: str) -> bool:
        """Return whether a service is asked at its address, so that it shows the public state now."""
        return not isinstance(self._service(name), ExportFile)

    def _has_unknown(self, raw: Raw) -> bool:
        """Return whether a record holds one from a service that this program does not know, such as a later one's."""
        return any(self._service(name) is None for name in parts_of(raw) or ())

    def _posts(self, raw: Raw | None, item: Raw | None) -> list[tuple[BlogService, Post]]:
        """Return an entry as each of its services has it, the deciding one first."""
        whole, items = dict(self.each(raw or {})), dict(self.each(item or {}))
        services = sorted({*whole, *items}, key=self._rank)
        return [(service, service.post(whole.get(service), items.get(service))) for service in services]

    def _service(self, name: str) -> BlogService | None:
        if name not in self._services:
            self._services[name] = self._others(name)
        return self._services[name]

    def _rank(self, service: Records) -> int:
        return -self._order.get(service.name, -1)

    @staticmethod
    def _joined_id(raw: Raw) -> str | None:
        return key_of(raw.get("id")) if parts_of(raw) is not None else None


def _is_public(post: Post) -> bool | None:
    return None if post.audience is None else post.audience is Audience.PUBLIC


def _is_shown(comment: Comment) -> bool | None:
    return None if comment.status is None else comment.status is CommentStatus.SHOWN


def _counted(
    pairs: list[tuple[BlogService, T]],
    states: Callable[[T], bool | None],
    is_live: Callable[[str], bool],
    *raws: Raw | None,
) -> list[tuple[BlogService, T]] | None:
    """Return the services' records that decide who may see them; ``None`` if a service took them back.

    Args:
        pairs: the services with their records.
        states: whether a record says that it is public; ``None`` if it says nothing.
        is_live: whether a service is asked at its address.
        raws: the joined records.
    """
    newest = {raw.get(NEWEST) for raw in raws if raw}
    for service, record in pairs:
        if service.name in newest and is_live(service.name) and states(record):
            return [pair for pair in pairs if states(pair[1]) is not False]
    return None if _withdrew(*raws) else pairs


def _withdrew(*raws: Raw | None) -> str:
    """Return the names of the services that took a record back."""
    return ", ".join(sorted({name for raw in raws if raw for name in gone_of(raw)}))


def _filled(found: Sequence[T]) -> T:
    """Return the first record, with the values of the others in its empty fields."""
    first = found[0]
    values = {}
    for name in _FILLED:
        if hasattr(first, name) and getattr(first, name) in _EMPTY:
            values[name] = next((value for each in found if (value := getattr(each, name)) not in _EMPTY), None)
    return replace(first, **{name: value for name, value in values.items() if value is not None})


_EMPTY: Final = ("", None, ())
_FILLED: Final = (
    "title", "slug", "body", "more", "date", "updated", "category", "categories", "tags", "author", "permalink",
    "excerpt", "featured", "name", "text", "url", "email", "by_owner", "description", "bytes", "width", "height", "alt",
    "extension",
)  # fmt: skip
