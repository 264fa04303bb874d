"""The keyring of the operating system, where there is one: texts by name."""

from __future__ import annotations

from exporter.message import message
from exporter.text import printable

_SERVICE = "blog-exporter"


def keep(name: str, secret: str) -> str | None:
    """Put a secret into the keyring; returns why that could not be done, ``None`` where it was."""
    try:
        import keyring  # noqa: PLC0415 - an extra, and slow to start with

        keyring.set_password(_SERVICE, name, secret)
        kept = keyring.get_password(_SERVICE, name)
    except ImportError:
        return message("no keyring is installed (the extra named keyring)")
    except Exception as error:  # noqa: BLE001 - backends raise whatever their libraries do
        return _said(error)
    return None if kept == secret else message("the keyring did not keep it")


def fetch(name: str) -> tuple[str | None, str]:
    """Return a secret of the keyring, or ``None`` and why it is not to be had."""
    try:
        import keyring  # noqa: PLC0415 - as above

        found = keyring.get_password(_SERVICE, name)
    except ImportError:
        return None, message("no keyring is installed (the extra named keyring)")
    except Exception as error:  # noqa: BLE001 - as above
        return None, _said(error)
    return found, "" if found is not None else message("the keyring does not have it")


def forget(name: str) -> None:
    """Remove a secret; one that is not there, or cannot be reached, is fine."""
    try:
        import keyring  # noqa: PLC0415 - as above

        keyring.delete_password(_SERVICE, name)
    except Exception:  # noqa: BLE001 - as above
        return


def _said(error: Exception) -> str:
    first = next(iter(str(error).splitlines()), "")
    return printable(first, 150).rstrip(".") or type(error).__name__
