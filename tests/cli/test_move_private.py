"""``move`` into homes that show everybody what they get as private, and homes that repeat the password."""

from __future__ import annotations

import itertools
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from exporter import lossless_json
from exporter.model.kinds import Kind
from exporter.move.home import mark
from tests.archive.versions import ArchiveMaker
from tests.cli.conftest import Program, Result
from tests.export.memory import Memory
from tests.move.home import Home, running_home
from tests.move.moving import small_blog
from tests.wordpress.fake import LOGIN, in_thread

USER, PASSWORD = LOGIN
FLAGS = ("--public-open-flg", "1", "--visible-delete-flg", "f", "--allow-private-network")
MODES = {
    "all": ("--only", "all"),
    "all, not compared": ("--only", "all", "--no-compare"),
    "private": ("--only", "private"),
    "private, not compared": ("--only", "private", "--no-compare"),
}
PRIVATE_TEXTS = ("秘密の本文", "草稿の本文", "隠した言葉")


def private_blog() -> Memory:
    """Return a blog with a private entry that has a picture and a hidden comment, and a draft with a picture."""
    blog = small_blog()
    for number in ("8", "9"):
        blog.picture(f"https://pictures.example.jp/secret-{number}.png", entry_id=number)
    image = '<img src="https://pictures.example.jp/secret-{}.png">'
    shared = '<img src="https://pictures.example.jp/1.png">'
    blog.entry("8", title="秘密の題", name="himitsu", is_private="t", entry_text=f"秘密の本文{image.format(8)}{shared}")
    blog.entry("9", title="草稿の題", name="soukou", open_flg="0", entry_text=f"草稿の本文{image.format(9)}")
    blog.comment("8", "8", name="x", cm_text="隠した言葉", delete_flg="t")
    return blog


@dataclass
class Site:
    """An archive and the home to which it is moved.

    Attributes:
        sent: everything that the home received, in order.
    """

    program: Program
    maker: ArchiveMaker
    home: Home
    sent: list[tuple[str, Any]] = field(default_factory=list)

    def save(self, blog: Memory) -> None:
        """Commit the records of a blog, and its pictures."""
        gone = {kind: dict.fromkeys(self.maker.reader.state().ids(kind)) for kind in Kind} if self.saved else {}
        self.maker.commit({kind: {**gone.get(kind, {}), **dict(blog.kinds[kind])} for kind in Kind})
        blog.write_pictures(self.maker.layout.root)

    @property
    def saved(self) -> bool:
        return any((self.maker.layout.root / "versions").glob("[0-9]*"))

    def move(self, *more: str) -> Result:
        command = ("move", "wordpress", self.maker.layout.root, "--to", self.home.url, "--new-home-user", USER)
        return self.program(*command, *FLAGS, *more)

    def watch(self, route: str, fields: Any) -> web.Response | None:
        self.sent.append((route, fields))
        return None

    def post(self, title: str) -> dict[str, Any]:
        (found,) = [each for each in self.home.rest_posts.values() if each["title"] == title]
        return found


@pytest.fixture
def site(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("BLOG_EXPORTER_NEW_HOME_TOKEN", PASSWORD)
    with in_thread(running_home()) as home:
        site = Site(program, ArchiveMaker(tmp_path / "archive"), home)
        site.save(private_blog())
        home.refuse_write = site.watch
        yield site


def detaching(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "post": 0} if "post" in fields and "author_name" not in fields else fields


def becoming(name: str, before: str, after: str) -> Any:
    return lambda fields: {**fields, name: after} if fields.get(name) == before else fields


LIES = {
    "pictures detached": detaching,
    "private becomes public": becoming("status", "private", "publish"),
    "drafts become public": becoming("status", "draft", "publish"),
    "hidden comments are approved": becoming("status", "hold", "approve"),
}


def without_comments(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "content": re.sub(r"<!--.*?-->", "", fields["content"]), "status": "publish"}


def anonymous(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "author_user_agent": "x", "author_email": "nobody@example.com", "status": "approve"}


KEYLESS: dict[str, tuple[str, Any]] = {"post": ("秘密の本文", without_comments), "comment": ("隠した言葉", anonymous)}
"""Plugins that remove a record's key and publish it as its text arrives."""


def private_texts(site: Site) -> list[str]:
    """Return the private texts that the home received, and the titles that it shows everybody."""
    sent = lossless_json.dumps([fields for _, fields in site.sent]).decode()
    return [text for text in PRIVATE_TEXTS if text in sent]


def public(site: Site) -> str:
    """Return everything that the home shows visitors."""
    posts = {number: each for number, each in site.home.rest_posts.items() if each["status"] == "publish"}
    files = [
        each["slug"] for each in site.home.media.values() if each["status"] == "inherit" and each["post"] in {0, *posts}
    ]
    comments = [each["content"] for each in site.home.rest_comments.values() if each["status"] == "approved"]
    return str([*posts.values(), *files, *comments])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lie", LIES)
@pytest.mark.sample(4)
def test_the_first_answer_that_contradicts_the_plan_ends_the_move(site: Site, lie: str, mode: str) -> None:
    site.home.spoil = LIES[lie]
    if lie == "private becomes public" and "all" in mode:  # what is public may be public while it is made
        site.home.spoil = lambda fields: fields if fields.get("title") else LIES[lie](fields)
    done = site.move(*MODES[mode])
    assert done.code == 13, done.err
    assert "so the move stopped. It deleted there again: " in done.err
    shown = public(site)
    assert not [word for word in ("秘密", "草稿", "隠した") if word in shown]
    untold = {"private becomes public": PRIVATE_TEXTS, "drafts become public": ("草稿の本文",)}
    assert not set(private_texts(site)) & set(untold.get(lie, ("隠した言葉", "秘密の本文")))
    site.home.spoil = lambda fields: fields
    again = site.move(*MODES[mode])
    assert again.code == 0, again.err
    assert [site.post(title)["status"] for title in ("秘密の題", "草稿の題")] == ["private", "draft"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.sample(1)
def test_an_honest_home_is_unchanged_by_a_second_run(site: Site, mode: str) -> None:
    for _ in range(2):
        done = site.move(*MODES[mode])
        assert done.code == 0, done.err
    assert not [each for each in site.home.writes if each.startswith("DELETE")]
    number = len(site.home.writes)
    assert site.move("--no-compare").code == 0
    assert mode.startswith("private") or len(site.home.writes) == number


def later(site: Site, lie: str) -> None:
    """Change a home as a plugin does after the move."""
    hidden = {each["id"] for each in site.home.rest_posts.values() if each["status"] != "publish"}
    if lie == "pictures detached":
        for each in site.home.media.values():
            each["post"] = 0
    elif lie == "hidden comments are approved":
        site.post("秘密の題")["status"] = "publish"
        for comment in site.home.rest_comments.values():
            comment["status"] = "approved"
    else:
        for number in hidden:
            site.home.rest_posts[number]["status"] = "publish"


@pytest.mark.parametrize("mode", [("--no-compare",), *MODES.values()], ids=["public", *MODES])
@pytest.mark.parametrize("lie", [each for each in LIES if each != "drafts become public"])
@pytest.mark.sample(3)
def test_a_second_run_finds_what_became_public_since(site: Site, lie: str, mode: tuple[str, ...]) -> None:
    assert site.move("--only", "all", "--no-compare").code == 0
    later(site, lie)
    if lie == "pictures detached":  # the next run attaches them again, if it is let
        site.home.spoil = detaching
    before = len(site.home.rest_posts), len(site.home.media)
    done = site.move(*mode)
    assert done.code == 13, done.err
    assert (len(site.home.rest_posts), len(site.home.media)) == before, "nothing that was there is deleted"
    assert "number " in done.err


def test_a_picture_that_a_public_entry_shows_too_is_public(site: Site) -> None:
    assert site.move("--only", "private").code == 0
    assert site.move("--only", "private", "--no-compare").code == 0
    assert site.move("--only", "public").code == 0
    done = site.move("--only", "all", "--no-compare", "--json")
    assert (done.code, done.json["sides"][1]["exposed"]) == (0, [])
    parents = {each["post"] for each in site.home.media.values()}
    assert site.post("一つ目")["id"] in parents


@pytest.mark.parametrize("kept", [False, True])
def test_a_record_that_cannot_be_deleted_is_named_with_its_address(site: Site, kept: bool) -> None:
    site.home.spoil, site.home.keeps = detaching, frozenset({"media"} if kept else ())
    done = site.move("--only", "private", "--no-compare")
    assert done.code == 13
    (file,) = site.home.media.values() if kept else [{"id": 0, "source_url": ""}]
    assert (f"Delete there now: picture number {file['id']} ({file['source_url']})" in done.err) is kept
    assert len(site.home.media) == kept
    site.home.spoil = lambda fields: fields
    assert site.move("--only", "private", "--no-compare").code == 0, "the next run attaches it"


def test_a_post_that_becomes_public_with_its_text_goes_with_its_pictures_and_comments(site: Site) -> None:
    site.home.spoil = lambda fields: {**fields, "status": "publish"} if "秘密の本文" in str(fields) else fields
    done = site.move("--only", "private", "--no-compare")
    assert (done.code, "picture number" in done.err, "post number" in done.err) == (13, True, True)
    assert [each["title"] for each in site.home.rest_posts.values()] in ([""], ["草稿の題"])
    assert (site.home.rest_comments, "秘密" in public(site)) == ({}, False)
    site.home.spoil = lambda fields: fields
    assert site.move("--only", "private").code == 0
    assert len(site.home.rest_comments) == 1


@pytest.mark.parametrize("more", [(), ("--only", "all"), ("--only", "private")], ids=["public", "all", "private"])
def test_an_entry_that_became_private_becomes_private_there(site: Site, more: tuple[str, ...]) -> None:
    assert site.move("--no-compare").code == 0
    blog = private_blog()
    blog.entry("2", title="二つ目", name="second", is_private="t", entry_text="秘密の追記")
    site.save(blog)
    site.sent.clear()
    done = site.move(*more, "--no-compare")
    assert done.code == 0, done.err
    assert site.post("二つ目")["status"] == "private"
    first = next(fields for route, fields in site.sent if route.startswith("wp/v2/posts/"))
    assert first == {"status": "private"}, "it is private before its new text arrives"
    assert site.move(*more, "--no-compare").code == 0


def test_an_entry_that_a_home_does_not_hide_gets_no_private_text(site: Site) -> None:
    assert site.move("--no-compare").code == 0
    blog = private_blog()
    blog.entry("2", title="二つ目", name="second", is_private="t", entry_text="秘密の追記")
    site.save(blog)
    site.home.spoil = becoming("status", "private", "publish")
    done = site.move("--only", "all", "--no-compare")
    number = site.post("二つ目")["id"]
    assert (done.code, f"Delete there now: post number {number} (" in done.err) == (13, True)
    assert "秘密の追記" not in str(site.sent)


def test_a_private_post_that_a_person_published_gets_no_private_text(site: Site) -> None:
    assert site.move("--only", "all", "--no-compare").code == 0
    post = site.post("秘密の題")
    post.update(status="publish", comment_status="open", modified_gmt="2026-03-01T00:00:00")
    blog = private_blog()
    blog.entry("8", title="秘密の題", name="himitsu", is_private="t", entry_text="秘密の追記")
    blog.comment("88", "8", name="y", cm_text="内緒の返事")
    site.save(blog)
    done = site.move("--only", "all", "--no-compare")
    assert (done.code, post["status"]) == (13, "publish")
    assert not [word for word in ("秘密の追記", "内緒の返事") if word in str(site.sent)]
    assert "left alone: 1 post: public there, but private in the archive (8)" in done.err


def test_drafts_of_a_blog_without_flags_may_be_published_by_a_person(site: Site) -> None:
    command = ("move", "wordpress", site.maker.layout.root, "--to", site.home.url, "--new-home-user", USER)
    draft = (*command, "--all-as-draft", "--no-compare")
    assert site.program(*draft).code == 0
    site.post("一つ目").update(status="publish", modified_gmt="2026-03-01T00:00:00")
    assert site.program(*draft).code == 0
    assert site.post("一つ目")["status"] == "publish"


def test_a_forgotten_entry_is_named(site: Site) -> None:
    assert site.move("--no-compare").code == 0
    done = site.program("forget", site.maker.layout.root, "--entry", "3", "--yes")
    assert done.code == 0, done.err
    done = site.move("--no-compare")
    assert done.code == 0
    assert "left alone: 1 post: public there, but hidden or removed in the archive (3)" in done.err


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("/?attachment_id={file}", ""),
        ("/?p={draft}", ""),
        ("/himitsu/", "<h1>秘密の題</h1>"),
        ("/himitsu/", "<body class='single postid-{post}'>"),
        ("/himitsu/", "<link rel='shortlink' href='/?p={post}'>"),
    ],
)
def test_a_page_that_visitors_can_open_is_found(site: Site, address: str, text: str) -> None:
    assert site.move("--only", "all", "--no-compare").code == 0
    secret = next(each for each in site.home.media.values() if each["post"] == site.post("秘密の題")["id"])
    post = site.post("秘密の題")["id"]
    page = address.format(file=secret["id"], draft=site.post("草稿の題")["id"])
    site.home.pages[page] = text.format(post=post)
    done = site.move("--only", "all", "--no-compare")
    assert (done.code, f"in {page}." in done.err) == (13, True)
    # A home that answers every number with its front page proves nothing by a number. Names still do.
    site.home.pages["/?p=4294967295"] = "<h1>Welcome</h1>"
    assert site.move("--only", "all", "--no-compare").code == (13 if page == "/himitsu/" else 0)


@pytest.mark.parametrize("status", [503, 200])
def test_a_home_in_maintenance_is_moved_to_and_looked_at_later(
    site: Site, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_RETRIES", "0")
    usual = site.home.service.handler

    async def closed(request: web.Request) -> web.StreamResponse:
        if "Authorization" in request.headers:
            return await usual(request)
        return web.Response(status=status, text="<h1>ただいま準備中です</h1>", content_type="text/html")

    site.home.service.handler = closed
    done = site.move("--only", "all", "--no-compare", "--json")
    assert (done.code, len(site.home.rest_posts)) == (3, 5), done.err
    assert "could not be searched whole for private content" in done.err
    assert done.answer_before_error["sides"][-1]["unseen"]
    site.home.service.handler = usual
    done = site.move("--only", "all", "--no-compare", "--json")
    assert (done.code, done.json["sides"][-1]["unseen"]) == (0, None)


def test_the_front_page_at_a_private_address_is_no_exposure(site: Site) -> None:
    site.home.pages |= dict.fromkeys(("/?p=4294967295", "/himitsu/"), "<nav><a href='/about/'>秘密の題</a></nav>")
    assert site.move("--only", "all", "--no-compare").code == 0


def test_a_page_to_which_a_home_redirects_a_missing_name_is_no_exposure(site: Site) -> None:
    assert site.move("--only", "all", "--no-compare").code == 0
    site.home.pages["/himitsu/"] = f"<body class='postid-{site.post('秘密の題')['id']}0'><h1>秘密の題 その二</h1>"
    assert site.move("--only", "all", "--no-compare").code == 0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 500])
@pytest.mark.parametrize("place", ["message", "code"])
@pytest.mark.sample(3)
def test_a_home_that_repeats_the_password_does_not_get_it_printed(
    site: Site, status: int, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BLOG_EXPORTER_RETRIES", "0")

    def echo(_route: str, _fields: Any) -> web.Response:
        request = site.home.service.seen[-1]
        said = f"no: {request.headers['Authorization']} {PASSWORD}"
        answer = {"code": "no", "message": "no", "data": {"status": status}, place: said}
        text = lossless_json.dumps(answer).decode().replace("EFGH", "\\u0045FGH")
        return web.Response(status=status, text=text, content_type="application/json")

    site.home.refuse_write = echo
    token = site.home.service.seen
    done = site.move("--no-compare", "--json", "--map", str(tmp_path / "map"))
    secret = token[-1].headers["Authorization"].split()[1]
    for text in (done.out, done.err, (tmp_path / "map").read_text()):
        assert PASSWORD not in text
        assert secret not in text
    assert done.code in {3, 12, 20}


def test_a_home_that_repeats_the_password_in_addresses_does_not_get_it_written(site: Site, tmp_path: Path) -> None:
    assert site.move("--no-compare").code == 0
    secret = b64encode(":".join(LOGIN).encode()).decode()
    site.home.change = lambda route, answer: (
        [{**each, "link": f"{each['link']}?{secret}"} for each in answer] if route == "wp/v2/posts" else answer
    )
    done = site.move("--json", "--map", str(tmp_path / "another"))
    for text in (done.out, done.err, (tmp_path / "another").read_text()):
        assert secret not in text
    assert "***" in (tmp_path / "another").read_text()


def test_a_hidden_comment_of_a_public_entry_is_held_back_before_its_text_arrives(site: Site) -> None:
    blog = private_blog()
    blog.comment("10", "1", name="y", cm_text="隠した言葉", delete_flg="t")
    site.save(blog)
    site.home.spoil = LIES["hidden comments are approved"]
    done = site.move("--hidden-comments", "--no-compare")
    assert (done.code, "comment number" in done.err) == (13, True)
    assert "隠した言葉" not in str(site.sent)
    site.home.spoil = lambda fields: fields
    assert site.move("--hidden-comments", "--no-compare").code == 0
    assert [each["content"] for each in site.home.rest_comments.values() if each["status"] == "hold"] == ["隠した言葉"]


@pytest.mark.parametrize("kept", [False, True], ids=["deleted", "kept"])
@pytest.mark.parametrize("noun", KEYLESS)
def test_what_becomes_public_and_loses_its_key_as_its_text_arrives_is_found(site: Site, noun: str, kept: bool) -> None:
    text, spoilt = KEYLESS[noun]
    blog = private_blog()
    blog.comment("10", "1", name="y", cm_text="隠した言葉", delete_flg="t")
    site.save(blog)
    site.home.keeps = frozenset({"posts", "comments"} if kept else ())
    site.home.spoil = lambda fields: spoilt(fields) if text in fields.get("content", "") else fields
    mode = ("--only", "all", "--hidden-comments", "--no-compare")
    done = site.move(*mode)
    said = "Delete there now" if kept else "It deleted there again"
    assert (done.code, said in done.err, f"{noun} number" in done.err) == (13, True, True), done.err
    assert (text in public(site)) is kept
    site.home.spoil = lambda fields: fields
    again = site.move(*mode)
    assert again.code == (13 if kept else 0), again.err
    assert not kept or f"Everybody can see a private {noun}, number " in again.err


def test_a_picture_that_stays_detached_is_named_even_if_the_answer_is_another_one(site: Site) -> None:
    assert site.move("--only", "private", "--no-compare").code == 0
    later(site, "pictures detached")
    site.home.spoil = detaching
    site.home.change = lambda route, answer: {} if re.fullmatch("wp/v2/media/[0-9]+", route) else answer
    done = site.move("--only", "private", "--no-compare")
    assert (done.code, "Delete there now: picture number " in done.err) == (13, True), done.err


def renamed(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "slug": "of-a-plugin", "post": 0} if "title" in fields and "content" not in fields else fields


@pytest.mark.parametrize(
    ("noun", "spoil"),
    [
        ("picture", renamed),
        ("post", lambda fields: without_comments(fields) if fields.get("status") == "private" else fields),
        ("comment", lambda fields: anonymous(fields) if fields.get("status") == "hold" else fields),
    ],
)
def test_a_public_record_without_its_key_that_cannot_be_deleted_is_named(site: Site, noun: str, spoil: Any) -> None:
    site.home.spoil, site.home.keeps = spoil, frozenset({"media", "posts", "comments"})
    done = site.move("--only", "private", "--no-compare")
    assert (done.code, f"Delete there now: {noun} number " in done.err) == (13, True), done.err


def test_a_hidden_record_without_its_key_that_cannot_be_deleted_is_named(site: Site) -> None:
    site.home.spoil = lambda fields: {**fields, "content": ""} if fields.get("status") == "private" else fields
    site.home.keeps = frozenset({"posts"})
    done = site.move("--only", "private", "--no-compare")
    (number,) = site.home.rest_posts
    assert (done.code, f"Delete there now: post number {number} (" in done.err) == (20, True), done.err


@pytest.mark.parametrize("page", ["/", "/?feed=rss2"])
def test_a_title_counts_only_with_the_number_of_its_post(site: Site, page: str) -> None:
    site.home.pages[page] = "<nav><a href='/about/'>秘密の題</a></nav><h2>二つ目</h2>"
    assert site.move("--only", "all", "--no-compare").code == 0
    site.home.pages[page] += f"<article id='post-{site.post('秘密の題')['id']}'>秘密の本文</article>"
    done = site.move("--only", "all", "--no-compare")
    assert (done.code, f"in {page}." in done.err) == (13, True)


@pytest.mark.parametrize("was_there", [True, False])
def test_a_category_that_the_home_had_before_is_no_exposure(site: Site, was_there: bool) -> None:
    blog = private_blog()
    blog.entry("8", title="秘密の題", is_private="t", entry_text="秘密の本文", category="未分類")
    site.save(blog)
    term = {"id": 1, "name": "未分類", "slug": "uncategorized", "parent": 0, "count": 0}
    site.home.terms |= {1: term} if was_there else {}
    site.home.numbers = 5
    site.home.change = lambda route, answer: [*answer, term] if public_list(site, route, "categories") else answer
    assert site.move("--only", "all", "--no-compare").code == (0 if was_there else 13)


def public_list(site: Site, route: str, name: str) -> bool:
    return route == f"wp/v2/{name}" and "Authorization" not in site.home.service.seen[-1].headers


@pytest.mark.parametrize(("title", "slug"), [("秘密の題", "other"), ("other", "himitsu")])
def test_a_public_post_of_another_moved_blog_may_have_the_same_title_or_name(site: Site, title: str, slug: str) -> None:
    when = "2010-01-01T00:00:00"
    content = mark("other.example/entry/1", "0123456789abcdef")
    fields = {"title": title, "slug": slug, "content": content, "status": "publish", "date_gmt": when}
    site.home.take_post(fields)
    done = site.move("--only", "all", "--no-compare")
    assert done.code == 0, done.err


def test_a_public_post_that_its_owner_hid_there_may_be_linked(site: Site) -> None:
    assert site.move("--no-compare").code == 0
    site.post("二つ目").update(status="private", modified_gmt="2026-03-01T00:00:00")
    site.home.pages["/"] = f"<a href='{site.home.url}/second/'>二</a>"
    done = site.move("--no-compare")
    assert done.code == 0, done.err


def test_the_front_page_is_no_address_of_a_hidden_post(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, front = site.home.shown, {"link": f"{site.home.url}/"}
    monkeypatch.setattr(site.home, "shown", lambda post: shown(post) | (front if post["status"] != "publish" else {}))
    site.home.pages["/"] = f"<a href='{site.home.url}/'>home</a>"
    done = site.move("--only", "all", "--no-compare")
    assert done.code == 0, done.err


@dataclass
class Closing:
    """A home that gives visitors another answer for the paths that match, and its owner none after the last look."""

    site: Site
    matching: str
    answer: Callable[[], web.Response]
    owner: int = 200
    looked: bool = False

    def __post_init__(self) -> None:
        self.usual = self.site.home.service.handler
        self.site.home.service.handler = self.respond

    async def respond(self, request: web.Request) -> web.StreamResponse:
        if "Authorization" in request.headers:
            return web.json_response({}, status=self.owner) if self.looked else await self.usual(request)
        self.looked = self.looked or (self.owner != 200 and "attachment_id" in request.path_qs)
        return self.answer() if re.search(self.matching, request.path_qs) else await self.usual(request)


def elsewhere() -> web.Response:
    return web.Response(status=301, headers={"Location": "https://feeds.example/"})


def refused() -> web.Response:
    return web.json_response({"code": "rest_not_logged_in", "message": "no"}, status=401)


def sign_in() -> web.Response:
    return web.Response(text="<form id='loginform'></form>", content_type="text/html")


@pytest.fixture
def moved(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("BLOG_EXPORTER_RETRIES", "0")
    done = site.move("--only", "all", "--no-compare")
    assert done.code == 0, done.err
    return site


@pytest.mark.parametrize("part", ["wp/v2/media", "feed=rss2", "p=4294967295"])
@pytest.mark.parametrize("answer", [elsewhere, lambda: web.Response(status=503)])
def test_a_part_that_fails_hides_nothing_that_other_parts_show(moved: Site, part: str, answer: Any) -> None:
    number = moved.post("秘密の題")["id"]
    moved.home.pages["/himitsu/"] = f"<body class='single postid-{number}'>"
    Closing(moved, part, answer)
    done = moved.move("--only", "all", "--no-compare", "--json")
    (*_, side) = done.answer_before_error["sides"]
    assert (done.code, [each["place"] for each in side["exposed"]]) == (13, ["/himitsu/"]), done.err
    assert side["unseen"]
    del moved.home.pages["/himitsu/"]
    assert moved.move("--only", "all", "--no-compare").code == 3


def test_a_list_that_ends_with_a_refusal_shows_what_came_before(moved: Site) -> None:
    record = {"id": moved.post("秘密の題")["id"], "slug": "himitsu", "title": {"rendered": "秘密の題"}}
    pages = iter([web.json_response([record], headers={"X-WP-Total": "101", "X-WP-TotalPages": "2"}), refused()])
    Closing(moved, "wp/v2/posts", lambda: next(pages))
    done = moved.move("--only", "all", "--no-compare", "--json")
    side = done.answer_before_error["sides"][-1]
    assert (done.code, [each["place"] for each in side["exposed"]]) == (13, ["wp/v2/posts"]), done.err
    assert side["unseen"]


@pytest.mark.parametrize(
    ("matching", "answer", "code"),
    [("wp/v2", refused, 0), (".", refused, 3), (r"wp/v2|^/(\?feed=.*)?$", refused, 3)],
    ids=["REST", "all", "pages"],
)
def test_a_home_that_visitors_cannot_open_is_named(moved: Site, matching: str, answer: Any, code: int) -> None:
    moved.home.pages["/"] = "<h1>Welcome</h1>"
    Closing(moved, matching, answer)
    done = moved.move("--only", "all", "--no-compare")
    assert (done.code, "could not be searched whole" in done.err) == (code, code == 3), done.err


def test_a_home_that_shows_visitors_its_sign_in_page_is_named(moved: Site) -> None:
    Closing(moved, ".", lambda: refused() if moved.home.service.seen[-1].path.count("wp/v2") else sign_in())
    assert moved.move("--only", "all", "--no-compare").code == 3


@pytest.mark.parametrize("status", [401, 503])
@pytest.mark.parametrize("exposed", [False, True])
def test_a_comparison_that_fails_hides_no_report(moved: Site, status: int, exposed: bool) -> None:
    moved.home.pages |= {"/himitsu/": "<h1>秘密の題</h1>"} if exposed else {}
    Closing(moved, "^$", refused, owner=status)
    done = moved.move("--only", "all", "--json")
    document = done.answer_before_error
    assert done.code == (13 if exposed else {401: 12, 503: 20}[status]), done.err
    assert (document["compare"], document["whole"], len(document["sides"][-1]["exposed"])) == (None, False, exposed)


def test_a_home_that_fails_its_owner_before_the_look_gets_its_report(moved: Site) -> None:
    tags = itertools.count()

    def fail(route: str, answer: Any) -> Any:
        return "broken" if route == "wp/v2/tags" and next(tags) == 0 else answer

    moved.home.change = fail
    done = moved.move("--only", "all", "--no-compare", "--json")
    assert (done.code, bool(done.answer_before_error["sides"][-1]["unseen"])) == (3, True), done.err


@pytest.mark.parametrize("count", [[], {}, "x", None])
def test_a_strange_number_of_posts_in_a_category_is_read_around(moved: Site, count: object) -> None:
    Closing(moved, "wp/v2/categories", lambda: web.json_response([{"id": 1, "name": "x", "count": count}]))
    done = moved.move("--only", "all", "--no-compare")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    "spelling",
    [
        "<img src='{path}'>", "<img src='//{host}{path}?w=300'>", '"http:\\/\\/{host}{escaped}"',
        "url(http://{host}{path})", "<img srcset='x.png 1x, http://{host}{stem}-300x200.png 300w'>",
        "<img src={stem}-scaled.png>",
    ],
)  # fmt: skip
def test_a_private_picture_is_found_in_every_spelling(moved: Site, spelling: str) -> None:
    file = next(each for each in moved.home.media.values() if each["post"] == moved.post("秘密の題")["id"])
    host, path = file["source_url"].removeprefix("http://").split("/", 1)
    path = f"/{path}"
    words = {"host": host, "path": path, "escaped": path.replace("/", "\\/"), "stem": path.removesuffix(".png")}
    moved.home.pages["/"] = spelling.format(**words)
    done = moved.move("--only", "all", "--no-compare")
    assert (done.code, f"picture, number {file['id']}" in done.err) == (13, True), (file, done.err)


@pytest.mark.parametrize("spelling", ["<a href='/himitsu/'>", '"\\/himitsu\\/"', "<a href='//{host}/himitsu'>"])
def test_a_private_post_is_found_in_every_spelling(moved: Site, spelling: str) -> None:
    moved.home.pages["/"] = spelling.format(host=moved.home.url.removeprefix("http://"))
    done = moved.move("--only", "all", "--no-compare")
    assert done.code == 13, done.err


@pytest.mark.parametrize("head", ["<link rel='canonical' href='{url}'>", "<input name='redirect_to' value='{url}'>"])
def test_a_page_in_place_of_all_that_repeats_its_address_is_no_exposure(moved: Site, head: str) -> None:
    def page() -> web.Response:
        url = f"{moved.home.url}{asked[-1].path_qs}"
        return web.Response(text=f"<h1>Coming soon</h1>{head.format(url=url)}", content_type="text/html")

    asked: list[web.Request] = []
    closing = Closing(moved, "^(?!.*(wp-json|rest_route))", page)

    async def respond(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        return await closing.respond(request)

    moved.home.service.handler = respond
    done = moved.move("--only", "all", "--no-compare")
    assert done.code == 0, done.err


def test_addresses_of_scripts_and_comments_are_none_of_a_hidden_post(
    moved: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, front = moved.home.shown, {"link": f"{moved.home.url}/"}
    monkeypatch.setattr(moved.home, "shown", lambda post: shown(post) | (front if post["status"] != "publish" else {}))
    moved.home.pages["/"] = "<script>x()\n//# sourceURL=wp-x.js\n</script><!-- //////// -->"
    done = moved.move("--only", "all", "--no-compare")
    assert done.code == 0, done.err


def test_lists_that_fail_here_and_there_do_not_end_the_look(moved: Site) -> None:
    moved.home.pages["/himitsu/"] = "<h1>秘密の題</h1>"
    Closing(moved, "wp/v2/(media|categories|search)", lambda: web.Response(status=503))
    done = moved.move("--only", "all", "--no-compare")
    assert (done.code, "in /himitsu/." in done.err) == (13, True), done.err


def test_a_home_that_answers_everything_but_the_question_for_nothing_proves_nothing(moved: Site) -> None:
    def page() -> web.Response:
        return web.Response(text="<h1>Welcome</h1>", content_type="text/html")

    def answer() -> web.Response:
        return web.Response(status=503) if "4294967295" in moved.home.service.seen[-1].path_qs else page()

    closing = Closing(moved, "^(?!.*(wp-json|rest_route))", answer)
    asked = moved.home.service.seen

    async def respond(request: web.Request) -> web.StreamResponse:
        asked.append(request)
        return await closing.respond(request)

    moved.home.service.handler = respond
    assert moved.move("--only", "all", "--no-compare").code == 3


def test_another_size_of_another_picture_is_no_exposure(moved: Site) -> None:
    file = next(each for each in moved.home.media.values() if each["post"] == moved.post("秘密の題")["id"])
    url = file["source_url"]
    file["source_url"] = url.replace(".png", "-300x200.png")
    moved.home.pages["/"] = f"<img src='{url}'><img src='{url.replace('.png', '-640x480.png')}'>"
    done = moved.move("--only", "all", "--no-compare")
    assert done.code == 0, done.err
    moved.home.pages["/"] = f"<img src='{file['source_url']}'>"
    assert moved.move("--only", "all", "--no-compare").code == 13


def test_a_sign_in_form_beside_the_text_closes_nothing(moved: Site) -> None:
    moved.home.pages |= {"/": "<h1>Welcome</h1><form id='loginform'></form>", "/?feed=rss2": "<rss></rss>"}
    Closing(moved, "wp/v2", refused)
    done = moved.move("--only", "all", "--no-compare")
    assert done.code == 0, done.err
