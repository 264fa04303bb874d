"""The memory of recorded answers is bounded, for each one and for all together."""

from __future__ import annotations

from exporter.http.recording import AnswerMemory


def test_an_answer_that_does_not_fit_is_dropped_as_a_whole() -> None:
    memory = AnswerMemory(10, 15)
    first, second, third = (memory.answer() for _ in range(3))
    first.write(b"12345678")
    second.write(b"1234567")
    assert memory.used == 15
    third.write(b"1")
    assert (third.dropped, third.getvalue()) == (True, b"")
    first.close()
    assert memory.used == 7
    first.close()
    assert memory.used == 7
    second.write(b"8901")
    assert (second.dropped, second.getvalue(), memory.used) == (True, b"", 0)
    second.write(b"more")
    assert second.getvalue() == b""
    fourth = memory.answer()
    fourth.write(b"0123456789")
    assert not fourth.dropped
    del fourth
    assert memory.used == 0
