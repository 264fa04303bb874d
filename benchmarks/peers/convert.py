"""``convert.py TOOL FILE`` makes Markdown of every body in a file, a JSON text on each line, and prints how many.

``parse`` only reads each body into a tree: the floor of whatever makes something of it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def converter(tool: str) -> Any:
    """Return what makes Markdown of one body."""
    if tool == "ours":
        from exporter.html.markdown import to_markdown

        return to_markdown
    if tool == "parse":
        from selectolax.lexbor import LexborHTMLParser

        return lambda text: LexborHTMLParser(text).body
    if tool == "markdownify":
        from markdownify import markdownify

        return markdownify
    from html_to_markdown import convert

    return convert


if __name__ == "__main__":
    convert_one = converter(sys.argv[1])
    bodies = [json.loads(line) for line in Path(sys.argv[2]).read_text("utf-8").splitlines()]
    print(sum(convert_one(each) is not None for each in bodies))
