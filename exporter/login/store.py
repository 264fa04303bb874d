"""Where sign-ins are kept: one file each in the user's data folder, its secrets in the keyring where there is one.

A file is named by a hash of the service's origin and the account, is written at once or not at all, is for its owner
only, and is never reached through a link below the data folder. What says when a sign-in ends is in the file in either
case, so that ``status`` needs no keyring.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

import platformdirs

from exporter import lossless_json
from exporter.archive.atomic import FOLDER_MODE, make_folder, write_file
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import InnerPath, NotPlain
from exporter.errors import NotAuthorised, UsageError
from exporter.login import secret_box
from exporter.message import message, suggested

_FOLDER: Final = "sign-ins"
_LARGEST: Final = 1 << 18
_KEYRING: Final = "keyring"
_FILE: Final = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """What a service gave to whoever signed in; times are seconds since 1970 by this machine's clock.

    Attributes:
        origin: of the service: scheme, host, and port where it is not the scheme's own.
        account: tells several sign-ins at one service apart; empty for the usual one.
        client_id: what the program is registered as.
        token_url: where the tokens came from, and the only place that the refresh token is sent to.
        revoke_url: where tokens can be given back.
        obtained_at: when the access token came.
        expires_at: when it ends; ``None`` where the service did not say.
        refresh_ends_at: when it can no longer be renewed; ``None`` where the service did not say.
        renewable: whether there is a refresh token.
    """

    origin: str
    account: str
    client_id: str
    token_url: str
    revoke_url: str | None
    obtained_at: float
    expires_at: float | None
    refresh_ends_at: float | None
    renewable: bool
    access_token: str = field(default="", repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    client_secret: str | None = field(default=None, repr=False)

    @property
    def secrets(self) -> list[str]:
        """What no text may show."""
        return [each for each in (self.access_token, self.refresh_token, self.client_secret) if each]

    @property
    def ends_at(self) -> float | None:
        """When its owner must sign in again; ``None`` where nothing says so."""
        return self.refresh_ends_at if self.renewable else self.expires_at


_SECRETS: Final = ("access_token", "refresh_token", "client_secret")
_NUMBERS: Final = ("obtained_at", "expires_at", "refresh_ends_at")


@dataclass(frozen=True, slots=True)
class KeptIn:
    """Where a sign-in was put: a path or ``None`` for the keyring, and why not there although it was to be."""

    path: Path | None
    reason: str = ""


class SignInStore:
    """The sign-ins of this user.

    Args:
        folder: where files are; the user's data folder by default.
        warn: called with a sentence about what is unwise.
    """

    def __init__(self, folder: Path | None = None, warn: Callable[[str], None] = lambda _: None) -> None:
        root = folder or Path(platformdirs.user_data_dir("blog-exporter", appauthor=False))
        self._root = root
        self._folder = InnerPath.rooted(root) / _FOLDER
        self._warn = warn

    def accounts(self, origin: str) -> list[str]:
        """Return the accounts that are signed in at a service, in alphabetical order."""
        try:
            names = [name for name in self._folder.names() if name.endswith(".json") and not name.startswith(".")]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _trouble(self._folder, error) from error
        found = []
        for name in names:
            try:
                found.append(self._read_file(self._folder / name))
            except UsageError as error:  # it may be another service's, and keeps nobody from this one
                self._warn(str(error))
        return sorted(str(each["account"]) for each in found if each is not None and each["origin"] == origin)

    def choose(self, origin: str, account: str | None) -> str | None:
        """Return the account that is meant: the one named, the usual one, or the only one; ``None`` for none.

        Raises:
            UsageError: there are several, and none is the usual one.
        """
        accounts = self.accounts(origin)
        if account is not None:
            return account if account in accounts else None
        if "" in accounts or len(accounts) < 2:
            return accounts[0] if accounts else None
        raise UsageError(
            message(
                "Several accounts are signed in at {origin} ({names}): "
                "choose one with --account or the setting account.",
                origin=origin,
                names=", ".join(accounts),
            )
        )

    def note(self, origin: str, account: str) -> SignIn | None:
        """Return a sign-in without its secrets; ``None`` where there is none."""
        found = self._read_file(self._path(origin, account))
        return None if found is None else _sign_in(found, {})

    def place(self, origin: str, account: str) -> str:
        """Say where a sign-in is kept: its file, or the keyring."""
        path = self._path(origin, account)
        found = self._read_file(path)
        return message("the keyring") if found is not None and found["kept"] == _KEYRING else str(path)

    def read(self, origin: str, account: str) -> SignIn | None:
        """Return a sign-in; ``None`` where there is none.

        Raises:
            NotAuthorised: its secrets cannot be had from the keyring.
            UsageError: its file cannot be read.
        """
        path = self._path(origin, account)
        found = self._read_file(path)
        if found is None:
            return None
        secrets = found.get("secrets")
        if found["kept"] == _KEYRING:
            text, reason = secret_box.fetch(_label(origin, account))
            secrets = None if text is None else _object(text.encode())
            if secrets is None:
                raise NotAuthorised(
                    message(
                        "The keyring does not give the sign-in at {origin} ({reason}). Sign in again, and keep it "
                        "where programs that run at night find it too: {command}",
                        origin=origin,
                        reason=reason or message("what it has is damaged"),
                        command=suggested(
                            "login", "--base-url", origin, *_account_words(account), "--sign-in-store", "file"
                        ),
                    )
                )
        if not isinstance(secrets, dict) or not isinstance(secrets.get("access_token"), str):
            raise UsageError(_damaged(path))
        return _sign_in(found, secrets)

    def write(self, sign_in: SignIn, place: str = "auto") -> KeptIn:
        """Keep a sign-in.

        Args:
            sign_in: what to keep.
            place: ``keyring``, ``file``, or ``auto`` for the keyring where it works.

        Raises:
            UsageError: the keyring does not work and nothing else was wanted, or the file cannot be written.
        """
        label = _label(sign_in.origin, sign_in.account)
        secrets = {name: getattr(sign_in, name) for name in _SECRETS}
        reason = None if place == _FILE else secret_box.keep(label, lossless_json.dumps(secrets).decode())
        if reason is not None and place == _KEYRING:
            raise UsageError(message("The keyring cannot keep the sign-in: {reason}.", reason=reason))
        in_keyring = place != _FILE and reason is None
        notes = {each.name: getattr(sign_in, each.name) for each in fields(SignIn) if each.name not in _SECRETS}
        document = {"format": 1, "kept": _KEYRING if in_keyring else _FILE, **notes}
        if not in_keyring:
            document["secrets"] = secrets
        path = self._path(sign_in.origin, sign_in.account)
        was_in_keyring = self._is_in_keyring(path)
        try:
            self._make_folder()
            write_file(path, lossless_json.dumps(document) + b"\n")
        except OSError as error:
            raise _trouble(path, error) from error
        if was_in_keyring and not in_keyring:
            secret_box.forget(label)
        return KeptIn(None if in_keyring else Path(path), reason or "")

    def rewrite(self, sign_in: SignIn) -> None:
        """Keep a sign-in where it was before."""
        path = self._path(sign_in.origin, sign_in.account)
        self.write(sign_in, "auto" if self._is_in_keyring(path) else _FILE)

    def _is_in_keyring(self, path: InnerPath) -> bool:
        try:
            found = self._read_file(path)
        except UsageError:  # what is damaged, or a link, is replaced
            return False
        return found is not None and found["kept"] == _KEYRING

    def remove(self, sign_in: SignIn) -> None:
        """Forget a sign-in; its lock stays, so that no two processes ever lock different files."""
        path = self._path(sign_in.origin, sign_in.account)
        found = self._read_file(path)
        if found is not None and found["kept"] == _KEYRING:
            secret_box.forget(_label(sign_in.origin, sign_in.account))
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _trouble(path, error) from error

    def lock(self, origin: str, account: str) -> ArchiveLock:
        """Return the lock that whoever renews a sign-in holds meanwhile."""
        self._make_folder()
        return ArchiveLock(self._folder / f"{self._path(origin, account).stem}.lock")

    def _make_folder(self) -> None:
        make_folder(self._root)
        if self._folder.kind() is None:
            self._folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
        self._folder.require_folder()
        if sys.platform != "win32" and self._folder.lstat().st_mode & 0o077:
            self._folder.chmod(FOLDER_MODE)

    def _path(self, origin: str, account: str) -> InnerPath:
        digest = hashlib.sha256(f"{origin}\n{account}".encode()).hexdigest()
        return self._folder / f"{digest[:32]}.json"

    def _read_file(self, path: InnerPath) -> dict[str, Any] | None:
        try:
            with path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                data = file.read(_LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _trouble(path, error) from error
        if sys.platform != "win32" and mode & 0o077:
            self._warn(message("{path} holds a sign-in and others can read it: chmod 600 {path}", path=str(path)))
        found = _object(data)
        if found is None or not _is_whole(found):
            raise UsageError(_damaged(path))
        return found


def _object(data: bytes) -> dict[str, Any] | None:
    try:
        found = lossless_json.loads(data)
    except lossless_json.NotJson:
        return None
    return found if isinstance(found, dict) else None


def _is_whole(found: Mapping[str, Any]) -> bool:
    texts = all(isinstance(found.get(name), str) for name in ("origin", "account", "client_id", "token_url"))
    numbers = all(
        isinstance(found.get(name), int | float) or (found.get(name) is None and name != "obtained_at")
        for name in _NUMBERS
    )
    return texts and numbers and found.get("kept") in {_KEYRING, _FILE}


def _sign_in(found: Mapping[str, Any], secrets: Mapping[str, Any]) -> SignIn:
    revoke = found.get("revoke_url")
    made = SignIn(
        origin=found["origin"],
        account=found["account"],
        client_id=found["client_id"],
        token_url=found["token_url"],
        revoke_url=revoke if isinstance(revoke, str) else None,
        obtained_at=float(found["obtained_at"]),
        expires_at=None if found["expires_at"] is None else float(found["expires_at"]),
        refresh_ends_at=None if found["refresh_ends_at"] is None else float(found["refresh_ends_at"]),
        renewable=bool(found.get("renewable")),
    )
    texts = {name: secrets[name] for name in _SECRETS if isinstance(secrets.get(name), str)}
    return replace(made, **texts)


def _account_words(account: str) -> list[str]:
    return ["--account", account] if account else []


def _label(origin: str, account: str) -> str:
    return f"{origin} {account}".rstrip()


def _damaged(path: Path) -> str:
    return message("The sign-in kept in {path} cannot be read: remove that file, and sign in again.", path=str(path))


def _trouble(path: Path, error: OSError) -> UsageError:
    if isinstance(error, NotPlain):
        return UsageError(
            message("{path} is {kind}, where a sign-in is kept in a file: remove it.", path=str(path), kind=error.kind)
        )
    reason = (error.strerror if error.errno else None) or str(error)
    return UsageError(
        message("{path}, where a sign-in is kept, cannot be used: {reason}.", path=str(path), reason=reason)
    )
