"""Stored sign-ins: one file each in the user's data folder, and the secrets in the keyring if one works.

The name of a file is a hash of the service's origin and the account. Files are written atomically, readable by their
owner only, and never opened through a link below the data folder. A file also holds the time when the sign-in ends, so
that ``status`` needs no keyring.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import platformdirs

from exporter import lossless_json
from exporter.archive.atomic import FOLDER_MODE, make_folder, write_file
from exporter.archive.lock import ArchiveLock
from exporter.archive.safe_files import InnerPath, NotPlain
from exporter.errors import NotAuthorised, UsageError
from exporter.frozen import frozen
from exporter.message import listed, message, said, suggested, system_reason
from exporter.text import printable

_FOLDER: Final = "sign-ins"
_MAX_FILE_BYTES: Final = 1 << 18
_KEYRING: Final = "keyring"
_KEYRING_NAME: Final = "blog-exporter"
_FILE: Final = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A sign-in at a service; times are seconds since 1970 by this machine's clock.

    Attributes:
        origin: the service's scheme, host, and port unless it is the scheme's default.
        account: the name of one of several sign-ins at a service; empty for the default one.
        client_id: the ID of this program at the service.
        token_url: issues the tokens, and is the only address that receives the refresh token.
        revoke_url: revokes tokens.
        obtained_at: the time of the access token.
        expires_at: the end of the access token; ``None`` if the service did not state it.
        refresh_ends_at: the end of the refresh token; ``None`` if the service did not state it.
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
        """The texts that no output may contain."""
        return [each for each in (self.access_token, self.refresh_token, self.client_secret) if each]

    @property
    def ends_at(self) -> float | None:
        """When the user must sign in again; ``None`` if unknown."""
        return self.refresh_ends_at if self.renewable else self.expires_at


_TEXTS: Final = ("origin", "account", "client_id", "token_url")
_SECRETS: Final = ("access_token", "refresh_token", "client_secret")
_NUMBERS: Final = ("obtained_at", "expires_at", "refresh_ends_at")


@frozen
class KeptIn:
    """A stored sign-in's path, or ``None`` for the keyring; ``reason``: why the keyring was not used."""

    path: Path | None
    reason: str = ""


class SignInStore:
    """The sign-ins of this user.

    Args:
        folder: the folder of the files; the user's data folder by default.
        warn: called with a sentence for each problem that does not stop the program.
    """

    def __init__(self, folder: Path | None = None, warn: Callable[[str], None] = lambda _: None) -> None:
        root = folder or Path(platformdirs.user_data_dir("blog-exporter", appauthor=False))
        self._root = root
        self._folder = InnerPath.rooted(root) / _FOLDER
        self._warn = warn

    def accounts(self, origin: str) -> list[str]:
        """Return the accounts with a sign-in at a service, in alphabetical order."""
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
            except UsageError as error:  # the file may belong to another service
                self._warn(said(error))
        return sorted(str(each["account"]) for each in found if each is not None and each["origin"] == origin)

    def choose(self, origin: str, account: str | None) -> str | None:
        """Return the account to use: the one named, the default one, or the only one, else ``None``.

        Raises:
            UsageError: there are several accounts but no default one.
        """
        accounts = self.accounts(origin)
        if account is not None:
            return account if account in accounts else None
        if "" in accounts or len(accounts) < 2:
            return accounts[0] if accounts else None
        raise UsageError(
            "Several accounts are signed in at {origin} ({names}): choose one with --account or the setting account.",
            origin=origin,
            names=listed(accounts),
        )

    def note(self, origin: str, account: str) -> SignIn | None:
        """Return a sign-in without its secrets, or ``None``."""
        found = self._read_file(self._path(origin, account))
        return None if found is None else _sign_in(found, {})

    def place(self, origin: str, account: str) -> str:
        """Return where a sign-in is stored, for people: its file, or the keyring."""
        path = self._path(origin, account)
        found = self._read_file(path)
        return message("the keyring") if found is not None and found["kept"] == _KEYRING else str(path)

    def read(self, origin: str, account: str) -> SignIn | None:
        """Return a sign-in, or ``None``.

        Raises:
            NotAuthorised: the keyring does not return the secrets.
            UsageError: the file cannot be read.
        """
        path = self._path(origin, account)
        found = self._read_file(path)
        if found is None:
            return None
        secrets = found.get("secrets")
        if found["kept"] == _KEYRING:
            text, reason = keyring_get(_label(origin, account))
            secrets = None if text is None else _object(text.encode())
            if secrets is None:
                raise NotAuthorised(
                    "The keyring does not give the sign-in at {origin} ({reason}). Sign in again, and keep it "
                    "where programs that run at night find it too: {command}",
                    origin=origin,
                    reason=reason or message("its data is damaged"),
                    command=suggested(
                        "login", "--base-url", origin, *_account_words(account), "--sign-in-store", "file"
                    ),
                )
        if not isinstance(secrets, dict) or not isinstance(secrets.get("access_token"), str):
            raise UsageError(_damaged(path))
        return _sign_in(found, secrets)

    def write(self, sign_in: SignIn, place: str = "auto") -> KeptIn:
        """Store a sign-in.

        Args:
            sign_in: the sign-in.
            place: ``keyring``, ``file``, or ``auto`` for the keyring if it works.

        Raises:
            UsageError: ``place`` is ``keyring`` and it does not work, or the file cannot be written.
        """
        label = _label(sign_in.origin, sign_in.account)
        secrets = {name: getattr(sign_in, name) for name in _SECRETS}
        reason = None if place == _FILE else keyring_set(label, lossless_json.dumps(secrets).decode())
        if reason is not None and place == _KEYRING:
            raise UsageError("The keyring cannot keep the sign-in: {reason}.", reason=reason)
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
            keyring_delete(label)
        return KeptIn(None if in_keyring else Path(path), reason or "")

    def rewrite(self, sign_in: SignIn) -> None:
        """Store a sign-in in the same place as before."""
        path = self._path(sign_in.origin, sign_in.account)
        self.write(sign_in, "auto" if self._is_in_keyring(path) else _FILE)

    def _is_in_keyring(self, path: InnerPath) -> bool:
        try:
            found = self._read_file(path)
        except UsageError:  # a damaged file or a link is replaced
            return False
        return found is not None and found["kept"] == _KEYRING

    def remove(self, sign_in: SignIn) -> None:
        """Delete a sign-in. Its lock file stays, so that two processes never lock different files."""
        path = self._path(sign_in.origin, sign_in.account)
        found = self._read_file(path)
        if found is not None and found["kept"] == _KEYRING:
            keyring_delete(_label(sign_in.origin, sign_in.account))
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise _trouble(path, error) from error

    def lock(self, origin: str, account: str) -> ArchiveLock:
        """Return the lock that a process holds while it renews a sign-in."""
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
                data = file.read(_MAX_FILE_BYTES + 1)
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
    texts = all(isinstance(found.get(name), str) for name in _TEXTS)
    numbers = all(
        isinstance(found.get(name), int | float) or (found.get(name) is None and name != "obtained_at")
        for name in _NUMBERS
    )
    return texts and numbers and found.get("kept") in {_KEYRING, _FILE}


def _sign_in(found: Mapping[str, Any], secrets: Mapping[str, Any]) -> SignIn:
    revoke = found.get("revoke_url")
    times = {name: None if found.get(name) is None else float(found[name]) for name in _NUMBERS}
    texts = {name: secrets[name] for name in _SECRETS if isinstance(secrets.get(name), str)}
    notes: dict[str, Any] = {name: found[name] for name in _TEXTS}
    return SignIn(
        **{**notes, **times, **texts},
        revoke_url=revoke if isinstance(revoke, str) else None,
        renewable=bool(found.get("renewable")),
    )


def _account_words(account: str) -> list[str]:
    return ["--account", account] if account else []


def _label(origin: str, account: str) -> str:
    return f"{origin} {account}".rstrip()


def _damaged(path: Path) -> str:
    return message("Cannot read the sign-in in {path}: remove that file, and sign in again.", path=str(path))


def _trouble(path: Path, error: OSError) -> UsageError:
    if isinstance(error, NotPlain):
        return UsageError(
            "{path} is {kind}, not the file of a stored sign-in: remove it.", path=str(path), kind=error.kind
        )
    reason = system_reason(error)
    return UsageError("Cannot use {path} to store a sign-in: {reason}.", path=str(path), reason=reason)


def keyring_set(name: str, secret: str) -> str | None:
    """Store a secret in the system's keyring. Return the reason if that fails, else ``None``."""

    def keep(keyring: Any) -> str | None:
        keyring.set_password(_KEYRING_NAME, name, secret)
        found: str | None = keyring.get_password(_KEYRING_NAME, name)
        return found

    kept, reason = _with_keyring(keep)
    return None if kept == secret else reason or message("the keyring did not keep it")


def keyring_get(name: str) -> tuple[str | None, str]:
    """Return a secret from the keyring, or ``None`` and the reason."""
    found, reason = _with_keyring(lambda keyring: keyring.get_password(_KEYRING_NAME, name))
    return found, "" if found is not None else reason or message("the keyring does not have it")


def keyring_delete(name: str) -> None:
    """Delete a secret from the keyring. Failures are ignored."""
    _with_keyring(lambda keyring: keyring.delete_password(_KEYRING_NAME, name))


def _with_keyring(use: Callable[[Any], str | None]) -> tuple[str | None, str]:
    """Return the result of a call with the system's keyring, or ``None`` and the reason why it failed."""
    try:
        import keyring  # noqa: PLC0415 - an extra, and slow to start with

        return use(keyring), ""
    except ImportError:
        return None, message("no keyring is installed (the extra named keyring)")
    except Exception as error:  # noqa: BLE001 - backends raise any exception of their libraries
        first = next(iter(str(error).splitlines()), "")
        return None, printable(first, 150).rstrip(".") or type(error).__name__
