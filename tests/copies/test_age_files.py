"""Recipients and identities in the files that people have, and refused ones."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import pyrage
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.copies import age_files
from exporter.errors import ArchiveDamaged, NoSpace, UsageError

IDENTITY = pyrage.x25519.Identity.generate()
RECIPIENT = str(IDENTITY.to_public())


def key_file(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


def test_recipients_and_identities_are_read_with_their_comments(tmp_path: Path) -> None:
    path = key_file(tmp_path / "recipients", f"# me\n\n{RECIPIENT}\r\n  {RECIPIENT}  \n")
    assert age_files.recipients_in(path) == (RECIPIENT, RECIPIENT)
    path = key_file(tmp_path / "key", f"# public key: {RECIPIENT}\n{IDENTITY}\n{pyrage.x25519.Identity.generate()}\n")
    assert len(age_files.identities_in(path)) == 2


@pytest.mark.parametrize(
    "word",
    [
        *("age1abc", "", "x", RECIPIENT[:-1], f"{RECIPIENT[:-1]}q" if RECIPIENT[-1] != "q" else RECIPIENT[:-2]),
        *("ssh-ed25519 AAAA", "age1pq1xyz", "age1yubikey1qqq"),
    ],
    ids=["short", "empty", "letter", "cut", "mistyped", "ssh", "post-quantum", "plugin"],
)
def test_an_unsupported_recipient_is_reported(word: str) -> None:
    with pytest.raises(UsageError, match="is not a supported age recipient: give one that age-keygen makes"):
        age_files.recipient(word)


def test_a_secret_in_the_place_of_a_recipient_is_not_shown() -> None:
    with pytest.raises(UsageError, match="which is secret, was given as a recipient") as caught:
        age_files.recipient(str(IDENTITY))
    assert str(IDENTITY)[20:40] not in str(caught.value)


def test_files_without_keys_are_reported(tmp_path: Path) -> None:
    for text in ("", "# nothing\n"):
        path = key_file(tmp_path / "empty", text)
        with pytest.raises(UsageError, match="has no age recipient"):
            age_files.recipients_in(path)
        with pytest.raises(UsageError, match="has no age identity"):
            age_files.identities_in(path)
    for read in (age_files.recipients_in, age_files.identities_in):
        with pytest.raises(UsageError, match=r"Cannot read .*missing: No such file"):
            read(tmp_path / "missing")


@pytest.mark.parametrize(
    "text", ["age-encryption.org/v1\n-> scrypt abc 18\n", "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n"]
)
def test_a_passphrase_is_reported_as_unsupported(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="protected by a passphrase, which is not supported"):
        age_files.identities_in(key_file(tmp_path / "key", text))


@pytest.mark.parametrize(
    "text", ["-----BEGIN OPENSSH PRIVATE KEY-----\n", "AGE-PLUGIN-YUBIKEY-1XX\n", "AGE-SECRET-KEY-1ABC\n", "\xff\n"]
)
def test_other_keys_are_reported_as_no_identities(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="has a line that is not an age identity") as caught:
        age_files.identities_in(key_file(tmp_path / "key", text))
    assert "ABC" not in str(caught.value)


def test_an_identity_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = key_file(tmp_path / "key", str(IDENTITY))
    path.chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        age_files.identities_in(path)


@given(st.binary(max_size=300))
def test_only_encrypted_files_are_opened(data: bytes) -> None:
    for found in (data, b"age-encryption.org/v1\n" + data, b"age-encryption.org/v1\n" + data + b"\n--- x\n" + data):
        with pytest.raises(ArchiveDamaged, match="it"), age_files.decrypted([found], [IDENTITY], "it"):
            pass


@given(st.integers(0, 70_000), st.integers(1, 70_000))
def test_any_length_comes_back_and_is_known_without_a_key(size: int, piece: int) -> None:
    data = b"a" * size
    pieces = (data[start : start + piece] for start in range(0, size, piece))
    with age_files.encrypted(pieces, [IDENTITY.to_public()]) as file:
        made = file.read()
    assert age_files.payload_size(made[: age_files.HEADER_READ], len(made)) == size
    with age_files.decrypted([made], [IDENTITY], "it") as file:
        assert file.read() == data


def test_sizes_that_no_encrypted_file_has() -> None:
    with age_files.encrypted([b"a" * 65536 * 2], [IDENTITY.to_public()]) as file:
        made = file.read()
    header = made.index(b"\n--- ") + 49
    for size in (0, 15, 16, 31, 16 + 65552 + 1, 16 + 65552 + 16):
        assert age_files.payload_size(made, header + size) is None
    assert age_files.payload_size(made, header + 16 + 16) == 0
    assert age_files.payload_size(made, header + 16 + 65552) == 65536
    assert age_files.payload_size(b"plain", 5) is None


def test_a_full_disk_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __init__(self, *_arguments: object) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None: ...

        def write(self, data: bytes) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None: ...

    with age_files.encrypted([b"a" * 100_000], [IDENTITY.to_public()]) as file:
        made = file.read()
    monkeypatch.setattr("tempfile.SpooledTemporaryFile", Full)
    with pytest.raises(NoSpace), age_files.encrypted([b"a" * 100_000], [IDENTITY.to_public()]):
        pass
    with pytest.raises(NoSpace), age_files.decrypted([made], [IDENTITY], "it"):
        pass
