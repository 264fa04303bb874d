"""The ids of comments on pages: they stay when other comments come and go."""

from __future__ import annotations

import json

import pytest

from exporter.model.exchange import Response
from exporter.service.public_site.source import PublicOptions, PublicSite

COMMENTS = (("花子", "2020-01-02T03:04:05+09:00", "行きたいです"), ("Taro", "2020-01-03T03:04:05+09:00", "Me too"),
            ("花子", "2020-01-04T03:04:05+09:00", "行きたいです"), ("次郎", "2020-01-05T03:04:05+09:00", "写真がいい"))  # fmt: skip
FORMS = {
    "list": "<ol class=comment-list>{}</ol>",
    "microdata": "<div>{}</div>",
    "h-entry": "<div class=h-entry><p class=e-content>本文です。</p>{}</div>",
}
ITEMS = {
    "list": "<li class='comment even' id='{id}'><b class=fn>{name}</b><time datetime='{date}'></time><div class=comment-content>{text}</div></li>",
    "microdata": "<div itemprop=comment id='{id}'><b itemprop=author>{name}</b><time itemprop=dateCreated datetime='{date}'></time><p itemprop=text>{text}</p></div>",
    "h-entry": "<div class='h-cite p-comment'><a name='{id}'></a><b class=p-author>{name}</b><time class=dt-published datetime='{date}'></time><p class=e-content>{text}</p></div>",
}


def ids(page: str, post_id: str = "p/12345") -> dict[tuple[str, str], str]:
    """Return the ids of the comments on a page by date and name."""
    html = f"<title>海</title><h1>海</h1><p>本文です。</p>{page}"
    service = PublicSite(PublicOptions(page_rules="none"), base_url="https://taro.example")
    response = Response(200, {"content-type": "text/html; charset=utf-8"}, html.encode())
    answer = service.entry_call("taro.example", post_id).parse(response)
    return {(raw["date"], raw["name"]): raw["id"] for raw in answer.comments}


def page(form: str, anchor: str, shown: range | list[int]) -> str:
    items = (
        ITEMS[form].format(id=anchor.format(n=place, big=70_000 + which), name=name, date=date, text=text)
        for place, which in enumerate(shown, 1)
        for name, date, text in [COMMENTS[which]]
    )
    return FORMS[form].format("".join(items))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "anchor", ["comment{n}", "c-{n}", "res-12345-{n}", "cm12345{n:02}", "cmt00000{n}", "", "no{big}"]
)
def test_a_comment_keeps_its_id_when_an_earlier_one_goes(form: str, anchor: str) -> None:
    before = ids(page(form, anchor, range(4)))
    after = ids(page(form, anchor, [1, 2, 3]))
    assert len(before) == len(set(before.values())) == 4
    assert after == {key: value for key, value in before.items() if value != before[COMMENTS[0][1], "花子"]}


def test_own_numbers_and_random_names_are_kept() -> None:
    for anchor, local in (
        ("comment-13355765", "13355765"),
        ("c7f3a9b2e1", "c7f3a9b2e1"),
        ("comment-1c0ffee9", "comment-1c0ffee9"),
    ):
        (found,) = ids(page("list", anchor, [0])).values()
        assert found == f"p/12345#{local}"


def test_the_numbers_of_wordpress_are_those_of_its_database() -> None:
    head = '<link rel=stylesheet href="/wp-content/themes/a/style.css">'
    (found,) = ids(head + page("list", "comment-7", [0])).values()
    assert found == "p/12345#7"


def test_a_comment_in_json_ld_is_known_by_its_text() -> None:
    def found(which: list[int]) -> set[str]:
        comments = [
            {"@type": "Comment", "@id": f"#comment{place}", "author": name, "dateCreated": date, "text": text}
            for place, (name, date, text) in enumerate(COMMENTS[each] for each in which)
        ]
        posting = json.dumps({"@type": "BlogPosting", "headline": "海", "comment": comments})
        return set(ids(f'<script type="application/ld+json">{posting}</script>').values())

    assert found([1, 2, 3]) < found([0, 1, 2, 3])


def test_a_reply_names_the_comment_around_it() -> None:
    reply = ITEMS["list"].format(id="comment2", name="太郎", date="2020-01-06", text="ぜひ")
    html = FORMS["list"].format(
        page("list", "comment{n}", [0])[len("<ol class=comment-list>") : -len("</li></ol>")] + f"<ol>{reply}</ol></li>"
    )
    service = PublicSite(PublicOptions(page_rules="none"), base_url="https://taro.example")
    body = f"<title>海</title><h1>海</h1><p>本文です。</p>{html}".encode()
    first, second = (
        service.entry_call("taro.example", "p/1").parse(Response(200, {"content-type": "text/html"}, body)).comments
    )
    assert second["parent"] == first["id"]
    assert "parent" not in first
