"""What a page of its own may load and run, as it says it to the browser itself. Pure."""

from __future__ import annotations

import base64
import hashlib


def single_page(style: str) -> str:
    """Return the Content-Security-Policy of a page that needs nothing but itself: no script, and nothing asked for.

    Args:
        style: what stands between its ``style`` tags; no other style sheet counts.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; style-src-attr 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
