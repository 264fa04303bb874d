"""What a blog service is to the rest of the program: how its raw objects are read as neutral records. Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import datetime, tzinfo
from typing import Any, ClassVar

from exporter.model.kinds import Kind
from exporter.model.publication import Cause, Declared, Verdict
from exporter.model.records import Comment, Post, Raw, Upload, User


class Records(ABC):
    """Reads the raw objects of one service as records; nothing here raises on any JSON object.

    Attributes:
        name: the service's name, as ``archive.json`` has it.
        timezone: of its dates.
        post_flags: the raw fields of an entry that say who may see it, whose meaning its owner declares.
        comment_flags: the same of a comment.
        access_flag: the one of ``post_flags`` that is a code.
        period_flag: the one of ``post_flags`` that says it is shown for some time only.
        deleted_flag: the one of ``comment_flags`` that says it is deleted.
        usual_access: the code that most entries have, which views do not show.
        bodies: the raw fields that are HTML, of each kind that has some.
        kept_fields: the raw fields of an entry that imports may keep beside it.
        post_fields: the raw fields of an entry, which address patterns may name, the likeliest first.
        upload_fields: the same of an uploaded file.
        post_id_field: the raw field of a comment that names its entry.
    """

    name: str
    timezone: tzinfo
    post_flags: tuple[str, ...]
    comment_flags: tuple[str, ...]
    access_flag: str
    period_flag: str
    deleted_flag: str
    usual_access: str
    bodies: ClassVar[Mapping[Kind, tuple[str, ...]]]
    kept_fields: tuple[str, ...]
    post_fields: tuple[str, ...]
    upload_fields: tuple[str, ...]
    post_id_field: str

    @abstractmethod
    def key(self, kind: Kind, raw: Any) -> str | None:
        """Return the id of a raw object of a kind; ``None`` where it has none."""

    @abstractmethod
    def title(self, kind: Kind, raw: Raw) -> str:
        """Return what a person knows a record by; empty where it has no title and no name."""

    @abstractmethod
    def post(self, raw: Raw | None, item: Raw | None = None) -> Post:
        """Join an entry's full record with its element of the list; either may be missing."""

    @abstractmethod
    def comment(self, raw: Raw) -> Comment:
        """Read a comment."""

    @abstractmethod
    def post_id(self, raw: Raw) -> str:
        """Return the id of the entry that a raw comment belongs to; empty where it names none."""

    @abstractmethod
    def category_id(self, raw: Raw) -> str | None:
        """Return the id of a raw entry's category."""

    @abstractmethod
    def upload(self, raw: Raw) -> Upload:
        """Read an uploaded file."""

    @abstractmethod
    def user(self, raw: Raw) -> User:
        """Read the calling user."""

    @abstractmethod
    def publication(self, post: Post, declared: Declared, as_of: datetime | None = None) -> Verdict:
        """Tell what an entry is to be elsewhere; ``as_of`` is when the blog was read."""

    @abstractmethod
    def is_visible(self, comment: Comment, declared: Declared) -> bool:
        """Tell whether a comment may be shown."""

    @abstractmethod
    def why_hidden(self, comment: Comment) -> Cause:
        """Return why a comment may not be shown."""
