"""The places where a blog can go, and the steps of its owner there, for the questions of ``export``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from exporter.export.targets import TARGETS
from exporter.message import Message, message
from exporter.translation import translated

OUT: Final = "{out}"
"""Takes the place of the export's folder in a step."""
WEB_SPACE: Final = message("your web space")
_CONDITION: Final = re.compile(r"\[(\w+)\] ")


@dataclass(frozen=True, slots=True)
class Destination:
    """A place where a blog can go.

    Attributes:
        name: part of the proposed folder name.
        form: the format or target to export.
        label: the name that people know.
        text: the instructions, one step on each line. ``[bring]`` or ``[stay]`` begins a step that depends on where the
            pictures are, and ``[body]`` a step for comments in that place.
        preset: command-line options that it needs.
        fetches: whether it can fetch pictures from another address, so that the address is a question.
        home: whether the blog has an address there.
        media: where pictures can be put, relative to that address; empty if unknown.
        folder: what people call that place.
        new_url: the pattern of entry addresses, relative to the blog's address; empty if unknown.
    """

    name: str
    form: str
    label: str
    text: Message
    preset: Mapping[str, Any] = field(default_factory=dict)
    fetches: bool = False
    home: bool = False
    media: str = ""
    folder: Message = WEB_SPACE
    new_url: str = ""

    def steps(self, *conditions: str | None, language: str | None = None) -> Iterator[str]:
        """Yield the steps that have no condition or one of these, in a language."""
        for line in translated(self.text, language).splitlines():
            condition = _CONDITION.match(line)
            if condition is None or condition[1] in conditions:
                yield _CONDITION.sub("", line, count=1)


def _target(name: str, text: Message, label: str = "", **more: Any) -> Destination:
    return Destination(name, name, label or TARGETS[name].title, text, fetches=True, home=True, **more)


def _movable_type(name: str, place: Message, label: str = "", **more: Any) -> Destination:
    """Return a service that imports Movable Type's format at ``place``."""
    text = message(
        "Open {place} and choose the Movable Type format in UTF-8.\n"
        "Upload the .txt files of {out} one after another, the lowest number first.\n"
        "[stay] Pictures still point to the old blog: let the service copy them, if it can, while the old blog exists.",
        place=place,
        out=OUT,
    )
    return _target(name, text, label, **more)


DESTINATIONS: Final = (
    _target(
        "wordpress",
        message(
            "Under Settings, Permalinks choose Post name, so that the addresses of entries have their names.\n"
            "In the dashboard open Tools, Import, WordPress, and run the importer.\n"
            "Upload the .xml files of {out}, the lowest number first; if one is above a limit, export again with "
            "--max-bytes 2MB or so.\n"
            "Assign the author and tick the attachments.\n"
            "[bring] Pictures are fetched then from their new place, so the old blog may be gone.\n"
            "[stay] Pictures are fetched then from the old blog, so it must still be up.",
            out=OUT,
        ),
        media="wp-content/uploads/media/",
        folder=message("the folder wp-content/uploads/media on the server of WordPress"),
        new_url="{post_name}/",
    ),
    _movable_type("hatena", message("Import in Hatena Blog's dashboard"), message("Hatena Blog")),
    _target(
        "note",
        message(
            "Open the list of your articles on note's website and choose to import; the app cannot.\n"
            "Upload the .xml files of {out} one after another, the lowest number first.\n"
            "All of them arrive as drafts: check their pictures, and publish them by hand.\n"
            "[stay] Pictures are read from the old blog, so it must still be up.",
            out=OUT,
        ),
    ),
    _movable_type("livedoor", message("the import page of livedoor Blog's settings"), message("livedoor Blog")),
    _movable_type("ameba", message("the import page of Ameba Blog's settings"), message("Ameba Blog")),
    _movable_type("fc2", message("the import in FC2 Blog's data backup page"), message("FC2 Blog")),
    _movable_type("seesaa", message("the import page of Seesaa Blog's settings"), message("Seesaa Blog")),
    _movable_type(
        "movable-type",
        message("Tools, Import Entries of the blog in Movable Type"),
        media="media/",
        folder=message("the folder media on the server that shows the blog"),
    ),
    _target(
        "blogger",
        message(
            "In Blogger open Settings, Import content.\n"
            "Untick the box that publishes all imported posts and pages: it could publish drafts.\n"
            "Upload the .xml files of {out} one after another, the lowest number first; look at the list of posts, "
            "then publish.\n"
            "[stay] Pictures still point to the old blog: put them elsewhere before it closes.",
            out=OUT,
        ),
    ),
    Destination(
        "hugo", "hugo", "Hugo",
        message(
            "Copy {out}/content over your site's content. A post's folder has its pictures.\n"
            "Copy the markup part of {out}/hugo.toml into your site's configuration.\n"
            "Look at it with: hugo server",
            out=OUT,
        ),
        home=True,
    ),
    Destination(
        "jekyll", "jekyll", "Jekyll, GitHub Pages",
        message(
            "Copy _posts and media from {out} into your site.\nLook at it with: bundle exec jekyll serve", out=OUT
        ),
        home=True,
    ),
    Destination(
        "pelican", "pelican", "Pelican",
        message(
            "Copy {out}/content over your site's content, and take over {out}/pelicanconf.py.\n"
            "Look at it with: pelican content",
            out=OUT,
        ),
        home=True,
    ),
    Destination(
        "astro", "markdown", "Astro",
        message(
            "Copy src and public from {out} over the folder of your site, as made by: {create}. Delete its "
            "sample posts in src/content/blog first.\n"
            "Look at it with: npm run dev\n"
            "If there is a folder drafts, keep it out of the site until you publish its posts.",
            out=OUT,
            create="npm create astro@latest -- --template blog",
        ),
        {"preset": "astro"},
        home=True,
    ),
    Destination(
        "eleventy", "markdown", "Eleventy",
        message(
            "Copy content, public and _config from {out} over the folder of your site, a copy of eleventy-base-blog. "
            "Delete its sample posts in content/blog first. Add the two lines at the top of _config/addresses.js to "
            "eleventy.config.js.\n"
            "Look at it with: {show}\n"
            "If there is a folder drafts, keep it out of the site until you publish its posts.",
            out=OUT,
            show="npx @11ty/eleventy --serve",
        ),
        {"preset": "eleventy"},
        home=True,
    ),
    Destination(
        "markdown", "markdown", message("Another site generator (Markdown)"),
        message(
            "Copy posts from {out} to where your site keeps its posts, and media to the folder that it publishes "
            "unchanged.\n"
            "If there is a folder drafts, keep it out of the site until you publish its posts.",
            out=OUT,
        ),
        home=True,
    ),
    Destination(
        "obsidian", "markdown", message("Obsidian (notes of your own)"),
        message(
            "In Obsidian choose Open folder as vault, and open {out}.\n"
            "The folder daily has a note for each day with an entry.",
            out=OUT,
        ),
        {"preset": "obsidian"},
    ),
    Destination(
        "ghost", "ghost", "Ghost",
        message(
            "In Ghost set Settings, Timezone to that of the old blog, so that entries keep their days.\n"
            "Open Settings, Import/Export, and upload the .zip of {out}, pictures included.\n"
            "[body] Ghost cannot import comments: they are at the end of each entry.",
            out=OUT,
        ),
        home=True,
    ),
    Destination(
        "epub", "epub", message("A book for e-readers (EPUB)"),
        message("Send the .epub of {out} to your e-reader or phone and open it.", out=OUT),
    ),
    Destination(
        "pdf", "pdf", message("A book to print (PDF)"),
        message(
            "Open the .pdf of {out}, or give it to a print shop: a sheet is a page of A5, or with --paper b6 of B6.",
            out=OUT,
        ),
    ),
    Destination(
        "html", "html", message("One page to read and print (HTML)"),
        message("Open the .html of {out} in a browser; in print, each entry begins on a new page.", out=OUT),
    ),
    Destination(
        "csv", "csv", message("A table (CSV for Excel and others)"),
        message("Open the .csv of {out} in Excel or another spreadsheet: a row is an entry.", out=OUT),
    ),
    Destination(
        "sqlite", "sqlite", message("A database to search (SQLite)"),
        message("Get it with: pip install datasette; then search in a browser with: datasette {out}", out=OUT),
    ),
    Destination(
        "data", "jsonl", message("Data for programs (JSON Lines)"),
        message("Each line of the .jsonl files of {out} is a record; docs/export.md names the members.", out=OUT),
    ),
    Destination(
        "bag", "bagit", message("Everything, to keep safe (BagIt; private entries too)"),
        message("Keep {out} as a whole in another place. It contains private entries: never publish it.", out=OUT),
        {"only": "all"},
    ),
)  # fmt: skip
"""Every place, in the order of the questions: the targets, then everything else that an export can be."""
