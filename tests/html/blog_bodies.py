"""Random bodies as old blogs have them, put together from pieces that their editors wrote."""

from __future__ import annotations

import random
from typing import Final

PIECES: Final = (
    '今日は"晴れ"でした。', "It's 5x3 -- ok...", "(笑) :-) ;) 8-)", "(tm) (c) (r)", "1st 2nd '99", "``q''", "Wordpress (Wordpress)",
    "　全角", "&lt;b&gt; &amp; &nbsp;- x", "A & B < C", "&copy 2006 &hearts; &CounterClockwiseContourIntegral;",
    "\n", "\n\n", "<BR>\n", "<br />\n", "<br>", "<br><br>", "<br><br><br><br>",
    "<p>段落\n二行目</p>", '<p align="right">右</p>', "<div>箱</div>", '<div align="center">中</div>', "<center>c</center>",
    "<div>行1</div><div>行2</div><div><br></div><div>行3</div>", "<p>https://example.jp/</p>", "https://www.example.com/watch?v=1\n",
    '<font color="red">赤</font>', '<b>太"字</b>', '<span style="color:red">色</span>', "<i>斜", "</i>", "<kbd>\"k\"</kbd> <code>-- x</code>",
    '<a href="https://a.example/?a=1&b=2" title="[gallery] \'x\'">link</a>', '[gallery ids="1,2"]', "[caption]x[/caption] [1] [*2]",
    '<h3>見出し "x"</h3>', "<h2>題</h2>", "<ul>\n<li>一</li>\n<li>二 -- x</li>\n</ul>", "<ol><li>a<br>b</li></ol>", "<hr>",
    "<blockquote>引用\n<p>中</p></blockquote>", '<pre>a\n  "b" -- c\n\nd</pre>', '<pre><code>x = "y"</code></pre>', "<dl><dt>t<dd>d</dl>",
    "<table border=1><tr><td>一</td><td>二</td></tr></table>",
    '<table><tr><td>一</td><td>"二"</td></tr><tr><td>三</td><td>四</td></tr></table>',
    '<img src="https://img.example/a.png" width="100" height="50" alt="絵">', '<img src=x alt="a > b \'">',
    '<a href="https://x.example/"><img src="https://img.example/b.png"></a>', '<a href="#a">下</a> <a name="a"></a>',
    "<!--more-->", "<!-- コメント -->", "<!--nextpage-->", "<!-- /wp:html -->", "<!-- wp:html -->", '<p title="<!--more-->">題</p>',
    '<script>document.write("x [gallery] <!-- /wp:html -->")</script>', "<style>b{}</style>",
)  # fmt: skip


def bodies(seed: int, count: int) -> list[str]:
    """Return this number of bodies; the same for the same seed."""
    chance = random.Random(seed)
    return ["".join(chance.choices(PIECES, k=chance.randrange(1, 14))) for _ in range(count)]
