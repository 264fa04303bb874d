"""Untrusted XML: elements know their source, and hostile documents are refused."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exporter.service.atompub.xml_documents import decoded, parsed, parsed_part
from exporter.xml.reader import MAX_DEPTH
from exporter.xml.tree import NotXml, TooLargeXml, XmlElement

texts = st.text(st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\ufffe\uffff"), max_size=8)
names = st.sampled_from(["a", "b", "x:c", "d"])


@st.composite
def elements(draw: st.DrawFn, depth: int = 3) -> str:
    name = draw(names)
    attributes = "".join(f" {key}={quoteattr(draw(texts))}" for key in draw(st.sets(st.sampled_from(["p", "q"]))))
    if draw(st.booleans()):
        return f"<{name}{attributes}{draw(st.sampled_from(['', ' ']))}/>"
    inner = "".join(
        draw(elements(depth - 1)) if depth and draw(st.booleans()) else escape(draw(texts))
        for _ in range(draw(st.integers(0, 3)))
    )
    return f"<{name}{attributes}>{inner}</{name}>"


def shape(element: XmlElement) -> tuple[object, ...]:
    joined: list[object] = []
    for part in element.parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part if isinstance(part, str) else shape(part))
    return (element.name, dict(element.attributes), *joined)


@pytest.mark.parametrize("examples", [25, pytest.param(100, marks=pytest.mark.thorough)])
def test_a_part_is_its_exact_source_and_means_the_same_alone(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(elements(), min_size=1, max_size=4), texts)
    def check(parts: list[str], between: str) -> None:
        document = parsed(f'<r xmlns="urn:d" xmlns:x="urn:x">{escape(between).join(parts)}</r>')
        children = list(document.root)
        assert [document.source(child) for child in children] == parts
        for child in children:
            assert shape(parsed_part(document.source(child), child.namespaces).root) == shape(child)

    check()


def test_the_inside_of_an_element_is_its_source() -> None:
    document = parsed('<r a=">"><p b="</p>">x<b>y</b></p ><q/></r>'.replace("</p>", "&lt;/p>"))
    paragraph, empty = document.root
    assert (document.inside(paragraph), document.inside(empty)) == ("x<b>y</b>", "")
    assert document.inside(document.root) == document.source(document.root)[9:-4]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no XML"),
        ("<a>", "the file ends inside of <a>"),
        ("<a></b>", "a tag that is not well-formed"),
        ("<a><b></a>", "<b> has no end"),
        ("<a/><b/>", "not one element"),
        ("<a b='1' b='2'/>", "a tag that is not well-formed"),
        ("<a>\ud800</a>", "characters that no text may have"),
        ("<!DOCTYPE a><a/>", "document type"),
        ('<!DOCTYPE a [<!ENTITY x "y"><!ENTITY z "&x;&x;">]><a>&z;</a>', "document type"),
        ('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "document type"),
        ("<a>" * (MAX_DEPTH + 1), "nested deeper"),
    ],
)
def test_what_is_not_read_is_said(text: str, reason: str) -> None:
    with pytest.raises(NotXml, match=reason):
        parsed(text)


@pytest.mark.parametrize(
    "forbidden",
    [
        "\x00",
        "\x08",
        "\x0b",
        "\x1f",
        "&#0;",
        "&#8;",
        "&#x1F;",
        "&#xD83D;",
        "&#xFFFF;",
        "&#1114112;",
    ],
)
def test_forbidden_characters_are_kept(forbidden: str) -> None:
    text = f"<r><a b='{forbidden}'>日{forbidden}本</a><c/></r>"
    first, second = parsed(text).root
    document = parsed(text)
    assert document.source(first) == f"<a b='{forbidden}'>日{forbidden}本</a>"
    assert document.source(second) == "<c/>"
    assert first.text == f"日{forbidden}本"
    assert shape(parsed_part(document.source(first), {}).root) == shape(first)


@pytest.mark.parametrize("allowed", ["&#9;", "&#10;", "&#x20;", "&#xD7FF;", "&#xE000;", "&#x10FFFF;", "&#128512;"])
def test_other_references_are_read(allowed: str) -> None:
    code = int(allowed[3:-1], 16) if "x" in allowed else int(allowed[2:-1])
    assert parsed(f"<a>{allowed}</a>").root.text == chr(code)


def test_too_many_elements_attributes_or_namespaces_are_refused() -> None:
    with pytest.raises(TooLargeXml, match="too many elements"):
        parsed("<a>" + "<b/>" * 2000 + "</a>", 1_000_000)
    with pytest.raises(TooLargeXml, match="too many namespaces"):
        parsed("<a " + " ".join(f'xmlns:b{number}="u"' for number in range(5000)) + "/>")
    with pytest.raises(NotXml):
        parsed("<a " + " ".join(f'b{number}=">"' for number in range(900_000)) + "/>")


def test_long_texts_are_no_long_tags() -> None:
    assert len(parsed("<a>" + "x" * 6_000_000 + "<![CDATA[" + "y" * 6_000_000 + "]]></a>").root.text) == 12_000_000


@pytest.mark.parametrize("part", ["", "x", "<a/><b/>", "x<a/>", "<a/>x", "</part><part>", "<a/></part><part>"])
def test_a_part_must_be_one_element(part: str) -> None:
    with pytest.raises(NotXml):
        parsed_part(part, {})


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ("<a>é</a>".encode(), "", "<a>é</a>"),
        ("\ufeff<a>é</a>".encode(), "text/xml; charset=euc-jp", "<a>é</a>"),
        ("<a>日</a>".encode("euc_jp"), "text/xml; charset=EUC-JP", "<a>日</a>"),
        ("<?xml version='1.0' encoding='Shift_JIS'?><a>日</a>".encode("cp932"), "application/xml", None),
        ("\ufeff<a>日</a>".encode("utf-16-le"), "", "<a>日</a>"),
        ("<a>é</a>".encode("latin-1"), 'text/xml; charset="iso-8859-1"', "<a>é</a>"),
    ],
)
def test_the_encoding_is_found(data: bytes, kind: str, text: str | None) -> None:
    found = decoded(data, kind)
    assert found == text if text is not None else found.endswith("<a>日</a>")


@pytest.mark.parametrize(
    ("data", "kind", "reason"),
    [
        (b"<a>\xff</a>", "", "byte 3 is not utf-8"),
        (b"<a/>", "text/xml; charset=unicode_escape", "encoding unicode_escape is not known"),
        (b"<?xml version='1.0' encoding='zip'?><a/>", "", "encoding zip is not known"),
    ],
)
def test_wrong_encodings_are_said(data: bytes, kind: str, reason: str) -> None:
    with pytest.raises(NotXml, match=reason):
        decoded(data, kind)
