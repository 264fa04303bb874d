"""A fleet of three blogs: one with everything, a plain one, and one in English."""

from __future__ import annotations

from pathlib import Path

from tests.fleet.building import build_blog, entry

SHA = "ab" * 32


def shelf(root: Path) -> Path:
    """Make the fleet."""
    file = {"file_id": "7", "name": "port.jpg", "title": "港", "file_size": "12", "mtime": "1458373211"}
    comment = {
        "cm_id": "5", "entry_id": "1", "name": "まめ", "title": "", "cm_text": "いいね", "delete_flg": "f",
        "regist_date": "2019/03/05", "url_text": "https://mame.example.jp/",
    }  # fmt: skip
    assets = {
        "https://files.example.jp/7": {"url": "https://files.example.jp/7", "status": 200, "content_type": "image/jpeg", "bytes": 12, "sha256": SHA, "error": None, "refs": [{"entry": "1"}, {"file": "7"}]},
        "https://gone.example.jp/1.gif": {"url": "https://gone.example.jp/1.gif", "status": 404, "content_type": None, "bytes": None, "sha256": None, "error": "it answered 404", "refs": [{"entry": "1"}]},
    }  # fmt: skip
    built = build_blog(
        root,
        "aki.example.jp",
        [
            entry(1, entry_text='<p>海 <a href="https://fuyu.example.jp/e/1">冬さん</a><a href="/about">私</a></p>'),
            entry(2, is_private="t", ps_text="<p>つづき</p>"),
        ],
        entry_list={"3": {"entry_id": "3", "title": "読めない記事", "regist_date": "2020/01/02"}},
        comments={"5": comment},
        files={"7": file, "8": {**file, "file_id": "8", "name": "lost.jpg"}},
        user={"1": {"id": "1", "nickname": "あき"}},
        assets=assets,
    )
    (built.root / "settings.toml").write_text('site_title = "秋の日記"\n', "utf-8")
    build_blog(root, "fuyu.example.jp", [entry(1)])
    build_blog(root, "haru.example.com", [entry(1, title="Spring", entry_text="<p>Spring has come at last.</p>")])
    return root
