"""HTML's tags by what they are to a reader, and what a ``style`` makes of one. Pure."""

from __future__ import annotations

import re


def tag_set(names: str) -> frozenset[str]:
    """Return the tags named in a text, separated by spaces."""
    return frozenset(names.split())


PLAIN_INLINE = tag_set("acronym basefont blink font label map nobr noscript span")
"""Their text is kept and the tag dropped."""

RUBY = tag_set("rb rp rt rtc ruby")
"""Inline HTML whose every element is kept apart, since order and number carry the meaning."""

DROPPED = tag_set(
    "area base bgsound col colgroup frame frameset head input link meta noembed noframes param script source style "
    "template title track wbr"
)
"""Nothing below these is text a reader saw."""

PLAIN_BLOCKS = tag_set(
    "address article aside body caption dd div dt fieldset figcaption figure footer form header hgroup html legend "
    "main nav optgroup option p search section summary tbody td tfoot th thead tr"
)
"""Their content becomes paragraphs of its own and the tag is dropped."""

LISTS = frozenset({"dir", "menu", "ol", "ul"})
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CODE_BLOCKS = frozenset({"listing", "plaintext", "pre", "textarea", "xmp"})

HTML_BLOCKS = tag_set(
    "audio applet button canvas details dialog dl embed iframe marquee math meter object progress select svg video"
)
"""Markdown has nothing for these: they stay HTML with all that is in them, made safe."""

BLOCKS = (
    PLAIN_BLOCKS | LISTS | HEADINGS.keys() | CODE_BLOCKS | HTML_BLOCKS | {"blockquote", "center", "hr", "li", "table"}
)
"""Everything that is no part of a line of text."""

LINE_TAGS = BLOCKS | {"br"}
"""Tags that say where lines end; where none is used, the text's own line ends do."""

TAG_NAME = re.compile(r"[a-z][a-z0-9-]*")
"""Names CommonMark takes for a tag; other names would show as text."""
