from __future__ import annotations

import traceback

import pytest

from exporter.errors import ApiError, BadBody, RetryableStatus, UsageError
from exporter.http.credentials import Credentials, Redactor


def test_the_default_is_a_bearer_token() -> None:
    assert Credentials("s3cret").headers == {"Authorization": "Bearer s3cret"}


def test_header_and_scheme_can_be_set() -> None:
    assert Credentials("s3cret", header="X-Api-Key", scheme="").headers == {"X-Api-Key": "s3cret"}


@pytest.mark.parametrize("token", [None, ""])
def test_without_a_token_nothing_is_sent(token: str | None) -> None:
    assert Credentials(token).headers == {}
    assert Credentials(token).redactor("as it is") == "as it is"


def test_no_representation_shows_the_token() -> None:
    credentials = Credentials("s3cret")
    assert "s3cret" not in repr(credentials) + str(credentials) + f"{credentials}"


def test_a_whole_file_is_no_token() -> None:
    with pytest.raises(UsageError, match="the token has 200,000 characters, and no server accepts more than 16,384"):
        Credentials("x" * 200_000)


@pytest.mark.parametrize("token", ["s3cret\n", "s3\r\nX: y", " s3cret", "s3cret\x00", "s3クレット", "s3cret\x7f"])
def test_a_token_that_is_invalid_in_a_header_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(UsageError) as caught:
        Credentials(token)
    shown = "".join(traceback.format_exception(caught.value))
    assert "the token holds" in str(caught.value)
    assert "s3" not in str(caught.value)
    assert token not in shown


@pytest.mark.parametrize("header", ["", "X Key", "X:Key", "X\nKey", "キー"])
def test_an_impossible_header_name_is_refused(header: str) -> None:
    with pytest.raises(UsageError, match="header's name"):
        Credentials("t", header=header)


def test_an_impossible_scheme_is_refused() -> None:
    with pytest.raises(UsageError, match="scheme"):
        Credentials("t", scheme="Bear\ner")


def test_the_redactor_finds_a_secret_in_all_its_spellings() -> None:
    redact = Redactor(["a/b+c=", ""])
    assert redact("a/b+c= a%2Fb%2Bc%3D a\\/b+c= rest") == "*** *** *** rest"


@pytest.mark.parametrize(
    "echo",
    [
        "s3cr&t/ab+c 9='x",
        "s3cr&amp;t/ab+c 9=&#x27;x",
        "s3cr&#38;t&#x2F;ab&#43;c 9=&#39;x",
        "s3cr\\u0026t\\/ab\\u002Bc 9=\\u0027x",
        "s3cr%26t%2fab%2bc%209%3d%27x",
        "s3cr%26t%2Fab%2Bc+9%3D%27x",
        "s3cr&t/ab+c9='x",
        "czNjciZ0L2FiK2MgOT0neA==",
    ],
)
def test_an_echo_in_any_encoding_is_removed(echo: str) -> None:
    redact = Redactor(["s3cr&t/ab+c 9='x"])
    assert redact(f"<{echo}>").rstrip("=>") == "<***"
    assert redact.masked(f"<{echo}>".encode()).rstrip(b"=>") == b"<***"


def test_a_short_secret_is_not_looked_for_in_base64_or_without_spaces() -> None:
    assert Redactor(["a b"])("ab YSBi a+b") == "ab YSBi ***"
    assert Redactor([" "])("a b") == "a b"


def test_the_longest_of_overlapping_secrets_is_removed_whole() -> None:
    assert Redactor(["abc", "abcdef"])("abcdef") == "***"


def test_an_api_error_is_cleaned_in_all_its_parts() -> None:
    error = ApiError("entry/get", {"id": "tok3n"}, 500, "bad tok3n", "body tok3n")
    cleaned = Redactor(["tok3n"]).clean(error)
    assert cleaned is error
    assert "tok3n" not in str(error) + error.message + error.body + str(error.params)
    assert str(error).count("***") == 2


def test_other_errors_are_cleaned_and_keep_what_is_no_text() -> None:
    error = BadBody("tok3n")
    error.args = ("tok3n", 5)
    assert Redactor(["tok3n"]).clean(error).args == ("***", 5)
    plain = RetryableStatus("tok3n", 503)
    assert Redactor([]).clean(plain).args == ("tok3n",)


@pytest.mark.parametrize(
    "url", ["http://api.example", "HTTP://API.example:8080/v1", "http://192.168.1.7", "http://[2001:db8::1]/"]
)
def test_a_token_over_plain_http_causes_a_warning(url: str) -> None:
    said = Credentials("hunter2").exposed_at(url)
    assert said is not None
    assert "unencrypted" in said
    assert "https://" in said
    assert "hunter2" not in said
    assert Credentials().exposed_at(url) is None


@pytest.mark.parametrize(
    "url",
    [
        "https://api.example",
        "http://localhost:1",
        "http://api.localhost",
        "http://127.0.0.1:80",
        "http://127.9.9.9",
        "http://[::1]",
        "http://[x",
    ],
)
def test_a_token_over_https_or_loopback_causes_no_warning(url: str) -> None:
    assert Credentials("hunter2").exposed_at(url) is None
