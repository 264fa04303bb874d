"""What the owner of a blog said about its flags: from the settings, or kept from an earlier export.

Answers given as options are kept for each blog in ``exports.json``, in the user's configuration folder. Options,
variables and the settings file go before them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import platformdirs

from exporter.archive import atomic
from exporter.cli.output import Output, counted
from exporter.errors import BlogExporterError, UsageError
from exporter.export.interface import RecordSource
from exporter.export.posts import occurring
from exporter.message import either, message
from exporter.model.kinds import Kind
from exporter.model.publication import Declared
from exporter.service.interface import Records
from exporter.settings import SETTINGS, Settings
from exporter.text import printable

HINT: Final = message(
    "Look at the samples on the blog itself: say which open_flg is public with --public-open-flg, whether entries with "
    "period_flg t are too with --period-flg-public, and which delete_flg is shown with --visible-delete-flg."
)
_NAMES: Final = ("public_open_flg", "period_flg_public", "visible_delete_flg")
_FILE_NAME: Final = "exports.json"
_OF_ENTRIES: Final = ("public_open_flg", "period_flg_public")
_SHOWN: Final = 10

OnStored = Callable[[str, Path], None]


def answers_path() -> Path:
    """Return where answers are kept."""
    return Path(platformdirs.user_config_dir("blog-exporter", appauthor=False)) / _FILE_NAME


def stored_printer(out: Output, blog_id: str) -> OnStored:
    """Return what says on standard error which answers are used."""
    return lambda said, path: out.say(
        message(
            "Using what was kept for {blog_id}: {said} (in {path})",
            blog_id=printable(blog_id),
            said=printable(said),
            path=printable(str(path)),
        )
    )


def declared_flags(settings: Settings, blog_id: str, on_stored: OnStored, *, all_as_draft: bool) -> Declared:
    """Return what was said about a blog's flags.

    Args:
        settings: where it is looked for first.
        blog_id: the blog.
        on_stored: called with the stored answers that are used, since they decide what is published, and their file.
        all_as_draft: whether drafts are to be made of all entries, so that what was kept about them is not used.

    Raises:
        UsageError: the file of answers cannot be read.
    """
    kept = _read(answers_path()).get(blog_id, {})
    found: dict[str, Any] = {}
    used: dict[str, str | None] = {}
    for name in _NAMES:
        found[name] = getattr(settings, name)
        if found[name] is None and isinstance(kept.get(name), str):
            try:
                found[name] = SETTINGS[name].read(kept[name])
                used |= {name: kept[name]} if name not in _OF_ENTRIES or not all_as_draft else {}
            except ValueError as error:
                raise UsageError(
                    message(
                        "{path}: {name} of {blog_id} is {text!r}: {reason}.",
                        path=answers_path(),
                        name=name,
                        blog_id=blog_id,
                        text=kept[name],
                        reason=error,
                    )
                ) from error
    if used:
        on_stored(as_settings(used), answers_path())
    return Declared(
        public_access=found["public_open_flg"],
        period_public=bool(found["period_flg_public"]),
        visible_comment_flags=found["visible_delete_flg"] or frozenset(),
        all_as_draft=all_as_draft,
    )


def check_answers(
    said: Declared, given: Mapping[str, Any], records: RecordSource, service: Records, warn: Callable[[str], None]
) -> None:
    """Compare what was said with the values that occur, since a typing error would publish nothing, and be kept.

    Args:
        said: what was said, from whatever source.
        given: the options of the command line by their names.
        records: the state that is to be published.
        service: reads the records.
        warn: called with values that no entry has, where entries have others that were named.

    Raises:
        UsageError: no entry has any value that is said to mean published, or no comment one that is said to mean shown.
    """
    if said.public_access is not None and (given["public_open_flg"] is not None or not said.all_as_draft):
        found = occurring(records, Kind.ENTRIES, service.access_flag, said.public_access)
        unknown = said.public_access - set(found)
        if unknown == said.public_access and found:
            raise UsageError(_not_among("public_open_flg", said.public_access, service.access_flag, found, "entry"))
        if unknown and found:
            warn(
                message(
                    "No entry has {flag} {values}, which you declared public.",
                    flag=service.access_flag,
                    values=either(sorted(unknown)),
                )
            )
    if given["visible_delete_flg"] is not None:
        shown = occurring(records, Kind.COMMENTS, service.deleted_flag, said.visible_comment_flags)
        if shown and not said.visible_comment_flags & set(shown):
            raise UsageError(
                _not_among("visible_delete_flg", said.visible_comment_flags, service.deleted_flag, shown, "comment")
            )


def _not_among(name: str, values: frozenset[str], flag: str, found: Counter[str], noun: str) -> str:
    known = [
        message("{value} ({count})", value=printable(value, 40), count=counted(count, noun))
        for value, count in found.most_common(_SHOWN)
    ]
    parts: dict[str, Any] = {"name": name, "values": ",".join(sorted(values)), "flag": flag, "known": either(known)}
    option = f"--{name.replace('_', '-')}"
    if noun == "entry":
        return message(
            "{name} is {values}, which no entry has: {flag} is {known}; say which of these with {option}, or look at "
            "inspect DIR.",
            **parts,
            option=option,
        )
    return message(
        "{name} is {values}, which no comment has: {flag} is {known}; say which of these with {option}, or look at "
        "inspect DIR.",
        **parts,
        option=option,
    )


def flag_answers(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what options say of the blog's flags, as settings write it."""
    return {
        "public_open_flg": given["public_open_flg"],
        "period_flg_public": "yes" if given["period_flg_public"] else None,
        "visible_delete_flg": given["visible_delete_flg"],
    }


def as_settings(answers: Mapping[str, str | None]) -> str:
    """Return answers as a settings file has them, with commas between them."""
    return ", ".join(f'{name} = "{value}"' for name, value in sorted(answers.items()) if value is not None)


def keep(given: dict[str, str | None], blog_id: str, out: Output) -> Path | None:
    """Keep the answers given as options, so that they need not be given again; returns where, if there was any news."""
    new = {name: text for name, text in given.items() if text is not None}
    path = answers_path()
    answers = _read(path)
    known = answers.get(blog_id, {})
    if not new or {**known, **new} == known:
        return None
    answers[blog_id] = {**known, **new}
    text = json.dumps(answers, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    try:
        with atomic.translated(path):
            atomic.make_folder(path.parent)
            atomic.write_file(path, text.encode())
    except BlogExporterError as error:
        out.warn(
            message(
                "The answers could not be kept: {reason} Put them into the settings file: {answers}",
                reason=error,
                answers=as_settings(new),
            )
        )
        return None
    return path


def keep_given(given: Mapping[str, Any], blog_id: str, out: Output) -> None:
    """Keep what the options of the command line say of a blog's flags, and say so where that is news."""
    new = flag_answers(given)
    path = keep(new, blog_id, out)
    if path is not None:
        out.say(
            message(
                "Kept for {blog_id}, so you need not say it again: {answers} (in {path})",
                blog_id=printable(blog_id),
                answers=printable(as_settings(new)),
                path=printable(str(path)),
            )
        )


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UsageError(
            message("{path} cannot be read ({reason}); repair or remove it.", path=path, reason=error)
        ) from error
    if not isinstance(document, dict) or not all(isinstance(answers, dict) for answers in document.values()):
        raise UsageError(message("{path} must hold an object for each blog; repair or remove it.", path=path))
    return document
