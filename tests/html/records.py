"""Raw records for tests, with every field the API document names."""

from __future__ import annotations

from typing import Any


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "blog_id": "umi.blog.example.jp", "entry_id": "42", "regist_user_id": "ab", "title": "海の日", "name": "umi", "category_id": "3",
        "period_flg": "f", "open_flg": "1", "entry_text": "<p>本文</p>", "ps_title": "", "ps_text": "", "text_format": "2", "cm_receipt_flg": "t",
        "tb_receipt_flg": "f", "year": "2024", "mon": "03", "day": "05", "hour": "12", "min": "34", "sec": "56", "period_year": "", "period_mon": "",
        "period_day": "", "period_hour": "", "period_min": "", "period_sec": "", "last_update": "2024-03-06 01:02:03", "template_text": "",
        "is_private": "f", **changes,
    }  # fmt: skip


def item(**changes: Any) -> dict[str, Any]:
    return {
        "regist_date": "2024/03/05", "entry_id": "42", "title": "海の日", "name": "umi", "open_flg": "1", "period_flg": "f", "period_date": "",
        "cm_receipt_flg": "t", "tb_receipt_flg": "f", "category": "日記", "comment_count": "1", "trackback_count": "0", **changes,
    }  # fmt: skip


def comment(**changes: Any) -> dict[str, Any]:
    return {
        "regist_date": "2024/03/07", "cm_id": "7", "entry_id": "42", "name": "カモメ", "title": "", "cm_text": "いいですね", "delete_flg": "f",
        "url": "", "url_text": "", "res_flg": None, **changes,
    }  # fmt: skip
