"""The kinds of content that readers notice: an entry of each in one blog, and what its page in a new home must show."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit
from zoneinfo import ZoneInfo

from selectolax.lexbor import LexborHTMLParser, LexborNode

from exporter.html.tree import tag_set
from tests.service.wxr_samples import cdata, channel, comment, item, meta, terms
from tests.support.pictures import png

HOST: Final = "https://blog.example"
WORD: Final = re.compile("zq[a-z]+qz")
"""The word in the title of each entry, by which its page is found."""
SECRET: Final = "zqsecretqz"
"""In all that readers of the blog never saw."""
_JAPAN: Final = ZoneInfo("Asia/Tokyo")
_BLOCKS: Final = tag_set("p div h1 h2 h3 h4 h5 h6 ul ol li pre blockquote table tr figure section dl dt dd hr")
_QUOTES: Final = str.maketrans("“”‘’′″‐‑\u00a0", "\"\"'''\"-- ")


@dataclass(frozen=True)
class Seen:
    """The page of an entry in a new home.

    Attributes:
        url: the page's address, or its path in a folder.
        page: the whole page, or the part of it that the entry has.
        body: the element with the entry's body.
        title: the title as readers see it.
        facts: what the page shows besides, by name: ``date``, ``author``, ``category``, ``tag``, ``excerpt``, ``cover``
            and ``address`` (addresses), ``type``.
        load: returns the bytes at an address, ``None`` if there is nothing in the new home.
        lookup: returns the word of the entry that an address leads to.
    """

    url: str
    page: LexborNode
    body: LexborNode
    title: str
    facts: Mapping[str, list[str]]
    load: Callable[[str], bytes | None]
    lookup: Callable[[str], str]

    @property
    def text(self) -> str:
        """The page's text."""
        return folded(self.page.text())

    def all(self, css: str) -> list[LexborNode]:
        """Return the elements of the body that a selector finds."""
        return self.body.css(css)

    def texts(self, css: str) -> list[str]:
        """Return the texts of these elements."""
        return [folded(each.text()) for each in self.body.css(css)]

    def loads(self, css: str = "img") -> list[bytes]:
        """Return the pictures that load from the new home."""
        found = (self.load(urljoin(self.url, each.attributes.get("src") or "")) for each in self.body.css(css))
        return [data for data in found if data is not None]

    def links(self) -> dict[str, str]:
        """Return the address of each link by its text."""
        return {folded(each.text()): each.attributes.get("href") or "" for each in self.body.css("a[href]")}


@dataclass(frozen=True)
class Kind:
    """A kind of content.

    Attributes:
        name: for the table.
        word: in the title of its entry.
        shown: whether a page shows it.
        body: the entry's body.
        extra: other arguments of :func:`~tests.service.wxr_samples.item`.
        everywhere: whether every entry has it, so that a report names all of them.
    """

    name: str
    word: str
    shown: Callable[[Seen], bool]
    body: str = "<p>本文</p>"
    extra: Mapping[str, Any] = field(default_factory=dict)
    everywhere: bool = False

    def names(self, files: str) -> frozenset[str]:
        """Return the names in a report of the entry, its comments and its files, which are at an address."""
        written = f"{self.body}{self.extra}".replace("{files}", files)
        comments = re.findall("comment_id>([0-9]+)<", written)
        addresses = re.findall(f"{re.escape(files)}/[a-z.0-9]+", written)
        attached = (f"{files}/{name}" for name, number in _ATTACHED.items() if str(number) in written)
        return frozenset({str(KINDS.index(self) + 1), *comments, *addresses, *attached})


def _said(number: int, text: str, **fields: object) -> str:
    return comment(number, text, **{"comment_author_email": "", **fields})


def folded(text: str) -> str:
    """Return a text with white space and typographic quotes folded."""
    return " ".join(text.translate(_QUOTES).split())


def lines(node: LexborNode) -> list[str]:
    """Return the lines that a browser would show, without empty ones."""
    out: list[str] = []

    def walk(at: LexborNode) -> None:
        for child in at.iter(include_text=True):
            if child.tag == "-text":
                out.append(re.sub("[ \t\n]+", " ", child.text_content or ""))
            elif child.tag == "br":
                out.append("\n")
            else:
                out.append("\n" * (child.tag in _BLOCKS))
                walk(child)
                out.append("\n" * (child.tag in _BLOCKS))

    walk(node)
    return [line.strip() for line in "".join(out).split("\n") if line.strip()]


def depth(node: LexborNode | None) -> int:
    """Return the number of elements around a node."""
    number = 0
    while node is not None:
        node, number = node.parent, number + 1
    return number


def holder(seen: Seen, text: str) -> LexborNode | None:
    """Return the smallest element of the page that has a text."""
    found = [each for each in seen.page.css("*") if text in each.text()]
    return found[-1] if found else None


def _parsed(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return found.astimezone(_JAPAN) if found.tzinfo else found


def _date(seen: Seen) -> bool:
    """Whether a page shows 2024-04-01, which in UTC is the day before."""
    for text in seen.facts.get("date", ()):
        moment = _parsed(text)
        day = (moment.year, moment.month, moment.day) if moment else tuple(map(int, re.findall("[0-9]+", text)[:3]))
        return day == (2024, 4, 1)
    return False


def _address(seen: Seen) -> bool:
    """Whether the old address leads to the page, or names it as the old one did, or is on the page."""
    old = f"{HOST}/2024/04/umi-no-namae/"
    return "umi-no-namae" in seen.url or old in seen.facts.get("address", ()) or seen.lookup(old) == "zqslugqz"


def _thread(seen: Seen) -> bool:
    first, answer = holder(seen, "最初のひとこと"), holder(seen, "それへの返事")
    if first is None or answer is None:
        return False
    return depth(answer) > depth(first) or "↩ カモメ への返事" in seen.text


def _list_depth(seen: Seen) -> bool:
    deepest = [each for each in seen.all("li") if folded(each.text()) == "三段目"]
    return bool(deepest) and depth(deepest[0]) - depth(seen.body) >= 6


def _start(seen: Seen) -> bool:
    return [each.attributes.get("start") for each in seen.all("ol")] == ["3"]


def _ticks(seen: Seen) -> bool:
    boxes = [each for each in seen.all("input") if each.attributes.get("type") == "checkbox"]
    ticked = ["checked" in each.attributes for each in boxes]
    text = folded(seen.body.text())
    return ticked == [True, False] or ("☑" in text and "☐" in text) or ("[x]" in text and "[ ]" in text)


def _table(seen: Seen) -> bool:
    rows = [[folded(cell.text()) for cell in row.css("th, td")] for row in seen.all("table tr")]
    return rows == [["品", "値段"], ["みかん", "百円"], ["りんご", "二百円"]]


def _code(seen: Seen) -> bool:
    for block in seen.all("pre"):
        if block.text().strip("\n") == "def f(a):\n    return a < 1 and '*x*'":
            at: LexborNode | None = block
            around = [block.html or ""]
            while at is not None and at.tag not in {"body", "main", "article"}:
                around.append(" ".join(f"{value}" for value in at.attributes.values()))
                at = at.parent
            return "python" in " ".join(around) or bool(block.css("span[class]"))
    return False


def _pre(seen: Seen) -> bool:
    return any(block.text().strip("\n") == "一\n\n\n  二  二\n- 三" for block in seen.all("pre"))


def _spaces(seen: Seen) -> bool:
    return "　字下げ" in seen.body.text() and "a\u00a0\u00a0b" in seen.body.text()


def _media(seen: Seen) -> bool:
    """Whether the sound and the film play, or are linked to, from the new home."""
    found = [each.attributes.get(name) for name in ("src", "href") for each in seen.all(f"[{name}]")]
    kept = [seen.load(urljoin(seen.url, address)) for address in found if address]
    return {SOUND, FILM} <= set(kept)


def _leads(seen: Seen, *addresses: str) -> bool:
    """Whether some element has each address, which may lack its scheme."""
    found = [each.attributes.get(name) or "" for name in ("src", "href", "data") for each in seen.all(f"[{name}]")]
    return all(any(address in each for each in found) for address in addresses)


def _places(seen: Seen) -> bool:
    ids = {each.attributes.get(name) for name in ("id", "name") for each in seen.page.css(f"[{name}]")}
    found = [href for text, href in seen.links().items() if text in {"へ飛ぶ", "1", "[1]", "戻る", "戻"}]
    inside = [
        urlsplit(href).fragment for href in found if urlsplit(urljoin(seen.url, href)).path == urlsplit(seen.url).path
    ]
    return len(inside) >= 2 and all(unquote(each) in ids or each in ids for each in inside)


def _footnotes(seen: Seen) -> bool:
    """Whether the two notes are on the page, in their order, and a mark in the text leads to each."""
    text = folded(seen.page.text())
    if not 0 <= text.find("一つ目の注") < text.find("二つ目の注"):
        return False
    notes = {
        each.attributes.get("id")
        for each in seen.page.css("[id]")
        if "つ目の注" in each.text()
        or (not each.text() and each.parent is not None and "つ目の注" in each.parent.text())
    }
    marks = [each.attributes.get("href") or "" for each in seen.page.css("a[href*='#']")]
    return len({unquote(urlsplit(each).fragment) for each in marks} & notes) >= 2


def _links(seen: Seen) -> bool:
    found = seen.links()
    return found.get("外") == "https://other.example/?a=1&b=2#c" and all(
        found.get(text, "").lower() == address
        for text, address in {
            "手紙": "mailto:a@mail.example",
            "電話": "tel:+81312345678",
            "LINE": "line://msg/text/a",
        }.items()
    )


def _pictures(seen: Seen) -> bool:
    shown = seen.all("img")
    return (
        seen.loads() == [PICTURES["umi.png"]]
        and shown[0].attributes.get("alt") == "夕方の海"
        and "海の説明" in folded(seen.body.text())
    )


_RUBY: Final = "<p><ruby>海<rp>(</rp><rt>うみ</rt><rp>)</rp></ruby>へ</p>"
_TASKS: Final = (
    '<ul><li><input type="checkbox" checked disabled> 済んだ</li><li><input type="checkbox" disabled> まだ</li></ul>'
)
_CODE: Final = '<pre class="wp-block-code"><code lang="python" class="language-python">def f(a):\n    return a &lt; 1 and \'*x*\'</code></pre>'
_FLASH: Final = (
    '<object width="425" height="344"><param name="movie" value="http://www.youtube.com/v/abcdefghijk"></param>'
    '<embed src="http://www.youtube.com/v/abcdefghijk" type="application/x-shockwave-flash" width="425"></embed></object>'
)
_NOTES: Final = (
    '<p>本文<sup data-fn="1d5e6a7b-0000-4000-8000-000000000001" class="fn"><a href="#1d5e6a7b-0000-4000-8000-000000000001" '
    'id="1d5e6a7b-0000-4000-8000-000000000001-link">1</a></sup>と続き<sup data-fn="1d5e6a7b-0000-4000-8000-000000000002" class="fn">'
    '<a href="#1d5e6a7b-0000-4000-8000-000000000002" id="1d5e6a7b-0000-4000-8000-000000000002-link">2</a></sup></p>\n'
    "<!-- wp:footnotes /-->"
)
_NOTES_META: Final = (
    '[{"content":"一つ目の注","id":"1d5e6a7b-0000-4000-8000-000000000001"},'
    '{"content":"二つ目の注","id":"1d5e6a7b-0000-4000-8000-000000000002"}]'
)
_LAZY: Final = (
    '<p><img src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" '
    'data-src="{files}/osoi.png" alt="遅い絵"><noscript><img src="{files}/osoi.png" alt="遅い絵"></noscript></p>'
)
_BACK: Final = (
    '<p><a href="#tokoro">へ飛ぶ</a></p><p>文<sup><a id="r1" href="#n1">1</a></sup></p><h3 id="tokoro">その所</h3>'
    '<p id="n1">註 <a href="#r1">戻る</a></p>'
)
SOUND: Final = b"ID3\3\0\0\0\0\0\0" + bytes(64)
FILM: Final = b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(64)
PICTURES: Final = {
    name: png(number, 40, 30)
    for number, name in enumerate(("umi.png", "yama.png", "kawa.png", "osoi.png", "cover.png", "smile.png"), 1)
} | {"oto.mp3": SOUND, "eiga.mp4": FILM, "shiryo.pdf": b"%PDF-1.4 paper"}
"""The files of the blog by name."""
_ATTACHED: Final = {"umi.png": 901, "yama.png": 902, "kawa.png": 903, "cover.png": 904, "shiryo.pdf": 905}
PATTERN: Final = 990
_TITLE: Final = "HTMLの<br>と<b>太</b>入門 & \"引用\" 'x' zqtitleqz"

KINDS: Final = (
    Kind("text: paragraphs and line breaks", "zqtextqz", lambda seen: lines(seen.body)[:3] == ["一行目", "二行目", "次の段落"], "<p>一行目<br>二行目</p><p>次の段落</p>"),
    Kind("title", "zqtitleqz", lambda seen: folded(seen.title) == _TITLE),
    Kind("date", "zqdateqz", _date, extra={"post_date": "2024-04-01 00:30:00", "post_date_gmt": "2024-03-31 15:30:00"}),
    Kind("author", "zqauthorqz", lambda seen: "海野 花子" in seen.facts.get("author", ()), everywhere=True),
    Kind("categories below each other", "zqcategoryqz", lambda seen: {"旅", "京都", "寺"} <= set(" ".join(seen.facts.get("category", ())).replace("/", " ").replace("›", " ").split()), extra={"categories": terms([("category", "%e5%af%ba", "寺")])}),
    Kind("tags", "zqtagqz", lambda seen: {"紅葉", "C++"} <= {each.lstrip("#") for each in seen.facts.get("tag", ())}, extra={"categories": terms([("post_tag", "momiji", "紅葉"), ("post_tag", "c-2", "C++")])}),
    Kind("old address", "zqslugqz", _address, extra={"post_name": "umi-no-namae", "link": f"{HOST}/2024/04/umi-no-namae/"}, everywhere=True),
    Kind("excerpt", "zqexcerptqz", lambda seen: any("手で書いた抜粋" in each for each in seen.facts.get("excerpt", ())), extra={"excerpt": "手で書いた抜粋"}),
    Kind("featured picture", "zqcoverqz", lambda seen: any(seen.load(urljoin(seen.url, each)) is not None for each in seen.facts.get("cover", ())), extra={"extra": meta("_thumbnail_id", "904")}),
    Kind("page", "zqpageqz", lambda seen: any("page" in each for each in seen.facts.get("type", ())), extra={"post_type": "page"}),
    Kind("comments", "zqsaidqz", lambda seen: all(each in seen.text for each in ("よみました", "カモメ", "二行目のひとこと")) and any(each.attributes.get("href", "") == "https://kamome.example/" for each in seen.page.css("a[href]")), extra={"extra": _said(1011, "よみました\n二行目のひとこと", comment_author="カモメ", comment_author_url="https://kamome.example/")}),
    Kind("threads of comments", "zqthreadqz", _thread, extra={"extra": _said(1021, "最初のひとこと", comment_author="カモメ") + _said(1022, "それへの返事", comment_parent=1021, comment_author="かに", comment_date="2024-04-03 09:30:00", comment_date_gmt="2024-04-03 00:30:00")}),
    Kind("the owner's comments", "zqownerqz", lambda seen: "ぬしの返事" in seen.text and bool(re.search("bypostauthor|ブログの持ち主", seen.page.html or "")), extra={"extra": _said(1031, "ぬしの返事", comment_author="海野 花子", comment_user_id=1)}),
    Kind("trackbacks and pingbacks", "zqpingqz", lambda seen: "よその記事から" in seen.text and bool(re.search("(?i)pingback|ピンバック", seen.page.html or "")), extra={"extra": _said(1041, "よその記事から", comment_author="よその日記", comment_author_url="https://other.example/1", comment_type="pingback")}),
    Kind("headings and rules", "zqheadingqz", lambda seen: len([each for each in seen.all("h1, h2, h3, h4, h5, h6") if folded(each.text()) in {"大見出し", "小見出し"}]) == 2 and len(seen.all("hr")) >= 1, "<h2>大見出し</h2><p>文</p><h3>小見出し</h3><hr><p>終</p>"),
    Kind("emphasis", "zqemphasisqz", lambda seen: seen.texts("strong, b")[:1] == ["太「字」"] and seen.texts("em, i")[:1] == ["斜め"], "<p>とても<strong>太「字」</strong>で、<em>斜め</em>です</p>"),
    Kind("struck, marked, sub- and superscript", "zqmarkqz", lambda seen: [seen.texts(css)[:1] for css in ("s, del, strike", "sub", "sup", "mark")] == [["消"], ["2"], ["3"], ["印"]], "<p><del>消</del>H<sub>2</sub>O m<sup>3</sup><mark>印</mark></p>"),
    Kind("quotes", "zqquoteqz", lambda seen: any("引用の二行目" in each for each in seen.texts("blockquote")), "<blockquote><p>引用の一行目</p><p>引用の二行目</p></blockquote>"),
    Kind("nested lists", "zqlistqz", _list_depth, "<ul><li>一段目<ol><li>二段目<ul><li>三段目</li></ul></li></ol></li><li>終</li></ul>"),
    Kind("lists that start at 3", "zqstartqz", _start, '<p>前</p><ol start="3"><li>三番</li><li>四番</li></ol>'),
    Kind("task lists", "zqtaskqz", _ticks, _TASKS),
    Kind("definition lists", "zqtermqz", lambda seen: seen.texts("dt")[:1] == ["語"] and seen.texts("dd")[:1] == ["意味"], "<dl><dt>語</dt><dd>意味</dd></dl>"),
    Kind("tables", "zqtableqz", _table, "<table><thead><tr><th>品</th><th>値段</th></tr></thead><tbody><tr><td>みかん</td><td>百円</td></tr><tr><td>りんご</td><td>二百円</td></tr></tbody></table>"),
    Kind("code with its language", "zqcodeqz", _code, _CODE),
    Kind("lines and spaces of preformatted text", "zqpreqz", _pre, "<pre>一\n\n\n  二  二\n- 三</pre>"),
    Kind("folded parts", "zqfoldqz", lambda seen: seen.texts("details > summary")[:1] == ["開く"] and "中身" in folded(seen.body.text()), "<details><summary>開く</summary><p>中身</p></details>"),
    Kind("ruby", "zqrubyqz", lambda seen: seen.texts("ruby rt") == ["うみ"] and "海" in seen.texts("ruby")[0], _RUBY),
    Kind("text from right to left", "zqrtlqz", lambda seen: any("שלום" in each for each in seen.texts('[dir="rtl"]')), '<p dir="rtl">שלום 123</p>'),
    Kind("ideographic and fixed spaces", "zqspaceqz", _spaces, "<p>　字下げ a&nbsp;&nbsp;b</p>"),
    Kind("text that looks like markup", "zqescapeqz", lambda seen: "<br> *星* _a_ # {{x}} [y](z) $m^2$ 1. &amp;" in folded(seen.body.text()), "<p>&lt;br&gt; *星* _a_ # {{x}} [y](z) $m^2$ 1. &amp;amp;</p>"),
    Kind("pictures with a caption", "zqpictureqz", _pictures, '<figure class="wp-block-image"><a href="{files}/umi.png"><img src="{files}/umi.png" alt="夕方の海" width="40"></a><figcaption>海の説明</figcaption></figure>'),
    Kind("galleries", "zqgalleryqz", lambda seen: set(seen.loads()) >= {PICTURES["yama.png"], PICTURES["kawa.png"]} and "[gallery" not in seen.text, '前\n\n[gallery ids="902,903" columns="2"]\n\n後'),
    Kind("lazy pictures", "zqlazyqz", lambda seen: seen.loads() == [PICTURES["osoi.png"]], _LAZY),
    Kind("sound, film and attached files", "zqmediaqz", lambda seen: _media(seen) and PICTURES["shiryo.pdf"] in [seen.load(urljoin(seen.url, href)) for text, href in seen.links().items() if text == "資料"], '<p><audio controls src="{files}/oto.mp3"></audio></p><p><video controls src="{files}/eiga.mp4"></video></p><p><a href="{files}/shiryo.pdf">資料</a></p>'),
    Kind("players", "zqplayerqz", lambda seen: _leads(seen, "youtube.com/embed/zyxwvutsrqp") or _leads(seen, "youtube.com/watch?v=zyxwvutsrqp"), '<p>前</p><iframe width="560" height="315" src="https://www.youtube.com/embed/zyxwvutsrqp" allowfullscreen></iframe><p>後</p>'),
    Kind("Flash players", "zqflashqz", lambda seen: _leads(seen, "abcdefghijk"), _FLASH),
    Kind("links with web and other addresses", "zqlinkqz", _links, '<p><a href="https://other.example/?a=1&amp;b=2#c">外</a> <a href="mailto:a@mail.example">手紙</a> <a href="tel:+81312345678">電話</a> <a href="line://msg/text/a">LINE</a></p>'),
    Kind("links to a place on the page", "zqplaceqz", _places, _BACK),
    Kind("links to own entries", "zqownlinkqz", lambda seen: seen.lookup(urljoin(seen.url, seen.links().get("別の記事", ""))) == "zqtextqz", f'<p><a href="{HOST}/2024/04/zqtextqz/">別の記事</a></p>'),
    Kind("WordPress' footnotes", "zqnoteqz", _footnotes, _NOTES, {"extra": meta("footnotes", _NOTES_META)}),
    Kind("synced patterns", "zqpatternqz", lambda seen: "型の中の文" in folded(seen.body.text()), f'<p>前</p>\n<!-- wp:block {{"ref":{PATTERN}}} /-->\n<p>後</p>'),
    Kind("what readers did not see stays out", "zqsecretsqz", lambda seen: "見える" in seen.text and (SECRET not in seen.text or "承認待ち" in seen.text), "<p>見える</p>", {"extra": _said(1051, SECRET, comment_approved="0")}),
)  # fmt: skip
"""Kinds in the order of the table."""


def blog_file(files: str) -> str:
    """Return WordPress' export file of the blog; its pictures and files are at an address."""
    items = [
        item(
            number, kind.body.replace("{files}", files),
            **{"title": _title(kind), "link": f"{HOST}/2024/04/{kind.word}/", "post_name": kind.word,
               "post_date": f"2024-04-02 12:{number:02}:00", "post_date_gmt": f"2024-04-02 03:{number:02}:00", **kind.extra},
        )
        for number, kind in enumerate(KINDS, 1)
    ]  # fmt: skip
    hidden = {"private": {"status": "private"}, "draft": {"status": "draft"}, "locked": {"post_password": "x"},
              "later": {"status": "future", "post_date": "2999-01-01 00:00:00", "post_date_gmt": "2998-12-31 15:00:00"}}  # fmt: skip
    items += [
        item(800 + at, SECRET, title=f"{SECRET} {name}", **{"post_name": name, **members})
        for at, (name, members) in enumerate(hidden.items())
    ]
    items += [_attachment(number, name, files) for name, number in _ATTACHED.items()]
    items.append(item(PATTERN, "<p>型の中の文</p>", title="型", post_type="wp_block"))
    return channel(*items)


def write_files(folder: Path) -> None:
    """Write the blog's pictures and files."""
    folder.mkdir(parents=True)
    for name, data in PICTURES.items():
        (folder / name).write_bytes(data)


def _title(kind: Kind) -> str:
    escaped = _TITLE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped if kind.word == "zqtitleqz" else f"題 {kind.word}"


def _attachment(number: int, name: str, files: str) -> str:
    extra = f"<wp:attachment_url>{cdata(f'{files}/{name}')}</wp:attachment_url>\n" + meta("_wp_attached_file", name)
    extra += meta("_wp_attachment_image_alt", "絵の説明")
    return item(
        number, "", title=name, extra=extra, post_type="attachment", status="inherit", post_name=f"file-{number}"
    )


def dom(html: str) -> LexborNode:
    """Return the root of a page."""
    root = LexborHTMLParser(html).root
    assert root is not None
    return root
