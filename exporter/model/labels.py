"""What sorts entries and marks comments, as people read it: categories, kinds, audiences and statuses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from exporter.message import Message, message, message_in_context
from exporter.model.records import Audience, Category, Comment, CommentKind, CommentStatus, Post, PostKind

MAX_LEVELS: Final = 10
"""Levels of categories that views show. A longer path loses names in its middle."""
LEFT_OUT: Final = "…"
"""Stands for the names in the middle of a path that is too long."""

KIND_NAMES: Final[Mapping[PostKind, Message]] = {
    PostKind.POST: message_in_context("kind of entry", "Entry"),
    PostKind.PAGE: message_in_context("kind of entry", "Page"),
}
AUDIENCE_NAMES: Final[Mapping[Audience, Message]] = {
    Audience.PUBLIC: message("Public"),
    Audience.PRIVATE: message("Private"),
    Audience.DRAFT: message("Draft"),
    Audience.SCHEDULED: message("Scheduled"),
    Audience.MEMBERS: message("Members only"),
    Audience.PASSWORD: message("With a password"),
}
AUDIENCE_TIPS: Final[Mapping[Audience, Message]] = {
    Audience.PRIVATE: message("Only its writer could read this entry"),
    Audience.DRAFT: message("Only its writer could read this entry, which was not finished"),
    Audience.SCHEDULED: message("Only its writer could read this entry, until its date"),
    Audience.MEMBERS: message("Only people whom the writer admitted could read this entry"),
    Audience.PASSWORD: message("Only people who knew the password could read this entry"),
}
"""Who could read an entry, in a sentence."""
STATUS_NAMES: Final[Mapping[CommentStatus, Message]] = {
    CommentStatus.SHOWN: message("Shown"),
    CommentStatus.PENDING: message("Waiting for approval"),
    CommentStatus.HIDDEN: message("Hidden"),
    CommentStatus.SPAM: message("Spam"),
}
COMMENT_KIND_NAMES: Final[Mapping[CommentKind, Message]] = {
    CommentKind.COMMENT: message("Comment"),
    CommentKind.TRACKBACK: message("Trackback"),
    CommentKind.PINGBACK: message("Pingback"),
}


def name_of(value: PostKind | Audience | CommentKind | CommentStatus) -> Message:
    """Return the name of a kind, an audience or a status."""
    match value:
        case PostKind():
            return KIND_NAMES[value]
        case Audience():
            return AUDIENCE_NAMES[value]
        case CommentKind():
            return COMMENT_KIND_NAMES[value]
        case CommentStatus():
            return STATUS_NAMES[value]


def path_of(category: Category) -> tuple[str, ...]:
    """Return the names from the outermost parent to the category, at most :data:`MAX_LEVELS`."""
    names = (*category.parents, category.name)
    if len(names) <= MAX_LEVELS:
        return names
    return (*names[: MAX_LEVELS // 2], LEFT_OUT, *names[MAX_LEVELS // 2 + 1 - MAX_LEVELS :])


def path_name(category: Category) -> str:
    """Return a category with those above it, on one line."""
    return joined_path(path_of(category))


def joined_path(names: Iterable[str]) -> str:
    """Return the names of a path, the outermost first, as one text."""
    return " › ".join(names)


def is_labelled(post: Post) -> bool:
    """Return whether a post has anything beyond the one category that every service can have."""
    return bool(
        post.audience is not None
        or post.categories
        or post.tags
        or post.author
        or post.permalink
        or post.excerpt
        or post.featured
        or post.sources
        or post.kind is not PostKind.POST
    )


def is_marked(comment: Comment) -> bool:
    """Return whether a comment has anything beyond the flag that every service can have."""
    return bool(
        comment.status is not None
        or comment.parent
        or comment.by_owner is not None
        or comment.kind is not CommentKind.COMMENT
    )


def marks_of(comment: Comment) -> Iterator[Message]:
    """Yield the names of a comment's kind and status, except the usual ones."""
    if comment.kind is not CommentKind.COMMENT:
        yield COMMENT_KIND_NAMES[comment.kind]
    if comment.status not in (None, CommentStatus.SHOWN):
        yield STATUS_NAMES[comment.status]
