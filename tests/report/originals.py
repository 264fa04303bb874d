"""A small blog whose bodies hold what conversions stumble over."""

from __future__ import annotations

from typing import Any

from exporter.demo.content import Blog, RecordList

BLOG_ID = "hamabe.blog.example.jp"
USER = "5f0c7a1e9b3d4c28a6e1f4d09b72c385"

BODIES = (
    "<p>源さんは<b>「明日は晴れ。」</b>と言った。<strong>（本当）</strong>かな、<em>たぶん、</em>晴れ。</p>",
    "<table border=1><tr><td>魚の名前<td>重さ<td>値段<tr><td>まぐろ<td>120キロ<td>高い</table><p>おわり</p>",
    "<table><tr><th>駅</th><th>時刻</th></tr><tr><td>海浜駅</td><td>七時</td></tr></table>",
    "<ruby>薔薇<rp>(</rp><rt>ばら</rt><rp>)</rp></ruby>の花と<ruby>向日葵<rt>ひまわり</rt></ruby>の種",
    "長い一行" * 90 + "<br>" + "word " * 120,
    "<ul><li>りんご<br>青い<ul><li>ふじ<li>つがる</ul><li>みかん</ul><ol start=3><li>三番目<li>四番目</ol>",
    "Tom &amp; Jerry &lt;b&gt; R&D &copy;2019 &hearts; &#12354;&#12356;&#12358;&#x3048; &eacute;t&eacute;",
    ("ﾊﾝｶｸ ｶﾀｶﾅ ﾃﾞｽ ＦＵＬＬ ｗｉｄｔｈ １２３ が\u3099き e\u0301te\u0301 👨\u200d👩\u200d👧 😀🎉 \ud83d"),
    (
        '<a href="https://hamabe.blog.example.jp/Entry/3/">'
        '前の記事</a> <a href="http://tomodachi.example.com/nik'
        'ki(1).html#k2">友だち[の]日記</a> https://shop.example.n'
        "et/kaimono?shohin=%E3%81%82&n=12 mailto:watashi@ex"
        "ample.jp"
    ),
    (
        '<img src="/img/umi.jpg" alt="海の写真" width=320 heigh'
        "t=240><img src='https://files.example.jp/v1/blog/u"
        "ser/5f0c7a1e9b3d4c28a6e1f4d09b72c385/1556668800'>"
    ),
    "<pre>def  f(x):\n\treturn   x  # 二倍\n\n</pre><code>a_b*c</code> *星* _下線_ #見出し 1. 番号",
    "一行目\r\n二行目\r\n\r\n\u3000字下げの三行目\x0b四行目\u3000\u3000空白  二つ",
    (
        '<font color="#ff0000" size=5 face="ＭＳ ゴシック">赤い字</f'
        'ont><span style="font-size:120%;color:blue">青い字</s'
        "pan><h2>見出しです</h2><hr><blockquote>引用した文章<p>二段落目</b"
        "lockquote><del>消した文</del>"
    ),
    "<!-- 秘密の下書き --><script>var himitsu = '内緒';</script><style>.hako{color:red}</style>表の文章だけ",
    "STATUS: draft\nTITLE: にせの題\n-----\nDATE: 01/02/2019\nふつうの行です\n--------\nCOMMENT:\nこれも本文",
    (
        '<p>注釈つき<a href="#fn1" id="r1">*1</a>の文</p><div cla'
        'ss="footnote"><p id="fn1"><a href="#r1">*1</a>：注釈の'
        '文</p></div><iframe src="https://www.youtube.com/em'
        'bed/AbCdEfGhIjK" width=560></iframe><video src=dou'
        "ga.mp4></video>"
    ),
)


def record(number: int, body: str) -> dict[str, Any]:
    """Return an entry."""
    day = f"{1 + number:02d}"
    parts = {"year": "2019", "mon": "05", "day": day, "hour": "07", "min": "30", "sec": "00"}
    return {
        "blog_id": BLOG_ID, "entry_id": str(number), "regist_user_id": USER, "title": f"日記その{number} 浜辺にて",
        "name": f"nikki-{number}", "category_id": "12", "period_flg": "f", "open_flg": "1", "entry_text": body,
        "ps_title": "つづきを読む", "ps_text": "<p>つづきの文章です。</p>", "text_format": "2", "cm_receipt_flg": "t",
        "tb_receipt_flg": "f", **parts, **{f"period_{name}": value for name, value in parts.items()},
        "last_update": f"2019-05-{day} 08:00:00", "template_text": "", "is_private": "f",
    }  # fmt: skip


def blog() -> Blog:
    """Return the blog: 16 entries, 12 comments, 9 files."""
    comments = [
        {
            "regist_date": f"2019/06/{1 + number:02d}", "cm_id": str(900 + 7 * number), "entry_id": str(1 + number % 5),
            "name": f"通りすがり{number}", "title": "はじめまして", "cm_text": f"楽しく読みました。{number}回目です<br>また来ます",
            "delete_flg": "f", "url": '<a href="http://tomodachi.example.com/">友だち</a>',
            "url_text": "http://tomodachi.example.com/", "res_flg": None,
        }
        for number in range(12)
    ]  # fmt: skip
    files = [
        {
            "file_id": str(50 + number), "name": f"umi-shashin-{number}.jpg", "title": None, "explanation": "海で撮りました",
            "file_size": str(1000 + number), "height": "240", "width": "320", "user_id": USER,
            "mtime": str(1556668800 + number), "extension": "jpg",
        }
        for number in range(9)
    ]  # fmt: skip
    return Blog(
        BLOG_ID,
        {"id": USER, "nickname": "浜辺の住人"},
        {number: record(number, body) for number, body in enumerate(BODIES, 1)},
        RecordList(comments),
        RecordList(files),
        categories={"12": "海の日記"},
    )
