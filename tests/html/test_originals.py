"""The originals of thumbnails, by the public rules of picture hosts."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporter.html.links import absolute
from exporter.html.originals import originals

FOTOLIFE = "https://cdn-ak.f.st-hatena.com/images/fotolife/h/user/20200102/20200102030405"


def test_a_rule_leads_to_the_original(subtests: pytest.Subtests) -> None:
    rows: list[tuple[str, list[str]]] = [
        (f"{FOTOLIFE}_120.jpg", [f"{FOTOLIFE}.jpg"]),
        (f"{FOTOLIFE}_m.png", [f"{FOTOLIFE}.png"]),
        (
            f"https://cdn.image.st-hatena.com/image/scale/ab12/backend=imagemagick;w=13/{quote(FOTOLIFE, '')}_120.jpg",
            [f"{FOTOLIFE}_120.jpg", f"{FOTOLIFE}.jpg"],
        ),
        (
            "https://stat.ameba.jp/user_images/20200102/03/user/ab/cd/j/o1080144014000000000.jpg?caw=800",
            ["https://stat.ameba.jp/user_images/20200102/03/user/ab/cd/j/o1080144014000000000.jpg"],
        ),
        (
            "https://stat100.ameba.jp/user_images/20100102/03/user/ab/cd/j/t02200293_0480064010000000000.jpg",
            ["https://stat100.ameba.jp/user_images/20100102/03/user/ab/cd/j/o0480064010000000000.jpg"],
        ),
        (
            "https://x.example/wp-content/uploads/2020/01/a-b-300x200.jpg",
            ["https://x.example/wp-content/uploads/2020/01/a-b.jpg"],
        ),
        (
            "https://i0.wp.com/x.example/wp-content/uploads/a-300x200.png?resize=300%2C200&ssl=1",
            ["https://x.example/wp-content/uploads/a-300x200.png", "https://x.example/wp-content/uploads/a.png"],
        ),
        ("https://u.files.wordpress.com/2020/01/a.jpg?w=300", ["https://u.files.wordpress.com/2020/01/a.jpg"]),
        ("https://1.bp.blogspot.com/-a/X/AAA/s320/I.JPG", ["https://1.bp.blogspot.com/-a/X/AAA/s0/I.JPG"]),
        ("https://1.bp.blogspot.com/-a/X/AAA/w640-h480/I.JPG", ["https://1.bp.blogspot.com/-a/X/AAA/s0/I.JPG"]),
        (
            "https://blogger.googleusercontent.com/img/b/R29/AVv/s1600/I.JPG",
            ["https://blogger.googleusercontent.com/img/b/R29/AVv/s0/I.JPG"],
        ),
        ("https://lh3.googleusercontent.com/abc=w400-h300", ["https://lh3.googleusercontent.com/abc=s0"]),
        ("https://livedoor.blogimg.jp/u/imgs/a/b/abc-s.jpg", ["https://livedoor.blogimg.jp/u/imgs/a/b/abc.jpg"]),
        ("https://blog-imgs-12.fc2.com/u/s/e/user/I_1s.jpg", ["https://blog-imgs-12.fc2.com/u/s/e/user/I_1.jpg"]),
        ("https://u.up.seesaa.net/image/I-thumbnail2.jpg", ["https://u.up.seesaa.net/image/I.jpg"]),
        (
            "https://blogimg.goo.ne.jp/image/upload/f_auto,t_x/v1/user_image/5b/7b/h.jpg",
            ["https://blogimg.goo.ne.jp/user_image/5b/7b/h.jpg"],
        ),
    ]
    for thumbnail, expected in rows:
        with subtests.test(thumbnail=thumbnail, expected=expected):
            assert list(originals(thumbnail)) == expected


@pytest.mark.parametrize(
    "address",
    [
        "https://x.example/photo-300x200.jpg",
        "https://x.example/files/photo-300x200.jpg",
        "https://blog.cnobi.jp/v1/blog/user/ab/123",
        f"{FOTOLIFE}.jpg",
        "https://1.bp.blogspot.com/-a/X/AAA/s0/I.JPG",
        "https://stat.ameba.jp/user_images/a/o1080.jpg",
        "https://evil.example/?u=stat.ameba.jp/user_images/a/t02200293_0480064010000000000.jpg",
        "https://cdn.image.st-hatena.com/image/scale/ab/x/javascript%3Aalert(1)",
        "https://cdn.image.st-hatena.com/image/scale/ab/x/https%3A%2F%2Fx.example%2Fpage.php",
    ],
)
def test_any_other_address_has_no_original(address: str) -> None:
    assert list(originals(address)) == []


@given(st.text(max_size=200))
def test_no_address_raises_or_goes_on_forever(text: str) -> None:
    for host in ("i0.wp.com/", "cdn.image.st-hatena.com/image/scale/ab/x/https%3A//", "1.bp.blogspot.com/", ""):
        address = absolute(f"https://{host}{text}", "")
        if address is not None:
            assert len(list(originals(address))) < 100
