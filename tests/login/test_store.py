"""The storage of sign-ins: a private file, or a working keyring; and damaged or unsafe contents."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

from exporter.errors import NotAuthorised, UsageError
from exporter.login.store import SignIn, SignInStore, keyring_delete, keyring_get, keyring_set

ORIGIN = "https://api.example.jp"


def sign_in(account: str = "", token: str = "acc3ss-1") -> SignIn:
    return SignIn(
        origin=ORIGIN, account=account, client_id="me", token_url=f"{ORIGIN}/t", revoke_url=None, obtained_at=1.0,
        expires_at=2.5, refresh_ends_at=None, renewable=True, access_token=token, refresh_token="r3fresh-1", client_secret=None,
    )  # fmt: skip


class Chest(KeyringBackend):
    """A keyring that works, or fails like real ones."""

    priority = 5.0

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.trouble: Exception | None = None
        self.forgetful = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.trouble is not None:
            raise self.trouble
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        if self.trouble is not None:
            raise self.trouble
        if not self.forgetful:
            self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if (service, username) not in self.kept:
            raise PasswordDeleteError("not there")
        del self.kept[service, username]


@pytest.fixture
def chest() -> Iterator[Chest]:
    before, chest = keyring.get_keyring(), Chest()
    keyring.set_keyring(chest)
    yield chest
    keyring.set_keyring(before)


@pytest.fixture
def warned() -> list[str]:
    return []


@pytest.fixture
def store(tmp_path: Path, warned: list[str]) -> SignInStore:
    return SignInStore(tmp_path / "data", warned.append)


def only_file(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "data" / "sign-ins").glob("*.json")
    return path


def test_a_file_is_private_and_holds_all(store: SignInStore, tmp_path: Path, warned: list[str]) -> None:
    (tmp_path / "data" / "sign-ins").mkdir(parents=True, mode=0o755)
    kept = store.write(sign_in(), "file")
    path = only_file(tmp_path)
    assert kept.path == path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert store.read(ORIGIN, "") == sign_in()
    assert store.place(ORIGIN, "") == str(path)
    path.chmod(0o640)
    store.read(ORIGIN, "")
    assert warned == [f"{path} holds a sign-in and others can read it: chmod 600 {path}"]
    store.remove(sign_in())
    store.remove(sign_in())
    assert store.read(ORIGIN, "") is None
    assert store.note(ORIGIN, "") is None


def test_no_representation_shows_a_secret() -> None:
    assert "acc3ss" not in repr(sign_in())
    assert "r3fresh" not in f"{sign_in()}"


def test_a_keyring_holds_the_secrets_and_the_file_has_none(store: SignInStore, chest: Chest, tmp_path: Path) -> None:
    assert store.write(sign_in()).path is None
    text = only_file(tmp_path).read_text()
    assert "acc3ss" not in text
    assert "r3fresh" not in text
    assert store.read(ORIGIN, "") == sign_in()
    assert store.place(ORIGIN, "") == "the keyring"
    store.rewrite(sign_in(token="acc3ss-2"))
    assert "acc3ss-2" in next(iter(chest.kept.values()))
    note = store.note(ORIGIN, "")
    assert note is not None
    assert (note.access_token, note.expires_at) == ("", 2.5)
    store.write(sign_in("other"))
    assert store.accounts(ORIGIN) == ["", "other"]
    assert (store.choose(ORIGIN, None), store.choose(ORIGIN, "other"), store.choose(ORIGIN, "x")) == ("", "other", None)
    store.remove(sign_in("other"))
    store.write(sign_in(), "file")
    assert chest.kept == {}
    assert store.read(ORIGIN, "") == sign_in()


def test_a_keyring_that_does_not_open_is_named(store: SignInStore, chest: Chest) -> None:
    store.write(sign_in())
    chest.trouble = RuntimeError("the session bus\nis away.")
    with pytest.raises(
        NotAuthorised, match=r"\(the session bus\)\. Sign in again.*--base-url https?://\S+ --sign-in-store file"
    ):
        store.read(ORIGIN, "")
    assert store.note(ORIGIN, "") is not None
    chest.trouble = None
    chest.kept = dict.fromkeys(chest.kept, "[")
    with pytest.raises(NotAuthorised, match="its data is damaged"):
        store.read(ORIGIN, "")
    chest.kept = {}
    with pytest.raises(NotAuthorised, match="the keyring does not have it"):
        store.read(ORIGIN, "")
    store.remove(sign_in())


@pytest.mark.parametrize("trouble", [RuntimeError("locked"), RuntimeError()])
def test_a_failing_keyring_is_replaced_by_the_file(
    store: SignInStore, chest: Chest, tmp_path: Path, trouble: Exception
) -> None:
    chest.trouble = trouble
    kept = store.write(sign_in())
    assert kept.path == only_file(tmp_path)
    assert kept.reason in {"locked", "RuntimeError"}
    with pytest.raises(UsageError, match="The keyring cannot keep the sign-in"):
        store.write(sign_in(), "keyring")
    chest.trouble, chest.forgetful = None, True
    assert store.write(sign_in("b")).reason == "the keyring did not keep it"


def test_without_the_extra_there_is_no_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "keyring", None)
    assert "no keyring is installed" in (keyring_set("a", "b") or "")
    assert keyring_get("a") == (None, "no keyring is installed (the extra named keyring)")
    keyring_delete("a")


def test_links_are_not_followed(store: SignInStore, tmp_path: Path) -> None:
    store.write(sign_in(), "file")
    path = only_file(tmp_path)
    goal = tmp_path / "goal"
    path.rename(goal)
    path.symlink_to(goal)
    before = goal.read_bytes()
    with pytest.raises(UsageError, match="is a link, not the file of a stored sign-in"):
        store.read(ORIGIN, "")
    store.write(sign_in(token="new"), "file")
    assert not path.is_symlink()
    assert goal.read_bytes() == before
    folder = path.parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    for act in (store.accounts, lambda origin: store.read(origin, "")):
        with pytest.raises(UsageError, match="is a link, not the file of a stored sign-in"):
            act(ORIGIN)
    for change in (lambda: store.write(sign_in(), "file"), lambda: store.remove(sign_in())):
        with pytest.raises(UsageError, match="is a link, not the file of a stored sign-in"):
            change()


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", "{}", '{"origin": 1}', "x" * 300_000,
        json.dumps({"origin": ORIGIN, "account": "", "client_id": "", "token_url": "", "obtained_at": None, "expires_at": 1, "refresh_ends_at": 1, "kept": "file"}),
        json.dumps({"origin": ORIGIN, "account": "", "client_id": "", "token_url": "", "obtained_at": 1, "expires_at": None, "refresh_ends_at": 1, "kept": "file"}),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_and_does_not_affect_others(
    store: SignInStore, tmp_path: Path, warned: list[str], text: str
) -> None:
    store.write(sign_in(), "file")
    path = only_file(tmp_path)
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UsageError, match=r"Cannot read the sign-in in .*: remove that file, and sign in again"):
        store.read(ORIGIN, "")
    store.write(sign_in("b"), "file")
    assert "b" in store.accounts(ORIGIN)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(UsageError, match=r"Cannot use .* to store a sign-in|is not a folder|Not a directory"):
        SignInStore(tmp_path / "data").write(sign_in(), "file")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
