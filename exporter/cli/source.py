"""SOURCE on the command line: an address or an export file, in addition to the names that :mod:`target` knows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from exporter.cli.blog_names import address_in, blog_id_in, folder_by_later_name, folder_possible, is_web_address
from exporter.cli.target import BlogTarget, find_target
from exporter.errors import BlogExporterError, UsageError
from exporter.frozen import frozen
from exporter.message import either, listed, message, message_n, suggested
from exporter.service.declarations import ATOMPUB, BLOG_V1, DECLARATIONS
from exporter.service.registry import PROFILES, profile_for
from exporter.settings import read_config
from exporter.text import printable

if TYPE_CHECKING:
    from exporter.cli.output import Output
    from exporter.service.discovery import WayIn
    from exporter.source.discovery import Ways
    from exporter.source.export_files import ExportFiles

_NOT_IN_AN_ID: Final = re.compile(r"[^A-Za-z0-9._-]+")
_EXPORT_FILE: Final = re.compile(r".+\.(?:csv|html?|json|txt|wxr|xml|zip)(?:\.gz)?", re.IGNORECASE | re.DOTALL)
"""The names of export files. No blog's host ends so, unless it is in the rare domain ``zip``."""
_MAX_ID_CHARACTERS: Final = 60
_MAX_TITLE_CHARACTERS: Final = 200


@frozen
class NamedSource:
    """A backup's source, as the user named it.

    Attributes:
        target: the blog, its archive and its settings.
        options: the options that the user gave, and the settings that the source implies.
        files: the export files; ``None`` for a service.
        ways: the ways into an address, if it was explored.
        title: the title of the blog that its address states; empty if unknown.
        name: the ID of the blog at an address that was explored although the archive exists.
    """

    target: BlogTarget
    options: Mapping[str, Any]
    files: ExportFiles | None = None
    ways: Ways | None = None
    title: str = ""
    name: str | None = None


def find_source(
    words: str,
    options: Mapping[str, Any],
    *,
    out: Output,
    archive: Path | None = None,
    config: Path | None = None,
    new: bool = True,
    explore: bool = True,
) -> NamedSource:
    """Find the source that the user named: an export file, an address, or a blog that :func:`find_target` knows.

    Args:
        words: the user's words.
        options: the options of the command line.
        out: receives warnings.
        archive: the archive's folder, if the user named one.
        config: the settings file named on the command line.
        new: whether a missing archive that was known may be created anew.
        explore: whether a blog ID without a known service is explored as an address.

    Raises:
        UsageError: the words name nothing that can be read.
        ServiceError: the address does not answer.
    """
    how: dict[str, Any] = {"config": config, "new": new, "warn": out.warn}
    if archive is None and words in read_config(config).blogs:
        return NamedSource(find_target(words, options, **how), options)
    files = files_at(words)
    if files is not None:
        return _of_files(files, options, archive, how)
    if archive is not None and _is_folder_of_archive(words):
        raise UsageError(
            "{folder} is the folder of an archive, so leave out --archive: {command}",
            folder=words,
            command=suggested("backup", words),
        )
    address = address_in(words)
    if address is not None:
        return _of_address(address, words, options, archive, how)
    target = find_target(words, options, archive=archive, **how)
    if explore and _is_unknown(target) and target.notice is None and not _is_archive(target.root):
        return _of_blog_id(target, options, archive, how)
    return NamedSource(target, options)


def _is_folder_of_archive(words: str) -> bool:
    """Return whether words name an archive by its folder, and not also the blog in it."""
    from exporter.archive.reader import ids_at

    return bool(words) and "\0" not in words and _is_archive(Path(words)) and words not in ids_at(Path(words))


def _is_unknown(target: BlogTarget) -> bool:
    """Return whether the settings do not suffice to read the blog: they name no service, or one that needs a user."""
    settings = target.settings
    return settings.base_url is None or (settings.service == ATOMPUB.name and settings.user is None)


def _of_blog_id(
    target: BlogTarget, options: Mapping[str, Any], archive: Path | None, how: Mapping[str, Any]
) -> NamedSource:
    """Return the blog whose ID is its host, although no setting names its service."""
    try:
        address = f"https://{target.blog_id}/"
        return _of_address(address, address, options, archive, how)
    except BlogExporterError as error:
        raise UsageError(
            "The service of {blog_id} is unknown. Name it with --base-url or --profile. Read as an address: {reason}",
            blog_id=target.blog_id,
            reason=error,
        ) from error


def files_at(words: str) -> ExportFiles | None:
    """Return the export files that the words name; ``None`` if they name none.

    Raises:
        UsageError: the words name a file that is missing or cannot be read.
    """
    if not words or "\0" in words:
        return None
    path = Path(words)
    if path.is_dir():
        from exporter.archive.archive import Archive

        is_path = len(path.parts) > 1 or words.endswith(("/", "\\")) or "." not in words
        if Archive.exists(path) or not is_path or not any(each.is_file() for each in path.iterdir()):
            return None
    elif not path.is_file():
        if _EXPORT_FILE.fullmatch(words) and not is_web_address(words) and not os.path.lexists(path):
            raise UsageError("There is no file {path}. The address of a blog begins with https://.", path=path)
        return None
    from exporter.source.export_files import find_export_files

    return find_export_files(path)


def _of_files(
    files: ExportFiles, options: Mapping[str, Any], archive: Path | None, how: Mapping[str, Any]
) -> NamedSource:
    """Return the blog in export files. The archive names it, or the address that a file states.

    The archive does not remember the format: its other source, if it has one, can be read again without a new file.
    """
    from exporter.source.export_files import stated_address

    chosen = {**options, "service": files.format.name}
    if archive is not None and _is_archive(archive):
        return NamedSource(find_target(str(archive), chosen, **how), options, files)
    address = options.get("base_url") or stated_address(files)
    blog_id = host_of(address) if address else _id_from_name(files.path)
    root = archive or Path(blog_id)
    named = str(root) if _is_archive(root) else blog_id
    target = find_target(named, chosen, archive=None if _is_archive(root) else root, **how)
    return NamedSource(target, options, files)


def _of_address(
    address: str, words: str, options: Mapping[str, Any], archive: Path | None, how: Mapping[str, Any]
) -> NamedSource:
    """Return the blog at an address, read as in its archive or by the best way that an exploration finds.

    The user typed ``words`` and may mean a folder.
    """
    from exporter.archive.names import BY_ADDRESS, name_at  # a help needs no archive

    root = archive or _folder_of(host_of(address), name_at(address))
    if _is_archive(root):
        target = find_target(str(root), options, **how)
        settings = target.settings
        is_known = settings.base_url is not None and not _is_of_a_file(settings.service)
        if is_known and _same_service(options, root) and _same_site(address, target):
            return NamedSource(target, options)
    service = options.get("service")
    if service in BY_ADDRESS and options.get("obey_robots") == "no":
        return _in_spite_of_robots(address, options, archive, how)
    with folder_possible(words):
        ways = explored(address)
        way = ways.chosen(service)
        if service is None and options.get("user") is not None:
            way = ways.chosen(ATOMPUB.name) or way  # it needs a sign-in, which the user has
        if way is None:
            raise UsageError(nothing_at(ways, service))
    given = {name for name, value in options.items() if value is not None}
    implied = {"base_url": way.base_url, "service": way.service, **way.settings}
    found = {name: value for name, value in implied.items() if name not in given}
    chosen = {**options, **found}
    profile = profile_for(host_of(address), PROFILES.values())
    if profile is not None and profile.name == found.get("profile"):
        del found["profile"], found["base_url"]  # the address itself names the service
    root = archive or _folder_of(way.blog_id, way.blog_id)
    if _is_archive(root):
        target = find_target(str(root), options, found=found, **how)
    else:
        target = find_target(way.blog_id, options, found=found, archive=root, **how)
    return NamedSource(target, chosen, ways=ways, title=title_at(way), name=way.blog_id)


def _in_spite_of_robots(
    address: str, options: Mapping[str, Any], archive: Path | None, how: Mapping[str, Any]
) -> NamedSource:
    """Return the blog at an address that its owner reads in spite of robots.txt, which an exploration would obey."""
    from exporter.archive.names import name_at

    name, parts = name_at(address) or host_of(address), urlsplit(address)
    found = {"base_url": f"{parts.scheme}://{parts.netloc}"}
    root = archive or _folder_of(name, name)
    known = _is_archive(root)
    target = find_target(str(root) if known else name, options, found=found, archive=None if known else root, **how)
    return NamedSource(target, {**options, **found}, name=name)


def title_at(way: WayIn) -> str:
    """Return the blog's title from a way into it, on one line; empty if unknown."""
    return printable(" ".join(way.title.split()), _MAX_TITLE_CHARACTERS)


def _folder_of(blog_id: str, name: str | None) -> Path:
    """Return the folder of a blog's archive in the current folder; a blog may have got its name later."""
    root = Path(blog_id.replace("/", "-"))
    if _is_archive(root):
        return root
    found = (folder_by_later_name(each) for each in dict.fromkeys((name, blog_id)) if each)
    return next(filter(None, found), root)


def _same_service(options: Mapping[str, Any], root: Path) -> bool:
    """Return whether the user named no other service than that of the archive."""
    from exporter.archive.layout import Layout
    from exporter.archive.reader import read_info

    return options.get("service") in {None, read_info(Layout(root)).service or BLOG_V1.name}


def _same_site(address: str, target: BlogTarget) -> bool:
    """Return whether an address belongs to the archive's blog, or to the service that it is read from."""
    from exporter.archive.names import BY_ADDRESS, name_at
    from exporter.archive.reader import ids_at

    place, base = urlsplit(address), urlsplit(target.settings.base_url or "")
    names = ids_at(target.root)
    if target.settings.service not in BY_ADDRESS:
        return place.hostname in names or place.netloc == base.netloc
    if place.netloc != base.netloc:
        here = f"{name_at(address)}/"
        return any(here.startswith(f"{name}/") for name in names[:-1])
    folder = names[-1].partition("/")[2].strip("/")
    return not folder or f"{place.path}/".startswith(f"/{folder}/")


def _is_of_a_file(service: str | None) -> bool:
    """Return whether a service reads export files, so that an address is a second source."""
    return service in DECLARATIONS and DECLARATIONS[service].reads_files


def explored(address: str) -> Ways:
    """Return the ways into an address.

    Raises:
        ServiceError: it does not answer.
    """
    import asyncio

    from exporter.http.engine import Engine
    from exporter.source.discovery import discover

    async def run() -> Ways:
        async with Engine() as engine:
            return await discover(address, engine)

    return asyncio.run(run())


def nothing_at(ways: Ways, service: str | None) -> str:
    """Return why an address cannot be read, or not as the service that the user named."""
    if service is not None and ways.found:
        return message(
            "{address} cannot be read as {service}; it can be as {known}.",
            address=printable(ways.address, 200),
            service=printable(service, 40),
            known=listed([way.service for way in ways.found]),
        )
    if ways.forbidden:
        return ways.forbidden[0]
    return message(
        "{address} has neither an API nor a feed nor a sitemap that this program can read. If its service gives out an "
        "export file, name that file: {command}",
        address=printable(ways.address, 200),
        command=suggested("backup", "FILE"),
    )


def way_lines(source: NamedSource) -> Iterator[str]:
    """Yield sentences about the way into an address; nothing if the source has no address to explore."""
    ways = source.ways
    way = None if ways is None else ways.chosen(source.target.settings.service)
    if ways is None or way is None:
        return
    counts = counts_text(way)
    if counts:
        yield message("Found at {address}: {label}, {counts}.", address=ways.address, label=way.label, counts=counts)
    else:
        yield message("Found at {address}: {label}.", address=ways.address, label=way.label)
    for lack in way.lacks:
        yield message("  not there: {lack}", lack=lack)
    others = [other.service for other in ways.found if other is not way]
    if others:
        yield message("It can also be read with --service {services}.", services=either(others))


def counts_text(way: WayIn) -> str:
    """Return the numbers of records that a way states, such as ``273 posts, 12 pages``."""
    return listed(_count_text(name, number) for name, number in way.counts.items())


def _count_text(name: str, number: int) -> str:
    match name:
        case "posts":
            return message_n("{n:,} entry", "{n:,} entries", number)
        case "pages":
            return message_n("{n:,} page", "{n:,} pages", number)
        case "comments":
            return message_n("{n:,} comment", "{n:,} comments", number)
        case _:
            return message_n("{n:,} upload", "{n:,} uploads", number)


def _is_archive(path: Path) -> bool:
    from exporter.archive.archive import Archive

    return Archive.exists(path)


def host_of(address: str) -> str:
    """Return the host of an address, which names its blog until its service is known."""
    try:
        return blog_id_in(address)
    except ValueError:
        host = urlsplit(address).hostname
        if host is None:
            raise UsageError("--base-url must look like https://HOST, not {text}.", text=repr(address)) from None
        return host


def _id_from_name(path: Path) -> str:
    name = _NOT_IN_AN_ID.sub("-", path.name.partition(".")[0] or path.name).strip("-.")
    return name[:_MAX_ID_CHARACTERS] or "blog"
