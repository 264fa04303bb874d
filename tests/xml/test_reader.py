"""XML with faults is read past them, in pieces of any size."""

from __future__ import annotations

import io
from collections.abc import Iterator
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exporter.service.wxr import xml_input
from exporter.xml.reader import (
    MAX_ENTITY_CHARACTERS,
    MAX_TAG_CHARACTERS,
    Cdata,
    End,
    Event,
    Markup,
    Start,
    Vocabulary,
    XmlFault,
    XmlReader,
)

PIECES = (
    b"<", b"&", b">", b"]]>", b"<![CDATA[", b"<item>", b"</item>", b"</c>", b"<c>", b"\x00", b"\xff", b"\r", b"\n", b"]",
    b"&#0;", b"<!--", b"-->", b"<?", b"</", b"<!DOCTYPE", b"</rss>", b"<rss>", b"'", b"<a b='", b"&x;", "日本".encode(),
    b"text", b"&amp;", b"<a b='R&D'>", b"</a>", b"<br>",
)  # fmt: skip


RSS = Vocabulary(frozenset({"rss"}), frozenset({"item"}), frozenset({"title", "link", "pubDate"}))


def read(data: bytes, vocabulary: Vocabulary = RSS) -> list[Event]:
    """Return the events, with successive pieces of text joined."""
    found: list[Event] = []
    for event in XmlReader(xml_input.pieces(io.BytesIO(data)), vocabulary).events():
        last = found[-1] if found else None
        if isinstance(event, str) and type(last) is type(event) and not isinstance(event, Markup):
            found[-1] = type(event)(f"{last}{event}")
        else:
            found.append(event)
    return found


def texts(data: bytes) -> str:
    return "".join(event for event in read(data) if isinstance(event, str))


def faults(data: bytes) -> list[XmlFault]:
    return [event for event in read(data) if isinstance(event, XmlFault)]


@pytest.mark.parametrize(
    ("inside", "text", "lost"),
    [
        ("a & b", "a & b", False),
        ("a &nbsp; b", "a \xa0 b", False),
        ("Caf&eacute; &nonesuch; &LT;b&GT;", "Café &nonesuch; &LT;b&GT;", False),
        ("&#11;", "&#11;", False),
        ("a < b <3", "a < b <3", False),
        ("x ]]> y", "x ]]> y", False),
        ("</other>", "</other>", False),
        ("<a b=c>q</a>", "<a b=c>q</a>", False),
        ("\x0b<![CDATA[\x0c]]>", "\x0b\x0c", False),
        ("\ufffe", "\ufffd", True),
        ("<?xml version='1.0'?>", "<?xml version='1.0'?>", False),
        ("<!DOCTYPE x>", "<!DOCTYPE x>", False),
        ("<!-- a -- b -->", "<!-- a -- b -->", False),
    ],
)
def test_a_fault_is_text_and_what_follows_is_read(inside: str, text: str, lost: bool) -> None:
    data = f"<rss>\n<item><c>{inside}</c></item>\n<item>two</item></rss>".encode()
    assert texts(data) == f"\n{text}\ntwo"
    assert {each.line for each in faults(data)} == {2}
    assert any(each.lost for each in faults(data)) is lost
    assert sum(isinstance(event, Start) and event.name == "item" for event in read(data)) == 2


def test_an_element_without_an_end_ends_with_its_parent() -> None:
    found = read(b"<rss><item><p>x<br>y</p></item></rss>")
    assert [event.name for event in found if isinstance(event, End)] == ["br", "p", "item", "rss"]


def test_an_item_in_an_item_ends_the_first() -> None:
    found = read(b"<rss><item><c>one<item>two</item></rss>")
    assert [event.name for event in found if isinstance(event, End)] == ["c", "item", "item", "rss"]
    assert [event.lost for event in found if isinstance(event, XmlFault)] == [True]


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "euc_jp", "cp932", "iso2022_jp"])
@pytest.mark.parametrize("declared", ["UTF-8", "EUC-JP", "Shift_JIS", "ISO-8859-1", "no-such", "utf-7", ""])
def test_the_encoding_is_found_whatever_is_declared(codec: str, declared: str) -> None:
    if codec == "iso2022_jp":
        declared = "ISO-2022-JP"
    text = "海の日記を書きました。カタカナもあります。" * 5
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    expected = text
    data = f"{head}<rss><item>{text}</item></rss>".encode(codec)
    if declared == "ISO-8859-1" and codec in {"euc_jp", "cp932"}:
        expected = data.decode("latin-1").partition("<item>")[2].partition("</item>")[0]
    assert texts(data) == expected


def test_bytes_in_a_wrong_encoding_are_named_with_their_line() -> None:
    data = "<rss>\n<item>\n海の日記です".encode() + b"\xff</item></rss>"
    assert texts(data) == "\n\n海の日記です\ufffd"
    assert [(each.line, each.lost) for each in faults(data)] == [(3, True)]


def test_entities_of_the_document_are_their_text() -> None:
    data = b"""<!DOCTYPE rss [<!-- it's --><!ENTITY a "1 &#38; 2"><!ENTITY b '<&a;>'>]><rss><item c="&b;">&b;</item></rss>"""
    assert texts(data) == "<1 & 2>"
    assert not faults(data)


@pytest.mark.parametrize("count", [2, 30])
def test_entities_expand_to_a_limit(count: int) -> None:
    bomb = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, count))
    data = f'<!DOCTYPE rss [<!ENTITY a0 "{"ha" * 5_000}">{bomb}]><rss><item>{f"&a{count - 1};" * 100}</item></rss>'.encode()
    assert len(texts(data)) < 2 * MAX_ENTITY_CHARACTERS
    assert any(each.lost for each in faults(data))


def test_an_external_document_type_is_not_loaded() -> None:
    data = b'<!DOCTYPE rss SYSTEM "http://192.0.2.1/x.dtd"><rss><item>&x;</item></rss>'
    assert texts(data) == "&x;"


def test_documents_after_each_other_are_read() -> None:
    data = b"junk <rss><item>a</item></rss>\n<?xml version='1.0'?>\n<rss><item>b</item></rss> fatal error"
    assert texts(data) == "ab"
    assert not faults(data)


def test_an_item_outside_of_the_document_is_named() -> None:
    assert [each.lost for each in faults(b"<rss></rss>\n<item>x</item>")] == [True]


def test_a_cut_file_keeps_its_text() -> None:
    found = read(b"<rss><item><c><![CDATA[begun <b>te")
    assert "begun <b>te" in found
    assert [event.name for event in found if isinstance(event, End)] == ["c", "item", "rss"]
    assert [each.lost for each in found if isinstance(each, XmlFault)] == [True]


def test_text_given_back_is_read_as_xml() -> None:
    reader = XmlReader(["<rss><item><c><![CDATA[a</c></item><item><t>b]]></t></item></rss>"], RSS)
    found: list[Event] = []
    for event in reader.events():
        found.append(event)
        if isinstance(event, XmlFault) and any(isinstance(each, Cdata) for each in found):
            reader.give_back("</c></item><item><t>b</t></item></rss>")
            found = []
    assert [event.name for event in found if isinstance(event, Start)] == ["item", "t"]


def test_depth_and_length_of_tags_are_limited() -> None:
    assert sum(isinstance(event, Start) for event in read(b"<rss>" + b"<a>" * 5_000)) == 200
    long = MAX_TAG_CHARACTERS * b"x"
    for tag in (b"<a b='" + long + b"'>", b"<" + long + b">", b"<!--" + long + b"-->", b"<?" + long + b"?>"):
        found = read(b"<rss><item>" + tag + b"y</item></rss>")
        assert [event.name for event in found if isinstance(event, Start)] == ["rss", "item"]
        assert texts(b"<rss><item>" + tag + b"y</item></rss>") == tag.decode() + "y"


@pytest.mark.parametrize(
    "fault", ["& ", "< ", "<a ", "</a>", "<!--", "<?", "<a b='", "<![CDATA[]]", "<b>", "]]>", "&x;"]
)
def test_any_number_of_faults_loses_nothing(fault: str) -> None:
    data = f"<rss><item>{fault * 12_000}</item><item>next</item></rss>".encode()
    assert texts(data).count(fault.partition("<b>")[0][:2] or "<b>") >= 200
    if not fault.startswith("<![CDATA["):
        assert texts(data).endswith("next")
        assert [event.name for event in read(data) if isinstance(event, Start) and event.name != "b"] == [
            "rss",
            "item",
            "item",
        ]


@pytest.mark.parametrize(
    "root", ["<rss version='2.0 >", "<rss a='1' a='1'>", "<rss a=1>", "<RSS>", "<x:rss xmlns:x='u'>", "junk <b>&<rss>"]
)
def test_a_broken_root_is_the_root(root: str) -> None:
    name = root.rpartition("<")[2].partition(" ")[0].rstrip(">")
    found = read(f"{root}<item>one</item></{name}>".encode())
    assert [event.name for event in found if isinstance(event, Start)] == [name, "item"]
    assert not [each for each in found if isinstance(each, XmlFault) and each.lost]


def test_a_field_without_an_end_ends_before_the_next() -> None:
    found = read(b"<rss><item><title>one<link>two<pubDate>three</pubDate></item></rss>")
    assert [event if isinstance(event, str) else event.name for event in found if not isinstance(event, XmlFault)] == [
        "rss", "item", "title", "one", "title", "link", "two", "link", "pubDate", "three", "pubDate", "item", "rss",
    ]  # fmt: skip


@given(st.binary(max_size=400))
def test_any_bytes_are_read(data: bytes) -> None:
    read(data)
    read(b"<rss><item>" + data)


def merged(events: Iterator[Event]) -> tuple[list[Event], dict[str, int]]:
    """Return the events with successive texts joined, and the number of faults by their reason."""
    kept: list[Event] = []
    counted: dict[str, int] = {}
    for event in events:
        last = kept[-1] if kept else None
        if isinstance(event, XmlFault):
            counted[event.reason] = counted.get(event.reason, 0) + event.times
        elif isinstance(event, str) and type(last) is type(event) and not isinstance(event, Markup):
            kept[-1] = type(event)(f"{last}{event}")
        elif event != "":
            kept.append(event)
    return kept, counted


@pytest.mark.parametrize("examples", [60, pytest.param(3000, marks=pytest.mark.thorough)])
def test_the_size_of_the_pieces_changes_nothing(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.lists(st.sampled_from([part.decode("latin-1") for part in PIECES]), max_size=30), st.integers(1, 80))
    def check(parts: list[str], size: int) -> None:
        text = "<rss><item><c>" + "".join(parts) + "</c></item><item>end</item></rss>"
        cut = [text[begin : begin + size] for begin in range(0, len(text), size)]
        assert merged(XmlReader(cut, RSS).events()) == merged(XmlReader([text], RSS).events())

    check()


@pytest.mark.parametrize("size", [64, 100])
@pytest.mark.parametrize("codec", ["utf-8", "euc_jp", "cp932", "utf-16", "iso2022_jp"])
def test_the_size_of_the_reads_changes_nothing(monkeypatch: pytest.MonkeyPatch, codec: str, size: int) -> None:
    data = f'<?xml version="1.0" encoding="{codec.replace("_", "-")}"?>{" " * 300}<rss><item>日記\r\nです</item></rss>'.encode(
        codec
    )
    data += b"\xff<rss/>"
    whole = merged(XmlReader(xml_input.pieces(io.BytesIO(data)), RSS).events())
    monkeypatch.setattr(xml_input, "PIECE_BYTES", size)
    assert merged(XmlReader(xml_input.pieces(io.BytesIO(data)), RSS).events()) == whole


words = st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\ufffe\uffff"), max_size=6)
bodies = st.one_of(
    words.map(escape),
    words.map(lambda text: f"<![CDATA[{text.replace(']]>', '')}]]>"),
    words.map(lambda text: f"<!--{text.replace('-', '')}-->"),
    words.map(lambda text: f"<?p {text.replace('?', '')}?>"),
    st.sampled_from(["\r\n", "\r", "\n", "&#13;", "&#x1F600;", "&apos;", "&d;", "]]", "]"]),
)


@st.composite
def documents(draw: st.DrawFn, depth: int = 4) -> str:
    name = draw(st.sampled_from(["a", "b:c", "日", "_x-1.2"]))
    space, quote = draw(st.sampled_from(["", " ", "\n"])), draw(words)
    named = draw(st.sets(st.sampled_from(["p", "q", "x:y"])))
    attributes = "".join(f"\n{key}{space}={space}{quoteattr(quote)}" for key in sorted(named))
    if draw(st.integers(0, 4)) == 0:
        return f"<{name}{attributes}{space}/>"
    inside = [
        draw(documents(depth - 1)) if depth and draw(st.booleans()) else draw(bodies)
        for _ in range(draw(st.integers(0, 4)))
    ]
    return f"<{name}{attributes}{space}>{''.join(inside)}</{name}{space}>"


def by_expat(text: str) -> list[object]:
    """Return what expat reads: names, attributes, texts."""
    found: list[object] = []
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = lambda name, attributes: found.append((name, attributes))
    parser.EndElementHandler = found.append
    parser.CharacterDataHandler = lambda text: found.append(["text", text])
    parser.Parse(text.encode(), True)
    return found


@pytest.mark.parametrize("examples", [100, pytest.param(3000, marks=pytest.mark.thorough)])
def test_a_well_formed_document_is_what_expat_reads(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(documents(), st.sampled_from(["", '<?xml version="1.0"?>', "<!-- <a> -->", "<?p?>\n"]), st.integers(1, 40))
    @example("<a><a><![CDATA[]]></a><![CDATA[&]]></a>", "", 1)
    def check(body: str, prolog: str, size: int) -> None:
        text = f'{prolog}<!DOCTYPE a [<!ENTITY d "D&#233;">]>{body}'
        expected: list[object] = []
        for each in by_expat(text):
            last = expected[-1] if expected else None
            if isinstance(each, list) and isinstance(last, list):
                expected[-1] = ["text", last[1] + each[1]]
            else:
                expected.append(each)
        found: list[object] = []
        for event in XmlReader([text[at : at + size] for at in range(0, len(text), size)]).events():
            last = found[-1] if found else None
            assert not isinstance(event, XmlFault), event
            if isinstance(event, Start):
                found.append((event.name, event.attributes))
            elif isinstance(event, End):
                found.append(event.name)
            elif isinstance(event, Markup) or event == "":
                continue
            elif isinstance(last, list):
                found[-1] = ["text", last[1] + event]
            else:
                found.append(["text", event])
        assert found == expected

    check()


@given(st.lists(st.sampled_from(PIECES), max_size=12))
@settings(deadline=None)
def test_the_items_after_a_fault_are_read(parts: list[bytes]) -> None:
    """Unless a section or comment swallows them, the items behind any fault are read."""
    inside = b"".join(
        part
        for part in parts
        if part not in {b"<![CDATA[", b"<!--", b"<?", b"<a b='", b"</rss>", b"<!DOCTYPE", b"<", b"</"}
    )
    data = b"<rss><item><c>" + inside + b"</c></item>\n<item>last</item></rss>"
    found = read(data)
    assert "last" in found or "\nlast" in texts(data)
