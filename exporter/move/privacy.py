"""Tell from an answer whether everybody can see a post or a file. Pure."""

from __future__ import annotations

from typing import Final

from exporter.move.home import HomeFile

_HIDDEN: Final = frozenset({"private", "draft", "pending", "trash", "auto-draft"})
"""WordPress' statuses of posts that visitors do not see. A plugin may show any other one."""

_ATTACHED: Final = "inherit"


def is_post_shown(sent: str, answered: str) -> bool:
    """Return whether everybody sees a post, or will see it on a day, that was sent with a status.

    Args:
        sent: the status in the request; empty if none was sent.
        answered: the status in the answer.
    """
    return answered not in _HIDDEN and answered != sent


def is_shown_by_status(status: str) -> bool:
    """Return whether everybody sees a post with a status now."""
    return is_post_shown("future", status)


def is_file_shown(file: HomeFile, parent: int) -> bool:
    """Return whether everybody sees a file that was sent to be attached to a private post; 0 for a private file."""
    return file.status != "private" and (not parent or file.status != _ATTACHED or file.post != parent)
