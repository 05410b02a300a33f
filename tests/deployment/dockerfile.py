"""The few instructions of our Dockerfile, read so that its steps can be taken without Docker."""

import json
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.repository import project_files

__all__ = ["Stage", "read_stages", "stage_context"]

_WITHOUT_EFFECT_HERE = frozenset({"WORKDIR", "COPY", "VOLUME", "EXPOSE"})


@dataclass(slots=True)
class Stage:
    """What one stage does."""

    image: str
    runs: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)


def read_stages(path: Path) -> list[Stage]:
    """Return the stages; raise ValueError for an instruction that is not known here."""
    text = re.sub(r"^#.*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    stages: list[Stage] = []
    for line in text.replace("\\\n", "").splitlines():
        name, _, rest = line.partition(" ")
        rest = rest.strip()
        if not name:
            continue
        if name == "FROM":
            stages.append(Stage(rest.split()[0]))
            continue

        stage = stages[-1]
        match name:
            case "RUN":
                stage.runs.append(rest)
            case "ENV":
                stage.environment |= dict(pair.split("=", 1) for pair in rest.split())
            case "USER":
                stage.user = rest
            case "ENTRYPOINT":
                stage.entrypoint = json.loads(rest)
            case "CMD":
                stage.command = json.loads(rest)
            case "HEALTHCHECK":
                stage.health = json.loads(rest[rest.index("[") :])
            case _ if name not in _WITHOUT_EFFECT_HERE:
                raise ValueError(f"unknown instruction: {name}")
            case _:
                pass

    return stages


def stage_context(root: Path, target: Path) -> int:
    """Copy what .dockerignore lets into the build to `target`, and return the number of files."""
    ignore = root / "packaging" / "docker" / "Dockerfile.dockerignore"
    lines = ignore.read_text(encoding="utf-8").splitlines()
    allowed = tuple(line[1:] for line in lines if line.startswith("!"))
    count = 0
    for path in project_files():
        name = path.relative_to(root).as_posix()
        if not any(name == each or name.startswith(f"{each}/") for each in allowed):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target / name)
        count += 1

    return count
