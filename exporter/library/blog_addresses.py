"""A blog's public addresses: its home page, and its entries."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from exporter.archive.archive import Archive
from exporter.archive.layout import Layout
from exporter.archive.names import newest_id
from exporter.archive.state import State
from exporter.capture.outcome import EntryAddress
from exporter.errors import UsageError
from exporter.export.own_links import infer_entry_url
from exporter.html.links import AddressPattern, absolute, host_of
from exporter.html.local_links import by_first_name
from exporter.html.web_address import parsed
from exporter.model.kinds import Kind
from exporter.model.publication import PostStatus
from exporter.model.records import Audience, Raw
from exporter.service.declarations import BLOG_V1, PUBLIC_SITE
from exporter.service.interface import Records
from exporter.service.public_site.paths import site_paths
from exporter.service.registry import service_of
from exporter.settings import Settings
from exporter.text import printable

_SAMPLED_ENTRIES: Final = 200


def home_of(archive: Path, blog_id: str, settings: Settings) -> str:
    """Return the address of a blog's home page.

    It comes from a setting, or from the address that the blog was read at. Otherwise its host is the one in the
    entries' addresses, or at last the blog's ID.

    Raises:
        UsageError: the setting is no address, or nothing names a host.
    """
    if settings.home_url is not None:
        found = parsed(settings.home_url)
        if found is None:
            raise UsageError(
                "home_url must be a web address such as https://blog.example.jp/, not {text}.",
                text=printable(settings.home_url, 200),
            )
        return str(found._replace(query=None))
    blog_id = newest_id(Layout(archive), settings.service) or blog_id
    if settings.service == PUBLIC_SITE.name and settings.base_url is not None:
        return site_paths(blog_id, settings.base_url, settings.get("page_rules")).home_address
    host, _, folder = blog_id.partition("/")
    path = f"/{folder.strip('/')}/" if folder.strip("/") else "/"
    base = urlsplit(settings.base_url or "")
    if base.hostname == host.partition(":")[0]:
        return f"{base.scheme}://{base.netloc}{path}"
    named = _named_origin(archive, settings)
    if named is not None and host_of(named) != host:
        return f"{named}/"
    if "." not in host:
        raise UsageError(
            "Nothing says where the pages of {blog_id} are. Name the home page with --home-url.",
            blog_id=printable(blog_id, 120),
        )
    return f"{'https' if named is None else named.partition(':')[0]}://{host}{path}"


def _named_origin(archive: Path, settings: Settings) -> str | None:
    """Return the scheme and host that most of the first entries' addresses have; ``None`` if they have none."""
    origins: Counter[str] = Counter()
    for number, each in enumerate(entry_addresses(archive, settings)):
        place = parsed(each.url)
        if place is not None:
            origins[f"{place.scheme}://{place.authority}"] += 1
        if number >= _SAMPLED_ENTRIES:
            break
    return origins.most_common(1)[0][0] if origins else None


def entry_addresses(archive: Path, settings: Settings) -> Iterator[EntryAddress]:
    """Yield the addresses of the newest entries. Entries known to be private are left out.

    If a record does not state who may see the entry, its address is yielded as doubtful.

    The records state them, or a pattern builds them: the setting ``entry_url``, a known service's, or the one that the
    links between entries show.
    """
    if not Archive.exists(archive):
        return
    reader = Archive.open(archive)
    if reader.newest() is None:
        return
    service = service_of(settings, reader.info.service)
    with contextlib.closing(reader.state()) as state:
        build, declared = address_builder(state, service, settings), service.declared(settings, all_as_draft=False)
        for entry_id, raw in state.scan(Kind.ENTRIES):
            post = service.post(raw)
            if post.private is True or post.audience not in {None, Audience.PUBLIC}:
                continue
            is_public = service.publication(post, declared).status is PostStatus.PUBLISH
            stated = absolute(post.permalink, f"https://{reader.info.blog_id}/") if post.permalink else None
            url = stated or build(entry_id, raw)
            if url is not None:
                yield EntryAddress(url, is_public)


def address_builder(state: State, service: Records, settings: Settings) -> Callable[[str, Raw], str | None]:
    """Return a function that builds an entry's address from its id and record."""
    if settings.entry_url is not None:
        pattern = AddressPattern(settings.entry_url, "entry_url")
        return lambda _, raw: pattern.fill(raw)
    if service.name == BLOG_V1.name:
        paths = site_paths([state.blog_id, *state.names][-1], None, "auto")
        if paths.rules is not None:
            return lambda entry_id, _: None if (path := paths.post_path(entry_id)) is None else paths.origin + path
        inferred = infer_entry_url(service, state)
        if inferred is not None:
            newest = [state.blog_id, *state.names][-1]
            old = sorted({state.blog_id, *state.names} - {newest}, key=len, reverse=True)
            return lambda _, raw: by_first_name(inferred.pattern.fill(raw) or "", dict.fromkeys(old, newest)) or None
    return lambda _, __: None
