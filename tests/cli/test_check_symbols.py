"""`goop-mcp check --symbols`: symbols of a claim that are missing or stubs are named, no more."""

from pathlib import Path

import pytest

from tests.cli.running import Ended, run

REPLY = """\
<goop_report version="0.1.6"><status>COMPLETE</status><agent>goop-executor</agent>
<state><phase>execute</phase></state><summary>Added the shop.</summary>
<artifacts><files><file path="{path}" action="modified">{text}</file></files></artifacts>
<memory/><verification/>
<handoff><ready>true</ready><next_action agent="goop-tester">Test it</next_action>
<blockers>None</blockers><suggest_new_session>false</suggest_new_session></handoff></goop_report>
"""
SHOP = r'''
import typing
class Shop:
    def add(self, item): self.items = [item]

    def remove(self, item):
        """Remove it."""
        raise NotImplementedError

async def total(): ...

LIMIT = 7

class Priced(typing.Protocol[T]):
    def price(self) -> int: ...
    async def tax(self) -> int: ...

WARNING = "\d"
'''


def check(folder: Path, path: str, text: str, *options: str) -> Ended:
    folder.joinpath("shop.py").write_text(SHOP, encoding="utf-8")
    folder.joinpath("shop.ts").write_text("export const add = () => 1\n", encoding="utf-8")
    folder.joinpath("shop.cfg").write_text("nothing\n", encoding="utf-8")
    folder.joinpath("shop.pyi").write_text("def total() -> int: ...\n", encoding="utf-8")
    folder.joinpath("bad.py").write_text("def (", encoding="utf-8")
    folder.joinpath("reply.md").write_text(REPLY.format(path=path, text=text), encoding="utf-8")
    return run("check", "reply.md", *options, cwd=folder)


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("shop.py", "Added `Shop.add()`, `LIMIT` and `items`", []),
        ("shop.py", "Added `Shop.pay()`", ["pay is not defined in shop.py"]),
        ("shop.py", "`remove` and `total()`", ["remove in shop.py is a stub"]),
        ("shop.ts", "`add`", []),
        ("shop.ts", "`pay`", ["pay is not defined in shop.ts"]),
        ("shop.cfg", "`pay`", []),
        ("bad.py", "`pay`", []),
        ("missing.py", "`pay`", []),
        ("../out.py", "`pay`", []),
        # What the language or another module has, a parameter, a declaration.
        ("shop.py", "Returns `None` or `True`, uses `os.path.join` and `int()`", []),
        ("shop.py", "Checked with `typing.cast` and `re.search`", []),
        ("shop.py", "Added `shop.pay`", ["pay is not defined in shop.py"]),
        ("shop.py", "`item` may be empty", []),
        ("shop.py", "`Priced.price` and `Priced.tax`", []),
        ("shop.py", "`Shop.pay` of `os.pay`", ["pay is not defined in shop.py"]),
        ("shop.pyi", "`total`", []),
        ("shop.pyi", "`pay`", ["pay is not defined in shop.pyi"]),
        ("shop.py", "pay is no symbol, `--pay` and `a b` neither", []),
    ],
)
def test_missing_symbols_and_stubs_are_named_and_change_no_verdict(
    tmp_path: Path, path: str, text: str, found: list[str]
) -> None:
    alone = check(tmp_path, path, text)
    ended = check(tmp_path, path, text, "--symbols")
    assert ended.code == alone.code
    assert ended.out == alone.out
    named = [line for line in ended.err.splitlines() if "shop." in line]
    for each in found:
        assert any(each in line for line in named), ended.err
    assert bool(named) == bool(found)


def test_it_is_off_by_default(tmp_path: Path) -> None:
    note = "goop-mcp: note: not verified: 1 of 1 claims; --workspace verifies them.\n"
    assert check(tmp_path, "shop.py", "`Shop.pay`").err == note


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "x = " + "-" * 400_000 + "1",
        "x = a" + ".b" * 100_000,
        "x = " + "1 if a else " * 30_000 + "1",
        "x = 1\0",
        "\ufeffx = 1",
        "a = 9" + "9" * 50_000,
    ],
)
def test_hostile_source_is_skipped_in_silence(tmp_path: Path, text: str) -> None:
    (tmp_path / "evil.py").write_text(text, encoding="utf-8")
    ended = check(tmp_path, "evil.py", "`pay_by_card`", "--symbols")
    assert "Traceback" not in ended.err
    assert ended.code == check(tmp_path, "evil.py", "`pay_by_card`").code
