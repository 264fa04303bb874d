"""Lists of blogs in the formats that people and programs write."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from exporter.archive.fleet_folder import archive_place
from exporter.errors import UsageError
from exporter.fleet.blog_list import ListedBlog, read_list


def read(folder: Path, name: str, text: str) -> list[ListedBlog]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(read_list(path))


def test_an_archive_is_below_two_digits_of_its_hash(tmp_path: Path) -> None:
    digits = hashlib.sha256(b"one.blog.example.jp").hexdigest()[:2]
    assert archive_place(tmp_path, "one.blog.example.jp") == tmp_path / digits / "one.blog.example.jp"


def test_text(tmp_path: Path) -> None:
    blogs = read(
        tmp_path, "l.txt", "\ufeff# all\none.example.jp\n\n two.example.jp rate=5 priority=2 # hurry\n三.example.jp\n"
    )
    assert blogs == [
        ListedBlog("one.example.jp", line=2),
        ListedBlog("two.example.jp", 2, {"rate": "5"}, 4),
        ListedBlog("三.example.jp", line=5),
    ]


def test_a_comment_begins_with_a_word(tmp_path: Path) -> None:
    (blog,) = read(tmp_path, "l.txt", "one.example.jp entry_url=https://one.example.jp/#{entry_id} #note\n")
    assert blog.settings == {"entry_url": "https://one.example.jp/#{entry_id}"}


def test_csv(tmp_path: Path) -> None:
    assert read(tmp_path, "l.csv", "one.example.jp\ntwo.example.jp\n") == [
        ListedBlog("one.example.jp", line=1),
        ListedBlog("two.example.jp", line=2),
    ]
    text = "priority,Blog_ID,assets,note\n1,one.example.jp,none,\n\n,two.example.jp\n"
    with pytest.raises(UsageError, match=r"l\.csv, line 2: 'note' is not a setting"):
        read(tmp_path, "l.csv", text.replace("none,", "none,mine"))
    assert read(tmp_path, "l.csv", text) == [
        ListedBlog("one.example.jp", 1, {"assets": "none"}, 2),
        ListedBlog("two.example.jp", line=4),
    ]


def test_toml(tmp_path: Path) -> None:
    text = 'assets = "none"\nblogs = ["one.example.jp", {blog_id = "two.example.jp", priority = 3, rate = 2.5}]\n'
    assert read(tmp_path, "l.toml", text) == [
        ListedBlog("one.example.jp", 0, {"assets": "none"}, 1),
        ListedBlog("two.example.jp", 3, {"assets": "none", "rate": "2.5"}, 2),
    ]
    tables = '[blogs."one.example.jp"]\nstrict_assets = true\n[blogs.second]\nblog_id = "two.example.jp"\n'
    assert read(tmp_path, "l.TOML", tables) == [
        ListedBlog("one.example.jp", 0, {"strict_assets": "yes"}, 1),
        ListedBlog("two.example.jp", line=2),
    ]


@pytest.mark.parametrize(
    "blog_id",
    ["../x", "a/b", "a\\b", "C:x", ".hidden", "-rf", "x.", "a\u202eb", "a\x1bb", "x" * 201, "é" * 101, "\ud800x",
     "CON", "nul", "Com1", "lpt²"],
)  # fmt: skip
def test_no_id_is_a_path_or_an_option(tmp_path: Path, blog_id: str) -> None:
    path = tmp_path / "l.csv"
    path.write_bytes(f'blog_id\n"{blog_id}"\n'.encode("utf-8", "surrogatepass"))
    with pytest.raises(UsageError, match=r"l\.csv"):
        list(read_list(path))


def test_a_name_of_a_device_with_an_ending_is_a_blog_except_on_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(tmp_path, "l.txt", "con.example.jp\n") == [ListedBlog("con.example.jp", line=1)]
    monkeypatch.setattr("exporter.fleet.blog_list._IS_WINDOWS", True)
    with pytest.raises(UsageError, match="the name of a device on Windows"):
        read(tmp_path, "l.txt", "con.example.jp\n")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("l.txt", "one.example.jp fast\n", "line 1: 'fast' is not NAME=VALUE"),
        ("l.txt", "\none.example.jp rate=fast\n", "line 2: rate is 'fast'"),
        ("l.txt", "one.example.jp token=x\n", "a list cannot set token"),
        ("l.txt", "one.example.jp token_command=id\n", "line 1: a list cannot set token_command"),
        ("l.txt", "one.example.jp token_file=/etc/passwd\n", "a list cannot set token_file"),
        ("l.txt", "one.example.jp on_failure=id\n", "a list cannot set on_failure"),
        ("l.txt", "one.example.jp ping_url=https://x.example/\n", "a list cannot set ping_url"),
        ("l.toml", "allow_private_network = true\nblogs = ['a.example.jp']\n", "cannot set allow_private_network"),
        ("l.csv", "blog_id,oauth_token_url\none.example.jp,https://x.example/\n", "a list cannot set oauth_token_url"),
        ("l.txt", "one.example.jp tokens=x\n", "'tokens' is not a setting"),
        ("l.txt", "one.example.jp priority=high\n", "priority is 'high'"),
        ("l.txt", "one.example.jp priority=9999999\n", "priority is '9999999'"),
        ("l.txt", "x" * 70_000 + "\n", "line 1: it is longer"),
        ("l.csv", "blog_id,rate\n,5\n", "line 2: it names no blog"),
        ("l.toml", "blogs = 5\n", "names no blogs"),
        ("l.toml", "blogs = [5]\n", "blog 1: it is neither"),
        ("l.toml", "\n\nblogs = ['a.b', {rate = 5}]\n", "blog 2: it has no blog_id"),
        ("l.toml", "blogs = [{blog_id = 'a.b', rate = [1]}]\n", "blog 1: rate is"),
        ("l.txt", "one.example.jp,two.example.jp\n", "line 1: 'one.example.jp,two.example.jp' is not a blog ID"),
        ("l.txt", "rate=5\n", "line 1: 'rate=5' is not a blog ID"),
        ("l.txt", "one.example.jp#hurry\n", "line 1: .* is not a blog ID"),
        ("l.csv", "blog_id;rate\none.example.jp;5\n", "line 1: .* is not a blog ID"),
        ("l.csv", "one.example.jp,5\n", "line 1: '5' is in a column without a name"),
        ("l.csv", "Domain,Title\none.example.jp,One\n", "line 1: 'Title' is in a column without a name"),
        ("l.csv", "blog_id,file_url\none.example.jp,https://x/a,b\n", "line 2: 'b' is in a column without a name"),
        ("l.csv", "blog_id,rate,rate\none.example.jp,1,5\n", "line 1: two columns are named 'rate'"),
        ("l.csv", 'blog_id,rate\none.example.jp,"5\ntwo.example.jp,\n', "line 3: unexpected end of data"),
        ("l.csv", 'one.example.jp\n"two.example.jp\nthree.example.jp"\n', "line 3: .* is not a blog ID"),
        ("l.txt", "# none\n", "l.txt lists no blog"),
        ("l.csv", "blog_id,rate\n", "l.csv lists no blog"),
        ("l.toml", "blogs = []\n", "l.toml lists no blog"),
        ("l.toml", "blogs = [\n", "not valid TOML"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, name: str, text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        read(tmp_path, name, text)


def test_a_list_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.txt cannot be read: No such file"):
        list(read_list(tmp_path / "none.txt"))
    (tmp_path / "sjis.txt").write_bytes("一.example.jp\n".encode("shift_jis"))
    with pytest.raises(UsageError, match="not text in UTF-8"):
        list(read_list(tmp_path / "sjis.txt"))
    with (tmp_path / "l.csv").open("w") as file:
        file.write('blog_id\n"' + "x" * 200_000)
    with pytest.raises(UsageError, match="line 2: it is longer"):
        list(read_list(tmp_path / "l.csv"))
