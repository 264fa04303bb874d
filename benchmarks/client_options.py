"""What every measured client is told, and the line each prints in the end."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from benchmarks.blog_size import add_options


def client_options(description: str | None, arguments: Sequence[str] | None = None) -> Namespace:
    """Read ``base_url``, ``concurrency``, ``out`` and the blog's size."""
    parser = ArgumentParser(description=description)
    parser.add_argument("base_url")
    parser.add_argument("--concurrency", type=int, default=8, help="requests at a time (%(default)s)")
    parser.add_argument("--out", help="file to write the records to, for clients that keep them")
    add_options(parser)
    return parser.parse_args(arguments)


def report(requests: int, received: int) -> None:
    """Print how many requests were answered and how many bytes of bodies came."""
    print(json.dumps({"requests": requests, "bytes": received}))
