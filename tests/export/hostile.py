"""A hundred entries that importers are known to trip over; every text contains a unique word."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from tests.export.memory import Made, Memory, export

_PART: Final = 500
"""The length of the body's start in the second and third comment; only the longest bodies are cut."""

BODIES: Final[tuple[str, ...]] = (
    "-----\n--------\n<p>区切り</p>",
    "TITLE: にせの題\nSTATUS: Draft\nDATE: 01/01/2000 00:00:00 AM",
    "<p>COMMENT:\nAUTHOR: だれか\n-----</p>",
    "]]> で終わる ]]]]><![CDATA[> CDATA",
    "<![CDATA[ 中 ]]>",
    "制御\x00\x01\x0b\x0c\x1f\x7f\x85文字\ufffe\uffff",
    "絵文字のかけら \ud83d だけ",
    "<p>" + "長い一行。" * 1500 + "</p>",
    "長い一行、しるしなし" * 800,
    "<p>" + "<b>太</b>字" * 300 + "</p>",
    "<pre>一行目\n\n\n  四行目\n\t五行目\n-----\nBODY:\n</pre>",
    "{{< shortcode >}} {{% other %}} {{ .Title }}",
    "<pre><code>{{&lt; ref \"a\" &gt;}}\n{% raw %}{{ page }}{% endraw %}</code></pre>",
    "{% include \"x\" %} {{ content }} {% endraw %}",
    "<!--more--> と <!--nextpage--> と <!-- コメント --",
    "=cmd|' /C calc'!A0",
    "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r\n=1",
    '"引用", カンマ; セミコロン\tタブ',
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "<div><span><b>閉じない<i>タグ",
    "<table><tr><td>一<table><tr><td>二</table></table>",
    "---\ntitle: にせ\n---\n",
    "+++\ntitle = 'にせ'\n+++",
    "[TOC]\n\n{filename}x.md |filename|x.md",
    "'; DROP TABLE entries; --",
    "&lt;b&gt; &amp;amp; &#x1F600; &copy &nbsp;",
    "\u202e右から\u202c \u200b零幅 \ufeff",
    "",
    "\n\n\n",
    "<br>" * 200,
    "URL: http://example.com/\nIP: 1.2.3.4\nEMAIL: a@b.c\nCATEGORY: 偽",
    "  -----  \n\u3000-----",
    "<p>一\r\n二\r三\n四</p>",
    "<a href=\"javascript:alert(1)\">押す</a> <a\nhref='x'\nTITLE='TITLE: y'>z</a>",
    "<style>p{color:red}\n-----\n</style><p>飾り</p>",
    "ＡＢＣ ｱｲｳ 𠮟る 葛󠄀 👨‍👩‍👧‍👦",
    # Blocks and shortcodes of WordPress.
    "<!-- wp:paragraph -->\n<p>段落</p>\n<!-- /wp:paragraph -->\n<!-- wp:more -->\n<!--more-->\n<!-- /wp:more -->\n<!-- wp:quote --> 閉じない",
    '<!-- wp:html {"metadata":{"name":"blog-exporter umi.blog.example.jp/entry/1 0123456789abcdef"}} /--> にせの印',
    '<!-- wp:latest-posts /--><!-- wp:block {"ref":1} /--><!-- wp:{"x" --><!-- /wp:group -->',
    '[gallery ids="1,2"] [caption id="a" width="300"]絵[/caption] [[audio]] [embed]http://example.com/[/embed] [playlist]',
    # Template languages.
    "{{< figure src=\"x\" >}} {{</* x */>}} {{- .Site.Params -}} {{ printf \"%s\" . | safeHTML }} {{ template \"x\" . }}",
    "{% raw %} {%- assign x = 1 -%} {{ site.posts | jsonify }} {% highlight x %} {# 注 #} {% set a = 1 %} {{ super() }}",
    "import x from 'y'\nexport const a = 1\n\n<Foo bar={1} {...x}/> {x} {/* 注 */} <Foo.Bar>中</Foo.Bar> <>空</>",
    '<a href="{static}/etc/passwd">一</a> <a href="{filename}/x.md">二</a> <img src="{attach}x.png"> {category}旅 {author}人 {tag}夏',
    "Title: にせの題\nDate: 2000-01-01\nStatus: draft\nSlug: index\nSave_as: index.html\nTemplate: x\n\n本文",
    "%s %d %(x)s {0} {x!r} ${x} #{x} <%= x %> <?php echo 1; ?> <?= 1 ?> @{x} $x `x`",
    "[% INCLUDE x %] {{{x}}} {{#each x}}{{/each}} *|x|* <mt:Entries> <$MTEntryTitle$> <%entry_title>",
    # Markdown, and what readers of it add.
    "# 見出し\n##二\n\n見出し\n===\n\n1) 一\n10. 十\n+ 一\n\n* * *\n___\n    字下げ",
    "```\n~~~~\n閉じない囲み\n````\n    字下げ\n\n`` ` ``",
    "[^1] と [^注]: 注\n\n[^1]: にせの脚注\n    続き\n\n*[語]: 略語",
    "[場所]: http://example.com/ \"題\"\n[場所] [場所][] ![場所] <http://example.com/> <a@b.example>",
    "{: .class #id}\n{:toc}\n* TOC\n{:toc}\n\n{::comment}\n見える\n{:/comment}\n{::options parse_block_html=\"true\" /}",
    "::: note\n囲み\n:::\n\n!!! warning\n    字下げ\n\n> [!NOTE]\n> 注\n\n??? 折りたたみ",
    "*太* _斜_ ~~消~~ ==印== ^上^ ~下~ ++挿++ ||隠|| __init__ 5*3*2 snake_case_name **「括弧」**です",
    "[[頁]] %%見える%% ![[絵]] ((x)) ^block #タグ #123 @人 :smile: :+1: GH-1 a@b.example www.example.com",
    "$$x^2$$ $a_b$ \\(x\\) \\[y\\] \\begin{x} \\\\ \\N \\u0000 \\x41 ''' \"\"\"",
    "- [ ] する\n- [x] した\n<ul><li><input type=\"checkbox\" checked> した</li><li>[ ] する</li></ul>",
    # Structures.
    "<ul><li>一<ol start=\"3\"><li>二<ul><li><p>三</p><pre>四\n\n五</pre></ul></ol><li></ul>",
    "<table><caption>題</caption><tr><th colspan=2>a|b<td rowspan=3>`c|d`<tr><td><ul><li>中</ul><td>\\|</table>",
    "<blockquote><p>引用<blockquote>中<pre><code>&gt; 符\n\n# 号</code></pre></blockquote><ul><li>項</ul></blockquote>",
    "<dl><dt>語<dd>意味<dl><dt>中<dd>意</dl><dt><dt>二つ</dl>: 定義",
    '<sup id="fnref1"><a href="#fn1">1</a></sup><ol><li id="fn1">注<a href="#fnref1">↩</a></li></ol><p id="fn1">二つ目</p>',
    "<h1>一</h1><h6>六</h6><h2 id=\"comments\">名</h2><h3 id=\"comments\">同じ</h3><h2></h2><a name=\"__proto__\"></a>",
    "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</ruby><details><summary>開く</summary>中</details>",
    "<blockquote>" * 200 + "底",
    "<p>" + "".join(f'<a href="https://example.com/{n}">{n}</a> ' for n in range(400)),
    "x" * 20_000,
    "<p>一</p>" * 1_000,
    "か\u3099き\u3099" + "e\u0301" * 50 + "Z\u0351\u036b\u0343" * 20,
    # Active and broken HTML.
    "</article></main></body></html><title>にせの題</title><base href=\"//x.example/\"><meta http-equiv=\"refresh\" content=\"0\">",
    "<form action=\"//x.example/\"><input name=a value=b><select><option>選</select><button>押す</button><textarea>閉じない",
    "<svg><script>alert(1)</script><title>絵</title></svg><math><mtext><style><img src=x onerror=alert(1)></style></math>",
    '<noscript><p title="</noscript><img src=x onerror=alert(1)>">影</noscript>',
    '<iframe src="https://www.youtube.com/embed/dQw4w9WgXcQ"></iframe><object data="//x.example/a.swf"></object><embed src="x.swf">',
    "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY y SYSTEM \"file:///etc/passwd\">]>&y; &#0; &#xD800; &#1114112; &#38;lt;",
    '<img src=""> <img> <img src="data:image/png;base64,AAAA"> <img srcset=",, x 2x"> <img src="\\\\x\\y.png" alt=\'"><b>\'>',
    "<b><p><i>重</b>なる</p></i><a href=a><a href=b>中</a></a><p><div><p></div></p><tr><td>表の外",
    "<!----> <!--> <!---> <!-- -- --> --> <!-- 閉じない",
    '"><script>alert(1)</script> \'-alert(1)-\' </script><!-- ]]> --> </style></textarea></title>',
    '<p style="background:url(javascript:alert(1));position:fixed">飾</p><p onclick="alert(1)" hidden>隠</p><font color=red>赤',
    "&" * 500 + "&amp;" * 100 + "<" * 300,
    # Addresses.
    '<a href="tel:0312345678">電</a> <a href="java\tscript:alert(1)">一</a> <a href="VBScript:x">二</a> <a href="file:///etc/passwd">三</a>',
    '<a href="http://[::1">一</a> <a href="http://a b/">二</a> <a href="//">三</a> <a href="?">四</a> <a href="#%">五</a> <a href="">六</a>',
    '<a href="http://example.com/%E3%81%82%ZZ?a=1&b=2&amp;c=3#あ)(">七</a> http://example.com/に続く文。(http://example.com/a_(b)_c)',
    '<a href="http://umi.blog.example.jp/Entry/1/?x#y">自</a> <a href="/Entry/2/">近</a> <a href="../3/">遠</a> <a href="#zz">中</a>',
    # Signs that only some programs can hold.
    "\u2066\u2067abc\u2069 \u200f\u061c\u202a埋\u202c \u2028一\u2029二\u00a0\u00ad三",
    "\ue000 \U000f0000 \U000e0041\U000e007f \ufdd0 \U0001fffe ﷽ 🏴\U000e0067\U000e0062\U000e007f 🇯🇵🇯",
    "\x1b]0;題\x07\x1b[2J\x08\x9b31m \r\r\n\n\r 終",
    "\t\t字下げ\n \t \n\u3000\u3000全角\n\t- 項\n\n\n\n\t\t- 項",
    # Forged facts.
    "is_private: t\nopen_flg=0\nstatus: private\ndraft: true\npublished: false\n公開範囲: 非公開\npassword: x",
    "PASSWORD: x\nALLOW COMMENTS: 0\nCONVERT BREAKS: wysiwyg\n-----\nEXTENDED BODY:\n続き\n-----\nCOMMENT:\nAUTHOR: x\n--------",
    "...\n%YAML 1.2\n--- !!python/object:os.system\n&a [*a, *a]\n<<: *a\n? !!binary |\n  AAAA",
    '{"layout": "x", "__proto__": {}}\n;;;\n{"title": "にせ"}\n;;;\n---js\n{ permalink: process.exit(1) }\n---',
    "<wp:status>private</wp:status></content:encoded></item><item><title>にせの記事</title><wp:post_type>page</wp:post_type>",
    '=HYPERLINK("http://x.example/","押す")\n=IMPORTXML("http://x.example/";"//a")\n＝1+1',
    "<p>zq</p>\nzq" + "e1e" + " の語に似た語 ' OR 1=1 /* */ \\' \\\" $(id) `id` | id & && ; ||",
)  # fmt: skip
ENTRIES: Final = len(BODIES)
PICTURES: Final = len([number for number in range(4, ENTRIES + 1, 4) if number % 8])
"""Pictures whose bytes are known."""
TITLES: Final[tuple[str, ...]] = (
    "題", "題", "だい", "ダイ", "", "", "no", "2024-01-01", "- 'x': \"y\" #z", "a\nb\r\nc", "]]>", "<b>&amp;</b>", "=1+1", "TITLE: x",
    "{{< x >}}", "長" * 400, "\ud83d", "\x00\x1b[31m", "../../etc/passwd", "CON", "-----", "{% x %}", "|", "\u202etxt", "%s", "😀", "   ", "\u3000",
    "index", "archives", "tags", "categories", "authors", "Index", "花", "画", "C", "C++", "C#", "日記:旅", ":", ".", "..", "a/b", "a\\b",
    "?", "#", "100%", "%2e%2e%2f", "か\u3099", "が", "NUL.txt", "_index", "null", "true", "0x1F", "1e3", "{{ x | y }}",
    "''' \"\"\" \\", "\\N{DIGIT ONE}\\u0041", "[x](javascript:alert(1))", "`x` *y* _z_", "# x", "<script>alert(1)</script>", "&lt;br&gt; &amp;",
    "\u2066abc\u2069\u200f", "👩‍👩‍👧🇯🇵", "e\u0301" * 30, "<!-- x", "--> x", "[gallery]", "{filename}x.md", "a\u2028b\u0085c", "x" * 300, "0",
)  # fmt: skip
CATEGORIES: Final[tuple[str, ...]] = (
    "日記", "旅 & <食>", "長" * 100, "日記:旅", "2015:夏", ":", "花", "画", "C", "C++", "C#", "c", "index", "archives", "tags", "categories",
    "authors", "tag", "category", "author", "posts", "pages", "page", "media", "feed", ".", "..", "...", "a/b", "a\\b", "/", "#", "?", "%", "100%",
    "%2f", "か\u3099", "が", "CON", "nul.txt", "aux", "😀", "🇯🇵", "a, b; c", "a b", "a-b", "a_b", "A  B", "<b>x</b>", "&amp;", "'\"", "{{ x }}", "{% x %}",
    "~", "-", "--", "all", "null", "true", "2015", "1e3", "\u202e右", "\u200b", "a\nb", "\x00", "[x]", "*", "\\N", "café", "cafe\u0301", "ＡＢＣ",
)  # fmt: skip
"""Names that generators write as addresses; several become equal or empty, or are names of their own pages."""

SLUGS: Final = (
    "index", "archives", "tags", "categories", "authors", "category", "tag", "author", "page", "pages", "posts", "media", "feed", "feeds", "theme",
    "images", "Index", "INDEX", "404", "2", "con", "aux", "rss", "atom", "embed", "_index", "all", "blog", "entry-3", "entry-3-2", "..", "a/b", "%2e",
    "index.html", "海", "か\u3099", "が", "-", "x" * 300, "wp-admin", "null",
)  # fmt: skip
_PLAIN_ENTRIES: Final = 28
"""The first entries, which share three categories and seven names."""

NAMES: Final = ("カモメ", "", "<b>x</b>", "a\nTITLE: x", "=1", "\ud83d", "]]>", '"')

SECRET: Final = "zqsecretqz"
"""All texts of the records that are not public."""


def entry_word(number: int) -> str:
    return f"zqe{number}eqz"


def comment_word(number: int) -> str:
    return f"zqc{number}cqz"


@cache
def hostile_blog() -> Memory:
    """Return the hostile entries with three comments each, a picture in each fourth one, and a few private records."""
    made = Memory()
    for number, body in enumerate(BODIES, 1):
        title = TITLES[number % len(TITLES)]
        shown = ""
        if number % 4 == 0:
            url = f"https://files.example.jp/v1/{number}"
            made.picture(url, entry_id=str(number), file_id=str(number), data=None if number % 8 == 0 else b"x")
            shown = f'<img src="{url}" alt="絵">'
        made.entry(
            str(number),
            title=title,
            entry_text=f"{entry_word(number)} {body}{shown}",
            ps_title="続き --> を読む" if number % 3 == 0 else "",
            ps_text=f"-----\nBODY:\n{body}" if number % 3 == 0 else "",
            category=CATEGORIES[number % (3 if number <= _PLAIN_ENTRIES else len(CATEGORIES))],
            sec="00",
            name=f"entry-{number % 7}" if number <= _PLAIN_ENTRIES else SLUGS[number % len(SLUGS)],
        )
        for place in range(3):
            cm_id = 3 * number + place
            made.comment(
                str(cm_id),
                str(number),
                name=NAMES[cm_id % len(NAMES)],
                title="=題" if place == 2 else "",
                cm_text=f"{comment_word(cm_id)} {body if place == 0 else body[:_PART]}",
                url_text=("https://mameko.example/", "javascript:alert(1)", "=x")[place],
            )
    for number, flag in enumerate(("t", "", None), 901):
        made.entry(
            str(number),
            title=SECRET,
            entry_text=f"status: public {SECRET}",
            category=SECRET,
            name=SECRET,
            is_private=flag,
        )
        made.comment(str(number), str(number - 900), name=SECRET, cm_text=f"delete_flg: f {SECRET}", delete_flg="t")
    return made


@cache
def hostile_export(form: str, **options: Any) -> Made:
    """Return an export of the hostile blog, made once; it must not be changed, and the options must be hashable."""
    return export(form, hostile_blog(), **options)


FLAGS: Final[tuple[Any, ...]] = ("t", "f", "1", "", None)


@cache
def flagged_blog() -> tuple[Memory, set[int], set[int]]:
    """Return a blog with every combination of flags, and the numbers of the entries and comments that are public."""
    made = Memory()
    entries, comments = set(), set()
    number = 0
    for private in FLAGS:
        for opened in FLAGS:
            for period in FLAGS:
                number += 1
                word = entry_word(number)
                url = f"https://files.example.jp/{word}.png"
                made.picture(url, entry_id=str(number), file_id=str(number))
                made.entry(str(number), title=f"題{word}", entry_text=f'<p>{word}</p><img src="{url}">', ps_text=word,
                           name=word, is_private=private, open_flg=opened, period_flg=period, hour="01",
                           sec=f"{number % 60:02}", min=f"{number // 60:02}", category=f"類{word}")  # fmt: skip
                public = private == "f" and opened == "1" and period == "f"
                if public:
                    entries.add(number)
                # A visible comment is the one that a private entry could let through.
                for flag in FLAGS if public or number % 10 == 1 else ("f",):
                    cm_id = 10 * number + FLAGS.index(flag)
                    made.comment(str(cm_id), str(number), name=comment_word(cm_id), title=comment_word(cm_id),
                                 cm_text=comment_word(cm_id), delete_flg=flag)  # fmt: skip
                    if public and flag == "f":
                        comments.add(cm_id)
    return made, entries, comments
