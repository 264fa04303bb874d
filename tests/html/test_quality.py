"""Render the Markdown of 300 made-up bodies, and compare it with their content as a reader would."""

from __future__ import annotations

import pytest

from exporter.html.markdown import to_markdown
from tests.html.bodies import Body, make
from tests.html.reading import Reading, fold, read_html, read_markdown

pytestmark = pytest.mark.no_cover

BODIES = [make(seed) for seed in range(300)]


def share(kept: list[bool]) -> float:
    return sum(kept) / len(kept)


@pytest.fixture(scope="module")
def rendered() -> list[tuple[Body, Reading]]:
    return [(body, read_markdown(to_markdown(body.html).text)) for body in BODIES]


def test_the_generator_makes_all_kinds_of_bodies() -> None:
    assert sum(len(body.bold) > 0 for body in BODIES) > 150
    assert sum(len(body.cells) > 0 for body in BODIES) > 50
    assert all(read_html(body.html).text == fold(body.text) for body in BODIES)


def test_text_is_identical(rendered: list[tuple[Body, Reading]]) -> None:
    assert share([read.text == fold(body.text) for body, read in rendered]) >= 0.995


def test_word_boundaries_are_kept(rendered: list[tuple[Body, Reading]]) -> None:
    assert share([read.spaced == read_html(body.html).spaced for body, read in rendered]) >= 0.995


def test_bold_is_kept(rendered: list[tuple[Body, Reading]]) -> None:
    assert share([read.bold == fold(body.bold) for body, read in rendered]) >= 0.995


def test_cells_are_kept(rendered: list[tuple[Body, Reading]]) -> None:
    assert all(read.cells == [fold(cell) for cell in body.cells] for body, read in rendered)


def test_no_active_content_is_written(rendered: list[tuple[Body, Reading]]) -> None:
    for _, read in rendered:
        assert not {"script", "style"} & set(read.tags)


def test_plain_text_stays_readable() -> None:
    text = "今日は100%晴れ！ snake_case と A & B、3 < 5、[追記] #タグ 1.5倍 C++ (笑) a/b: -5度 =)"
    assert to_markdown(f"<p>{text}</p>").text == text
