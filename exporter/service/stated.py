"""The base of services whose records state who may see them, so that no owner must declare what flags mean. Pure.

Their fields are nested or chosen by this program, so most facts of :class:`~exporter.service.interface.Records` about
the names of flat fields are empty here.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

from exporter.model.kinds import Kind, key_of
from exporter.model.publication import Cause, Declared, Hidden, PostStatus, Verdict
from exporter.model.records import Audience, Comment, CommentStatus, Post, Raw
from exporter.service.interface import BlogService

_STATUSES: Final[Mapping[Audience, PostStatus]] = {
    Audience.PUBLIC: PostStatus.PUBLISH,
    Audience.PRIVATE: PostStatus.PRIVATE,
    Audience.DRAFT: PostStatus.DRAFT,
    Audience.SCHEDULED: PostStatus.DRAFT,
    Audience.MEMBERS: PostStatus.PRIVATE,
    Audience.PASSWORD: PostStatus.PRIVATE,
}


class StatedService(BlogService):
    """A service whose :attr:`Post.audience` and :attr:`Comment.status` decide what is public.

    In doubt a record is private.
    """

    may_be_joined = True
    key_fields: ClassVar[Mapping[Kind, str]] = dict.fromkeys(Kind, "id")
    post_flags: tuple[str, ...] = ("status",)
    comment_flags: tuple[str, ...] = ("status",)
    access_flag = "status"
    period_flag = ""
    deleted_flag = ""
    usual_access = str(Audience.PUBLIC)
    bodies: ClassVar[Mapping[Kind, tuple[str, ...]]] = {}
    kept_fields: tuple[str, ...] = ()
    post_fields: tuple[str, ...] = ("id", "slug")
    upload_fields: tuple[str, ...] = ("id",)
    likely_in_addresses: tuple[str, ...] = ()
    unlikely_in_addresses: frozenset[str] = frozenset()
    extension_field = ""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that change the reading of responses, as JSON."""
        return {}

    def key(self, kind: Kind, raw: Any) -> str | None:
        """Return a raw object's id, or ``None``."""
        return key_of(raw.get(self.key_fields[kind])) if isinstance(raw, dict) else None

    def category_id(self, _raw: Raw) -> str | None:
        """Return nothing: every entry names its categories."""
        return None

    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Return the status of an entry by its audience; an entry with a later date than the backup is a draft."""
        status = PostStatus.PRIVATE if post.audience is None else _STATUSES[post.audience]
        if status is PostStatus.PRIVATE:
            return Verdict(status, Cause(Hidden.FLAG, "status", repr(str(post.audience or ""))))
        if declared.all_as_draft:
            return Verdict(PostStatus.DRAFT, Cause(Hidden.ALL_DRAFTS))
        if status is PostStatus.DRAFT:
            return Verdict(status, Cause(Hidden.FLAG, "status", repr(str(post.audience))))
        if post.date is None:
            return Verdict(PostStatus.DRAFT, Cause(Hidden.NO_DATE))
        if as_of is not None and post.date > as_of:
            return Verdict(PostStatus.DRAFT, Cause(Hidden.LATER))
        return Verdict(PostStatus.PUBLISH)

    def is_visible(self, comment: Comment, _declared: Declared) -> bool:
        """Return whether a comment is public."""
        return comment.status is CommentStatus.SHOWN

    def why_hidden(self, comment: Comment) -> Cause:
        """Return why a comment is not public."""
        return Cause(Hidden.COMMENT, "status", repr(str(comment.status or "")))
