"""Markdown for each piece of HTML, which reads back as the same content."""

from __future__ import annotations

import pytest

from exporter.html.dialects import PYTHON_MARKDOWN
from exporter.html.markdown import to_markdown
from tests.html.reading import read_markdown, render


def md(html: str) -> str:
    return to_markdown(html).text


def test_inline(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("<b>太字</b>です", "**太字**です"),
        ("これは<b>「重要」</b>です", "これは<strong>「重要」</strong>です"),
        ("<b>「重要」</b>", "**「重要」**"),
        ("、<b>「重要」</b>。", "、**「重要」**。"),
        ("あ<b> 空白 </b>い", "あ **空白** い"),
        ("<b>　全角</b>い", "<strong>　全角</strong>い"),
        ("<b>😀</b>い", "<strong>😀</strong>い"),
        ("<b>a</b><b>b</b>", "**a**<strong>b</strong>"),
        ("<b>a</b> <b>b</b>", "**a** **b**"),
        ("<b>a</b><i>b</i>", "**a**<em>b</em>"),
        ("<b>a<i>b</i></b>", "**a<em>b</em>**"),
        ("<b><b>a</b></b>", "**a**"),
        ("<b></b>a", "a"),
        ("<s>a</s> <del>b</del> <strike>c</strike>", "~~a~~ ~~b~~ ~~c~~"),
        ('<span style="font-weight: bold">a</span>', "**a**"),
        ('<span style="text-decoration: line-through">a</span>', "~~a~~"),
        ('<span style="color:red">a</span>', "a"),
        ('<span style="font-style: italic">a</span>', "*a*"),
        ('<abbr title="b &lt; c">a</abbr>', '<abbr title="b &lt; c">a</abbr>'),
        (
            "<u>a</u><small>b</small><sub>2</sub><kbd class=k>C</kbd>",
            "<u>a</u><small>b</small><sub>2</sub><kbd>C</kbd>",
        ),
        ("<FONT COLOR=red SIZE=+2>赤</FONT>い", "赤い"),
        ("<x-y onclick=z>a</x-y>", "<x-y>a</x-y>"),
        ("<o:p>a</o:p>", "a"),
        ("<code>a|b</code>", "`a|b`"),
        ("x<code> a </code>y", "x `a` y"),
        ("<code>`a``</code>", "``` `a`` ```"),
        ("<code>a<b>b</b></code>", "<code>a**b**</code>"),
        ("<code>a</code><code>b</code>", "`a`<code>b</code>"),
        ("<code></code><code> </code>a", "a"),
        ("<code><code>a</code></code>", "<code>a</code>"),
        ("<code>　</code>a", "<code>　</code>a"),
        ("<ruby>漢<rt>かん</rt></ruby>", "<ruby>漢<rt>かん</rt></ruby>"),
    ]
    for html, expected in rows:
        with subtests.test(html=html, expected=expected):
            assert md(html) == expected


def test_blocks(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("<p>a</p><p>b", "a\n\nb"),
        ("a<br>b", "a\\\nb"),
        ("a<br><br>b", "a\n\nb"),
        ("a<br>\n<br><br><br>b", "a\n\n<br><br>\n\nb"),
        ("<p><br>a<br></p>", "<br>\n\na"),
        ("<p>　字下げ<br>　次", "　字下げ\\\n　次"),
        ("一行目\n二行目\n\n<b>次</b>の段落", "一行目\\\n二行目\n\n**次**の段落"),
        ("一行目\r\n二行目", "一行目\\\n二行目"),
        ("<p>一行目\n二行目</p>", "一行目\n二行目"),
        ("<h2>題<br>名 #</h2>", "## 題<br>名 \\#"),
        ("<h1>未完<p>本文", "# 未完\n\n本文"),
        ("<h3><br></h3>a", "a"),
        ("a<hr>b", "a\n\n***\n\nb"),
        ("<center><b>a</b></center>b", "<center>\n\n**a**\n\n</center>\n\nb"),
        ("<center><center>a</center></center>", "<center>\n\na\n\n</center>"),
        ("<center></center>a", "a"),
        ("<blockquote>a<p>b<hr></blockquote>", "> a\n>\n> b\n>\n> ***"),
        ("<blockquote></blockquote>a", "a"),
        ("<pre>a\n\n*b*\n</pre>", "```\na\n\n*b*\n```"),
        ("<pre><code class=language-python>a<br>```</code></pre>", "````python\na\n```\n````"),
        ("<pre class='brush: js'>a</pre>", "```js\na\n```"),
        ("<pre>x<ol><li>a</li>\n<li></li><li>b\n</li></ol></pre>", "```\nx\na\n\nb\n```"),
        (
            "<pre><ul><li><a href=/x>a</a></li>\n<li>b</li></ul></pre>",
            '<div><pre><ul><li><a href="/x">a</a></li>&#10;<li>b</li></ul></pre></div>',
        ),
        ("<pre></pre>", "```\n```"),
        ("<pre>a <b>b</b>\n\nc</pre>", "<div><pre>a <b>b</b>&#10;&#10;c</pre></div>"),
        ("<b><pre>a</pre></b>", "<div><strong><pre>a</pre></strong></div>"),
        ("<textarea><a href=x>y</a></textarea>", "```\n<a href=x>y</a>\n```"),
    ]
    for html, expected in rows:
        with subtests.test(html=html, expected=expected):
            assert md(html) == expected


def test_lists(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<ol start=3><li>a<li>b</ol>", "3. a\n4. b"),
        ("<ol start=-1><li>a</ol>", "1. a"),
        ("<ol start=1234567890><li>a</ol>", "1. a"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ul><li>a<ul><li>b</ul></ul><ul><li>c</ul>", "- a\n  - b\n\n+ c"),
        ("<ol><li>a</ol><ol><li>b</ol><ol><li>c</ol>", "1. a\n\n1) b\n\n1. c"),
        ("<ul><li>a<ol start=2><li>b</ol></ul>", "- a\n\n  2. b"),
        ("<ul><li><p>a<p>b</ul>", "- a\n\n  b"),
        ("<ul><li></li><li>b</ul>", "- <!-- -->\n- b"),
        ("<ul><li></ul>a", "a"),
        ("<ul><ul><li>a</ul></ul>", "- - a"),
        ("<ul>a<li>b</ul>", "- a\n- b"),
        ("<li>a<li>b", "- a\n- b"),
        ("<ul><li>x</ul><li>a<li>b", "- x\n\n+ a\n+ b"),
        ("<ul><li><pre>a\n\nb</pre></ul>", "- ```\n  a\n\n  b\n  ```"),
    ]
    for html, expected in rows:
        with subtests.test(html=html, expected=expected):
            assert md(html) == expected
            assert render(expected).count("<li>") == expected.count("- ") + expected.count("+ ") + sum(
                expected.count(f"{mark} ") for mark in ("1.", "2.", "3.", "4.", "1)")
            ) - expected.count("- <!-- -->") + render(expected).count("<!-- -->") - expected.count(" -->")


def test_lists_are_not_nested_deeper_than_parsers_read() -> None:
    found = read_markdown(md("<ul><li>あ" * 40 + "終"))
    assert found.text == "あ" * 40 + "終"


TASKS = (
    '<ul class="contains-task-list"><li class="task-list-item"><input type="checkbox" checked disabled> 一</li>'
    '<li><label><input type="checkbox">二</label></li><li><p><input type="checkbox"> 三</p></li></ul>'
    '<ul class="to-do-list"><li><div class="checkbox checkbox-on"></div> <span>四</span></li><li>五 <input type=checkbox></li></ul>'
)


def test_ticks_of_task_lists() -> None:
    assert md(TASKS) == "- [x] 一\n- [ ] 二\n- [ ] 三\n\n+ [x] 四\n+ 五"
    plain = to_markdown(TASKS, dialect=PYTHON_MARKDOWN).text
    assert plain == "- ☑ 一\n- ☐ 二\n- ☐ 三\n\n<!-- -->\n\n- ☑ 四\n- 五"
    assert md('<p><input type="checkbox"> 折り畳み</p>') == "折り畳み"


@pytest.mark.parametrize(
    "opening",
    [
        '<pre class="js">', '<pre class="hljs js">', '<pre><code class="js">', '<pre><code class="language-js">', '<pre lang="js">',
        '<pre class="EnlighterJSRAW" data-enlighter-language="js">', '<div class="highlight highlight-source-js"><pre>',
        '<pre class="brush: js; gutter: false">', '<pre class="prettyprint lang-js linenums">', '<pre class="lang:js decode:true">',
        '<pre class="code lang-js" data-lang="js" data-unlink>', '<div class="code-frame" data-lang="js"><div class="highlight"><pre><code>',
        '<div class="language-js highlighter-rouge"><div class="highlight"><pre class="highlight"><code>', '<pre class="language-js:a.js">',
    ],
)  # fmt: skip
def test_the_language_of_code_is_found_as_blogs_name_it(opening: str) -> None:
    assert md(f"{opening}a</pre>") == "```js\na\n```"


@pytest.mark.parametrize(
    "opening",
    [
        "<pre lang=ja>",
        "<pre class=language-none>",
        "<pre class=language-föö>",
        '<div lang=en class="lang-ja"><pre class=wide>',
    ],
)
def test_code_without_a_language(opening: str) -> None:
    assert md(f"{opening}a</pre>") == "```\na\n```"


def test_links_and_images(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ('<a href="http://e.com/a(b) c">x</a>', "[x](http://e.com/a(b)%20c)"),
        ("<a href=/a)(b>x</a>", "[x](/a\\)\\(b)"),
        ("<a href=/%e7%8c%AB?q=%E7%8A%ac#%E6%B3%A8>x</a>", "[x](/猫?q=犬#注)"),
        ("<img src=/%E7%8C%AB%28.jpg>", "![](/猫%28.jpg)"),
        ("<a href=/%A4%A2%8C%AB>EUC</a>", "[EUC](/%A4%A2%8C%AB)"),
        (
            "<a href=/%E7%8C%AB%E2%80%AE%E3%80%80%C2%A0%E3%85%A4%C2%85>x</a>",
            "[x](/猫%E2%80%AE%E3%80%80%C2%A0%E3%85%A4%C2%85)",
        ),
        ("<a href=/%0A%3Cb%5D%28%25E7>x</a>", "[x](/%0A%3Cb%5D%28%25E7)"),
        ('<a href="/a&amp;lt;" title=\'"q" &amp;lt; \\\'>x</a>', '[x](/a&amp;lt; "\\"q\\" &amp;lt; \\\\")'),
        ("<a href='#x'>[y]</a>", "[\\[y\\]](#x)"),
        ("見て!<a href=/x>a</a>", "見て\\![a](/x)"),
        ("<a href=/x><b>「a」</b></a>です", "[**「a」**](/x)です"),
        ("<a href=/x><div>a</div><div>b</div></a>", "[a](/x)\n\n[b](/x)"),
        ("<a name=x>a</a>", "a"),
        ("<a href='line://ti/p/@x'>x</a>", "[x](line://ti/p/@x)"),
        ("<a href=/x><table><tr><td>a<td>b</table></a>", "| [a](/x) | [b](/x) |\n| --- | --- |"),
        ("<a href=/x title='&quot;'><pre>a</pre></a>", '<div><a href="/x" title="&quot;"><pre>a</pre></a></div>'),
        (
            "<a href=/x><b><table><caption>c</caption><tr><td>a</table></b></a>",
            '<div><a href="/x"><strong><table><caption>c</caption><tbody><tr><td>a</td>\n</tr>\n</tbody>\n</table></strong></a></div>',
        ),
        ("<a href=/x></a>a", "a"),
        ("<img src=/a.jpg>", "![](/a.jpg)"),
        ("<img src=/a.jpg alt='[絵]\n*1*' title=t>", '![\\[絵\\] \\*1\\*](/a.jpg "t")'),
        ("<a href=/x><img src=/a.jpg alt=b></a>", "[![b](/a.jpg)](/x)"),
        ("<img alt=代わり>", "代わり"),
        ("<img src='data:image/png;base64,AA=='>", "![](data:image/png;base64,AA==)"),
    ]
    for html, expected in rows:
        with subtests.test(html=html, expected=expected):
            assert md(html) == expected


def test_text_after_an_address_is_not_part_of_it(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, str]] = [
        ("見て http://x.jp/a_b. 次 www.x.jp 。", "見て http://x.jp/a_b. 次 www.x.jp 。"),
        ("http://x.jp/a、*星*", "<http://x.jp/a>、\\*星\\*"),
        ("http://x.jp/~a/", "<http://x.jp/~a/>"),
        ("(http://x.jp/a(b)) と", "(<http://x.jp/a(b)>) と"),
        ("http://x.jp/a\u3000*星*", "<http://x.jp/a>\u3000\\*星\\*"),
        ("http://x.jp/?a=1&amp;copy;2、", "<http://x.jp/?a=1>&amp;copy;2、"),
        ("<b>http://x.jp/a</b>の", "<strong><http://x.jp/a></strong>の"),
        ("見てhttp://x.jp/a.<b>太</b>", "見て<http://x.jp/a>.**太**"),
        ("<code>c</code>http://x.jp/<br>次", "`c`http://x.jp/<br>\n次"),
        ("www.x.jp/a、*星*", "www\\.x.jp/a、\\*星\\*"),
        ("<p>(www.x.jp<b>太</b></p>", "(www\\.x.jp**太**"),
        ('<a href="http://y.jp">http://x.jp/a、b</a>', "[http://x.jp/a、b](http://y.jp)"),
        ("<h2>http://x.jp/a、*星*</h2>", "## <http://x.jp/a>、\\*星\\*"),
        ("&lt;http://x.jp/&gt;", "&lt;<http://x.jp/>>"),
        ("http:// と http://) と", "http:// と http://) と"),
    ]
    for html, expected in rows:
        with subtests.test(html=html, expected=expected):
            assert to_markdown(html).text == expected


def test_links_read_back_with_their_addresses() -> None:
    found = read_markdown(md('<a href="http://e.com/a(b)/[c]?d=1&amp;copy;=2">x</a><img src="/x y(1).jpg" alt="[a]">'))
    assert found.links == ["http://e.com/a(b)/%5Bc%5D?d=1&copy;=2"]
    assert found.images == [("/x%20y(1).jpg", "[a]")]


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "JaVaScRiPt:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "\x01javascript:alert(1)",
        "javascript&colon;alert(1)", "vbscript:x", "data:text/html,<script>alert(1)</script>", "feed:javascript:x", "unknown:x",
    ],
)  # fmt: skip
def test_unsafe_addresses_leave_the_text(url: str) -> None:
    html = f'<a href="{url}" onclick="x()">本文</a><iframe src="{url}"></iframe><object data="{url}">中</object>'
    found = read_markdown(md(html))
    assert found.text == "本文中"
    assert not any(
        link.lower().startswith(("javascript", "vbscript", "data", "feed", "unknown")) for link in found.links
    )
    assert "onclick" not in md(html)


@pytest.mark.parametrize("href", ["javascript\\:alert(1)", "javascript&amp;colon;alert(1)", "java&amp;Tab;script:x"])
def test_markdown_does_not_decode_an_address_into_a_script(href: str) -> None:
    assert not any(link.startswith("javascript:") for link in read_markdown(md(f'<a href="{href}">x</a>')).links)


def test_table() -> None:
    html = "<table><colgroup><col></colgroup><thead><tr><th align=right>項目<th>値|x</thead><tr><td>一<br>二\n三<td><code>a|b</code> <b>「c」</b>d</table>"
    assert md(html) == "| 項目 | 値\\|x |\n| ---: | --- |\n| 一<br>二 三 | `a\\|b` <strong>「c」</strong>d |"
    assert read_markdown(md(html)).cells == ["項目", "値|x", "一二三", "a|b「c」d"]


@pytest.mark.parametrize(
    "html",
    [
        "<table><tr><td colspan=2>a</td></tr><tr><td>b</td><td>c</td></tr></table>",
        "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>",
        "<table><caption>題</caption><tr><td>a</table>",
        "<table><tbody><script>x</script><tr><td>a</table>",
        "<table><tr><script>x</script><td>a</table>",
        "<table><tr><td><ul><li>a</ul></table>",
        "<table><tr><td><table><tr><td>a</td></tr></table></td><td>b</td></tr></table>",
        "<table><tr><td><p>a\n\n\nb</p></table>",
    ],
)
def test_tables_that_gfm_cannot_express_stay_html(html: str) -> None:
    written = md(html)
    assert written.startswith("<table>")
    assert "\n\n" not in written
    assert read_markdown(written).cells == read_markdown(html.replace("\n\n\n", " ")).cells


def test_a_table_without_cells_is_dropped() -> None:
    assert md("<table><tr></tr></table>a").endswith("a")
    assert read_markdown(md("<table></table>a")).text == "a"


def test_html_that_markdown_lacks() -> None:
    html = (
        "<details open onclick=x><summary>題</summary>\n\n<p class=a>本<b>文</b></p></details>"
        '<iframe src="https://www.example.com/embed/1" width=560 height="315" srcdoc="<b>" onload=x></iframe>'
        "<video src=https://e.com/a.mp4 controls><source src='//e.com/b.mp4' type=video/mp4>代わり</video>"
        "<embed src=javascript:x><dl><dt>a<dd>b &lt;i&gt;</dl><svg><script>x</script><text>図</text></svg>"
        "<select><option>一<option>二</select>"
    )
    assert md(html) == (
        "<details open><summary>題</summary>\n<p>本<b>文</b></p>\n</details>\n\n"
        "[https://www.example.com/embed/1](https://www.example.com/embed/1)\n\n"
        '<div><video src="https://e.com/a.mp4" controls><source src="//e.com/b.mp4" type="video/mp4">代わり</video></div>\n\n'
        "<dl><dt>a</dt>\n<dd>b &lt;i&gt;</dd>\n</dl>\n\n<div><text>図</text></div>\n\n<div>一 二</div>"
    )


def test_bold_around_html() -> None:
    html = "<b><details><summary>a</summary></details></b>"
    assert md(html) == "<div><strong><details><summary>a</summary>\n</details></strong></div>"
    assert read_markdown(md(html)).bold == "a"


def test_pre_and_images_inside_html() -> None:
    html = "<details><pre>a\r\n\n b</pre><xmp><b></xmp><img alt='絵'><img src=/a.png alt=b width=1x><time datetime=2020>c</time></details>"
    assert md(html) == (
        '<details><pre>a&#10;&#10; b</pre><pre>&lt;b&gt;</pre>絵<img src="/a.png" alt="b"><time datetime="2020">c</time></details>'
    )


def test_scripts_styles_and_comments_are_dropped() -> None:
    assert md("a<script>b</script><style>c</style><!-- d --><template>e</template><noscript>f</noscript>") == "af"
    assert "<script" not in md("&lt;script&gt;alert(1)&lt;/script&gt;")


def test_invalid_characters_are_replaced_and_counted() -> None:
    found = to_markdown("a\x00b\ud83dc&#27;d")
    assert found.text == "a\ufffdb\ufffdc\ufffdd"
    assert found.replaced == 3


def test_crossing_and_unclosed_tags() -> None:
    assert md("<b>太<i>両</b>斜</i>") == "**太<em>両</em>**<em>斜</em>"
    assert read_markdown(md("<b>一<p>二</b>三<table><tr><td>四")).bold == "一二"
    assert read_markdown(md("<p><b>a<p>b<blockquote>c")).text == "abc"


def test_text_that_looks_like_markdown_stays_text(subtests: pytest.Subtests) -> None:
    rows: list[str] = [
        "# a", "#", "- a", "+ a", "-", "---", "===", "=", "> a", "1. a", "12) a", "1.", "* a", "***", "_ _ _", "___", "```", "~~~", "|--|--|",
        ":--", "[x] a", "[!NOTE]", "[a]: b", "    a", "&amp;copy;", "&lt;b&gt;", "&lt;!-- a", "\\", "a\\", "\\*", "`a`", "*a*", "_a_", "__a__",
        "~~a~~", "[a](b)", "![a](b)", "[a][b]", "a &lt; b", "!", "- - -", "1~2~3", "&amp;#65;", "$a$", "a|b",
    ]  # fmt: skip
    for line in rows:
        with subtests.test(line=line):
            want = read_markdown("").text
            for html in (
                f"<p>{line}</p>",
                f"<p>あ<br>{line}</p>",
                f"<p>あ\n{line}\nい</p>",
                f"<ul><li>{line}</ul>",
                f"<h2>{line}</h2>",
            ):
                found = read_markdown(md(html))
                plain = line.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").replace(" ", "")
                assert found.text == want + ("あ" if "あ" in html else "") + plain + ("い" if "い" in html else "")
                assert set(found.tags) <= {"p", "br", "ul", "li", "h2"}
            cells = read_markdown(md(f"<table><tr><td>{line}<td>b</table>")).cells
            assert cells == [plain, "b"]
