"""Records as the service writes them: numbers and dates as text, flags as ``t`` and ``f`` (API 2.2, 2.5, 2.6).

Times are given without an offset and in whole seconds, as the service sends them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

_FILE_HOST = "https://files.example.jp"


def flag(value: bool) -> str:
    """Write a flag (API section 3)."""
    return "t" if value else "f"


def file_address(user_id: str, mtime: int) -> str:
    """Return the address of an uploaded file."""
    return f"{_FILE_HOST}/v1/blog/user/{user_id}/{mtime}"


def entry_record(
    blog_id: str,
    entry_id: int,
    title: str,
    body: str,
    date: datetime,
    *,
    user_id: str,
    category_id: str = "1",
    period: datetime | None = None,
    updated: datetime | None = None,
    name: str | None = None,
    continued: tuple[str, str] = ("", ""),
    open_flg: str = "1",
    text_format: str = "2",
    comments_open: bool = True,
    private: bool = False,
) -> dict[str, Any]:
    """Return a full entry; ``period`` and ``updated`` are ``date`` unless given, ``continued`` is title and text."""
    return {
        "blog_id": blog_id,
        "entry_id": str(entry_id),
        "regist_user_id": user_id,
        "title": title,
        "name": f"entry-{entry_id}" if name is None else name,
        "category_id": category_id,
        "period_flg": flag(period is not None),
        "open_flg": open_flg,
        "entry_text": body,
        "ps_title": continued[0],
        "ps_text": continued[1],
        "text_format": text_format,
        "cm_receipt_flg": flag(comments_open),
        "tb_receipt_flg": "f",
        **_parts("", date),
        **_parts("period_", period or date),
        "last_update": str(updated or date),
        "template_text": "",
        "is_private": flag(private),
    }


def comment_record(
    cm_id: int,
    entry_id: int,
    name: str,
    text: str,
    date: datetime,
    *,
    title: str = "",
    url: str = "",
    url_html: str | None = None,
    replied: datetime | None = None,
    flagged: bool = False,
) -> dict[str, Any]:
    """Return a comment; ``url_html`` is the plain anchor of ``url`` unless given."""
    anchor = f'<a href="{url}" target="_blank">{url}</a>' if url else ""
    return {
        "regist_date": str(date)[:10].replace("-", "/"),
        "cm_id": str(cm_id),
        "entry_id": str(entry_id),
        "name": name,
        "title": title,
        "cm_text": text,
        "delete_flg": flag(flagged),
        "url": anchor if url_html is None else url_html,
        "url_text": url,
        "res_flg": None if replied is None else str(replied),
    }


def file_record(
    file_id: int,
    name: str,
    body: bytes,
    size: tuple[int, int],
    *,
    user_id: str,
    mtime: int,
    title: str | None = None,
    explanation: str | None = None,
) -> dict[str, Any]:
    """Return a file; ``size`` is width and height in pixels, ``mtime`` unix seconds."""
    return {
        "file_id": str(file_id),
        "name": name,
        "title": title,
        "explanation": explanation,
        "file_size": str(len(body)),
        "height": str(size[1]),
        "width": str(size[0]),
        "user_id": user_id,
        "mtime": str(mtime),
        "extension": name.rpartition(".")[2],
    }


def _parts(prefix: str, moment: datetime) -> dict[str, str]:
    text = str(moment)
    return {
        prefix + "year": text[:4],
        prefix + "mon": text[5:7],
        prefix + "day": text[8:10],
        prefix + "hour": text[11:13],
        prefix + "min": text[14:16],
        prefix + "sec": text[17:19],
    }
