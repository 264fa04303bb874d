"""The declarations of all blog services: module, settings, defaults and profiles. Pure.

Every command needs the names of all settings, but at most one service. So the declarations are apart from the services'
modules. A module is imported only when a blog of its service is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from exporter.message import message
from exporter.setting_types import OneOf, Setting, WholeNumber, flags, some_text, values, yes_or_no

BLOG_HOSTS: Final = "blog_hosts"
"""The fact that lists the hosts of a service's blogs. It is not a setting: it selects the profile of a blog."""

DEVELOPER_PAGE: Final = "developer_page"
"""The fact with the address of the service's page about signing in. It is not a setting."""
NOT_SETTINGS: Final = frozenset({BLOG_HOSTS, DEVELOPER_PAGE})


AGREEMENT: Final = "agreement"
"""The key of a user's profile that says who agreed to its rate, when and where. It is not a setting."""


class FactBasis(StrEnum):
    """How reliable a fact is."""

    AGREED = "agreed"
    """The service's owner agreed to it; the source says who, when and where."""

    DOCUMENTED = "documented"
    """The service's public documentation states it."""
    OBSERVED = "observed"
    """It was observed; the service does not promise it."""
    CHOSEN = "chosen"
    """A choice of this program, since the service states nothing."""
    OWN = "own"
    """The user's settings file states it."""


class KnownFact(NamedTuple):
    """A known fact: its value as in a settings file, its reliability, and its source."""

    value: str
    basis: FactBasis
    source: str


class Profile(NamedTuple):
    """Known facts about a blog service. Each one is the value of a setting that no other source gives.

    Attributes:
        name: the value of ``--profile``.
        title: the name for people.
        facts: by the names of their settings, and :data:`NOT_SETTINGS`.
        unknown: facts about the service that are still unknown.
        service: the type of service, as ``archive.json`` names it.
    """

    name: str
    title: str
    facts: Mapping[str, KnownFact]
    unknown: tuple[str, ...] = ()
    service: str = ""

    @property
    def settings(self) -> dict[str, str]:
        """The values of all facts that are settings."""
        return {name: fact.value for name, fact in self.facts.items() if name not in NOT_SETTINGS}

    def is_of(self, blog_id: str) -> bool:
        """Return whether a blog's ID is one of the hosts. ``*.`` at the beginning of a host matches any name."""
        hosts = self.facts[BLOG_HOSTS].value.split(",") if BLOG_HOSTS in self.facts else []
        return any(_is_host(blog_id.lower(), host.strip().lower()) for host in hosts)


def _is_host(blog_id: str, host: str) -> bool:
    return blog_id.endswith(host[1:]) and blog_id != host[1:] if host.startswith("*.") else blog_id == host


class FlagSettings(NamedTuple):
    """Names of the settings by which a blog's owner declares what its flags mean; empty if the service knows.

    Attributes:
        public: values of the access flag of published entries.
        period: whether entries that are shown for a limited time are public.
        comments: values of the flag of visible comments.
    """

    public: str = ""
    period: str = ""
    comments: str = ""


class Declaration(NamedTuple):
    """A service's declaration about itself.

    Attributes:
        name: the service's name in ``archive.json``.
        module: the full name of the module that implements it.
        implementation: the name of the class in it.
        settings: the settings that only this service has, by name.
        options: those that ``backup`` offers as options and that an archive stores.
        defaults: values for shared settings, such as ``timezone``, ``base_url`` or ``file_url``, as text.
        profiles: known services of this type.
        flags: the settings that declare the meaning of flags.
        reads_files: whether it is a format of export files.
        anonymous: whether its requests never carry a token: it reads what everybody sees.
    """

    name: str
    module: str
    implementation: str
    settings: Mapping[str, Setting] = MappingProxyType({})
    options: tuple[str, ...] = ()
    defaults: Mapping[str, str] = MappingProxyType({})
    profiles: tuple[Profile, ...] = ()
    flags: FlagSettings = FlagSettings()
    reads_files: bool = False
    anonymous: bool = False

    def default_of(self, setting: str) -> Any:
        """Return the default of one of its settings as the setting's reader returns it."""
        return self.settings[setting].default_value


def names(text: str) -> tuple[str, ...]:
    """Read names with commas between them. There may be none."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def path_pattern(text: str) -> str:
    """Read a path with ``{owner}``, ``{blog_id}`` and ``{name}``."""
    try:
        text.format(owner="", blog_id="", name="")
    except (KeyError, IndexError, ValueError):
        raise ValueError(message("a path with {{owner}}, {{blog_id}} or {{name}} is expected")) from None
    if not text.startswith("/"):
        raise ValueError(message("a path that begins with a slash is expected"))
    return text


_JAPAN: Final = "JST"
_TOKYO: Final = "Asia/Tokyo"
_NO_LIMIT: Final = message("no limit is documented, so this value is low")


def _observed(value: str, source: str = message("addresses of public blogs")) -> KnownFact:
    return KnownFact(value, FactBasis.OBSERVED, source)


def _chosen(value: str) -> KnownFact:
    return KnownFact(value, FactBasis.CHOSEN, _NO_LIMIT)


def _by_developers(value: str) -> KnownFact:
    return KnownFact(value, FactBasis.DOCUMENTED, message("the service's public page for developers"))


def _on_pages(value: str) -> KnownFact:
    return _observed(value, message("pages and uploads of public blogs"))


NINJA: Final = Profile(
    "ninja",
    message("Ninja Blog (忍者ブログ)"),
    {
        BLOG_HOSTS: _on_pages("*.blog.shinobi.jp, blog.cnobi.jp"),
        "base_url": _by_developers("https://api.shinobi.jp"),
        "oauth_authorize_url": _by_developers("{base_url}/oauth"),
        "oauth_token_url": _by_developers("{base_url}/oauth/token"),
        "oauth_scope_separator": _by_developers(","),
        DEVELOPER_PAGE: _by_developers("https://api.shinobi.jp/document/"),
        "auth_header": _observed("Authorization", message("public programs for the service")),
        "auth_scheme": _by_developers("Bearer"),
        "file_url": _on_pages("https://blog.cnobi.jp/v1/blog/user/{user_id}/{mtime}"),
        "entry_url": _on_pages("https://{blog_id}/Entry/{entry_id}/"),
        "timezone": _on_pages(_TOKYO),
        "concurrency": _chosen("4"),
        "rate": _chosen("10"),
    },
    (
        message("the meanings of the flags open_flg, delete_flg and text_format"),
        message("the statuses and bodies of failures"),
        message("the limit for requests"),
        message("the page parameter and the page size of the list of entries"),
        message("whether ETag and Last-Modified are sent"),
        message("where an application is registered to get its client ID"),
    ),
    service="blog-v1",
)


def _hatena(value: str) -> KnownFact:
    """Return a fact of the page "Hatena Blog AtomPub" of the Hatena Developer Center."""
    return KnownFact(value, FactBasis.DOCUMENTED, message("Hatena's public page for developers"))


HATENA: Final = Profile(
    "hatena",
    message("Hatena Blog (はてなブログ)"),
    {
        BLOG_HOSTS: _observed(
            "*.hatenablog.com, *.hatenablog.jp, *.hateblo.jp, *.hatenadiary.com, *.hatenadiary.jp, *.hatenadiary.org"
        ),
        "base_url": _hatena("https://blog.hatena.ne.jp"),
        "atompub_root": _hatena("/{owner}/{blog_id}/atom"),
        "atompub_collection": _hatena("entry"),
        "atompub_pages": _hatena("page"),
        "auth": _hatena("basic"),
        "timezone": _observed(_TOKYO, message("the dates of public answers")),
        "concurrency": _chosen("2"),
        "rate": _chosen("2"),
    },
    (
        message("the limit for requests"),
        message("whether ETag and Last-Modified are sent"),
        message("whether a blog is public or for members only: no entry states it"),
        message("the order of drafts in the list"),
    ),
    service="atompub",
)


def _livedoor(value: str) -> KnownFact:
    """Return a fact of the help page "AtomPub API" of livedoor Blog."""
    return KnownFact(value, FactBasis.DOCUMENTED, message("livedoor Blog's help page about AtomPub"))


LIVEDOOR: Final = Profile(
    "livedoor",
    message("livedoor Blog (ライブドアブログ)"),
    {
        BLOG_HOSTS: _observed("*.livedoor.blog, blog.livedoor.jp"),
        "base_url": _livedoor("https://livedoor.blogcms.jp"),
        "atompub_root": _livedoor("/atompub/{name}"),
        "atompub_collection": _livedoor("article"),
        "atompub_skip": _livedoor("image"),
        "atompub_list_limit": _livedoor("20"),
        "auth": _livedoor("basic"),
        "timezone": _observed(_TOKYO, message("answers that public programs received")),
        "concurrency": _chosen("2"),
        "rate": _chosen("2"),
    },
    (
        message("whether more than the 20 newest entries can be listed"),
        message("whether the second half of an entry (続きを読む) is in its text"),
        message("the limit for requests"),
    ),
    service="atompub",
)

BLOG_V1: Final = Declaration(
    "blog-v1",
    "exporter.service.blog_v1",
    "BlogV1",
    settings={
        "success_result": Setting(some_text, "ok", message("Value of result in a successful response.")),
        "entry_list_page_param": Setting(some_text, "page", message("Page parameter of the entry list.")),
        "comment_list_page_param": Setting(some_text, "page", message("Page parameter of the comment list.")),
        "file_list_page_param": Setting(some_text, "page", message("Page parameter of the file list.")),
        "comment_page_size": Setting(WholeNumber(1, 10_000), "20", message("Comments on a full page.")),
        "file_page_size": Setting(WholeNumber(1, 10_000), "20", message("Files on a full page.")),
        "max_pages": Setting(WholeNumber(1, 10_000_000), "100000", message("Maximum number of pages in a list.")),
        "public_open_flg": Setting(values, None, message("Values of open_flg that mean published, such as 1 or 1,3.")),
        "period_flg_public": Setting(yes_or_no, None, message("Treat entries with period_flg t as public.")),
        "visible_delete_flg": Setting(flags, None, message("Values of delete_flg that mean shown: f, t, f,t or none.")),
    },
    options=("entry_list_page_param",),
    defaults={"timezone": _JAPAN},
    profiles=(NINJA,),
    flags=FlagSettings("public_open_flg", "period_flg_public", "visible_delete_flg"),
)

WORDPRESS: Final = Declaration(
    "wordpress",
    "exporter.service.wordpress.source",
    "WordPressService",
    settings={"rest_route": Setting(yes_or_no, "no", message("Address WordPress' API by the parameter rest_route."))},
    options=("rest_route",),
    defaults={"timezone": "UTC"},
)

ATOMPUB: Final = Declaration(
    "atompub",
    "exporter.service.atompub.source",
    "AtomPub",
    settings={
        "atompub_root": Setting(path_pattern, "/", message("Path of the AtomPub service document.")),
        "atompub_owner": Setting(some_text, None, message("Blog owner in that path, if not the user.")),
        "atompub_name": Setting(some_text, None, message("Name of the blog in that path.")),
        "atompub_collection": Setting(some_text, "entry", message("AtomPub collection of the entries.")),
        "atompub_pages": Setting(some_text, "page", message("AtomPub collection of the pages.")),
        "atompub_skip": Setting(names, "", message("AtomPub collections that are not read.")),
        "atompub_text": Setting(OneOf("lists", "entries"), "lists", message("Where AtomPub has the whole entries.")),
        "atompub_list_limit": Setting(
            WholeNumber(0, 10_000), "0", message("Size of an AtomPub feed that may be cut; 0 for none.")
        ),
        "atompub_date": Setting(
            OneOf("auto", "published", "updated"), "auto", message("AtomPub element with the date of an entry.")
        ),
        "atompub_audience": Setting(
            OneOf("public", "members", "private"), "public", message("Who may see the entries that are no drafts.")
        ),
    },
    options=("atompub_owner", "atompub_name", "atompub_audience"),
    defaults={"timezone": _JAPAN},
    profiles=(HATENA, LIVEDOOR),
)

WXR: Final = Declaration(
    "wxr", "exporter.service.wxr.source", "WxrFile", defaults={"timezone": _TOKYO}, reads_files=True
)

MOVABLE_TYPE: Final = Declaration(
    "movable-type",
    "exporter.service.movable_type.source",
    "MovableType",
    settings={
        "public_status": Setting(values, None, message("Values of STATUS that mean published; none means no STATUS."))
    },
    defaults={"timezone": _TOKYO},
    flags=FlagSettings(public="public_status"),
    reads_files=True,
)

AUTO_RULES: Final = "auto"
NO_RULES: Final = "none"
RULE_FILES: Final = ("ameba", "fc2", "goo", "hatena", "livedoor", "ninja", "seesaa")
"""The rule files of public pages."""

PUBLIC_SITE: Final = Declaration(
    "public-site",
    "exporter.service.public_site.source",
    "PublicSite",
    settings={
        "page_rules": Setting(
            OneOf(AUTO_RULES, NO_RULES, *RULE_FILES), AUTO_RULES, message("Rules for the blog's pages.")
        ),
        "obey_robots": Setting(yes_or_no, "yes", message("Obey robots.txt; no only for your own blog.")),
        "list_pages": Setting(
            OneOf("auto", "always", "never"), "auto", message("Read the blog's list pages to find entries.")
        ),
        "max_posts": Setting(WholeNumber(1, 10_000_000), "200000", message("Maximum number of entries at an address.")),
    },
    options=("page_rules", "obey_robots", "list_pages"),
    # A page costs a service far more than an API's record, and no document permits a rate.
    defaults={"timezone": _JAPAN, "rate": "2", "concurrency": "2"},
    anonymous=True,
)

DECLARATIONS: Final[dict[str, Declaration]] = {
    each.name: each for each in (BLOG_V1, WORDPRESS, ATOMPUB, WXR, MOVABLE_TYPE, PUBLIC_SITE)
}
"""By the names that ``archive.json`` has for the services.

If several gave an entry, the text of the first one here is shown; but the archive's main service comes first.
"""
