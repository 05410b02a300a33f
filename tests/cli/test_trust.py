"""`goop-mcp trust`: a person lets settings count that weaken how reports are judged."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.cli.running import Ended, run, run_on_terminal
from tests.documentation.pages import read_page
from tests.workspace.true_projects import write

LAX = "[hooks]\nagents = []\n"


@pytest.fixture
def home(tmp_path: Path) -> Mapping[str, str]:
    return {"HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    write(tmp_path, "shop/goop-mcp.toml", LAX)
    return tmp_path / "shop"


def listed(folder: Path, home: Mapping[str, str]) -> str:
    return run("trust", "--list", cwd=folder, env=home).out


def test_a_person_is_asked_at_a_terminal(shop: Path, home: Mapping[str, str]) -> None:
    def answer(*arguments: str, typed: str) -> Ended:
        return run_on_terminal("trust", *arguments, cwd=shop, env=home, typed=typed)

    refused = answer(typed="n\n")
    assert refused.code == 3
    assert 'agents = [] (goop-mcp.toml, line 2; before: ["goop-*", "memory-distiller"])' in (
        refused.out
    )
    assert "nothing was trusted" in refused.out
    # Enter alone and a closed terminal are no answer.
    assert answer(typed="\n").code == 3
    assert answer(typed="\x04").code != 0
    assert listed(shop, home) == ""

    assert answer("goop-mcp.toml", typed="y\n").code == 0
    assert re.fullmatch(r"[0-9a-f]{64}  .*/\.goopspec/settings\n", listed(shop, home))

    kept = [*(Path(home["XDG_STATE_HOME"]) / "goop-mcp").rglob("*.json")]
    assert len(kept) == 2
    assert {each.stat().st_mode & 0o777 for each in kept} == {0o600}

    forgotten = run("trust", "--forget", cwd=shop, env=home).out
    assert forgotten == f"the settings of {str(shop)!r} are no longer trusted\n"
    assert listed(shop, home) == ""


def test_the_page_shows_what_a_person_sees(shop: Path, home: Mapping[str, str]) -> None:
    write(shop, "goop-mcp.toml", '[hooks]\nagents = ["builder"]\n')
    ended = run_on_terminal("trust", cwd=shop, env=home, typed="y\n")
    # The terminal echoes at once what is typed before it is asked for.
    shown = ended.out.removeprefix("y\n").replace("[y/N]: ", "[y/N]: y\n")
    assert f"```\n{shown}```" in read_page("docs/cli.md")


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["trust"], 3, "a person has to read these lines"),
        (["trust", "--digest", "ab" * 6], 2, "expected all 64 hexadecimal digits"),
        (["trust", "--digest", "ab" * 32], 3, "the digest of the settings is "),
        (["trust", "setup.cfg"], 2, "expected goop-mcp.toml, pyproject.toml or .goopspec/hooks"),
        (["trust", "nowhere/goop-mcp.toml"], 2, "is not in a project"),
        (["trust", "pyproject.toml"], 2, "pyproject.toml does not count, because goop-mcp.toml"),
        (["trust", "--list", "--forget"], 2, "expected one of"),
    ],
)
def test_without_a_terminal_nothing_is_trusted_by_mistake(
    shop: Path, home: Mapping[str, str], arguments: list[str], code: int, expected: str
) -> None:
    ended = run(*arguments, cwd=shop, env=home)
    assert ended.code == code
    assert expected in ended.err
    assert listed(shop, home) == ""


def test_it_says_when_nothing_weakens(shop: Path, home: Mapping[str, str]) -> None:
    write(shop, "goop-mcp.toml", '[hooks]\nmode = "strict"\n')
    here = run("trust", cwd=shop, env=home)
    assert here.out == "No setting weakens how reports are judged.\n"
    elsewhere = run("trust", f"--project={shop}", cwd=shop.parent, env=home)
    assert elsewhere.out == f"No setting in {str(shop)!r} weakens how reports are judged.\n"


def test_only_the_values_of_the_tables_are_trusted(shop: Path, home: Mapping[str, str]) -> None:
    def digest() -> str:
        [found] = re.findall(r"[0-9a-f]{64}", run("trust", cwd=shop, env=home).err)
        return str(found)

    first = digest()
    write(shop, "goop-mcp.toml", f"# mine\n[checks.x]\ncommand = ['true']\n{LAX}")
    assert digest() == first
    # In whatever file they stand.
    (shop / "goop-mcp.toml").unlink()
    write(shop, ".goopspec/hooks.json", '{"agents": []}')
    assert digest() == first
    for text in ('{"agents": [], "mode": "strict"}', '{"agents": ["x"]}', "{}"):
        write(shop, ".goopspec/hooks.json", text)
        assert digest() != first
    write(shop, "goop-mcp.toml", f"{LAX}[protocols.review]\nschema = 'a.json'\n")
    assert digest() != first
