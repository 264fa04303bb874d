"""How a command line can name a blog: by address, blog ID, folder, or a name in the settings file."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from exporter.errors import BlogExporterError, NoArchive, ServiceError, UsageError
from exporter.message import listed, message, said, suggested
from exporter.settings import ConfigFile, read_config

_SCHEME: Final = re.compile(r"(?:h?ttps?:|feed:)?//+", re.IGNORECASE)
_AROUND: Final = "\"'`<>()[]「」『』《》〈〉【】,;"
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_BARE: Final = re.compile(r"(?:[^/?#\\\s]*@)?(?P<host>[^/?#\\:@\s]+)(?P<port>:[0-9]{1,5})?(?P<more>[/?#]|$)")
_TOP_LABEL: Final = re.compile(r"[a-z]{2,63}|xn--[a-z0-9-]+")
_IPV4: Final = re.compile(r"(?:[0-9]{1,3}\.){3}[0-9]{1,3}")
_LOOPBACK: Final = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}")
"""Hosts of this machine, where a service without a certificate listens."""
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_CREDENTIALS: Final = re.compile(rf"^((?:{_SCHEME.pattern})?).*@", re.IGNORECASE | re.DOTALL)
_MAX_HOST_CHARACTERS: Final = 253
_MAX_PORT: Final = 65_535
_MAX_FOLDERS: Final = 8
_PATH_MARKS: Final = "/%!$&'()*+,;=:@~-._"


def address_in(text: str) -> str | None:
    """Return a pasted address as an URL in ASCII without a query; ``None`` if :func:`is_web_address` says no.

    It may have full-width letters, spaces and brackets around it, or a scheme without its ``h``. Without a scheme it is
    ``https``, on this machine ``http``.

    Raises:
        UsageError: the address has a user name or password, or no valid host.
    """
    return _url_of(text) if is_web_address(text) else None


def _url_of(text: str) -> str:
    plain = _plain(text)
    scheme = _SCHEME.match(plain)
    whole = plain if scheme is None else plain[scheme.end() :]
    host, _, path = re.split(r"[?#]", whole, maxsplit=1)[0].replace("\\", "/").partition("/")
    name, colon, port = host.rpartition(":") if re.search(r":[0-9]{1,5}$", host) else (host, "", "")
    ascii_name = _ascii_host(name)
    if "@" in host or not re.fullmatch(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]", ascii_name):
        raise UsageError(_reason_for_host(text))
    if port and int(port) > _MAX_PORT:
        raise UsageError("The port in {text} is above {most}.", text=repr(text), most=_MAX_PORT)
    is_plain = _LOOPBACK.fullmatch(name) if scheme is None else re.match(r"h?ttp:", scheme[0], re.IGNORECASE)
    protocol = "http" if is_plain else "https"
    return f"{protocol}://{ascii_name}{colon}{port}/{quote(path, safe=_PATH_MARKS)}"


def is_web_address(text: str) -> bool:
    """Return whether a pasted text is the address of a page: it has a scheme, or a host with a path or query.

    A text without a scheme is a folder if it exists, if an archive of this user's was there, or if it begins with
    ``.``, ``~``, ``/`` or a drive. A host alone is no address, because it may be a blog ID.
    """
    return has_scheme(text) or (_is_bare_address(text) and not _is_folder(text))


def _is_bare_address(text: str) -> bool:
    plain = unicodedata.normalize("NFKC", text).strip().strip(_AROUND)
    found = _BARE.match(plain)
    if found is None or not found["more"] or plain.startswith((".", "~")) or any(map(str.isspace, plain)):
        return False
    host = found["host"].replace("。", ".").lower()
    name = _ascii_host(host) or host
    if found["port"] or name == "localhost":
        return True
    labels = name.split(".")
    is_valid = all(_LABEL.fullmatch(label) or label.startswith("xn--") for label in labels)
    is_host = len(labels) > 1 and is_valid and bool(_TOP_LABEL.fullmatch(labels[-1]))
    return is_host or bool(_IPV4.fullmatch(name))


def _is_folder(words: str) -> bool:
    """Return whether words name a path that exists, or the folder of a known archive that is missing."""
    if "\0" in words or os.path.lexists(words):
        return True
    from exporter.archive.settings_file import known_archives, place_of

    with suppress(BlogExporterError):
        return place_of(Path(words)) in map(str, known_archives())
    return False


def completed_address(text: str) -> str:
    """Return an address with its scheme, where no folder is possible; a text that is no address stays unchanged.

    Raises:
        UsageError: the address has a user name or password, or no valid host.
    """
    is_bare = _is_bare_address(text) or _is_bare_address(f"{text.strip().strip(_AROUND)}/")
    return _url_of(text) if is_bare and not has_scheme(text) else text


@contextmanager
def folder_possible(words: str) -> Iterator[None]:
    """Add to an error inside the block how to name a folder, if the words were read as an address without a scheme."""
    try:
        yield
    except BlogExporterError as error:
        if not _is_bare_address(words) or type(error) not in {UsageError, ServiceError}:
            raise
        folder = f"./{words.strip()}"
        text = message("{reason} If it is a folder here, write {folder}.", reason=said(error), folder=folder)
        raise type(error)(text) from error


def _ascii_host(text: str) -> str:
    """Return a host in lower case ASCII (RFC 3490); empty if it is invalid in either spelling."""
    try:
        name = text.strip(".").lower().encode("idna").decode("ascii")
    except UnicodeError:
        return ""
    if "xn--" not in name:
        return name
    from exporter.http.address_guard import is_host

    return name if is_host(name) else ""


def _plain(text: str) -> str:
    """Return a pasted text without invisible characters, full-width letters, and marks around it."""
    plain = unicodedata.normalize("NFKC", text).replace("。", ".")
    return "".join(char for char in plain if unicodedata.category(char) not in _INVISIBLE).strip(_AROUND)


def blog_id_in(text: str) -> str:
    """Return the host in a pasted address in lower case ASCII, for the service's API.

    The address may have full-width letters, spaces, brackets around it, a path, or a scheme without its ``h``. A
    Japanese host becomes its punycode (RFC 3490).

    Raises:
        ValueError: the text contains no host, or a password.
    """
    plain = _plain(text)
    host = re.split(r"[/?#\\]", _SCHEME.sub("", plain, count=1) if _SCHEME.match(plain) else plain, maxsplit=1)[0]
    if "@" in host:
        raise ValueError(message("an address without a name and a password before @ is expected"))
    ascii_name = _ascii_host(host.partition(":")[0])
    labels = ascii_name.split(".")
    if (
        len(labels) < 2
        or len(ascii_name) > _MAX_HOST_CHARACTERS
        or not all(map(_LABEL.fullmatch, labels))
        or labels[-1].isdigit()
    ):
        raise ValueError(message("the address of a blog is expected, such as https://name.blog.example.jp/"))
    return ascii_name


def has_scheme(text: str) -> bool:
    """Return whether a pasted text begins as the address of a page does."""
    return _SCHEME.match(_plain(text)) is not None


def without_password(text: str) -> str:
    """Return a pasted text for a message: three stars replace what may be a user name and a password."""
    return _CREDENTIALS.sub(r"\1***@", _plain(text)) if "@" in _plain(text) else text


def _reason_for_host(text: str) -> str:
    """Return the error for an address without a usable host."""
    shown = without_password(text)
    if shown != text:
        return message("Give the address without a user name and password: {text}.", text=repr(shown))
    return message(
        "The host name in {text} is invalid. An address is such as https://name.example.jp/.", text=repr(text)
    )


def reason_for_address(text: str) -> str:
    """Return the error for an address where the blog's ID or its archive is needed."""
    try:
        blog_id = blog_id_in(text)
    except ValueError:
        if without_password(text) != text:
            return _reason_for_host(text)
        if is_web_address(text):
            return message(
                "{text} is an address, and no archive of it is known here: name the folder of its archive.",
                text=repr(text),
            )
        return message("{text} is not a blog ID such as NAME.blog.example.jp.", text=repr(text))
    address = address_in(text)
    if address is not None and urlsplit(address).path != "/":
        return message(
            "{text} is an address, and no archive of it is known here: name the folder of its archive, or the blog by "
            "its ID, such as {blog_id}.",
            text=repr(text),
            blog_id=blog_id,
        )
    return message("{text} is an address: name the blog by its ID, {blog_id}.", text=repr(text), blog_id=blog_id)


def archive_named(words: str, config: Path | None = None) -> Path:
    """Find the archive that the user named; the returned folder may lack an archive.

    A name in the settings file comes first, then an existing path. Then follow a blog's address and ID: the search
    covers the current folder, the settings file, and all archives that this user's backups wrote. Other words are a
    path.

    Args:
        words: the user's words.
        config: the settings file named on the command line.

    Raises:
        UsageError: several archives hold the blog, or the address has a user name or password.
        NoArchive: the address has no known archive, or the words only resemble a known name.
    """
    blogs = ConfigFile().blogs
    with suppress(BlogExporterError):  # reading an archive needs no settings
        blogs = read_config(config).blogs
    if words in blogs:
        return blogs[words].archive
    path = Path(words)
    if "\0" in words or os.path.lexists(words):
        return path
    from exporter.archive.settings_file import known_archives

    known: list[Path] = []
    with suppress(BlogExporterError):
        known = known_archives()
    tables = blogs.values()
    ids = _ids_of(words)
    if ids:
        found = _archives_of(
            ids, [*(Path(each.replace("/", "-")) for each in ids), *(table.archive for table in tables), *known]
        )
        if len(found) > 1:
            raise UsageError(
                "{words} is in several archives: {folders}. Name the folder.",
                words=words,
                folders=listed(map(str, found)),
            )
        if found:
            return found[0]
        if has_scheme(words):
            missing = next((table.archive for table in tables if table.blog_id in ids), None)
            if missing is not None:
                return missing
            raise NoArchive("No archive of {blog_id} is known here. Name its folder.", blog_id=ids[0])
    nearest = _nearest(words, {**_known_names(known), **{name: name for name in blogs}})
    if nearest is not None and Path(nearest).absolute() != path.absolute():  # else it is missing itself
        raise NoArchive("{words} is not an archive. Did you mean {name}?", words=words, name=nearest)
    return _folder_of_this_name(words, ids)


def _folder_of_this_name(words: str, ids: list[str]) -> Path:
    """Return words as the path of a folder that may be missing.

    Raises:
        NoArchive: they are an address without a scheme, and no archive of it is known.
    """
    if is_web_address(words) and not has_scheme(words):
        raise NoArchive(
            "No archive of {blog_id} is known here, and there is no folder {folder}. Name the archive's folder.",
            blog_id=ids[0] if ids else words,
            folder=f"./{words.strip()}",
        )
    return Path(words)


def _ids_of(words: str) -> list[str]:
    """Return the blog IDs that the words can mean, the most exact one first.

    The ID of a blog in a folder of its host has the folder in it. The page of an entry is below that folder. A host
    without a dot or a port has no blog.

    Raises:
        UsageError: an address has a user name or password, or no host.
    """
    address = address_in(words)
    if address is not None:
        parts = urlsplit(address)
        if "." not in parts.netloc and ":" not in parts.netloc:
            return []
        folders = [part for part in parts.path.split("/") if part][:_MAX_FOLDERS]
        hosts = dict.fromkeys((parts.netloc, parts.hostname or ""))
        # A missing folder in the archive of a host is not that archive.
        least = len(folders) if not has_scheme(words) and Path(parts.netloc).is_dir() else 0
        return ["/".join((host, *folders[:n])) for n in range(len(folders), least - 1, -1) for host in hosts]
    if any(mark in words for mark in "/\\"):  # a missing folder in an archive is no address
        return [words.rstrip("/")]
    with suppress(ValueError):
        return [blog_id_in(words)]
    return []


def _archives_of(ids: list[str], folders: list[Path]) -> list[Path]:
    """Return the archives' folders for the first ID with an archive.

    An archive counts by its first ID, and by those that a command of this user has confirmed. A later ID that only the
    archive states counts if no other archive has it, because the archive may be a stranger's.
    """
    from exporter.archive.reader import ids_at

    found: dict[tuple[bool, str], dict[Path, Path]] = {}
    for each in folders:
        for number, blog_id in enumerate(ids_at(each)):
            is_stated = number > 0 and not is_confirmed_name(each, blog_id)
            found.setdefault((is_stated, blog_id), {}).setdefault(each.resolve(), each)
    keys = [(is_stated, blog_id) for is_stated in (False, True) for blog_id in ids]
    return list(next((found[key].values() for key in keys if key in found), ()))


def is_confirmed_name(folder: Path, blog_id: str) -> bool:
    """Return whether a command of this user has found the blog of an archive by this later ID."""
    from exporter.archive.settings_file import noted_names

    with suppress(BlogExporterError):
        return blog_id in noted_names(folder)
    return False


def folder_by_later_name(blog_id: str) -> Path | None:
    """Return the archive in the current folder whose blog got this ID later; ``None`` if there is none.

    Raises:
        UsageError: only the archive states that, and it may be a stranger's.
    """
    from exporter.archive.layout import NAMES
    from exporter.archive.reader import ids_at

    here = Path()
    folders = [each for each in sorted(here.iterdir()) if os.path.lexists(each / NAMES)] if here.is_dir() else []
    stating = [each for each in folders if blog_id in ids_at(each)[1:]]
    for each in stating:
        if is_confirmed_name(each, blog_id):
            return each
    if stating:
        raise UsageError(
            "The archive in {folder} states that its blog is {blog_id} now, but no command of yours found it so. If "
            "that is right: {command}. To begin another archive, name its folder with --archive.",
            folder=stating[0],
            blog_id=blog_id,
            command=suggested("backup", stating[0]),
        )
    return None


def _known_names(known: list[Path]) -> dict[str, str]:
    """Return the names and IDs by which a user may mean a known archive, each with its folder."""
    from exporter.archive.reader import ids_at

    return {name: str(each) for each in known for name in (each.name, *ids_at(each))}


def nearest_name(words: str, config: Path | None) -> str | None:
    """Return the name in the settings file, or the folder, that the user probably meant; ``None`` without one."""
    from exporter.archive.settings_file import known_archives

    names: dict[str, str] = {}
    with suppress(BlogExporterError):
        names = _known_names(known_archives())
    return _nearest(words, {**names, **{name: name for name in read_config(config).blogs}})


def _nearest(words: str, names: dict[str, str]) -> str | None:
    from difflib import get_close_matches

    near = get_close_matches(words.casefold(), [name.casefold() for name in names], 1)
    return next((meant for name, meant in names.items() if near and name.casefold() == near[0]), None)
