"""Every error that the program raises on purpose, and its exit code.

The tree, with exit codes::

    BlogExporterError                 1
    ├── UsageError                    2
    │   └── CopyEncrypted
    ├── Incomplete                    3
    │   └── StaysIncomplete
    ├── RunRefused                    4
    │   ├── MassDisappearance
    │   ├── AnotherBlog
    │   └── JoinRefused
    ├── NoSuchRecord                  5
    ├── Stale                         6
    ├── LastRunFailed                 7
    ├── ArchiveError
    │   ├── NoArchive                10
    │   ├── ArchiveLocked            11
    │   ├── ArchiveDamaged           13
    │   │   ├── PrivateExposed
    │   │   ├── NoKeyFits
    │   │   └── DamagedObject
    │   │       └── NoSuchObject
    │   ├── NewerFormat              14
    │   └── HistoriesDiffer          15
    ├── ServiceError                 20
    │   ├── NotAuthorised            12
    │   │   ├── ClientRefused
    │   │   ├── SignInRevoked
    │   │   └── WrongSignInAnswer
    │   ├── BlogGone
    │   ├── BlogRefused
    │   ├── ServiceSilent
    │   │   └── LongPause
    │   ├── ApiError                 20
    │   └── TransportError           20
    │       ├── ConnectFailed
    │       │   ├── Unreachable
    │       │   └── HostGivenUp
    │       ├── RequestTimeout
    │       ├── BadBody
    │       │   └── HtmlBody
    │       ├── BodyTooLarge
    │       ├── RetryableStatus
    │       ├── RedirectRefused
    │       └── AddressRefused
    │           └── NotPublic
    ├── NoSpace                      28
    │   └── NoMemory
    └── Interrupted                 130
        └── Terminated              143

A class without a code inherits its parent's. A message is one line: what happened, to what, and what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exporter.message import as_message
from exporter.message import message as worded

if TYPE_CHECKING:
    from collections.abc import Mapping

_BODY_CHARACTERS = 500


class BlogExporterError(Exception):
    """Base of all errors that the program raises on purpose.

    Args:
        text: a message. With values it is the literal template of one, as :func:`~exporter.message.message` takes it.
        values: the values of the template's fields.

    Attributes:
        exit_code: the exit code of the process.
        reported: whether the message was already printed.
    """

    exit_code: ClassVar[int] = 1
    reported: bool = False

    def __init__(self, text: str = "", /, **values: object) -> None:
        super().__init__(as_message(text, values))


class UsageError(BlogExporterError):
    """An option, argument, variable or settings file is invalid."""

    exit_code = 2


class CopyEncrypted(UsageError):
    """A copy is encrypted, and neither a recipient nor an identity was given."""


class Incomplete(BlogExporterError):
    """A run could not read something, or a new home lacks something. The message counts it."""

    exit_code = 3


class StaysIncomplete(Incomplete):
    """Everything that is missing needs another setting, or a change of the blog: another attempt cannot save it."""


class RunRefused(BlogExporterError):
    """A run would change the archive in a way that its owner may not want, so nothing was written."""

    exit_code = 4


class MassDisappearance(RunRefused):
    """Too many records are missing, or have lost their text, at once."""


class AnotherBlog(RunRefused):
    """The service shows entries that contradict those of the archive."""


class JoinRefused(RunRefused):
    """A second source has hardly any entry of the archive, so it may be another blog."""


class NoSuchRecord(BlogExporterError):
    """The archive has no such record, version or category."""

    exit_code = 5


class Stale(BlogExporterError):
    """The last successful run is older than ``--max-age``."""

    exit_code = 6


class LastRunFailed(BlogExporterError):
    """The last run failed, was refused or did not finish."""

    exit_code = 7


class ArchiveError(BlogExporterError):
    """Base of all errors about an archive."""


class NoArchive(ArchiveError):
    """The folder is not an archive, or has no version yet."""

    exit_code = 10


class ArchiveLocked(ArchiveError):
    """Another process writes to this archive."""

    exit_code = 11


class ArchiveDamaged(ArchiveError):
    """A hash or a chain of hashes in the archive does not match."""

    exit_code = 13


class PrivateExposed(ArchiveDamaged):
    """A new home publishes an entry that is private in the archive."""


class NoKeyFits(ArchiveDamaged):
    """No available identity opens an encrypted file, or the start of the file is damaged."""


class DamagedObject(ArchiveDamaged):
    """An object of a copy differs from the stored one.

    Args:
        place: the copy.

    Attributes:
        name: the name of the object.
    """

    def __init__(self, place: str, name: str) -> None:
        self.name = name
        super().__init__(self._sentence(place, name))

    @staticmethod
    def _sentence(place: str, name: str) -> str:
        return worded(
            "{name} in {place} is not what was stored; remove it there, and run sync from a whole archive to it.",
            name=name,
            place=place,
        )


class NoSuchObject(DamagedObject):
    """An object of a copy is missing."""

    @staticmethod
    def _sentence(place: str, name: str) -> str:
        return worded("{place} has no {name}; run sync from a whole archive to it.", place=place, name=name)


class NewerFormat(ArchiveError):
    """The archive has a newer format than this program can read."""

    exit_code = 14


class HistoriesDiffer(ArchiveError):
    """An archive and its copy each have versions that the other lacks."""

    exit_code = 15


class ServiceError(BlogExporterError):
    """The blog service sent no usable response."""

    exit_code = 20


class NotAuthorised(ServiceError):
    """The service responded with 401 or 403."""

    exit_code = 12


class ClientRefused(NotAuthorised):
    """The service does not accept the client ID or its secret."""


class SignInRevoked(NotAuthorised):
    """The service no longer accepts the code or the refresh token."""


class WrongSignInAnswer(NotAuthorised):
    """An address does not belong to this attempt to sign in."""


class BlogGone(ServiceError):
    """The blog does not exist: the first requests all got 404 or 410."""


class BlogRefused(ServiceError):
    """The service understood the first requests and refused all of them, for a reason other than 404 and 410."""


class ServiceSilent(ServiceError):
    """The service sent no valid response within the time limit."""


class LongPause(ServiceSilent):
    """The service requests a longer pause than the program waits.

    Attributes:
        seconds: the length of the pause.
    """

    def __init__(self, text: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(text)


class ApiError(ServiceError):
    """A complete response that is not a success.

    Attributes:
        operation: the operation's path, such as ``entry/get``.
        params: the query parameters sent, without credentials.
        status: the HTTP status.
        message: the service's own message, or a sentence about the problem.
        body: the first 500 characters of the body.
    """

    def __init__(self, operation: str, params: Mapping[str, str], status: int, message: str, body: str = "") -> None:
        self.operation = operation
        self.params = dict(params)
        self.status = status
        self.message = message
        self.body = body[:_BODY_CHARACTERS]
        asked = "&".join(f"{name}={value}" for name, value in self.params.items())
        reason = message or worded("no message")
        if operation.startswith("/"):
            # A page, whose path has its query.
            super().__init__(worded("{path} answered {status}: {reason}", path=operation, status=status, reason=reason))
            return
        super().__init__(
            worded(
                "{operation}?{asked} answered {status}: {reason}",
                operation=operation,
                asked=asked,
                status=status,
                reason=reason,
            )
        )


class TransportError(ServiceError):
    """No usable response arrived.

    Attributes:
        retryable: whether a retry may help.
        origin: the scheme, host and port that failed, perhaps after redirects; ``None`` if unknown.
    """

    retryable: ClassVar[bool] = True
    origin: str | None = None


class ConnectFailed(TransportError):
    """The connection broke."""


class Unreachable(ConnectFailed):
    """No connection: the name does not resolve, the host does not respond, or TLS failed.

    Attributes:
        refused: whether the host answered that no program listens at the port.
    """

    refused: bool = False


class HostGivenUp(ConnectFailed):
    """A host failed several times or requests a long pause, so this run sends it no more requests."""

    retryable = False


class RequestTimeout(TransportError):
    """A request took longer than the read or total time limit."""


class BadBody(TransportError):
    """A response is truncated, empty or not JSON."""


class HtmlBody(BadBody):
    """A response is HTML instead of JSON: an error page, or the wrong address."""


class BodyTooLarge(TransportError):
    """A decompressed response exceeds the size limit."""

    retryable = False


class RetryableStatus(TransportError):
    """A status for a temporary failure.

    Attributes:
        STATUSES: all such statuses.
        status: the HTTP status.
        retry_after: the delay in seconds that the service requests, if it does.
    """

    STATUSES: ClassVar[frozenset[int]] = frozenset({408, 425, 429, *range(500, 600)})

    def __init__(self, message: str, status: int, retry_after: float | None = None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(message)


class RedirectRefused(TransportError):
    """A redirect to another origin, or too many redirects.

    Attributes:
        status: the HTTP status of the redirect; ``None`` if unknown.
    """

    retryable = False
    status: int | None = None


class AddressRefused(TransportError):
    """The program never sends requests to this address."""

    retryable = False


class NotPublic(AddressRefused):
    """A host or port that needs ``--allow-private-network``."""


class NoSpace(BlogExporterError):
    """The disk is full, or a quota or file-size limit was reached."""

    exit_code = 28


class NoMemory(NoSpace):
    """The process has no memory left."""

    def __init__(self) -> None:
        super().__init__(
            worded(
                "The memory that this process may use is full (ulimit -v, a container's limit, or the machine's end): "
                "give it more, or lower concurrency and max_body. What a backup had read is kept; run it again."
            )
        )


class Interrupted(BlogExporterError):
    """The run was stopped by SIGINT; its checkpoint is kept."""

    exit_code = 130


class Terminated(Interrupted):
    """The run was stopped by SIGTERM; its checkpoint is kept."""

    exit_code = 143
