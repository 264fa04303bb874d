"""Atom entries as neutral records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.exchange import Response
from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus
from exporter.model.records import Audience, PostKind
from exporter.service.atompub.source import AtomPub, AtomPubOptions

JST = timezone(timedelta(hours=9), "JST")
SPACES = {"": "http://www.w3.org/2005/Atom", "app": "http://www.w3.org/2007/app"}
FORMATTED = (
    "<h:formatted-content type='text/html' xmlns:h='http://www.hatena.ne.jp/info/xmlns#'>&lt;h1&gt;B&lt;/h1&gt;"
    "</h:formatted-content>"
)
BEGIN = "<id>tag:example.com,2020:1</id><title>Title</title>"


def raw(inner: str, **more: Any) -> dict[str, Any]:
    return {"id": "1", "collection": "entry", "xml": f"<entry>{inner}</entry>", "xmlns": SPACES, **more}


def draft(value: str, more: str = "") -> str:
    return f"<app:control><app:draft>{value}</app:draft>{more}</app:control>"


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("<content type='html'>&lt;p&gt;1 &amp;amp; 2&lt;/p&gt;</content>", "<p>1 &amp; 2</p>"),
        ("<content type='text/html'><![CDATA[<p>x</p>]]></content>", "<p>x</p>"),
        (
            "<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><p>a<br/>b</p></div></content>",
            "<div xmlns='http://www.w3.org/1999/xhtml'><p>a<br/>b</p></div>",
        ),
        ("<content type='text/x-markdown'># A\n\n*b*</content>", "<h1>A</h1>\n<p><em>b</em></p>"),
        ("<content>a &lt; b\nc</content>", "<pre>a &lt; b\nc</pre>"),
        ("<content type='text/x-hatena-syntax'>*A &lt;b&gt;</content>", "<pre>*A &lt;b&gt;</pre>"),
        (f"<content type='text/x-markdown'># A</content>{FORMATTED}", "<h1>B</h1>"),
        ("<content type='text/html'> </content>", " "),
        ("", ""),
    ],
)
def test_bodies_are_html(content: str, body: str) -> None:
    assert AtomPub().post(raw(BEGIN + content)).body == body


def test_a_notation_that_is_not_converted_is_said() -> None:
    (problem,) = AtomPub().post(raw("<content type='text/x-hatena-syntax'>*A</content>")).problems
    assert (problem.field, problem.value) == ("content", "text/x-hatena-syntax")


@pytest.mark.parametrize("space", ["http://blogcms.jp/-/spec/atompub/1.0/", "http://blogcms.jp/-/atom"])
def test_the_second_half_is_kept_apart_and_the_private_part_is_not_shown(space: str) -> None:
    source = (
        f"<b:source xmlns:b='{space}'><b:body><![CDATA[<p>1</p>]]></b:body><b:more><![CDATA[<p>2</p>]]></b:more>"
        "<b:private><![CDATA[<p>secret</p>]]></b:private></b:source>"
    )
    post = AtomPub().post(raw(BEGIN + f"<content type='text/html'>x</content>{source}"))
    assert (post.body, post.more) == ("<p>1</p>", "<p>2</p>")
    assert "secret" not in repr(post)


@pytest.mark.parametrize(
    ("control", "audience", "status"),
    [
        ("", Audience.PUBLIC, PostStatus.PUBLISH),
        ("<app:control/>", Audience.PUBLIC, PostStatus.PUBLISH),
        (draft("no"), Audience.PUBLIC, PostStatus.PUBLISH),
        (draft("yes"), Audience.DRAFT, PostStatus.DRAFT),
        (draft(" YES "), Audience.DRAFT, PostStatus.DRAFT),
        (draft("perhaps"), None, PostStatus.PRIVATE),
        (
            draft("yes", "<s:scheduled xmlns:s='http://www.hatena.ne.jp/info/xmlns#hatenablog'>yes</s:scheduled>"),
            Audience.SCHEDULED,
            PostStatus.DRAFT,
        ),
        (f"{draft('yes')}<app:edited>2019-01-01T00:00:00Z</app:edited>", Audience.SCHEDULED, PostStatus.DRAFT),
    ],
)
def test_the_audience_follows_the_draft_element(control: str, audience: Audience | None, status: PostStatus) -> None:
    service = AtomPub()
    post = service.post(raw(f"{BEGIN}<published>2020-01-01T00:00:00Z</published>{control}"))
    assert post.audience is audience
    assert service.publication(post, Declared()).status is status


def test_an_element_that_only_looks_like_an_entry_is_private() -> None:
    post = AtomPub().post({"id": "1", "xml": "<entry><title>x</title></entry>"})
    assert post.audience is None


@pytest.mark.parametrize("stated", ["members", "private", "draft"])
def test_the_readers_in_a_record_count_more_than_the_settings(stated: str) -> None:
    assert AtomPub().post(raw(BEGIN, audience=stated)).audience is Audience(stated)


@pytest.mark.parametrize("stated", ["", "everybody", 1, [], {}])
def test_invalid_readers_make_an_entry_private(stated: object) -> None:
    assert AtomPub().post(raw(BEGIN, audience=stated)).audience is None


def test_dates_have_the_zone_of_the_blog() -> None:
    dates = "<published>2020-01-01T23:00:00Z</published><updated>2020-01-02T10:00:00</updated>"
    post = AtomPub().post(raw(BEGIN + dates))
    assert post.date == datetime(2020, 1, 1, 23, tzinfo=UTC)
    assert (post.date.utcoffset(), post.updated) == (timedelta(hours=9), datetime(2020, 1, 2, 10, tzinfo=JST))


def test_hatena_states_the_date_of_an_entry_as_its_update() -> None:
    dates = (
        "<id>tag:blog.hatena.ne.jp,2013:blog-a-1-2</id><updated>2010-02-01T01:10:00+09:00</updated>"
        "<published>2017-05-04T15:55:52+09:00</published><app:edited>2017-05-05T00:00:00+09:00</app:edited>"
    )
    post = AtomPub().post(raw(dates))
    assert (post.date, post.updated) == (
        datetime(2010, 2, 1, 1, 10, tzinfo=JST),
        datetime(2017, 5, 5, tzinfo=JST),
    )
    by_publication = AtomPub(AtomPubOptions(atompub_date="published")).post(raw(dates))
    assert by_publication.date == datetime(2017, 5, 4, 15, 55, 52, tzinfo=JST)


@pytest.mark.parametrize("text", ["yesterday", "2020-13-01", "0001-01-01T00:00:00+14:00", "9" * 5000])
def test_invalid_dates_are_problems(text: str) -> None:
    post = AtomPub().post(raw(f"{BEGIN}<published>{text}</published>"))
    assert (post.date, [problem.field for problem in post.problems]) == (None, ["published"])


def test_an_entry_has_all_categories_its_author_and_its_address() -> None:
    post = AtomPub().post(
        raw(
            "<title type='html'>A &amp;amp; &lt;b&gt;B&lt;/b&gt;</title><author><name>Mika</name></author>"
            "<category term='a'/><category term='b' label='Bee'/><category term='a'/><category/>"
            "<link rel='edit' href='/1'/><link type='application/json' href='https://x.example/1.json'/>"
            "<link rel='alternate' type='text/html' href='https://x.example/1'/><summary>Short</summary>"
        )
    )
    assert [(category.name, category.slug) for category in post.categories] == [("a", ""), ("Bee", "b")]
    assert (post.title, post.author, post.permalink, post.excerpt) == ("A & B", "Mika", "https://x.example/1", "Short")
    assert (post.category, post.kind) == ("a", PostKind.POST)
    assert AtomPub().post(raw(BEGIN, collection="page")).kind is PostKind.PAGE


def test_the_automatic_summary_of_hatena_is_no_excerpt() -> None:
    assert AtomPub().post(raw("<id>tag:blog.hatena.ne.jp,2013:1</id><summary>x</summary>")).excerpt == ""


def test_a_media_link_entry_is_an_upload() -> None:
    upload = AtomPub().upload(raw("<title>Sky</title><content type='image/png' src='https://i.example/a/b.png?x=1'/>"))
    assert (upload.name, upload.title, upload.extension, upload.url) == (
        "b.png",
        "Sky",
        "png",
        "https://i.example/a/b.png?x=1",
    )


def test_the_list_item_changes_with_every_byte_of_an_entry() -> None:
    service = AtomPub()
    first, second = (service.listed_part(raw(f"{BEGIN}<!--{text}-->")) for text in ("a", "b"))
    assert first["xml_sha256"] != second["xml_sha256"]
    listed = service.post(None, first)
    whole = service.post(raw(BEGIN))
    assert (listed.id, listed.title, listed.audience, listed.kind) == (
        whole.id,
        whole.title,
        whole.audience,
        whole.kind,
    )
    assert service.title(Kind.ENTRY_LIST, first) == "Title"


@pytest.mark.parametrize("examples", [30, pytest.param(100, marks=pytest.mark.thorough)])
def test_no_text_in_a_record_raises(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.text(max_size=200), st.dictionaries(st.text(max_size=3), st.text(max_size=9), max_size=3))
    def check(text: str, spaces: dict[str, str]) -> None:
        service = AtomPub()
        for given_raw in ({"id": "1", "xml": text, "xmlns": spaces}, raw(text), raw(text.replace("<", "&lt;"))):
            post = service.post(given_raw)
            assert service.publication(post, Declared()).status in PostStatus
            assert service.listed_part(given_raw)["id"] == "1"
            assert isinstance(service.title(Kind.ENTRIES, given_raw), str)
            assert service.upload(given_raw).id == "1"

    check()


@pytest.mark.parametrize("examples", [30, pytest.param(100, marks=pytest.mark.thorough)])
def test_the_id_of_a_member_leads_back_to_its_address(examples: int) -> None:
    """The request for an entry goes to the address that its link names, whatever the id looks like."""

    @settings(max_examples=examples)
    @given(
        st.text(st.characters(blacklist_categories=["C", "Z"], blacklist_characters="<&'\""), min_size=1, max_size=20)
    )
    def check(member: str) -> None:
        service = AtomPub(AtomPubOptions(atompub_root="/root/atom"), "https://api.example")
        for path in (f"/root/atom/entry/{member}", f"/root/atom/page/{member}", f"/elsewhere/{member}"):
            feed = (
                f"<feed xmlns='{SPACES['']}'><entry><link rel='edit' href='https://api.example{path}'/></entry></feed>"
            ).encode()
            pages = service.pages(Kind.ENTRY_LIST, "x.example", ())
            (item,) = pages.call("/root/atom/entry").parse(Response(200, {}, feed)).items
            request = service.entry_call("x.example", item["id"]).request
            expected = service.pages(Kind.ENTRY_LIST, "x.example", ()).call(path.partition("#")[0]).request
            if "#" not in member and "\\" not in member and "//" not in path:
                assert (request.path, request.params) == (expected.path, expected.params)

    check()
