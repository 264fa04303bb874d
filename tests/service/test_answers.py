from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.errors import ApiError, BadBody, NotAuthorised, ServiceError
from exporter.lossless_json import SourceDict
from exporter.model.exchange import Request, Response
from exporter.service.blog_v1 import DEFAULT, Options, unwrap, unwrap_user
from tests.http.service import envelope

PARAMS = {"id": "sample.blog.example", "entry_id": "42"}
REQUEST = Request("entry/get", "/blog/v1/entry/get", PARAMS, {})


def answer(body: bytes | str, status: int = 200, kind: str = "application/json") -> Response:
    return Response(status, {"content-type": kind}, body if isinstance(body, bytes) else body.encode())


def read(body: bytes | str, status: int = 200, kind: str = "application/json") -> dict[str, Any]:
    return unwrap(REQUEST, answer(body, status, kind), DEFAULT)


def test_the_data_of_a_success_is_unchanged() -> None:
    data = {"entry_id": "42", "unknown": None, "n": 10**30, "nested": [{"a": 1}]}
    assert read(envelope(data)) == data


def test_data_that_plain_parsing_would_lose_keeps_its_text() -> None:
    data = read('{"json":{"result":"ok","message":"","data":{"a":1,"a":2}}}')
    assert isinstance(data, SourceDict)
    assert data.text() == '{"a":1,"a":2}'


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b" \r\n", b"\n\xef\xbb\xbf"])
def test_a_byte_order_mark_and_white_space_are_no_obstacle(before: bytes) -> None:
    assert read(before + envelope({"a": "b"}) + b"\n") == {"a": "b"}


def test_json_sent_as_html_is_still_json() -> None:
    assert read(envelope({"a": "b"}), kind="text/html; charset=utf-8") == {"a": "b"}


def test_the_success_word_can_be_set() -> None:
    response = answer(envelope({"a": "b"}, result="success"))
    assert unwrap(REQUEST, response, Options(success_result="success")) == {"a": "b"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_names_the_variable_to_set(status: int) -> None:
    with pytest.raises(NotAuthorised, match="BLOG_EXPORTER_TOKEN"):
        read("{}", status)


@pytest.mark.parametrize("status", [204, 206, 302, 304, 400, 404, 410, 418, 600])
def test_other_statuses_are_final(status: int) -> None:
    with pytest.raises(ApiError) as caught:
        read(envelope({}, "ng", "no such entry"), status)
    error = caught.value
    assert (error.operation, error.params, error.status) == ("entry/get", PARAMS, status)
    assert error.message == "no such entry"
    assert '"ng"' in error.body


@pytest.mark.parametrize("body", [b"", b"gone", b"[]", b'{"json":[]}', b'{"json":{"message":5}}'])
def test_a_final_status_needs_no_envelope(body: bytes) -> None:
    with pytest.raises(ApiError, match="answered 404: not a success"):
        read(body, 404)


@pytest.mark.parametrize("body", [b"", b" \n", b"\t"])
def test_an_empty_body_is_bad(body: bytes) -> None:
    with pytest.raises(BadBody, match="empty"):
        read(body)


@pytest.mark.parametrize("body", ["<!DOCTYPE html><p>hello", "\ufeff \n<html>", "<?xml version='1.0'?>"])
def test_html_suggests_a_wrong_base_url(body: str) -> None:
    with pytest.raises(BadBody, match="is the base URL right"):
        read(body)


def test_a_body_declared_as_html_suggests_a_wrong_base_url() -> None:
    with pytest.raises(BadBody, match="is the base URL right"):
        read("Welcome!", kind="text/html")


@pytest.mark.parametrize("body", [b'{"json":', b"nonsense", b"\xff\xfe{}", b'{"a":1} trailing', b"{'a':1}"])
def test_a_body_that_is_not_json_is_bad(body: bytes) -> None:
    with pytest.raises(BadBody, match="not JSON"):
        read(body)


def test_every_cut_of_a_good_body_is_bad() -> None:
    whole = envelope({"entry_id": "42", "entry_text": "日記"})
    for end in range(len(whole)):
        with pytest.raises(BadBody):
            read(whole[:end])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b'"ok"', "not an object"),
        (b"{}", "no `json` object"),
        (b'{"json":[]}', "no `json` object"),
        (b'{"json":{}}', "result None"),
        (b'{"json":{"result":"OK","data":{}}}', "result 'OK'"),
        (b'{"json":{"result":true,"data":{}}}', "result True"),
        (b'{"json":{"result":"ng","message":"entry is gone"}}', "result 'ng', entry is gone"),
        (b'{"json":{"result":"ng","message":{}}}', "result 'ng'"),
        (b'{"json":{"result":"ok","message":""}}', "`data` is not an object"),
        (b'{"json":{"result":"ok","message":"","data":[]}}', "`data` is not an object"),
        (b'{"json":{"result":"ok","message":"","data":"{}"}}', "`data` is not an object"),
    ],
)
def test_a_whole_answer_of_the_wrong_shape_is_an_api_error(body: bytes, says: str) -> None:
    with pytest.raises(ApiError) as caught:
        read(body)
    assert says in str(caught.value)
    assert caught.value.status == 200


def test_texts_of_a_service_are_escaped_for_terminals() -> None:
    bad = "\x1b[31m\u202ered\x9b\n"
    with pytest.raises(ApiError) as caught:
        unwrap(Request("entry/get", "", {"id": bad}, {}), answer(envelope({}, bad, bad)), DEFAULT)
    error = caught.value
    for text in (str(error), error.message, error.body, *error.params.values()):
        assert not set(text) & set(bad[:1] + "\u202e\x9b\n")


def test_the_body_shown_is_cut() -> None:
    with pytest.raises(ApiError) as caught:
        read(b'{"x":"' + b"y" * 10_000 + b'"}')
    assert len(caught.value.body) == 500


def user(body: bytes | str, status: int = 200) -> dict[str, Any]:
    return unwrap_user(answer(body, status), DEFAULT)


def test_the_user_comes_without_an_envelope() -> None:
    assert user('{"id":"0af3","nickname":"さくら"}') == {"id": "0af3", "nickname": "さくら"}


def test_a_user_may_have_a_field_called_json() -> None:
    assert user('{"id":"1","json":{"result":"ng"}}')["json"] == {"result": "ng"}


def test_an_envelope_in_place_of_the_user_is_a_failure() -> None:
    with pytest.raises(ApiError, match="result 'ng', who are you"):
        user(envelope({}, "ng", "who are you"))
    with pytest.raises(ApiError, match="an envelope where the user object was expected"):
        user(envelope({"id": "1"}))


def test_the_user_fails_like_any_operation() -> None:
    with pytest.raises(NotAuthorised):
        user("", 401)
    with pytest.raises(ApiError, match="not an object"):
        user("[]")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["json", "result", "message", "data", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from([200, 304, 404, 500]))
def test_any_json_gives_an_object_or_a_known_error(value: Any, status: int) -> None:
    body = json.dumps(value).encode()
    for read_answer in (partial(unwrap, REQUEST), unwrap_user):
        outcome: object
        try:
            outcome = read_answer(answer(body, status), DEFAULT)
        except ServiceError as error:
            outcome = str(error)
        assert isinstance(outcome, dict) or (isinstance(outcome, str) and "\n" not in outcome)
