"""Who gets in, and what a page may load, send and change."""

import re
from pathlib import Path

import pytest
from starlette.responses import Response

from goop_mcp.workbench.access import (
    CODE_SECONDS,
    LOGIN_SECONDS,
    Logins,
    OneTimeCodes,
    SignedValues,
)
from goop_mcp.workbench.app import CONTENT_SECURITY_POLICY
from goop_mcp.workbench.rendering import visible
from tests.workbench.browsing import browse, root_of, text_of

KEY = "k" * 32
ROOT = "/~0123456789012345678901"


def _cookies_of(values: SignedValues, text: str) -> dict[str, str]:
    """Return what a browser sends after `text` was set as the cookie of a login."""
    response = Response()
    values.keep(response, text, root=ROOT, seconds=60)
    name, _, value = response.headers["set-cookie"].partition(";")[0].partition("=")
    return {name: value}


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def test_a_code_logs_in_once_and_sets_a_strict_cookie(tmp_path: Path) -> None:
    with browse(tmp_path, enters=False) as browser:
        code = browser.local.codes.make()
        first = browser.client.get(f"/login/{code}", follow_redirects=False)
        cookie = first.headers["set-cookie"]
        browser.client.cookies.clear()
        second = browser.get(f"/login/{code}")

    root = root_of(first)
    assert first.status_code == 200
    assert re.fullmatch(r"/~[\w-]{22}", root)
    assert f"; Path={root}/;" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert first.headers["referrer-policy"] == "no-referrer"
    assert first.headers["cache-control"] == "no-store"
    assert second.status_code == 401
    assert "used already" in text_of(second)


def test_looking_at_the_address_of_a_code_does_not_use_it(tmp_path: Path) -> None:
    with browse(tmp_path, enters=False) as browser:
        code = browser.local.codes.make()
        browser.client.head(f"/login/{code}")
        assert browser.get(f"/login/{code}").status_code == 200


def test_a_code_is_good_for_five_minutes() -> None:
    clock = Clock()
    codes = OneTimeCodes(clock=clock)
    late, good = codes.make(), codes.make()
    clock.now += CODE_SECONDS - 1
    assert codes.use(good)
    clock.now += 2
    assert not codes.use(late)
    assert not codes.use("")


def test_a_login_ends_after_half_a_day_by_logging_out_and_with_other_keys() -> None:
    clock = Clock()
    logins = Logins(SignedValues([KEY]), clock=clock)
    login, cookie = logins.issue(name="ann", scopes=frozenset({"read"}), tenant="")
    cookies = _cookies_of(logins.values, cookie)
    # PyJWT looks at the clock of the machine, which is before the one of this test.
    found = logins.find(cookies, root=ROOT)
    assert found is not None
    assert (found.name, found.scopes, found.via) == ("ann", frozenset({"read"}), "workbench ann")

    other = Logins(SignedValues(["x" * 32]), clock=clock)
    assert other.find(_cookies_of(other.values, cookie), root=ROOT) is None
    # What was given for one path is not looked for under the name of the whole host.
    assert logins.find(cookies, root="") is None
    rotated = Logins(SignedValues(["n" * 32, KEY]), clock=clock)
    assert rotated.find(cookies, root=ROOT) is not None
    assert rotated.is_key(found, logins.key_of(found))
    assert not other.is_key(found, logins.key_of(found))

    logins.end(login)
    assert logins.find(cookies, root=ROOT) is None
    clock.now += LOGIN_SECONDS
    assert rotated.find(cookies, root=ROOT) is None


@pytest.mark.parametrize("address", ["/", "/login/wrong", "/live", "/nowhere"])
def test_nothing_is_shown_to_whoever_is_not_logged_in(tmp_path: Path, address: str) -> None:
    (tmp_path / ".goopspec").mkdir()
    with browse(tmp_path, enters=False) as browser:
        page = browser.get(address)

    assert page.status_code in (401, 404)
    assert tmp_path.name not in page.text


@pytest.mark.parametrize("address", ["/", "/static/workbench.js", "/nowhere", "/login/wrong"])
def test_every_answer_has_the_headers(tmp_path: Path, address: str) -> None:
    with browse(tmp_path) as browser:
        headers = browser.get(address).headers

    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'; style-src 'self';")
    # No page names its address to other origins; a form without a referrer would have no origin.
    expected = "no-referrer" if "/login/" in address else "same-origin"
    assert headers["referrer-policy"] == expected
    assert headers["x-content-type-options"] == "nosniff"
    assert "cache-control" in headers


def test_static_files_have_their_types_and_are_kept_by_version(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        page = browser.get("/").text
        addresses = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
        types = {each: browser.get(each).headers["content-type"] for each in addresses}
        kept = browser.get(addresses[0]).headers["cache-control"]
        outside = browser.get("/static/..%2fapp.py")

    assert {name.partition("?")[0]: kind.partition(";")[0] for name, kind in types.items()} == {
        "/static/icon.svg": "image/svg+xml",
        "/static/workbench.css": "text/css",
        "/static/workbench.js": "text/javascript",
    }
    assert "immutable" in kept
    assert outside.status_code == 404


def test_foreign_hosts_and_origins_are_refused(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        host = browser.client.get("/", headers={"Host": "evil.example"})
        origin = browser.client.post(
            f"{browser.root}/logout",
            headers={"Origin": "http://evil.example"},
            data={"csrf": browser.csrf()},
        )

    assert (host.status_code, origin.status_code) == (421, 403)


def test_a_form_without_the_token_of_its_login_changes_nothing(tmp_path: Path) -> None:
    with browse(tmp_path) as browser:
        stale = browser.csrf()
        browser.log_in()
        refused = [browser.post("/logout", {}, csrf=each) for each in ("", "x" * 32, stale, "é")]
        as_json = browser.client.post(f"{browser.root}/logout", json={"csrf": browser.csrf()})
        still_in = browser.get("/")
        out = browser.post("/logout", {})
        after = browser.get("/")

    assert [each.status_code for each in refused] == [403] * 4
    assert as_json.status_code == 415
    assert still_in.status_code == 200
    assert (out.status_code, after.status_code) == (200, 401)


def test_invisible_characters_are_shown() -> None:
    assert visible("a\u202eb\x1b[31m\x00\ud800\r\nc\td") == "a⟦U+202E⟧b␛[31m␀⟦U+D800⟧\nc\td"


def test_every_link_of_a_template_begins_below_the_login() -> None:
    for template in Path("goop_mcp/workbench/templates").glob("*.html"):
        links = re.findall(r'(?:href|action)="(/[^"]*)"', template.read_text(encoding="utf-8"))
        assert all(each.startswith("/static/") for each in links), template.name


def test_the_own_script_is_small() -> None:
    script = Path("goop_mcp/workbench/static/workbench.js")
    assert len(script.read_bytes()) < 10_000
