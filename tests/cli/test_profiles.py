from __future__ import annotations

from pathlib import Path

import pytest

from exporter.service.declarations import FactBasis
from exporter.service.registry import PROFILES
from exporter.settings import SETTINGS, check_profile, resolve
from tests.cli.conftest import Program

OWN = """
token = "sesame"
[profiles.mine]
base_url = "https://api.example.jp"
rate = 2
site = false
blog_hosts = "*.blog.example.jp"
"""


def own(folder: Path, text: str = OWN) -> Path:
    path = folder / "my.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda profile: str(profile.name))
def test_a_built_in_profile_has_settings_with_sources(profile: object) -> None:
    assert isinstance(profile, type(PROFILES["ninja"]))
    check_profile(profile)
    assert set(profile.settings) < set(SETTINGS)
    assert all(fact.source and fact.basis is not FactBasis.OWN for fact in profile.facts.values())


def test_every_fact_is_shown_with_its_standing_and_source(program: Program) -> None:
    shown = program("profiles").out
    labels = {"blog_hosts": "hosts of its blogs", "developer_page": "page for developers"}
    assert "ninja: Ninja Blog (忍者ブログ)" in shown
    for name, fact in PROFILES["ninja"].facts.items():
        assert f"{labels.get(name, name)} = {fact.value}\n" in shown
    assert "documented: the service's public page for developers" in shown
    assert "observed: pages and uploads of public blogs" in shown
    assert "our choice: no limit is documented" in shown
    assert "Not known:\n      the meanings of the flags" in shown
    # Only a list of hosts, which cannot be divided, may be wider than a terminal.
    lines = [line for line in shown.splitlines() if "*." not in line]
    assert max(map(len, lines)) <= 80


def test_a_user_profile_is_shown_with_the_built_in_ones(program: Program, tmp_path: Path) -> None:
    path = own(tmp_path)
    shown = program("profiles", "--config", path).out
    assert "mine: your profile" in shown
    assert f"  site = no\n      your own: {path}" in shown
    assert "sesame" not in shown
    found = program("profiles", "mine", "--config", path, "--json").json["profiles"]
    assert [(one["name"], one["built_in"], one["from"]) for one in found] == [("mine", False, str(path))]
    assert found[0]["facts"]["rate"] == {"value": "2", "standing": "own", "source": str(path)}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("nin", "", "There is no profile 'nin' (did you mean ninja?)."),
        ("mine", '[profiles.mine]\nrate = "fast"', "profile mine: rate is 'fast': requests per second"),
        ("ninja", '[profiles.ninja]\nrate = 20\nagreement = " "', "needs a text that says who agreed, when and where"),
        ("ninja", '[profiles.ninja]\ntimezone = "UTC"\nagreement = "x"', "and the rate or the concurrency"),
        ("ninja", "[profiles.ninja]\nrate = 20\nagreement = 3", "needs a text that says who agreed"),
        ("mine", '[profiles.mine]\noauth_client_secret = "s3cret"', "oauth_client_secret is not a setting"),
    ],
)
def test_an_invalid_profile_is_named(program: Program, tmp_path: Path, name: str, text: str, said: str) -> None:
    done = program("profiles", name, "--config", own(tmp_path, text))
    assert done.code == 2
    assert said in done.err
    assert "s3cret" not in done.err + done.out


AGREED = """
[profiles.ninja]
rate = 40
concurrency = 6
timezone = "UTC"
agreement = "the operator's\tmail of 2026-05-01"
"""


def test_an_agreement_adds_to_the_built_in_profile(program: Program, tmp_path: Path) -> None:
    path = own(tmp_path, AGREED)
    facts = program("profiles", "ninja", "--config", path, "--json").json["profiles"][0]["facts"]
    assert facts["rate"] == {"value": "40", "standing": "agreed", "source": "the operator's mail of 2026-05-01"}
    assert facts["concurrency"]["standing"] == "agreed"
    assert facts["timezone"] == {"value": "UTC", "standing": "own", "source": str(path)}
    assert facts["base_url"] == {
        name: getattr(PROFILES["ninja"].facts["base_url"], field)
        for name, field in (("value", "value"), ("standing", "basis"), ("source", "source"))
    }
    assert "agreement" not in facts
    shown = program("profiles", "ninja", "--config", path).out
    assert "  rate = 40\n      agreed with the service's owner: the operator's mail of 2026-05-01\n" in shown


def test_a_blog_of_the_service_is_read_at_the_agreed_rate(tmp_path: Path) -> None:
    found = resolve({}, config=own(tmp_path, AGREED), blog_id="sakura.blog.shinobi.jp", environ={})
    assert (found.rate, found.concurrency, found.base_url) == (40.0, 6, "https://api.shinobi.jp")
    assert (
        resolve({"rate": "3"}, config=own(tmp_path, AGREED), blog_id="sakura.blog.shinobi.jp", environ={}).rate == 3.0
    )
