"""Rules about paths that will be written or read, for every protocol that names them."""

from msgspec.structs import replace

from goop_mcp.validation.expectations import Expectations
from goop_mcp.validation.findings import Severity
from goop_mcp.validation.json_samples import FACTORY_REPLY
from goop_mcp.validation.rules import Example, RuleList

__all__ = [
    "ABSOLUTE",
    "OUTSIDE_SESSION",
    "OUTSIDE_WORKSPACE",
    "PATH_RULES",
    "TEMPLATE_VARIABLE",
    "VARIABLE_LEFT",
]

_GOOD = '"path": ".factory/runs/20260121-a1b2/artifacts/system_architecture.md"'

PATH_RULES = RuleList()

OUTSIDE_WORKSPACE = PATH_RULES.add(
    id="path/outside-workspace",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches=(
        "`..`, absolute outside the workspace (or no workspace known), `~`, drive letter, NUL,"
        " symlink leading out"
    ),
    why=(
        "Somebody will write to this path or read from it. Nothing outside of the project is an"
        " agent's business."
    ),
    fix="Name the file by its path from the top of the project, such as docs/plan.md.",
    requirements=("F-14", "H-61", "S-04"),
    example=Example(good=_GOOD, bad='"path": "../../etc/passwd"', reply=FACTORY_REPLY),
)

ABSOLUTE = PATH_RULES.add(
    id="path/absolute",
    lenient=Severity.WARNING,
    strict=Severity.ERROR,
    catches="absolute path inside the known workspace; made root-relative",
    why="The path is right on one machine only.",
    fix="Leave out the folder of the project: write the path from its top.",
    requirements=("F-14",),
    example=Example(
        good=_GOOD,
        bad='"path": "/srv/pipeline/.roomodes"',
        reply=FACTORY_REPLY,
        expected=Expectations(workspace="/srv/pipeline"),
    ),
)

OUTSIDE_SESSION = PATH_RULES.add(
    id="path/outside-session",
    lenient=Severity.ERROR,
    strict=Severity.ERROR,
    catches="containment set to `session` and a deliverable lies elsewhere",
    why="The caller wants everything that a session makes in the folder of that session.",
    fix="Put the file into the folder of the session and name it there.",
    requirements=("H-61",),
    example=Example(
        good=_GOOD,
        bad='"path": "src/a.py"',
        reply=FACTORY_REPLY,
        expected=Expectations(session_folder=".factory/runs/20260121-a1b2"),
    ),
)

TEMPLATE_VARIABLE = PATH_RULES.add(
    id="path/template-variable",
    lenient=Severity.WARNING,
    strict=Severity.WARNING,
    catches=(
        "`{…}` or `<…>` left in a path; an error at the pre-spawn gate and where files are checked"
    ),
    why="No file has that name: the template was copied and not filled in.",
    fix="Replace the variable by the real name.",
    requirements=("F-29", "H-10"),
    example=Example(
        good=_GOOD,
        bad='"path": ".factory/runs/{session-id}/artifacts/system_architecture.md"',
        reply=FACTORY_REPLY,
    ),
)

VARIABLE_LEFT = replace(TEMPLATE_VARIABLE, lenient=Severity.ERROR, strict=Severity.ERROR)
"""The same rule where the path is about to be used."""
