"""``library``: one site and one search over the archives of several blogs of one person."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exporter.cli.blog_names import archive_named
from exporter.cli.help import PATH, HelpedGroup, cli_command
from exporter.cli.options import complete_archives, ending_with_damage, given_settings, opened, with_config
from exporter.cli.output import Output, counted, size_text
from exporter.message import listed, message, message_n
from exporter.service.registry import FLAG_SETTINGS
from exporter.site import has_pillow
from exporter.text import printable
from exporter.translation import LANGUAGES

if TYPE_CHECKING:
    from exporter.archive.archive import Archive
    from exporter.archive.state import State
    from exporter.model.publication import Declared
    from exporter.service.interface import Records
    from exporter.settings import Settings

_EPILOG = message(
    """\b
Examples:
  blog-exporter library build hatena ninja wordpress --out my-blogs --open
  blog-exporter library build hatena ninja --out my-blogs --force --pairs pairs.toml
  blog-exporter library build hatena ninja --out public --public-only --public-open-flg 1 --visible-delete-flg f
"""
)


@click.group("library", cls=HelpedGroup, help=message("Read several blogs of one person as one library."))
def command() -> None:
    """Run a command over the archives of one person."""


@cli_command(
    "build",
    epilog=_EPILOG,
    help=message(
        """Make one site with one search of the archives in DIR..., named from the oldest blog to the newest.

        An entry that moved to another blog appears once, with its addresses, dates and comments in all of them."""
    ),
)
@click.argument("archives", metavar="DIR...", nargs=-1, required=True, shell_complete=complete_archives)
@click.option("--out", "target", type=PATH, required=True, metavar="OUT", help=message("New folder for the site."))
@click.option("--title", metavar="TEXT", help=message("Title of the site. [default: My blogs]"))
@click.option(
    "--lang",
    "language",
    type=click.Choice(sorted(LANGUAGES, reverse=True)),
    help=message("Language of the site. [default: that of the newest blog]"),
)
@click.option("--pairs", type=PATH, metavar="FILE", help=message("TOML file that says which entries are the same."))
@click.option("--public-only", is_flag=True, help=message("Copy only public content, to publish OUT."))
@click.option("--open", "opens", is_flag=True, help=message("Open it in the browser."))
@click.option("--force", is_flag=True, help=message("Replace an earlier library in OUT."))
@with_config(*FLAG_SETTINGS)
def build(
    *,
    out: Output,
    archives: tuple[str, ...],
    target: Path,
    title: str | None,
    language: str | None,
    pairs: Path | None,
    public_only: bool,
    opens: bool,
    force: bool,
    config: Path | None,
    **given: Any,
) -> int:
    """Run ``library build``."""
    from exporter.cli.answers import check_answers, declared_flags
    from exporter.cli.undeclared import require_declared_flags
    from exporter.library.library_site import LibraryOptions, build_library

    places = [archive_named(words, config) for words in archives]
    found: list[tuple[Path, Settings]] = []

    def declared(archive: Archive, service: Records, settings: Settings, state: State) -> Declared:
        flags = declared_flags(service, settings, archive.path, state.blog_id, out, all_as_draft=False)
        check_answers(flags, given, state, service, out.warn)
        require_declared_flags(flags, state, service, given, out, blog_id=state.blog_id)
        return flags.declared

    with contextlib.ExitStack() as checked:
        for place in places:
            checked.enter_context(ending_with_damage(place))
            archive, settings = opened(out, place, given_settings(given), config)
            found.append((archive.path, settings))
        if not has_pillow():
            out.say(
                message("Pictures have no thumbnails, since Pillow is not installed: pip install 'blog-exporter[site]'")
            )
        options = LibraryOptions(title or "", language, pairs, public_only, force)
        built = build_library(found, target, options, declared)
    document = built.document
    out.document(document)
    files, entries = counted(document["file_count"], "file"), counted(document["written"]["entries"], "entry")
    made = message_n("{n:,} of them made now", "{n:,} of them made now", built.made)
    out.answer(
        "{path}: {parts}.",
        path=printable(str(target)),
        parts=listed([files, made, size_text(document["bytes"]), entries]),
    )
    out.answer(
        message_n(
            "{n:,} entry is in several blogs and appears once.",
            "{n:,} entries are in several blogs and appear once.",
            built.moved,
        )
    )
    if built.doubtful:
        out.say(
            message_n(
                "{n:,} more pair may be the same entry; the report names it, and --pairs FILE decides: {report}",
                "{n:,} more pairs may be the same entry; the report names them, and --pairs FILE decides: {report}",
                built.doubtful,
                report=printable(f"{target}.report.json"),
            )
        )
    if public_only:
        left = document["left_out"]
        parts = listed([counted(left["entries"], "entry"), counted(left["comments"], "comment")])
        out.say("Left out as not public: {parts}.", parts=parts)
    if opens:
        import webbrowser

        webbrowser.open(built.start.absolute().as_uri())
    return 0


command.add_command(build)
