"""Bodies made ready for every target: what changes, and all that stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.embedded import Use, embedded, parse_body
from exporter.html.links import absolute
from exporter.html.ready import ready
from exporter.html.tree import TooComplex

GIF = "data:image/gif;base64,R0lGOD"
SWF = 'type="application/x-shockwave-flash"'
LINK = '<a href="https://www.youtube.com/watch?v=abc">https://www.youtube.com/watch?v=abc</a><br>'
UNCHANGED = [
    "", "文 & text", "data-src noscript srcset", "a < b data-src=x",
    '<img src="/a.jpg" alt="x">',
    "<IMG SRC=/a.jpg srcset='/b.jpg 2x'>",
    '<img src="/a.jpg" data-image="/b.jpg" data-lazy-src="/a.jpg?x=1">',
    '<img src="/a.jpg" data-src="">', '<img src="/a.jpg" data-src="{json}">', f'<img src="{GIF}" data-src="{GIF}">',
    '<img src="/a.jpg" data-id="3"><noscript>words</noscript>',
    f'<img src="{GIF}" alt="dot"><b>x</b><noscript><i>no</i></noscript>',
    '<!-- <img data-src="/a.jpg"> --><script>x = \'<img data-src="/a.jpg">\'</script>',
    '<textarea><embed src="/a.swf"></textarea><p title=\'<embed src="/a.swf">\'>x</p>',
    '<picture><source srcset="/a.webp"><img src="/a.jpg"></picture>',
    '<script src="//t.example/t.js"></script><noscript><img src="//t.example/b.gif"></noscript>',
    '<noscript><img src="//t.example/b.jpg" width="1" height="1"></noscript>',
    '<noscript><iframe src="https://t.example/ns.html" style="display:none"></iframe></noscript>',
    '<noscript><a href="/x"><img src="/counter.jpg"></a></noscript>',
    '<img src="/a.jpg"><noscript><img src="/other.jpg"></noscript>',
    '<object data="/a.pdf"><p>x</p></object><embed src="/a.mp3"><embed src="/a.svg" type="image/svg+xml">',
    '<object data="https://a.example/page" type="text/html"></object>', "<object>中</object>", "<embed>",
    '<embed src="javascript:x.swf" type="application/x-shockwave-flash">',
    '<iframe src="https://a.example/" data-src="/b"></iframe>', '<video src="/a.mp4" data-src="/b.mp4"></video>',
    '<img src="/white.png" alt="雪">', '<img src="/blank.png" srcset="/blank-2.png 2x">', '<img src="/gray.jpg" data-url="/about">',
    '<img src="/white.png" data-url="/about"><img src="/loading.gif" data-image="12/34">',
    '<picture><source srcset="/white.webp"><img src="/white.png"></picture>',
    '<img src="/white.png"><noscript><img src="//t.example/1x1.gif" width="1" height="1"></noscript>',
    '<img data-src="/unclosed.jpg"', "<noscript><img src=/a.jpg>",
    '<input type="checkbox" checked> image <input type="image"><input src="/a.jpg" value="image">', '<svg><image href="/a.jpg"/>',
    '<svg><image href="/a.jpg"/><rect/></svg>', '<svg><image href="/a.jpg"/><text>海</text></svg>', '<svg><image href="#a"/></svg>',
    '<svg>文<image href="/a.jpg"/></svg>', '<svg><image/></svg>', '<svg><g></g></svg><svg/>文<image src="/a.jpg"></svg>',
    '<svg><title/><rect/></svg>文<svg><image href="/a.jpg"/></svg><svg><title>x</title><image href="/b.jpg"/></svg>',
    '<svg><image href="/a.jpg"/><style>image{display:none}</style></svg>', '<svg><svg><image href="/a.jpg"/><rect/></svg></svg>',
]  # fmt: skip
CHANGED = [
    (f'<img src="{GIF}" data-src="/a.jpg">', '<img src="/a.jpg">'),
    ('<img src="/small.jpg" data-src="/a.jpg" alt="&amp;">', '<img src="/a.jpg" alt="&amp;">'),
    ('<img data-url="/a.jpg" src="/blank.gif" data-id="1">', '<img src="/a.jpg" data-id="1">'),
    ("<img data-src='/写真 [1].jpg'>", '<img src="/写真 [1].jpg">'),
    ('<img class="lazyload size-full" data-src="/a.jpg" data-sizes="auto">', '<img src="/a.jpg" class="size-full">'),
    (f'<img src="/a.jpg" srcset="{GIF}">', '<img src="/a.jpg">'),
    ('<img srcset="/a.jpg 300w, /b.jpg 1.5x, /c.jpg 900w">', '<img src="/c.jpg" srcset="/a.jpg 300w, /b.jpg 1.5x, /c.jpg 900w">'),
    ('<img src="/a.jpg"> <noscript><img src="/a.jpg"></noscript>x', '<img src="/a.jpg"> x'),
    (f'<img src="{GIF}"><noscript><img src="/a.jpg"></noscript>', '<img src="/a.jpg">'),
    ('<img data-src="/a.jpg"><noscript><img src="/b.jpg"></noscript>', '<img src="/a.jpg"><noscript><img src="/b.jpg"></noscript>'),
    ('<img data-src="/a.jpg">words<noscript><img src="/a.jpg"></noscript>', '<img src="/a.jpg">words<img src="/a.jpg">'),
    ('<noscript><img src="/a.jpg"></noscript><noscript><img src="/b.jpg"></noscript>', '<img src="/a.jpg"><img src="/b.jpg">'),
    ('<picture><source data-srcset="/a.webp"><img data-src="/a.jpg"></picture>', '<picture><img src="/a.jpg"></picture>'),
    (f'<img src="{GIF}" data-src="/lazy.png">', '<img src="/lazy.png">'),
    ('<img src="/loading.gif" data-src="/white.png">', '<img src="/white.png">'),
    ('<img src="/small.jpg" data-src="/empty.png">', '<img src="/empty.png">'),
    ('<img srcset="/white.png 1x, /grey.png 2x">', '<img src="/grey.png" srcset="/white.png 1x, /grey.png 2x">'),
    ('<img data-srcset="/white.png">', '<img src="/white.png">'),
    ('<picture><source srcset="/blank.webp"><img></picture>', '<picture><source srcset="/blank.webp"><img src="/blank.webp"></picture>'),
    (f'<img src="{GIF}"><noscript><img src="/loading.gif"></noscript>', '<img src="/loading.gif">'),
    ('<img src="/blank.gif" srcset="/blank.gif 1x"><noscript><img src="/a.jpg"></noscript>', '<img src="/a.jpg">'),
    ('<iframe data-src="https://a.example/white.png"></iframe>', '<iframe src="https://a.example/white.png"></iframe>'),
    ('<picture><source srcset="/a.webp"></picture>', '<picture><source srcset="/a.webp"></picture>'),
    ('<iframe src="about:blank" data-src="https://a.example/v"></iframe><noscript><iframe src="https://a.example/v"></iframe></noscript>', '<iframe src="https://a.example/v"></iframe>'),
    ('<div><noscript><iframe src="https://a.example/v"></iframe></noscript></div>', '<div><iframe src="https://a.example/v"></iframe></div>'),
    ('<video data-src="/a.mp4" controls></video>', '<video src="/a.mp4" controls=""></video>'),
    ('<amp-img placeholder src="/s.jpg"></amp-img><amp-img src="/a.jpg" srcset="/b.jpg 2x" layout="fill"></amp-img>', '<img src="/a.jpg" srcset="/b.jpg 2x">'),
    (f'<p>前<embed src="//www.youtube.com/v/abc" {SWF}></embed>後</p>', f"<p>前{LINK}後</p>"),
    (f'<object><param name="movie" value="http://www.youtube.com/v/abc&amp;hl=ja"/><embed src="http://www.youtube.com/v/abc" {SWF}/></object>', LINK),
    (f'<object classid="clsid:D27CDB6E"><param name="movie" value="/v.swf"><!--[if !IE]>--><object {SWF} data="/v.swf" title="波"><!--<![endif]--><p>代<img data-src="/a.jpg"></p></object></object>', '<a href="/v.swf">波</a><br><!--[if !IE]>--><!--<![endif]--><p>代<img src="/a.jpg"></p>'),
    (f'<object {SWF} data="/v.swf"><a href="/v.swf">動画</a></object>', '<a href="/v.swf">動画</a>'),
    (f'<object {SWF} data="/v.swf"><video src="/v.mp4"></video></object>', '<video src="/v.mp4"></video>'),
    (f'<video src="/v.mp4"><object {SWF} data="/v.swf"></object></video>', '<video src="/v.mp4"></video>'),
    ('<object classid="clsid:6BF5"><param name="url" value="/a.mp3"><embed src="/a.mp3"></object>', '<embed src="/a.mp3">'),
    (f'<object {SWF} data="/v.swf"><param name="x">残りの文<embed src="/w.wmv">', '<a href="/v.swf">/v.swf</a><br>残りの文<a href="/w.wmv">/w.wmv</a><br>'),
    ('<form>前<input type="IMAGE" name="b" SRC="/a.jpg" alt="&lt;送る&gt;" onclick="x()" width=90>後</form>', '<form>前<img src="/a.jpg" alt="&lt;送る&gt;" width="90">後</form>'),
    ('<svg width="600" viewBox="0 0 9 9" aria-label="海&quot;"><g>\n<image xlink:href="/a.jpg?a&amp;b" width="9" onload="x()"/></g></svg>', '<img src="/a.jpg?a&amp;b" alt="海&quot;" width="600">'),
    ('<svg width="9"><title> 灯台 </title><desc>白い</desc><image href="/a.jpg"></image><image href="/b.jpg"/></svg>', '<img src="/a.jpg" alt="灯台"><img src="/b.jpg" alt="">'),
    ('<embed src="/v.swf" title="&quot;&lt;b&gt;">', '<a href="/v.swf">&quot;&lt;b&gt;</a><br>'),
    ('<embed src=\'/v.swf"onclick=x\' type="x/y">', '<a href="/v.swf%22onclick=x">/v.swf%22onclick=x</a><br>'),
]  # fmt: skip


def test_bodies_without_lazy_pictures_and_dead_players_stay(subtests: pytest.Subtests) -> None:
    for html in UNCHANGED:
        with subtests.test(html=html):
            assert ready(html) == html


def test_only_the_elements_concerned_change(subtests: pytest.Subtests) -> None:
    before = '<!-- wp:image {"id":3} -->\n<P CLASS=x>a&nbsp;&copy <!--more--><script>"<img data-src=/x.jpg>"</script><br/>\r\n'
    after = '\n<!-- /wp:image -->[gallery ids="1"]<b>未閉'
    for html, expected in CHANGED:
        with subtests.test(html=html):
            assert ready(f"{before}{html}{after}") == f"{before}{expected}{after}"
            assert ready(expected) == expected


def test_an_address_of_a_player_never_runs_anything() -> None:
    for address in ("javascript:alert(1)//.swf", " JaVaScript:x.swf", "data:text/html,x.swf", "vbscript:x.wmv"):
        for html in (
            f'<embed src="{address}" {SWF}>',
            f'<object {SWF} data="/p"><param name="flashvars" value="file={address}.mp3"></object>',
        ):
            assert "script:" not in ready(html).partition("<a href=")[2]


@given(
    st.lists(
        st.sampled_from(
            [
                "<img data-src=/a.jpg>", f"<img src='{GIF}'>", "<noscript>", "</noscript>", "<img src=/b.jpg>", " ", "文",
                "<picture>", "</picture>", "<source srcset=/c.webp>", "<source data-srcset=/d.webp>", "<img>", "<object>",
                "<object data=/e.swf>", "</object>", "<embed src=/f.swf>", "<param name=movie value=/g.swf>", "<applet>",
                "<video src=/h.mp4>", "</video>", "<amp-img src=/i.jpg>", "</amp-img>", "<p>", "</p>", "<a href=/j>", "</a>",
                "<iframe data-src=//k.example/>", "</iframe>", "<!--", "-->", "<embed src=/l.mp3>", "<img srcset='/m.jpg 2x'>",
                "<input type=image src=/n.jpg>", "<svg>", "</svg>", "<image href=/o.jpg />", "<title>", "</title>", "<rect/>",
            ]
        ),
        max_size=14,
    )
)  # fmt: skip
def test_texts_stay_and_the_backup_knows_every_picture(parts: list[str]) -> None:
    html = "".join(parts)
    made = ready(html)
    assert made.count("文") == html.count("文")
    fetched = {absolute(each.text, "https://b.example/") for each in embedded(html)}
    shown = {absolute(each.text, "https://b.example/") for each in embedded(made) if each.use is Use.SHOWN}
    assert shown <= fetched


@pytest.mark.thorough
@pytest.mark.parametrize(
    "part",
    [
        "<noscript>", "<noscript><img src=/a.jpg></noscript>", "<img data-src=/a.jpg><noscript>", "<object data=/a.swf>",
        "<object>", "<object classid=x><param name=movie value=/a.swf>", "<embed src=/a.swf>", "<picture><source srcset=/a>",
        "<source srcset='/a 1x'><img>", "<applet code=a>", "<amp-img>", "<video><object>", "<img srcset='a 1x, ", "<img data-src='",
        "<object></video>", "</picture>", "<embed flashvars='file=a&", "<img data-src=\"", "<param name=movie value=/a.swf>",
        "<svg><image href=a />", "<svg><title>", "<svg><desc>a", "<input type=image src=a>",
    ],
)  # fmt: skip
def test_hostile_bodies_cost_no_more_than_their_length(part: str) -> None:
    for html in (
        part * (400_000 // len(part)),
        part * 30_000 + "</object></noscript>" * 30_000,
        part + "-load" * 200_000,
    ):
        started = time.process_time()
        ready(html)
        assert time.process_time() - started < 30  # it takes a second; quadratic time would be minutes


def test_a_tree_has_the_same_pictures_as_the_source() -> None:
    for html, expected in CHANGED:
        assert parse_body(html).text() == parse_body(expected).text()
    with pytest.raises(TooComplex):
        parse_body("<b><i><u><font a=1>" * 20_000 + "<img data-src=/a.jpg>")
