"""The extra ``evidence``: its libraries, which most installations do not need."""

from __future__ import annotations

from importlib.util import find_spec

from exporter.errors import UsageError
from exporter.message import message


def require_libraries() -> None:
    """Check that the libraries for seals are installed, before a module that uses them is imported.

    Raises:
        UsageError: one is missing.
    """
    if any(find_spec(name) is None for name in ("cryptography", "minisign", "rfc3161_client")):
        raise UsageError(
            message("Seals need libraries that are not installed. Install them: pip install 'blog-exporter[evidence]'")
        )
