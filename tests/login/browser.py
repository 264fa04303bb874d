"""A browser for ``BROWSER``: opens an address, decides at once, and follows the redirect."""

from __future__ import annotations

import sys
import urllib.request

if __name__ == "__main__":
    decision, address = sys.argv[1:]
    with urllib.request.urlopen(f"{address}&decision={decision}", timeout=20) as answer:
        answer.read()
