"""WXR files of several programs and versions as neutral records."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.model.kinds import Kind
from exporter.model.publication import Declared, PostStatus
from exporter.model.records import Audience, Category, Comment, CommentKind, CommentStatus, Post, PostKind, Upload
from exporter.service.export_file import FoundRecord, Misread
from exporter.service.registry import export_files
from exporter.service.wxr.elements import MAX_TEXT_CHARACTERS
from exporter.service.wxr.source import WxrFile
from tests.service.wxr_samples import AUTHORS, CATEGORIES, channel, comment, item, meta, picture, terms

SERVICE = WxrFile()


def read(data: str | bytes) -> tuple[list[FoundRecord], list[Misread]]:
    data = data.encode() if isinstance(data, str) else data
    found = list(SERVICE.read(io.BytesIO(data), "blog.xml"))
    return [each for each in found if isinstance(each, FoundRecord)], [
        each for each in found if isinstance(each, Misread)
    ]


def records(data: str | bytes, kind: Kind) -> list[FoundRecord]:
    found, misread = read(data)
    assert not misread, misread
    return [each for each in found if each.kind is kind]


def post_in(data: str) -> Post:
    (found,) = records(data, Kind.ENTRIES)
    return SERVICE.post({**found.raw, "id": found.id})


def comments_in(data: str) -> list[Comment]:
    return [SERVICE.comment({**each.raw, "id": each.id, "post_id": "1"}) for each in records(data, Kind.COMMENTS)]


def test_an_entry_of_wordpress() -> None:
    categories = terms(
        [("category", "%e5%af%ba", "寺"), ("category", "tabi", "旅"), ("post_tag", "momiji", "紅葉"), ("post_format", "post-format-aside", "Aside")]
    )  # fmt: skip
    post = post_in(
        channel(
            item(
                12,
                "一\n<!--more つづき-->\n二",
                title="旅 &amp; <b>海</b>",
                categories=categories,
                excerpt="抜粋",
                post_name="%e6%97%85",
                is_sticky=1,
            )
        )
    )
    assert (post.id, post.title, post.slug, post.author) == ("12", "旅 & 海", "旅", "海野 花子")
    assert (post.body, post.more, post.more_title) == ("<p>一</p>", "<p>二</p>", "つづき")
    assert post.categories == (Category("寺", ("旅", "京都"), "寺"), Category("旅", (), "tabi"))
    assert (post.category, post.tags, post.excerpt) == ("寺", ("紅葉",), "抜粋")
    assert post.date == datetime(2024, 4, 1, 12, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert post.updated == datetime(2024, 4, 5, 12, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert post.permalink == "https://blog.example/2024/04/post-12/"
    assert (post.audience, post.kind, post.private) == (Audience.PUBLIC, PostKind.POST, False)
    assert (post.comments_open, post.pings_open) == (True, False)
    assert post.facts["sticky"] is True
    assert post.facts["post_format"] == "Aside"
    assert not post.problems
    assert SERVICE.publication(post, Declared()).status is PostStatus.PUBLISH


@pytest.mark.parametrize(
    ("fields", "audience"),
    [
        ({"status": "publish"}, Audience.PUBLIC),
        ({"status": "private"}, Audience.PRIVATE),
        ({"status": "draft"}, Audience.DRAFT),
        ({"status": "pending"}, Audience.DRAFT),
        ({"status": "future"}, Audience.SCHEDULED),
        ({"status": "trash"}, Audience.PRIVATE),
        ({"status": "wc-completed"}, Audience.PRIVATE),
        ({"status": ""}, None),
        ({"post_password": "ひみつ"}, Audience.PASSWORD),
        ({"post_password": "ひみつ", "status": "draft"}, Audience.DRAFT),
        ({"post_type": "page"}, Audience.PUBLIC),
        ({"post_type": "feedback"}, Audience.PRIVATE),
        ({"post_type": "product"}, Audience.PRIVATE),
    ],
)
def test_only_what_is_certainly_public_is_public(fields: dict[str, str], audience: Audience | None) -> None:
    post = post_in(channel(item(1, **fields)))
    assert post.audience is audience
    status = SERVICE.publication(post, Declared()).status
    assert (status is PostStatus.PUBLISH) is (audience is Audience.PUBLIC)
    assert post.kind is (PostKind.PAGE if "post_type" in fields else PostKind.POST)
    if audience in {Audience.DRAFT, Audience.SCHEDULED}:
        assert not post.permalink


@pytest.mark.parametrize(
    ("local", "gmt", "offset"),
    [
        ("2024-07-01 12:00:00", "2024-07-01 16:00:00", timedelta(hours=-4)),
        ("2024-07-01 12:00:00", "2024-07-01 06:30:00", timedelta(hours=5, minutes=30)),
        ("2024-07-01 12:00:00", "0000-00-00 00:00:00", timedelta(hours=-5)),
        ("2024-07-01 12:00:00", "2001-01-01 00:00:00", timedelta(hours=-5)),
        ("2024-07-01 12:00:00", "", timedelta(hours=-5)),
    ],
)
def test_a_date_has_the_offset_that_the_file_states(local: str, gmt: str, offset: timedelta) -> None:
    fields = {"post_modified": "2024-01-01 00:00:00", "post_modified_gmt": "2024-01-01 05:00:00"}
    post = post_in(channel(item(1, post_date=local, post_date_gmt=gmt, **fields)))
    assert post.date == datetime(2024, 7, 1, 12, tzinfo=timezone(offset))


def test_a_date_that_is_none_or_wrong() -> None:
    bare = {"post_date": "0000-00-00 00:00:00", "post_date_gmt": "0000-00-00 00:00:00"}
    assert post_in(channel(item(1, **bare))).date == datetime(2024, 4, 1, 3, tzinfo=UTC)
    never = channel(item(1, **bare)).replace("Mon, 01 Apr 2024 03:00:00 +0000", "Mon, 30 Nov -0001 00:00:00 +0000")
    assert (post_in(never).date, post_in(never).problems) == (None, ())
    wrong = post_in(channel(item(1, post_date="2024-13-45 99:00:00", post_date_gmt="nie")))
    assert {problem.field for problem in wrong.problems} == {"wp:post_date", "wp:post_date_gmt"}


def test_a_thread_of_comments() -> None:
    found = comments_in(
        channel(
            item(
                1,
                extra=comment(7, "一\n二", comment_author="読者 &amp; 友")
                + comment(8, comment_parent=7, comment_user_id=1)
                + comment(9, comment_user_id=44, comment_approved="0")
                + comment(10, comment_type="pingback", comment_approved="spam")
                + comment(11, comment_type="trackback", comment_approved="trash")
                + comment(12, comment_type="", comment_approved="weiß nicht"),
            )
        )
    )
    assert [each.parent for each in found] == ["", "7", "", "", "", ""]
    assert [each.by_owner for each in found] == [False, True, False, False, False, False]
    assert [each.status for each in found] == [
        CommentStatus.SHOWN, CommentStatus.SHOWN, CommentStatus.PENDING, CommentStatus.SPAM, CommentStatus.HIDDEN, None,
    ]  # fmt: skip
    assert [each.kind for each in found][3:] == [CommentKind.PINGBACK, CommentKind.TRACKBACK, CommentKind.COMMENT]
    assert (found[0].name, found[0].text, found[0].email) == ("読者 & 友", "<p>一<br>\n二</p>", "reader@mail.example")
    assert [SERVICE.is_visible(each, Declared()) for each in found] == [True, True, False, False, False, False]
    assert "reader@mail.example" not in repr(found[0])


def test_an_attachment_is_a_file() -> None:
    (found,) = records(channel(picture(9)), Kind.FILES)
    assert SERVICE.upload({**found.raw, "id": found.id}) == Upload(
        id="9", name="umi.jpg", title="海", description="キャプション\n説明", bytes=34567, width=1200, height=800,
        modified=1711940400, extension="jpg", raw={**found.raw, "id": "9"},
        url="https://blog.example/wp-content/uploads/2024/04/umi.jpg", alt="夕方の海",
    )  # fmt: skip


def test_the_featured_picture_is_wanted_by_its_number() -> None:
    (found,) = records(channel(item(1, extra=meta("_thumbnail_id", "9"))), Kind.ENTRIES)
    assert SERVICE.wanted(found.raw).files == ("9",)
    assert SERVICE.post({**found.raw, "featured": "https://a.example/x.jpg"}).featured == "https://a.example/x.jpg"


def test_comments_on_a_file_stay_in_its_record() -> None:
    found, misread = read(channel(item(1), picture(9).replace("</item>", comment(5) + "</item>")))
    assert [each.kind for each in found] == [Kind.USER, Kind.ENTRIES, Kind.FILES]
    assert len(found[2].raw["wp:comment"]) == 1
    assert len(misread) == 1


def test_settings_of_wordpress_are_counted_and_are_no_entries() -> None:
    machine = [item(number, post_type="nav_menu_item") for number in (2, 3)]
    found, misread = read(channel(item(1), *machine, item(4, post_type="revision", status="inherit")))
    assert [each.id for each in found if each.kind is Kind.ENTRIES] == ["1"]
    assert [each.lost for each in misread] == [False, False]
    assert "2 items" in misread[0].reason


def test_the_blog_is_the_user_and_states_its_address() -> None:
    (found,) = records(channel(item(1)), Kind.USER)
    assert SERVICE.user({**found.raw, "id": "blog"}).name == "海野 花子"
    assert SERVICE.blog_address(found.raw) == "https://blog.example"
    assert SERVICE.blog_address(records(channel(item(1)), Kind.ENTRIES)[0].raw) == ""
    assert not {"pubDate", "generator"} & set(found.raw)
    two = AUTHORS + AUTHORS.replace("owner", "kaki").replace("花子", "二郎").replace(">1<", ">2<")
    (found,) = records(channel(item(1), top=two), Kind.USER)
    assert SERVICE.user({**found.raw, "id": "blog"}).name == "海の日記"


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_all_versions_give_the_same_record(version: str) -> None:
    sample = (item(1, excerpt="抜粋"), picture(2))
    assert read(channel(*sample, version=version)) == read(channel(*sample))


@pytest.mark.parametrize(
    "change",
    [
        ("http://", "https://"),
        ("http://wordpress.org/", "HTTPS://www.WordPress.org/"),
        ("http://", "https://www."),
        ('/"', '"'),
        ("CommentAPI/", "COMMENTAPI"),
        ("http://wordpress", "//wordpress"),
        ("xmlns:wp=", "xmlns:w-p="),
    ],
)
def test_a_namespace_is_known_in_every_spelling(change: tuple[str, str]) -> None:
    plain = channel(item(1, extra=comment(7), categories=terms([("category", "tabi", "旅")])), picture(2))
    begin, end = plain.index("<rss"), plain.index("<channel>")
    written = plain[:begin] + plain[begin:end].replace(*change) + plain[end:]
    if "w-p" in change[1]:
        written = written.replace("wp:", "w-p:")
    assert read(written)[0] == read(plain)[0]
    assert SERVICE.recognises(written.encode())


@pytest.mark.parametrize("uri", ["http://wordpress.org/export/2.0/", "http://example.com/wxr"])
def test_a_file_in_an_unknown_vocabulary_is_not_read(uri: str) -> None:
    found, misread = read(channel(item(1), item(2)).replace("http://wordpress.org/export/1.2/", uri))
    assert not found
    assert [(each.lost, each.reason) for each in misread] == [
        (True, "it has no elements of WXR 1.0 to 1.2, the export format of WordPress")
    ]


@pytest.mark.parametrize("name", ["title", "link", "wp:post_id", "wp:status", "dc:creator"])
def test_a_field_without_an_end_ends_before_the_next(name: str) -> None:
    whole = channel(item(1, extra=comment(7)), item(2))
    found, misread = read(whole.replace(f"</{name}>", "", 3 if name in {"title", "link"} else 1))
    plain = [
        (
            each.kind,
            each.id,
            {key: value.strip() if isinstance(value, str) else value for key, value in each.raw.items()},
        )
        for each in found
    ]
    assert plain == [
        (
            each.kind,
            each.id,
            {key: value.strip() if isinstance(value, str) else value for key, value in each.raw.items()},
        )
        for each in read(whole)[0]
    ]
    assert [each.lost for each in misread] == [False]


def test_version_1_0_names_categories_twice_and_parents_by_name() -> None:
    top = CATEGORIES.replace("<![CDATA[tabi]]></wp:category_parent>", "<![CDATA[旅]]></wp:category_parent>")
    categories = (
        "<category><![CDATA[京都]]></category>\n" + terms([("category", "kyoto", "京都")])
        + "<category domain=\"tag\"><![CDATA[紅葉]]></category>\n" + terms([("tag", "momiji", "紅葉")])
    )  # fmt: skip
    old = channel(item(1, categories=categories), version="1.0", top=top)
    post = post_in(old)
    assert post.categories == (Category("京都", ("旅",), "kyoto"),)
    assert post.tags == ("紅葉",)
    assert post.author == "owner"


def test_a_converter_may_leave_out_most_elements() -> None:
    source = """<rss xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:w="http://wordpress.org/export/1.2/"><channel>
<item><title>題</title><link>https://a.example/entry/1</link><pubDate>Mon, 01 Apr 2024 03:00:00 +0900</pubDate>
<category>日記</category><content:encoded>&lt;p&gt;本文&lt;/p&gt;</content:encoded><w:status>publish</w:status></item>
</channel></rss>"""
    post = post_in(source)
    assert (post.title, post.body, post.audience) == ("題", "<p>\n本文\n</p>", Audience.PUBLIC)
    assert post.date == datetime(2024, 3, 31, 18, tzinfo=UTC)
    assert post.categories == (Category("日記"),)
    assert post.id.startswith("x")
    assert post_in(source.replace("本文", "直した")).id == post.id


def test_elements_keep_attributes_order_repetitions_and_foreign_names() -> None:
    extra = (
        '<wp:a b="1">x</wp:a><wp:a/><media:thumb xmlns:media="http://media.example/" url="u"/>'
        "<dc:creator>second</dc:creator><content>y <i>z</i><br/></content><id>5</id><wp:term_id> 7 </wp:term_id>"
    )
    (found,) = records(channel(item(1, extra=extra)), Kind.ENTRIES)
    raw = found.raw
    assert raw["wp:a"] == [{"@b": "1", "#text": "x"}, ""]
    assert raw["media:thumb"] == {"@url": "u", "#text": ""}
    assert raw["@xmlns:media"] == "http://media.example/"
    assert raw["dc:creator"] == ["owner", "second"]
    assert raw["content"] == {"#markup": "y <i>z</i><br>"}
    assert raw["rss:id"] == "5"
    assert raw["wp:term_id"] == " 7 "


def test_an_address_with_a_bare_ampersand_as_wordpress_writes_it_is_whole() -> None:
    one = comment(1).replace("<wp:comment_author_url><![CDATA[]]>", "<wp:comment_author_url>http://a.example/?a=1&b=2")
    found, misread = read(channel(item(1, extra=one * 3)))
    assert {SERVICE.comment(each.raw).url for each in found if each.kind is Kind.COMMENTS} == {
        "http://a.example/?a=1&b=2"
    }
    assert [(each.reason, each.lost) for each in misread] == [("an & that is not written as &amp; (3 times)", False)]


def test_an_item_that_is_cut_before_its_number_has_the_number_of_its_guid() -> None:
    found, misread = read(channel(item(1), item(12)).partition("<wp:post_id>12")[0])
    assert [each.id for each in found if each.kind is Kind.ENTRIES] == ["1", "12"]
    assert [each.lost for each in misread] == [True]


def test_an_unescaped_body_is_its_source() -> None:
    source = channel(item(1)).replace("<![CDATA[1番の本文です。]]>", "<p>一 &amp; 二<br>\n三</p><!--more--><p>四</p>")
    found, misread = read(source)
    post = SERVICE.post(next(each.raw for each in found if each.kind is Kind.ENTRIES))
    assert "一 &amp; 二<br>" in post.body
    assert post.more == "<p>\n四\n</p>"
    assert all(not each.lost for each in misread)


def test_a_section_without_an_end_loses_no_item() -> None:
    source = channel(item(1), item(2), item(3)).replace("1番の本文です。]]>", "1番の本文です。")
    found, misread = read(source)
    entries = [SERVICE.post(each.raw) for each in found if each.kind is Kind.ENTRIES]
    assert [each.id for each in found if each.kind is Kind.ENTRIES] == ["1", "2", "3"]
    assert [each.body for each in entries] == [f"<p>{number}番の本文です。</p>" for number in (1, 2, 3)]
    assert len(misread) == 1
    assert not misread[0].lost


def test_a_body_with_the_end_of_a_section_is_whole() -> None:
    assert post_in(channel(item(1, "a ]]> b"))).body == "<p>a ]]> b</p>"


def test_a_body_that_is_too_long_is_cut_and_named() -> None:
    found, misread = read(channel(item(1, "x" * (MAX_TEXT_CHARACTERS + 100_000))))
    assert [each.kind for each in found] == [Kind.USER, Kind.ENTRIES]
    assert [each.lost for each in misread] == [True]


@pytest.mark.parametrize("count", [500, pytest.param(5000, marks=pytest.mark.thorough)])
def test_many_comments_are_passed_on_one_by_one(count: int) -> None:
    many = "".join(comment(number, "x" * 4000) for number in range(1, count + 1))
    found, misread = read(channel(item(1, extra=many), item(2)))
    assert not misread
    assert [each.id for each in found if each.kind is Kind.COMMENTS] == [str(number) for number in range(1, count + 1)]
    assert [each.id for each in found if each.kind is Kind.ENTRIES] == ["1", "2"]


def test_the_parents_of_categories_may_not_be_a_circle() -> None:
    circle = CATEGORIES.replace("<wp:category_parent><![CDATA[]]>", "<wp:category_parent><![CDATA[kyoto]]>")
    post = post_in(channel(item(1, categories=terms([("category", "kyoto", "京都")])), top=circle))
    assert post.categories == (Category("京都", ("旅",), "kyoto"),)


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (channel().encode(), True),
        (channel(version="1.0").encode("euc_jp"), True),
        (b"\xef\xbb\xbf" + channel().encode(), True),
        (channel().encode("utf-16"), True),
        (channel().replace("http://", "https://www.").encode(), True),
        (b'<?xml version="1.0"?><rss version="2.0"><channel><item/></channel></rss>', False),
        (b"AUTHOR: x\nTITLE: http://wordpress.org/export/1.2/\n", False),
        (b"", False),
    ],
)
def test_the_format_is_recognised_by_its_elements(head: bytes, known: bool) -> None:
    assert WxrFile.recognises(head) is known
    assert WxrFile in export_files()


def test_euc_jp_and_a_wrong_declaration_are_read() -> None:
    for encoding in ("EUC-JP", "UTF-8", "Shift_JIS"):
        data = channel(item(1, "海の日記です。長めの文章を書きます。"), encoding=encoding).encode("euc_jp")
        (found,) = records(data, Kind.ENTRIES)
        assert SERVICE.post(found.raw).body == "<p>海の日記です。長めの文章を書きます。</p>"


@pytest.mark.parametrize("examples", [30, pytest.param(100, marks=pytest.mark.thorough)])
def test_any_bytes_raise_nothing(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.binary(max_size=300))
    def check(data: bytes) -> None:
        list(SERVICE.read(io.BytesIO(data), "x"))
        whole = channel(item(1), picture(2)).encode()
        at = len(data) * 7 % len(whole)
        for found in SERVICE.read(io.BytesIO(whole[:at] + data + whole[at:]), "x"):
            if isinstance(found, FoundRecord):
                SERVICE.post(found.raw)
                SERVICE.comment(found.raw)
                SERVICE.upload(found.raw)

    check()
