"""The name by which requests identify this program, and the person who runs it."""

from __future__ import annotations

from typing import Final

from exporter import __version__

USER_AGENT: Final = f"blog-exporter/{__version__} (+personal blog backup)"
_COMMENT_MARKS: Final = str.maketrans("", "", "()\\")
"""Characters with a meaning inside a comment of a header (RFC 9110, section 5.6.5)."""


def user_agent_of(user_agent: str | None, operator: str | None) -> str:
    """Return the ``User-Agent`` for captures.

    Args:
        user_agent: the user's own, used unchanged.
        operator: the contact for webmasters; only its mail and web addresses go into the header, since a name may
            contain characters that no header may.
    """
    if user_agent:
        return user_agent
    contact = contact_addresses(operator or "")
    return f"blog-exporter/{__version__} (+{' '.join(contact)})" if contact else USER_AGENT


def contact_addresses(text: str) -> list[str]:
    """Return the mail and web addresses among the words of a text, without brackets around them."""
    words = (word.translate(_COMMENT_MARKS).strip("<>,;") for word in text.split())
    return [word for word in words if ("@" in word or "://" in word) and word.isascii() and word.isprintable()]
