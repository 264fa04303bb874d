"""Who may see the entries and comments of one state of an archive. Pure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from exporter.export.interface import RecordSource
from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Hidden, Verdict, more_hidden
from exporter.model.records import Comment, Post
from exporter.service.interface import Records


class Newest(NamedTuple):
    """The newest state of an archive, and when the blog was read for it."""

    records: RecordSource
    as_of: datetime | None


class Visibility:
    """Tells of the entries and comments of one state who may see them.

    Args:
        declared: what the owner has said of the flags.
        as_of: when the blog was read for that state; an entry dated later was not shown yet.
        service: reads the records.
        newest: the newest state, where the state is an older one: nothing hidden or removed since is public.
    """

    def __init__(
        self, declared: Declared, as_of: datetime | None, service: Records, newest: Newest | None = None
    ) -> None:
        self._declared = declared
        self._as_of = as_of
        self._service = service
        self._newest = newest

    def entry(self, post: Post) -> Verdict:
        """Return what an entry of the state, read with its list item, is to be."""
        then = self._service.publication(post, self._declared, self._as_of)
        if self._newest is None:
            return then
        raw = self._newest.records.load(Kind.ENTRIES, post.id)
        if raw is None:
            return more_hidden(then, None)
        now = self._service.post(raw, self._newest.records.load(Kind.ENTRY_LIST, post.id))
        return more_hidden(then, self._service.publication(now, self._declared, self._newest.as_of))

    def why_hidden(self, comment_id: str, comment: Comment) -> Cause | None:
        """Return why a comment of the state may not be shown; ``None`` when it may."""
        if self._newest is None:
            return self._cause(comment)
        raw = self._newest.records.load(Kind.COMMENTS, comment_id)
        if raw is None:
            return Cause(Hidden.REMOVED)
        then = self._cause(comment)
        if then is not None:
            return then
        now = self._cause(self._service.comment(raw))
        return None if now is None else replace(now, newest=True)

    def _cause(self, comment: Comment) -> Cause | None:
        return None if self._service.is_visible(comment, self._declared) else self._service.why_hidden(comment)
