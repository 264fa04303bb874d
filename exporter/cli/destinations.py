"""Where a blog can go, and what its owner does there with an export: the facts behind the questions of ``export``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from exporter.export.targets import TARGETS
from exporter.message import Message, message

OUT: Final = "{out}"
"""Takes the place of the export's folder in a step."""
WEB_SPACE: Final = message("your web space")


class Step(NamedTuple):
    """A thing to do in the new home.

    ``when`` is ``bring`` or ``stay`` for a step that depends on where the pictures are, or the form of the comments
    that it is for; an empty text means always.
    """

    text: Message
    when: str = ""


@dataclass(frozen=True, slots=True)
class Destination:
    """A place where a blog can go.

    Attributes:
        name: part of the proposed folder name.
        form: the format or target to export.
        label: the name that people know.
        steps: the instructions.
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
    steps: tuple[Step, ...]
    preset: Mapping[str, Any] = field(default_factory=dict)
    fetches: bool = False
    home: bool = False
    media: str = ""
    folder: Message = WEB_SPACE
    new_url: str = ""


def _target(name: str, *steps: Step, label: str = "", **more: Any) -> Destination:
    return Destination(name, name, label or TARGETS[name].title, steps, fetches=True, home=True, **more)


def _movable_type(place: Message) -> tuple[Step, ...]:
    """Return the steps of a service that imports Movable Type's format at ``place``."""
    return (
        Step(message("Open {place} and choose the Movable Type format in UTF-8.", place=place)),
        Step(message("Upload the .txt files of {out} one after another, the lowest number first.", out=OUT)),
        Step(
            message(
                "Pictures still point to the old blog: let the service copy them, if it can, while the old blog exists."
            ),
            "stay",
        ),
    )


_SITE_DRAFTS: Final = Step(
    message("If there is a folder drafts, keep it out of the site until you publish what is in it.")
)

DESTINATIONS: Final = (
    _target(
        "wordpress",
        Step(
            message("Under Settings, Permalinks choose Post name, so that the addresses of entries have their names.")
        ),
        Step(message("In the dashboard open Tools, Import, WordPress, and run the importer.")),
        Step(
            message(
                "Upload the .xml files of {out}, the lowest number first; if one is above a limit, export again with "
                "--max-bytes 2MB or so.",
                out=OUT,
            )
        ),
        Step(message("Assign the author and tick the attachments.")),
        Step(message("Pictures are fetched then from their new place, so the old blog may be gone."), "bring"),
        Step(message("Pictures are fetched then from the old blog, so it must still be up."), "stay"),
        media="wp-content/uploads/media/",
        folder=message("the folder wp-content/uploads/media on the server of WordPress"),
        new_url="{post_name}/",
    ),
    _target(
        "hatena", *_movable_type(message("Import in Hatena Blog's dashboard")), label=message("Hatena Blog")
    ),
    _target(
        "note",
        Step(message("Open the list of your articles on note's website and choose to import; the app cannot.")),
        Step(message("Upload the .xml files of {out} one after another, the lowest number first.", out=OUT)),
        Step(message("All of them arrive as drafts: check that their pictures are there, and publish them by hand.")),
        Step(message("Pictures are read from the old blog, so it must still be up."), "stay"),
    ),
    _target(
        "livedoor",
        *_movable_type(message("the import page of livedoor Blog's settings")),
        label=message("livedoor Blog"),
    ),
    _target("ameba", *_movable_type(message("the import page of Ameba Blog's settings")), label=message("Ameba Blog")),
    _target("fc2", *_movable_type(message("the import in FC2 Blog's data backup page")), label=message("FC2 Blog")),
    _target(
        "seesaa", *_movable_type(message("the import page of Seesaa Blog's settings")), label=message("Seesaa Blog")
    ),
    _target(
        "movable-type",
        *_movable_type(message("Tools, Import Entries of the blog in Movable Type")),
        media="media/",
        folder=message("the folder media on the server that shows the blog"),
    ),
    _target(
        "blogger",
        Step(message("In Blogger open Settings, Import content.")),
        Step(message("Untick the box that publishes all imported posts and pages: it could publish drafts.")),
        Step(
            message(
                "Upload the .xml files of {out} one after another, the lowest number first; look at the list of posts, "
                "then publish.",
                out=OUT,
            )
        ),
        Step(
            message("Pictures still point to the old blog: put them elsewhere before it closes."),
            "stay",
        ),
    ),
    Destination(
        "hugo", "hugo", "Hugo",
        (
            Step(message("Copy {out}/content over your site's content. A post's folder has its pictures.", out=OUT)),
            Step(message("Copy the markup part of {out}/hugo.toml into your site's configuration.", out=OUT)),
            Step(message("Look at it with: {command}", command="hugo server")),
        ),
        home=True,
    ),
    Destination(
        "jekyll", "jekyll", "Jekyll, GitHub Pages",
        (
            Step(message("Copy _posts and media from {out} into your site.", out=OUT)),
            Step(message("Look at it with: {command}", command="bundle exec jekyll serve")),
        ),
        home=True,
    ),
    Destination(
        "pelican", "pelican", "Pelican",
        (
            Step(message("Copy {out}/content over your site's content.", out=OUT)),
            Step(message("Look at it with: {command}", command="pelican content")),
        ),
        home=True,
    ),
    Destination(
        "astro", "markdown", "Astro",
        (
            Step(
                message(
                    "Copy src and public from {out} over the folder of your site, as made by: npm create astro@latest "
                    "-- --template blog. Delete its sample posts in src/content/blog first.",
                    out=OUT,
                )
            ),
            Step(message("Look at it with: {command}", command="npm run dev")),
            _SITE_DRAFTS,
        ),
        {"preset": "astro"},
        home=True,
    ),
    Destination(
        "eleventy", "markdown", "Eleventy",
        (
            Step(
                message(
                    "Copy content and public from {out} over the folder of your site, a copy of eleventy-base-blog. "
                    "Delete its sample posts in content/blog first.",
                    out=OUT,
                )
            ),
            Step(message("Look at it with: {command}", command="npx @11ty/eleventy --serve")),
            _SITE_DRAFTS,
        ),
        {"preset": "eleventy"},
        home=True,
    ),
    Destination(
        "markdown", "markdown", message("Another site generator (Markdown)"),
        (
            Step(
                message(
                    "Copy posts from {out} to where your site keeps its posts, and media to the folder that it "
                    "publishes unchanged.",
                    out=OUT,
                )
            ),
            _SITE_DRAFTS,
        ),
        home=True,
    ),
    Destination(
        "obsidian", "markdown", message("Obsidian (notes of your own)"),
        (
            Step(message("In Obsidian choose Open folder as vault, and open {out}.", out=OUT)),
            Step(message("The folder daily has a note for each day with an entry.")),
        ),
        {"preset": "obsidian"},
    ),
    Destination(
        "ghost", "ghost", "Ghost",
        (
            Step(message("In Ghost set Settings, Timezone to that of the old blog, so that entries keep their days.")),
            Step(message("Open Settings, Import/Export, and upload the .zip of {out}, pictures included.", out=OUT)),
            Step(message("Ghost cannot import comments: they are at the end of each post."), "body"),
        ),
        home=True,
    ),
    Destination(
        "epub", "epub", message("A book for e-readers (EPUB)"),
        (Step(message("Send the .epub of {out} to your e-reader or phone and open it.", out=OUT)),),
    ),
    Destination(
        "html", "html", message("One page to read and print (HTML)"),
        (
            Step(
                message(
                    "Open the .html of {out} in a browser; in print, each post begins on a new page.", out=OUT
                )
            ),
        ),
    ),
    Destination(
        "csv", "csv", message("A table (CSV for Excel and others)"),
        (Step(message("Open the .csv of {out} in Excel or another spreadsheet: a row is a post.", out=OUT)),),
    ),
    Destination(
        "sqlite", "sqlite", message("A database to search (SQLite)"),
        (
            Step(
                message(
                    "Get it with: pip install datasette; then search in a browser with: datasette {out}", out=OUT
                )
            ),
        ),
    ),
    Destination(
        "data", "jsonl", message("Data for programs (JSON Lines)"),
        (
            Step(
                message(
                    "Each line of the .jsonl files of {out} is a record; docs/export.md names the members.", out=OUT
                )
            ),
        ),
    ),
    Destination(
        "bag", "bagit", message("Everything, to keep safe (BagIt; private entries too)"),
        (
            Step(
                message(
                    "Keep {out} as a whole in another place. It contains private entries: never publish it.", out=OUT
                )
            ),
        ),
        {"only": "all"},
    ),
)  # fmt: skip
"""Every place, in the order of the questions: the targets, then everything else that an export can be."""
