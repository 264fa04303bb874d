"""A blog whose every field tries to run a script, reach a host, or break a page."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from exporter.model.kinds import Kind
from tests.archive.builder import Built, record
from tests.html.payloads import PAYLOADS
from tests.site.building import build, of_records, stored
from tests.support.pictures import png

BEACON = "https://attacker.example"
REACHING = [
    f"<img src={BEACON}/1.png srcset='{BEACON}/2.png 2x'><picture><source srcset={BEACON}/3.png><img></picture>",
    "<img src=//attacker.example/4.png><img src='\\\\attacker.example\\share\\5.png'><img src='/\\attacker.example/6'>",
    "<img src=file:///etc/hostname><img src=file://attacker.example/share/7.png><a href=file:///etc/passwd>x</a>",
    f"<link rel=stylesheet href={BEACON}/8.css><link rel=prefetch href={BEACON}/9><link rel=dns-prefetch href={BEACON}>",
    f"<style>@import '{BEACON}/10.css';body{{background:url({BEACON}/11)}}</style><p style='background:url({BEACON}/12)'>x",
    f"<iframe src={BEACON}/13></iframe><object data={BEACON}/14></object><embed src={BEACON}/15>",
    f"<video src={BEACON}/16 poster={BEACON}/17 autoplay></video><audio src={BEACON}/18 autoplay></audio>",
    f"<meta http-equiv=refresh content='0;url={BEACON}/19'><base href={BEACON}/>",
    f"<form action={BEACON}/20 id=f><input name=q autofocus><button>x</button></form><a href=/x ping={BEACON}/21>x</a>",
    f"<table background={BEACON}/22><td background={BEACON}/23>x</table><body background={BEACON}/24>",
    f"<svg><image href={BEACON}/25 /><use href={BEACON}/26#x /></svg><input type=image src={BEACON}/27>",
    f"<p style=\"width:1px;list-style:url('{BEACON}/28')\">x</p><p style='content:u\\rl({BEACON}/29)'>x</p>",
    "<p style='position:fixed;inset:0;z-index:9999;background:red'>x</p><p style='margin:-9999px'>y</p>",
    "<div id=keys></div><div id=main></div><img name=body><form id=search><input name=q></form><p id=results>x</p>",
    "</div></article></main></body></html><h1>x</h1><p>{{ 7*7 }} {% include '/etc/passwd' %}",
    "<div>" * 3000 + "x" + "</div>" * 3000,
    "<b><i><u>" * 40 + "<p>x<table><tr><td>" * 40,
    "<ul><p>x</p>y<li>z</ul><li>stray<dl><p>x</dl><dt>t<dd>d<tr><td>lost</td></tr><ol><ol><li>in</ol></ol>",
    "<a href='https://x.example/'><a href='#y'><p>x</p><div><h1>one</h1><h6>six</h6></div></a>",
    "<span><div><p>x</p></div></span><b><h2>y<div>z</div></h2></b><p><table><caption><p>c</caption><td>x</table>",
    "<ruby>海<rp>(<rt>うみ<rp>)</ruby><rt>stray</rt><summary>s</summary><details>no summary<p>x</p></details>",
    "<figcaption>c</figcaption><figure><p>x<figcaption>a</figcaption><figcaption>b</figcaption></figure>",
    "<p id='a b'>x<p id=''>y<p id=1>z<p id=1>w<p lang='x y'>l<p lang=''>m<p dir=up>n<p title='\"&lt;'>o",
    "<img src='data:image/png;base64,iVBORw0KGgo=' width=-1 height=9999999999 alt='\"'><img alt=x><ol start=x type=q><li value=y>z</ol>",
    "<td colspan=0 rowspan=-1>x</td><table><td colspan=0 rowspan=99999 scope=x headers=y>x<th scope=>y<col span=0></table>",
    "<time datetime=never>x</time><ins datetime=x cite=y>a</ins><del cite='javascript:x'>b</del><q cite=//x>c</q>",
    "<menu><p>x</menu><dir><li>a</dir><header><header>x</header><footer>y</footer></header><address><h1>x</h1></address>",
    "x\x00y\x01z\ud83d \ufffe \u2028 \u202e \u200f \ufeff",
    "長" * 5000 + "long" * 3000,
]
"""Pieces that load files and hosts, cover the page, take over its names, or are invalid HTML."""

NAMES = [
    "<script>pwned=1</script>",
    "</title><script>pwned=1</script>",
    '"><img src=x onerror=pwned=1>',
    "' onmouseover='pwned=1",
    "</script><script>pwned=1</script>",
    "]]>\u2028\u2029</script><!--<script>",
    "{{ pwned }} ${pwned=1} #{pwned=1}",
    "../../../etc/passwd",
    "\u202eabc\u0000\ud83d",
    "あ" * 300,
    " ",
    "__proto__",
    "constructor",
]
URLS = ["javascript:pwned=1", "data:text/html,<script>pwned=1</script>", "//attacker.example/x", "\\\\attacker.example\\x",
        "https://attacker.example/\"onclick=\"pwned=1", "http://x.example/<script>pwned=1</script>"]  # fmt: skip


def hostile_blog(root: Path) -> Built:
    """Build an archive with a site of such a blog, in two versions."""
    bodies = [*PAYLOADS, *REACHING]
    entries = {str(at): _entry(at, body) for at, body in enumerate(bodies, 1)}
    comments = {
        str(at): record(
            cm_id=str(at), entry_id=str(at if at % 9 else 99_999), name=_name(at), title=_name(at + 1), cm_text=body,
            url=f"<a href='{_of(URLS, at)}'>x</a>", url_text=_of(URLS, at), delete_flg="f", res_flg=_name(at),
            regist_date=f"2016/{at % 12 + 1:02}/{at % 28 + 1:02}",
        )
        for at, body in enumerate(bodies, 1)
    }  # fmt: skip
    files = {
        str(at): record(file_id=str(at), name=f"{_name(at)}.png", title=_name(at), explanation=_name(at + 1))
        for at in range(1, len(NAMES) + 1)
    }
    built = of_records(
        root,
        {
            Kind.ENTRIES: entries,
            Kind.ENTRY_LIST: {key: record(entry_id=key, category=_name(int(key))) for key in entries},
            Kind.COMMENTS: comments,
            Kind.FILES: files,
        },
    )
    built.commit(
        {
            Kind.ENTRIES: {"1": None, "2": _entry(3, NAMES[0] * 9), "3": _entry(2, PAYLOADS[9] * 3)},
            Kind.ASSETS: {f"https://sea.example/{at}.png": _picture(root, at) for at in range(1, len(NAMES) + 1)},
        }
    )
    build(built, title="</title><script>pwned=1</script>\"'", entry_addresses=('https://{blog_id}/{entry_id}?a="<b>',))
    return built


def _entry(at: int, body: str) -> bytes:
    when: dict[str, Any] = {"year": str(2010 + at % 9), "mon": f"{at % 12 + 1:02}", "day": f"{at % 28 + 1:02}"}
    return record(
        entry_id=str(at), title=_name(at), entry_text=body, ps_title=_name(at + 1), ps_text=_of(PAYLOADS, at),
        open_flg=_name(at), is_private="t" if at % 5 == 0 else "f", hour="08", min="00", sec="00", name=_name(at), **when,
    )  # fmt: skip


def _picture(root: Path, at: int) -> bytes:
    body = png(at, 64 + at, 48)
    asset = stored(root, f"https://sea.example/{at}.png", body, refs=[{"entry": str(at)}, {"file": str(at)}])
    return record(**asset.data())


def _name(at: int) -> str:
    return f"{_of(NAMES, at)}{hashlib.md5(str(at).encode()).hexdigest()[:3] if at % 3 else ''}"


def _of(things: list[str], at: int) -> str:
    return things[at % len(things)]
