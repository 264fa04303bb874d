"""``convert.py TOOL FILE [OUT]`` makes Markdown of every body in a file, a JSON text a line, and prints how many.

``parse`` only reads each body into a tree, the least that any converter does. ``gfm`` makes HTML from Markdown, as
GitHub does. The results are written to OUT in the same form.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any


def converter(tool: str) -> Any:
    """Return the function that converts one body to Markdown."""
    if tool == "ours":
        from exporter.html.markdown import to_markdown

        return to_markdown
    if tool == "parse":
        from selectolax.lexbor import LexborHTMLParser

        return lambda text: LexborHTMLParser(text).body
    if tool == "markdownify":
        from markdownify import markdownify

        return markdownify
    if tool == "html2text":
        from html2text import HTML2Text

        reader = HTML2Text(bodywidth=0)
        return reader.handle
    if tool == "pandoc":
        from pypandoc import convert_text

        return partial(convert_text, to="gfm", format="html", extra_args=["--wrap=preserve"], sandbox=True)
    if tool == "gfm":
        from cmarkgfm import github_flavored_markdown_to_html
        from cmarkgfm.cmark import Options

        options = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
        return partial(github_flavored_markdown_to_html, options=options)
    from html_to_markdown import convert

    return convert


def text_of(made: Any) -> str:
    """Return the text in a converter's result."""
    return made if isinstance(made, str) else str(made.content)


if __name__ == "__main__":
    convert_one = converter(sys.argv[1])
    bodies = [json.loads(line) for line in Path(sys.argv[2]).read_text("utf-8").splitlines()]
    if len(sys.argv) == 3:
        print(sum(convert_one(each) is not None for each in bodies))
    else:
        lines = [json.dumps(text_of(convert_one(each))) for each in bodies]
        Path(sys.argv[3]).write_text("\n".join(lines), "utf-8")
        print(len(lines))
