"""Code in colours: the languages that are recognized, and that the text never changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.page_body import MAX_CODE_CHARACTERS, BodyWriter
from exporter.html.page_sanitizer import COLOURS
from exporter.html.tree import parse

WRITER = BodyWriter(lambda _: None, "https://sea.example/", "en")
PYTHON = 'def tide(level):  # 潮\n    return level + 0x1F, "a&lt;b"'
COLOURED = re.compile(rf'<span class="(?:{"|".join(COLOURS)})">')


def shown(body: str) -> str:
    return str(WRITER.html(body, "", colours=True))


@pytest.mark.parametrize(
    "opening",
    [
        '<pre class="code lang-python" data-lang="python" data-unlink>', '<pre data-language="Python">', "<pre class='lang:python'>",
        '<pre class="brush: python; gutter: false">', '<pre><code class="language-python">', '<pre class="highlight-source-python">',
        '<pre><code class="hljs language-py">', '<pre>\n<code class="lang-py">', '<pre class="python">', '<pre><code class="hljs py">',
        '<pre data-enlighter-language="python">', '<div class="highlight highlight-source-python"><pre>', '<pre lang="python">',
        '<div class="code-frame" data-lang="python"><div class="highlight"><pre><code>',
    ],
)  # fmt: skip
def test_the_language_is_found_as_blogs_name_it(opening: str) -> None:
    page = shown(opening + PYTHON)
    assert '<span class="ck">def</span> <span class="cn">tide</span>' in page
    assert '<span class="cc"># 潮</span>' in page
    assert '<span class="cs">"a&lt;b"</span>' in page
    assert parse(page).text().strip() == parse(opening + PYTHON).text().strip()


@pytest.mark.parametrize(
    "body",
    [
        "<pre>def f(): pass</pre>", '<pre class="lang-klingon">def f(): pass</pre>', '<pre class="language-">x = 1</pre>',
        '<pre class="lang-../../etc/passwd">x = 1</pre>', '<pre data-lang="python\x00">x = 1</pre>', '<pre class="lang-plain">if x:</pre>',
        '<pre class="lang-python"><a href="https://sea.example/">if</a> x:</pre>', '<pre class="lang-python">if <img src="a.png"> x:</pre>',
        '<pre class="lang-python">if <span style="color: red">x</span>:</pre>', '<p class="lang-python">if x:</p>',
    ],
)  # fmt: skip
def test_other_code_is_unchanged(body: str) -> None:
    assert shown(body) == str(WRITER.html(body, ""))


def test_colours_are_added_only_on_request() -> None:
    assert not COLOURED.search(str(WRITER.html(f'<pre class="lang-python">{PYTHON}</pre>', "")))


def test_lines_and_the_colours_of_the_blog() -> None:
    page = shown('<pre class="lang-python"><span class="synStatement">if</span> x:<br>  y</pre>')
    assert page == '<pre><span class="ck">if</span> x:\n  y</pre>'


def test_php_needs_no_opening() -> None:
    assert '<span class="ck">function</span>' in shown('<pre class="brush: php">function f() {}</pre>')
    assert '<span class="ck">function</span>' in shown('<pre class="brush: php">&lt;?php function f() {}</pre>')


@pytest.mark.parametrize(
    "code",
    [
        "x = 1\n" * (MAX_CODE_CHARACTERS // 6 + 1),
        "\n" * 5_000 + "if x:",
        "a\n " * 3_000,
        "x = [" + "1, 23, 456, " * 50,
    ],
)
def test_slow_code_is_left_plain(code: str) -> None:
    assert not COLOURED.search(shown(f'<pre class="lang-c#">{code}</pre>'))


def test_a_body_with_very_much_code_is_left_plain() -> None:
    assert not COLOURED.search(shown(f'<pre class="lang-python">{PYTHON}</pre>' * 3_000))


@given(
    st.text(alphabet="if x=1\"'#/*<>&;\r\n\t\\あ\u3000{}()", max_size=60),
    st.sampled_from(["python", "js", "php", "html", "sh", "sql", "diff"]),
)
def test_no_character_is_lost(code: str, language: str) -> None:
    escaped = code.replace("&", "&amp;").replace("<", "&lt;")
    assert (
        parse(shown(f'<pre class="lang-{language}">x{escaped}</pre>')).text() == parse(f"<pre>x{escaped}</pre>").text()
    )


def test_a_body_cannot_use_its_classes() -> None:
    assert shown('<p><span class="ck lost">x</span></p>') == "<p><span>x</span></p>"
