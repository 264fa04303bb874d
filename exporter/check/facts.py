"""What a check finds out, as facts; words and tables are made where they are shown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from exporter.model.kinds import Kind

SETTINGS, NOT_SAVED, NOT_AUTHORISED, FAILED, NO_ROOM = 2, 3, 12, 20, 28
"""Exit codes of findings, as ``exporter.errors`` gives them to failures of the same kinds."""
MAY_HOLD_SECRETS: Final = frozenset({"on_failure", "ping_url", "token_command"})
"""Settings whose values are shown nowhere: whoever knows them can act in their owner's name."""
_FIRST: Final = (SETTINGS, NOT_AUTHORISED, FAILED, NO_ROOM, NOT_SAVED)
"""Which of several decides, since a person has to mend it before the others can be judged."""


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """Something that a person should know.

    Attributes:
        code: a word for programs.
        said: the sentence.
        advice: what to do next; empty where nothing is to be done.
        exit_code: what the check ends with for it, 0 for a remark.
    """

    code: str
    said: str
    advice: str = ""
    exit_code: int = 0


@dataclass(slots=True)
class OperationFacts:
    """One request to the service, and what its answer shows.

    Attributes:
        name: the operation, such as ``entry/list``.
        kind: the records it is about.
        page: which page of a list, ``None`` for what is no list.
        answered: whether it was a success.
        status: of HTTP, ``None`` where no answer came or its status was not kept.
        seconds: until it was read.
        problem: why it is no success.
        records: how many records it holds.
        unusable: how many of them have no id, so that they cannot be kept.
        pages: how many pages the list says it has.
        page_size: how many records a full page has, as the list says.
        total: how many records the list says there are.
        total_size: the sum of their sizes in bytes, as it says.
        missing: documented fields that its records lack.
        unknown: fields that its records have and no document names.
        codes: the values of flags and codes seen, by field.
        doubts: fields whose values are not what the document says, with what is wrong.
    """

    name: str
    kind: Kind
    page: int | None = None
    answered: bool = False
    status: int | None = None
    seconds: float | None = None
    problem: str = ""
    records: int = 0
    unusable: int = 0
    pages: int | None = None
    page_size: int | None = None
    total: int | None = None
    total_size: int | None = None
    missing: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    codes: dict[str, list[str]] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return it for ``--json``."""
        names = self.__slots__
        return {name: getattr(self, name) for name in names} | {"kind": str(self.kind)}


@dataclass(frozen=True, slots=True)
class DownloadFacts:
    """A file that was really fetched, or was to be.

    Attributes:
        what: ``upload`` or ``picture``.
        url: its address; ``None`` where none is known.
        status: of HTTP; ``None`` where no answer came.
        bytes: how many were read.
        content_type: what it is, by its bytes.
        problem: why it could not be had; empty where it was.
    """

    what: str
    url: str | None
    status: int | None = None
    bytes: int = 0
    content_type: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a first whole backup takes, as far as totals and one entry show; pictures elsewhere are not in it.

    Attributes:
        entries: how many there are, about; comments and files likewise.
        requests: to be sent.
        seconds: they take at the latency seen, with the settings' politeness.
        bytes: the archive has on the disk, with its views.
    """

    entries: int
    comments: int
    files: int
    requests: int
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer, for a report.

    Attributes:
        operation: its name.
        kind: the records it is about.
        path: of the request.
        params: its query.
        status: of the answer; ``None`` where none came.
        headers: of the answer, by lower-case name.
        body: of the answer.
        page: the value in the query that names a page; empty for what is no list.
    """

    operation: str
    kind: Kind
    path: str
    params: Mapping[str, str]
    status: int | None
    headers: Mapping[str, str]
    body: bytes
    page: str = ""


@dataclass(slots=True)
class CheckResult:
    """All that a check found out.

    Attributes:
        blog_id: the blog.
        place: where its archive is or will be.
        base_url: the service's address; ``None`` where none is set.
        settings: of each setting that something sets, its value as text and where it comes from.
        token: where the token that is sent comes from; ``None`` where none is.
        user: id and name of the user that the service takes the caller for.
        operations: in the order in which they were asked for.
        downloads: an upload and a picture.
        clock_skew: seconds by which this machine's clock is ahead of the service's.
        free: bytes free where the archive is to be; ``None`` where that cannot be told.
        estimate: of a whole backup; ``None`` where the lists could not be read.
        missing: what this machine lacks, with what it is good for.
        requests: how many were sent, redirects included; never more than ``most_requests``.
        findings: what a person should know.
        exchanges: what was asked and answered, where that was to be kept.
    """

    blog_id: str
    place: str
    base_url: str | None = None
    settings: dict[str, tuple[str, str]] = field(default_factory=dict)
    token: str | None = None
    user: tuple[str, str] | None = None
    operations: list[OperationFacts] = field(default_factory=list)
    downloads: list[DownloadFacts] = field(default_factory=list)
    clock_skew: float | None = None
    free: int | None = None
    estimate: Estimate | None = None
    missing: dict[str, str] = field(default_factory=dict)
    requests: int = 0
    most_requests: int = 0
    findings: list[CheckFinding] = field(default_factory=list)
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """0 where a backup would save all, else the code of what has to be mended first."""
        found = {finding.exit_code for finding in self.findings}
        return next((code for code in _FIRST if code in found), 0)

    def document(self) -> dict[str, Any]:
        """Return it for ``--json``, as docs/json.md describes it."""
        estimate, user = self.estimate, self.user
        return {
            "blog_id": self.blog_id,
            "archive": self.place,
            "base_url": self.base_url,
            "settings": {name: {"value": value, "source": source} for name, (value, source) in self.settings.items()},
            "token": self.token,
            "user": None if user is None else {"id": user[0], "name": user[1]},
            "operations": [each.document() for each in self.operations],
            "downloads": [_members(each) for each in self.downloads],
            "clock_skew_seconds": self.clock_skew,
            "free_bytes": self.free,
            "estimate": None if estimate is None else _members(estimate),
            "missing": self.missing,
            "requests": self.requests,
            "most_requests": self.most_requests,
            "findings": [_members(each) for each in self.findings],
            "exit_code": self.exit_code,
        }


def _members(value: CheckFinding | DownloadFacts | Estimate) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__slots__}


def shown(values: Sequence[str], most: int = 6) -> list[str]:
    """Return the first of several names, and a mark where there are more."""
    return [*values[:most], "…"] if len(values) > most else list(values)
