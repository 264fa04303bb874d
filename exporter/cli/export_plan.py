"""The questions that an export asks in the terminal and the window: proposals, checks, next steps and commands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from exporter.cli.blog_names import completed_address
from exporter.cli.destinations import OUT, WEB_SPACE, Destination
from exporter.cli.export_options import ExportJob
from exporter.export.folder import check_target
from exporter.export.formats import NAMED
from exporter.export.interface import Comments
from exporter.export.media import FOLDER, MADE_FIELDS
from exporter.export.targets import TARGETS
from exporter.html.links import AddressPattern, absolute
from exporter.library.export import check_apart
from exporter.message import PROGRAM, message
from exporter.model.kinds import Kind
from exporter.service.interface import Records
from exporter.setting_sources import option_name
from exporter.settings import SETTINGS

CHOSEN: Final = ("only", "at", "since", "until", "category", "tag", "all_as_draft")
"""The options, shared with other commands, that choose a part of the blog."""
REPEATED: Final = (
    "limits_of", "only", "media_base_url", "new_url", "title", "at", "since", "until", "category", "tag",
    "all_as_draft", "without_addresses", "media_folder", "vertical", "by_year", "paper", "cover", "preset", "comments",
)  # fmt: skip
"""The values of options that the same export needs again."""
COMMENT_WAYS: Final = {
    Comments.BODY: message("Show them below the entries"),
    Comments.SIDECAR: message("Put them into separate files (to show them with Disqus, for example)"),
    Comments.NONE: message("Leave them out (the archive keeps them)"),
}


def comment_ways(place: Destination) -> list[Comments]:
    """Return how comments can come along in a format that readers see; empty for other formats.

    Separate files need a site that shows them.
    """
    if NAMED[place.form].shows is None:
        return []
    return [way for way in Comments if place.home or way is not Comments.SIDECAR]


def home_of(answer: str) -> str:
    """Return the new blog's address with a slash at its end; empty without one.

    Raises:
        ValueError: the answer is not an address.
    """
    home = address_or_none(answer)
    return f"{home.rstrip('/')}/" if home else ""


def address_or_none(answer: str) -> str:
    """Return an address with its scheme, which may be empty.

    Raises:
        ValueError: it is something else.
        UsageError: it has a user name or password, or no valid host.
    """
    address = completed_address(answer) if answer else ""
    if address and not _is_address(address):
        raise ValueError(message("Please answer with an address that begins with https://, or leave it empty."))
    return address


def _is_address(answer: str) -> bool:
    return answer.startswith(("https://", "http://")) and absolute(answer, "") is not None


def old_pattern(entry_id: str, field: str, answer: str) -> tuple[AddressPattern, ...]:
    """Return the pattern of old addresses from that of one entry; empty without an answer.

    Args:
        entry_id: the entry's id.
        field: the field that has the id.
        answer: the entry's address on the old blog.

    Raises:
        ValueError: it is no address that has the id once.
    """
    pattern = pattern_of(answer, entry_id, field) if _is_address(answer) else None
    if answer and pattern is None:
        text = message(
            "Please answer with an address that contains the number of this entry, {id}, once, or leave it empty.",
            id=entry_id,
        )
        raise ValueError(text)
    return () if pattern is None else (AddressPattern(pattern, "--old-url"),)


def pattern_of(address: str, entry_id: str, field: str) -> str | None:
    """Return an entry's address with ``field`` in place of its id; ``None`` unless its path has the id exactly once."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    made, times = re.subn(rf"(?<![0-9A-Za-z]){re.escape(entry_id)}(?![0-9A-Za-z])", f"{{{field}}}", path)
    return f"{scheme}{mark}{host}{slash}{made}" if times == 1 and "{" not in path else None


def new_pattern(service: Records, answer: str) -> str | None:
    """Return the pattern of new addresses; ``None`` without an answer.

    Raises:
        UsageError: it is no pattern, or has unknown fields.
    """
    if answer:
        AddressPattern(answer, "--new-url", path=True).check((*service.post_fields, *MADE_FIELDS))
    return answer or None


def offered_fields(service: Records) -> str:
    """Return the fields that people need for a pattern of new addresses."""
    fields = (*service.post_fields, *MADE_FIELDS)
    offered = (service.key_fields[Kind.ENTRIES], "name", *MADE_FIELDS)
    return ", ".join(f"{{{name}}}" for name in offered if name in fields)


def proposed_new_url(place: Destination, home: str) -> str:
    """Return the pattern of addresses that a new blog has by default; empty if unknown."""
    return f"{home}{place.new_url}" if home and place.new_url else ""


def proposed_media(place: Destination, home: str) -> str:
    """Return where pictures can be put at a new blog; empty if unknown."""
    return f"{home}{place.media}" if home and place.media else ""


def check_new_folder(path: Path, archive: Path, *, force: bool = False) -> Path:
    """Return a folder to write into, if it does not exist yet.

    Raises:
        UsageError: one of the export's folders is inside the archive or around it, or exists and is not replaced.
    """
    for folder in folders_of(path):
        check_apart(folder, archive)
        check_target(folder, force=force)
    return path


def folders_of(target: Path) -> tuple[Path, ...]:
    """Return the folders that an export may write, itself included."""
    if not target.name:
        return (target,)
    return target, target.with_name(f"{target.name}.NOT-PUBLIC"), redirects_of(target)


def redirects_of(target: Path) -> Path:
    """Return the folder of the redirects to an export."""
    return target.with_name(f"{target.name}.redirects")


def free_folder(proposed: Path) -> Path:
    """Return the first of ``proposed``, ``proposed-2`` and so on that an export can write as a new folder."""
    path, number = proposed, 1
    while any(folder.exists() for folder in folders_of(path)):
        number += 1
        path = proposed.with_name(f"{proposed.name}-{number}")
    return path


def redirects_job(place: Destination, job: ExportJob) -> ExportJob | None:
    """Return the export of the redirects; ``None`` if there is no public entry to redirect to."""
    given = job.given
    if not given["new_url"] or given["all_as_draft"] or given["only"] == "private":
        return None
    limits = place.form if place.form in TARGETS else given["limits_of"]
    unused = {"only": "public", "media_base_url": "", "media_folder": False, "preset": None, "comments": None}
    return ExportJob("redirects", job.archive, redirects_of(job.target), {**given, **unused, "limits_of": limits})


def next_steps(
    place: Destination, job: ExportJob, folder: Path, pictures: Sequence[str], redirects: ExportJob | None, home: str
) -> Iterator[str]:
    """Yield the owner's next steps after an export.

    Args:
        place: the new home.
        job: the export.
        folder: the folder that it wrote.
        pictures: the paths of the pictures in it.
        redirects: the export with the redirects, if it was made.
        home: the new blog's address; empty if unknown.
    """
    base, named = job.given["media_base_url"], home or "NEW_HOME"
    if place.form == "wordpress":
        command = again("move", job, "wordpress", str(job.archive), "--to", named, "--new-home-user", "USER")
        yield message(
            "The program can do all of it by the API of WordPress, pictures included: {command} To do it by hand, "
            "continue with the next steps.",
            command=command,
        )
    if base and pictures:
        yield message(
            "Put the content of {media} into {folder}, so that it is found at {base}; open {sample} in a "
            "browser to check it.",
            media=folder / FOLDER,
            folder=place.folder if base == proposed_media(place, home) else WEB_SPACE,
            base=base,
            sample=f"{base.rstrip('/')}/{pictures[0].removeprefix(f'{FOLDER}/')}",
        )
    comments = job.given["comments"] or NAMED[place.form].shows
    for step in place.steps("bring" if base else "stay", comments):
        yield step.replace(OUT, str(folder))
    if comments == Comments.SIDECAR:
        yield message(
            "The comments are in {path}: the .xml with disqus in its name is for the import of Disqus, the .json "
            "for your own script.",
            path=folder / NAMED[place.form].beside,
        )
    if redirects is not None:
        yield message(
            "To bring visitors of old links to the new blog, use the one file of {path} that suits the old server: "
            "include nginx.conf in the server block of nginx; put the content of apache.conf into .htaccess for "
            "Apache; put _redirects into the folder that Netlify or Cloudflare Pages publish. redirects.csv is the "
            "same list as a table.",
            path=redirects.target,
        )
        yield message(
            "A rented blog takes no such files: write the new address into its last entry and its profile before "
            "it closes."
        )
    if place.home:
        left_out = () if comments in {None, Comments.BODY} else ("--no-comments",)
        command = again("compare", job, str(job.archive), named, *left_out)
        yield message("In the end, check that everything arrived: {command}", command=command)


def command_line(job: ExportJob) -> str:
    """Return the command that repeats an export without a question; the answers about the flags are kept."""
    return f"{again('export', job, job.form, str(job.archive), str(job.target), names=REPEATED)} --force"


def again(command: str, job: ExportJob, *arguments: str, names: Sequence[str] = CHOSEN) -> str:
    """Return a command for the same blog, with these export options and the old addresses."""
    return shlex.join((PROGRAM, *command_words(command, job.given, *arguments, names=names)))


def command_words(command: str, given: Mapping[str, Any], *arguments: str, names: Sequence[str] = CHOSEN) -> list[str]:
    """Return the words of a command with these options; no value can be read as another option."""
    words = [command, *arguments]
    for name in names:
        value = given[name]
        if value and (name, value) != ("only", "public"):
            option = "--target" if name == "limits_of" else option_name(name)
            words += [option] if value is True or _is_flag(name) else _with_value(option, str(value))
    return words + [word for pattern in given["old_urls"] for word in _with_value("--old-url", pattern)]


def _is_flag(name: str) -> bool:
    """Return whether a setting has an option without a value, which turns it on."""
    return name in SETTINGS and SETTINGS[name].choices == ("yes", "no")


def _with_value(option: str, value: str) -> list[str]:
    return [f"{option}={value}"] if value.startswith("-") else [option, value]
