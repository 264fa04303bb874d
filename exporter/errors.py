"""Every error the program raises on purpose, and the exit code each one owns.

The tree::

    BlogExporterError                 1   unexpected
    ├── UsageError                    2   options or settings that cannot be right
    │   └── CopyEncrypted                 a copy that nothing was given to open with
    ├── Incomplete                    3   something could not be read, or is not as it should be
    ├── MassDisappearance             4   refused: too many records gone at once
    ├── NoSuchRecord                  5   the archive has no such record, version or category
    ├── Stale                         6   the last successful run is too long ago
    ├── LastRunFailed                 7   the last run failed, was refused or did not end
    ├── ArchiveError
    │   ├── NoArchive                10   no archive at that place
    │   ├── ArchiveLocked            11   another backup is writing it
    │   ├── ArchiveDamaged           13   a hash, a chain or a fold does not hold
    │   │   ├── PrivateExposed            a new home shows everybody what is private
    │   │   ├── NoKeyFits                 an encrypted file that no identity at hand opens
    │   │   └── DamagedObject             an object of a copy
    │   │       └── NoSuchObject          one that is not there
    │   ├── NewerFormat              14   written by a newer version of the program
    │   └── HistoriesDiffer          15   an archive and a copy that is none of it
    ├── ServiceError                 20   the service failed
    │   ├── NotAuthorised            12   401 or 403
    │   │   ├── SignInRevoked             a sign-in that the service takes no more
    │   │   └── WrongSignInAnswer         an address that answers another attempt, or none
    │   ├── BlogGone                      404 or 410 for all of a blog
    │   ├── ServiceSilent                 no good answer to anybody for too long
    │   │   └── LongPause                 a longer pause is wished than is obeyed
    │   ├── ApiError                 20   an answer that is not a success
    │   └── TransportError           20   no usable answer arrived
    │       ├── ConnectFailed             the connection broke
    │       │   ├── Unreachable           there is none: refused, DNS, TLS, connect time over
    │       │   └── HostGivenUp           not asked any more in this run
    │       ├── RequestTimeout            read or total time is over
    │       ├── BadBody                   truncated, empty, unparsable
    │       │   └── HtmlBody              a page of HTML in place of JSON
    │       ├── BodyTooLarge              more bytes than the cap
    │       ├── RetryableStatus           408, 425, 429, 5xx
    │       ├── RedirectRefused           a redirect off the service's origin
    │       └── AddressRefused            an address that is not asked
    │           └── NotPublic             one in a private network
    ├── NoSpace                      28   the disk is full
    │   └── NoMemory                      the memory is
    └── Interrupted                 130   SIGINT
        └── Terminated              143   SIGTERM

A class that names no code inherits its parent's. A message is one line: what happened, to what, and what to do next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exporter.message import message as worded

if TYPE_CHECKING:
    from collections.abc import Mapping

_BODY_SHOWN = 500


class BlogExporterError(Exception):
    """Base of all errors raised on purpose.

    Attributes:
        exit_code: what the process ends with.
        reported: whether it was said already, so that nothing more need be printed.
    """

    exit_code: ClassVar[int] = 1
    reported: bool = False


class UsageError(BlogExporterError):
    """An option, argument, variable or settings file that cannot be right."""

    exit_code = 2


class CopyEncrypted(UsageError):
    """A place holds an encrypted copy, and neither a recipient nor an identity was given."""


class Incomplete(BlogExporterError):
    """Not all is there: a run could not read something, or a new home lacks it; the message counts it."""

    exit_code = 3


class MassDisappearance(BlogExporterError):
    """More records vanished at once than a healthy blog loses; nothing was written."""

    exit_code = 4


class NoSuchRecord(BlogExporterError):
    """The archive has no record, version or category of that name."""

    exit_code = 5


class Stale(BlogExporterError):
    """The last successful run is longer ago than ``--max-age`` allows."""

    exit_code = 6


class LastRunFailed(BlogExporterError):
    """The last run saved nothing: it failed, was refused, or did not finish."""

    exit_code = 7


class ArchiveError(BlogExporterError):
    """Base of what can be wrong with an archive."""


class NoArchive(ArchiveError):
    """The folder is not an archive, or holds no version yet."""

    exit_code = 10


class ArchiveLocked(ArchiveError):
    """Another process is writing this archive."""

    exit_code = 11


class ArchiveDamaged(ArchiveError):
    """Bytes of the archive are not what was written."""

    exit_code = 13


class PrivateExposed(ArchiveDamaged):
    """A new home shows everybody what is private in the archive."""


class NoKeyFits(ArchiveDamaged):
    """An encrypted file that no identity at hand opens, or whose beginning is damaged."""


class DamagedObject(ArchiveDamaged):
    """An object of a copy that is not what was stored.

    Args:
        place: where the copy is.

    Attributes:
        name: the object's.
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
    """A copy lacks an object that it should have."""

    @staticmethod
    def _sentence(place: str, name: str) -> str:
        return worded("{place} has no {name}; run sync from a whole archive to it.", place=place, name=name)


class NewerFormat(ArchiveError):
    """The archive's format is newer than this program reads."""

    exit_code = 14


class HistoriesDiffer(ArchiveError):
    """An archive and a copy have versions that the other one has not, so neither can be brought up to the other."""

    exit_code = 15


class ServiceError(BlogExporterError):
    """The blog service failed to give a usable answer."""

    exit_code = 20


class NotAuthorised(ServiceError):
    """The service answered 401 or 403."""

    exit_code = 12


class SignInRevoked(NotAuthorised):
    """The service takes the code or the refresh token no more."""


class WrongSignInAnswer(NotAuthorised):
    """An address that is no answer to this attempt to sign in; it may be anybody's."""


class BlogGone(ServiceError):
    """The service knows no such blog, or none any more: it answered 404 or 410 to all that was asked first."""


class ServiceSilent(ServiceError):
    """The service gave nobody a good answer for longer than is waited."""


class LongPause(ServiceSilent):
    """The service wishes to be left alone for longer than is waited.

    Attributes:
        seconds: for how long.
    """

    def __init__(self, text: str, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(text)


class ApiError(ServiceError):
    """An answer that arrived whole and says something other than success.

    Attributes:
        operation: the operation's path, such as ``entry/get``.
        params: the query parameters sent, without credentials.
        status: the HTTP status.
        message: the envelope's ``message``, or a sentence saying what is wrong with the answer.
        body: the first 500 characters of the body.
    """

    def __init__(self, operation: str, params: Mapping[str, str], status: int, message: str, body: str = "") -> None:
        self.operation = operation
        self.params = dict(params)
        self.status = status
        self.message = message
        self.body = body[:_BODY_SHOWN]
        asked = "&".join(f"{name}={value}" for name, value in self.params.items())
        super().__init__(
            worded(
                "{operation}?{asked} answered {status}: {reason}",
                operation=operation,
                asked=asked,
                status=status,
                reason=message or worded("no message"),
            )
        )


class TransportError(ServiceError):
    """No usable answer arrived.

    Attributes:
        retryable: whether trying again may help.
        origin: scheme, host and port that failed, which redirects may have led to; ``None`` where it is not known.
    """

    retryable: ClassVar[bool] = True
    origin: str | None = None


class ConnectFailed(TransportError):
    """The connection broke."""


class Unreachable(ConnectFailed):
    """There is no connection: the name does not resolve, nothing answers there in time, or TLS failed."""


class HostGivenUp(ConnectFailed):
    """A host that did not answer several addresses, or wishes a long pause, is not asked any more in this run."""

    retryable = False


class RequestTimeout(TransportError):
    """The read or total time allowed for a request is over."""


class BadBody(TransportError):
    """A body that is truncated, empty, or not JSON."""


class HtmlBody(BadBody):
    """A page of HTML in place of JSON: an error page, or the wrong address."""


class BodyTooLarge(TransportError):
    """A body larger than the cap once decompressed."""

    retryable = False


class RetryableStatus(TransportError):
    """A status that another time may not come.

    Attributes:
        STATUSES: those that are.
        status: the HTTP status.
        retry_after: seconds the service asks to wait, when it says so.
    """

    STATUSES: ClassVar[frozenset[int]] = frozenset({408, 425, 429, *range(500, 600)})

    def __init__(self, message: str, status: int, retry_after: float | None = None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(message)


class RedirectRefused(TransportError):
    """A redirect to another origin, or too many redirects."""

    retryable = False


class AddressRefused(TransportError):
    """An address that is not asked, whatever it may hold."""

    retryable = False


class NotPublic(AddressRefused):
    """A host or port that is only asked with ``--allow-private-network``."""


class NoSpace(BlogExporterError):
    """The disk is full, or a quota or file-size limit is reached."""

    exit_code = 28


class NoMemory(NoSpace):
    """The memory that the process may use is full."""

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
