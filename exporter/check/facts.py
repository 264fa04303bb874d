"""The facts that a check collects: requests, downloads, findings, and the fields seen in records. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from exporter import lossless_json
from exporter.message import message
from exporter.model.kinds import Kind
from exporter.model.records import Problem
from exporter.service.interface import BlogService, Cursor, Page, PageFacts, Records, Role

SETTINGS, NOT_SAVED, NOT_AUTHORISED, FAILED, NO_ROOM = 2, 3, 12, 20, 28
"""Exit codes of findings, the same as those of ``exporter.errors``."""
MAY_HOLD_SECRETS: Final = frozenset({"on_failure", "ping_url", "token_command"})
"""Settings whose values are never shown, because they may contain a password or a private address."""
_MOST_URGENT_FIRST: Final = (SETTINGS, NOT_AUTHORISED, FAILED, NO_ROOM, NOT_SAVED)
"""If there are several exit codes, the first of these decides: the others depend on it."""
_MAX_NAMES: Final = 100
_MAX_CODES: Final = 20
_MAX_NAME_CHARACTERS: Final = 40


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """A problem or a remark of ``check`` or ``doctor``.

    Attributes:
        name: a word for programs.
        said: the sentence.
        advice: what to do next; empty if nothing needs doing.
        exit_code: the exit code that it gives the command; 0 for a remark.
        command: the command of the advice, for a shell; empty if no command can do it.
    """

    name: str
    said: str
    advice: str = ""
    exit_code: int = 0
    command: str = ""


@dataclass(slots=True)
class OperationFacts:
    """One request to the service, and the facts in its answer.

    Attributes:
        name: the operation, such as ``entry/list``.
        kind: the kind of records in the answer.
        page: the page of a list; ``None`` for other operations.
        answered: whether the request succeeded.
        status: the HTTP status; ``None`` if no answer came or its status is unknown.
        seconds: the time until the answer was read.
        problem: why the request failed.
        records: the number of records in the answer.
        unusable: the number of records without an id, which cannot be saved.
        pages: the number of pages according to the list.
        page_size: the number of records on a full page according to the list.
        total: the number of records according to the list.
        total_size: the sum of the records' sizes in bytes according to the list.
        missing: documented fields that the records lack.
        unknown: fields of the records that no document names.
        codes: the values of flags and codes, by field.
        doubts: fields with an undocumented value, each with the reason.
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

    def note_fields(self, service: Records, records: Iterable[Any]) -> None:
        """Add the fields, codes and odd values of records, which may have any type."""
        roles = service.roles.get(self.kind, {})
        for record in records:
            if not isinstance(record, dict):
                self.doubts.setdefault(str(self.kind), message("is {kind}, not an object", kind=type(record).__name__))
                continue
            _add(self.missing, (name for name in roles if name not in record))
            if roles:
                _add(self.unknown, (name for name in record if name not in roles))
            self._note_codes(roles, record)
            for problem in _problems(service, self.kind, record):
                if problem.reason != "is missing":
                    value = problem.value[:_MAX_NAME_CHARACTERS]
                    self.doubts.setdefault(
                        problem.field, message("{value} {reason}", value=value, reason=problem.reason)
                    )

    def _note_codes(self, roles: Mapping[str, Role], record: Mapping[str, Any]) -> None:
        for name, role in roles.items():
            value = record.get(name)
            if role is Role.CODE and name in record and not isinstance(value, dict | list):
                seen = self.codes.setdefault(name, [])
                if len(seen) < _MAX_CODES:
                    _add(seen, ["null" if value is None else str(value)])


@dataclass(frozen=True, slots=True)
class DownloadFacts:
    """A file that the check downloaded or could not download.

    Attributes:
        what: ``upload`` or ``picture``.
        url: its address; ``None`` if unknown.
        status: the HTTP status; ``None`` if no answer came.
        bytes: the number of bytes read.
        content_type: the type that its bytes show.
        problem: why the download failed; empty if it succeeded.
    """

    what: str
    url: str | None
    status: int | None = None
    bytes: int = 0
    content_type: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of the first full backup. It excludes pictures on other sites.

    Attributes:
        entries: the approximate number of entries; comments and files likewise.
        requests: the number of requests.
        seconds: their duration at the measured latency and the configured pace.
        bytes: the archive's size on the disk, including its views.
    """

    entries: int
    comments: int
    files: int
    requests: int
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its answer, kept in memory for a report.

    Attributes:
        facts: the facts of the operation.
        path: the path of the request.
        params: the query of the request.
        headers: the answer's headers, by lower-case name.
        body: the body of the answer.
    """

    facts: OperationFacts
    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class CheckResult:
    """The result of a check.

    Attributes:
        blog_id: the blog.
        place: the folder of its archive, which need not exist.
        base_url: the service's address; ``None`` if it is not set.
        settings: the value, as text, and the source of each setting that is not a default.
        token: the source of the token; ``None`` if there is no token.
        user: id and name of the signed-in user.
        operations: the operations in the order of their requests.
        downloads: an upload and a picture.
        clock_skew: seconds by which this machine's clock is ahead of the service's.
        free: free bytes on the archive's disk; ``None`` if unknown.
        estimate: the estimate for a full backup; ``None`` if the lists could not be read.
        missing: optional software that this machine lacks, with its use.
        requests: the number of requests sent, redirects included; at most ``most_requests``.
        findings: problems and remarks.
        exchanges: requests and answers, if the caller asked to keep them.
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
        """0 if a backup would save everything; otherwise the most urgent finding's exit code."""
        found = {finding.exit_code for finding in self.findings}
        return next((code for code in _MOST_URGENT_FIRST if code in found), 0)

    def document(self) -> dict[str, Any]:
        """Return the result for ``--json``, as docs/json.md describes it."""
        return {
            "blog_id": self.blog_id,
            "archive": self.place,
            "base_url": self.base_url,
            "settings": {name: {"value": value, "source": source} for name, (value, source) in self.settings.items()},
            "token": self.token,
            "user": None if self.user is None else dict(zip(("id", "name"), self.user, strict=True)),
            "operations": [asdict(each) | {"kind": str(each.kind)} for each in self.operations],
            "downloads": [asdict(each) for each in self.downloads],
            "clock_skew_seconds": self.clock_skew,
            "free_bytes": self.free,
            "estimate": None if self.estimate is None else asdict(self.estimate),
            "missing": self.missing,
            "requests": self.requests,
            "most_requests": self.most_requests,
            "findings": [_document(each) for each in self.findings],
            "exit_code": self.exit_code,
        }


def _document(finding: CheckFinding) -> dict[str, Any]:
    advice = " ".join(filter(None, (finding.advice, finding.command)))
    return {"code": finding.name, "said": finding.said, "advice": advice, "exit_code": finding.exit_code}


def page_facts(service: BlogService, kind: Kind, cursor: Cursor, page: Page, known: set[str]) -> PageFacts:
    """Return the facts that the paginator needs to choose the next page, and add the page's ids to ``known``."""
    digest = hashlib.sha256()
    before = set(known)
    size: int | None = 0
    for item in page.items:
        key = service.key(kind, item)
        if key is None:
            continue
        digest.update(key.encode("utf-8", "backslashreplace") + b"\0" + lossless_json.freeze(item).identity)
        amount = None if kind is Kind.COMMENTS else service.amount(kind, item)
        if key not in known:
            size = None if size is None or amount is None else size + amount
        known.add(key)
    return PageFacts(
        cursor, len(page.items), len(known - before), digest.hexdigest(), page.echo, page.next, page.pages,
        page.page_size, page.total, page.total_size, size,
    )  # fmt: skip


def first_names(values: Sequence[str], limit: int = 6) -> list[str]:
    """Return the first names, followed by an ellipsis if there are more."""
    return [*values[:limit], "…"] if len(values) > limit else list(values)


def _add(known: list[str], names: Iterable[str]) -> None:
    for name in names:
        short = name if len(name) <= _MAX_NAME_CHARACTERS else name[: _MAX_NAME_CHARACTERS - 1] + "…"
        if short not in known and len(known) < _MAX_NAMES:
            known.append(short)


def _problems(service: Records, kind: Kind, record: Mapping[str, Any]) -> tuple[Problem, ...]:
    match kind:
        case Kind.ENTRIES:
            return service.post(record).problems
        case Kind.ENTRY_LIST:
            return service.post(None, record).problems
        case Kind.COMMENTS:
            return service.comment(record).problems
        case Kind.FILES:
            return service.upload(record).problems
        case _:
            return service.user(record).problems
