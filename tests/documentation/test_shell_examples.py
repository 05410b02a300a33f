"""What a page shows to be typed is run in the folder that its reader is in."""

import shlex
from pathlib import Path

import pytest
from lxml import etree

from tests.cli.running import PROGRAM, Ended, run_command
from tests.documentation.pages import fences
from tests.documentation.test_examples import STARTED, readme_reply
from tests.server.http.serving import served

INSTALLS = ("pip install", "sudo ")
"""Lines that change the machine. `make package` installs the wheel on every Python there is."""

TASK = "# Goal\n\nPeople can log in.\n\n# Task\n\nAdd the login endpoint.\n"
RUN = (
    "README.md",
    STARTED,
    "docs/adoption.md",
    "docs/handoffs.md",
    "docs/hosts/claude-code.md",
    "docs/hosts/cursor.md",
    "docs/hosts/opencode.md",
    "docs/hosts/vscode.md",
    "docs/index.md",
    "docs/protocols/goop_report.md",
    "docs/troubleshooting.md",
)
"""Pages whose examples of the shell run one after the other."""

NOT_HERE = (
    "goop-mcp check replies/",  # the list of the README: below, each with its exit code
    "goop-mcp schema",  # below, where xmllint is not needed
    "goop-mcp lets the report",  # what the hook says
    "goop-mcp recorded this report",
    "create_session()",  # test_adoption.py calls it
)

EXPECTED = {"goop-mcp handoff draft task.md\n": 1}
"""The exit code of an example that is not 0: the page says that the draft has questions."""


@pytest.fixture
def reader(tmp_path: Path) -> "Reader":
    return Reader(tmp_path)


class Reader:
    """Somebody with goop-mcp on the path, in the folder of a project with replies of agents."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project, programs = (folder / name for name in ("home", "shop", "bin"))
        for each in (self.home, self.project, programs):
            each.mkdir()

        program = programs / "goop-mcp"
        program.write_text(f'#!/bin/sh\nexec {shlex.join(PROGRAM)} "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        # What an example installs is put into this home, never into that of who runs the tests.
        self._variables = {
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
        }

        (self.project / "replies").mkdir()
        for name in ("reply.md", "replies/login.md"):
            self.save(name, readme_reply())
        self.save("task.md", TASK)
        (answers,) = fences("docs/handoffs.md", "json")
        self.save("answers.json", answers.text)

    def save(self, name: str, text: str) -> None:
        (self.project / name).write_text(text, encoding="utf-8")

    def type(self, script: str) -> Ended:
        """Run the lines of an example but for those that would change the machine."""
        kept = [line for line in script.splitlines() if not line.startswith(INSTALLS)]
        return run_command(
            ["/bin/sh", "-ec", "\n".join(kept)], cwd=self.project, env=self._variables
        )


@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_run(page: str, reader: Reader) -> None:
    if page == STARTED:
        # What the page asks of its reader before the next command.
        reader.save("reply.md", next(fences(page, "xml")).text.replace("FAILED", "BLOCKED"))

    examples = [
        fence.text
        for fence in fences(page, "sh", "")
        if fence.text.startswith("goop-mcp ") or fence.language == "sh"
        if not fence.text.startswith(NOT_HERE)
    ]
    assert examples
    for example in examples:
        ended = reader.type(example)
        assert ended.code == EXPECTED.get(example, 0), f"{example}\n{ended.out}\n{ended.err}"


def test_the_commands_of_the_readme_end_as_it_says(reader: Reader) -> None:
    (listed,) = (fence.text for fence in fences("README.md", "") if "goop-mcp" in fence.text)
    reader.type("goop-mcp init --name Shop")
    ended = {}
    for line in listed.splitlines():
        command = line.partition("#")[0].strip()
        if not command.startswith(("goop-mcp ui", "goop-mcp delegate", "goop-mcp run")):
            ended[command] = reader.type(command).code

    assert ended == {
        "goop-mcp check replies/": 1,
        "goop-mcp check reply.md --workspace": 1,
        "goop-mcp repair --diff replies/": 1,
        "goop-mcp route reply.md": 1,
        "goop-mcp handoff session --write": 0,
        "goop-mcp project lock": 1,
        "goop-mcp status": 0,
        "goop-mcp audit": 0,
        "goop-mcp stats": 0,
    }
    assert (reader.project / ".goopspec" / "HANDOFF.md").is_file()


def test_the_schema_of_the_page_accepts_the_envelope_that_it_shows(reader: Reader) -> None:
    page = "docs/protocols/goop_report.md"
    (example,) = (each.text for each in fences(page, "") if "xmllint" in each.text)
    write, validate = example.splitlines()
    assert reader.type(write).code == 0
    assert validate == "xmllint --noout --nonet --schema goop_report.xsd envelope.xml"

    # What xmllint does, by the library that it is made of.
    schema = etree.XMLSchema(etree.parse(reader.project / "goop_report.xsd"))
    (envelope,) = fences(page, "xml")
    schema.assertValid(etree.fromstring(envelope.text))


def test_a_token_made_as_the_page_says_is_accepted_by_the_server(reader: Reader) -> None:
    make, serve = next(
        fence.text for fence in fences("docs/security.md", "sh") if "token_urlsafe" in fence.text
    ).splitlines()
    assert reader.type(f"{make}\numask").out == reader.type("umask").out

    words = shlex.split(serve)
    assert words[:2] == ["goop-mcp", "serve"]
    # The page listens on all addresses; a test opens nothing to the network.
    del words[words.index("--host") : words.index("--host") + 2]
    words[words.index("token")] = str(reader.project / "token")
    with served(*words[2:], project=reader.project) as server:
        assert server.mcp.endswith("/mcp")
