"""`goop-mcp trust [FILE]`: let settings count that weaken how reports are judged."""

import os
from pathlib import Path

from goop_mcp import services
from goop_mcp.cli.options import WrongCallError, project_folder
from goop_mcp.cli.running import A_PERSON
from goop_mcp.cli.streams import complain, show
from goop_mcp.cli.trusting import are_trusted_by_caller
from goop_mcp.services.confirmed_settings import committed, find_trusted
from goop_mcp.services.options_file import FILES
from goop_mcp.services.stop_hooks.policy import (
    FILE,
    ProjectSettings,
    Tables,
    read_project_settings,
    trust_place,
)
from goop_mcp.services.weakening import described, weakened

__all__ = ["forget_settings", "trust_settings"]


def trust_settings(file: str | None, project: str | None, digest: str | None) -> int:
    """Trust the settings of the project that `file` belongs to; return the exit code.

    What weakens is shown, and a person is asked on the terminal. `digest` is that of the settings,
    None without one.
    """
    folder = _project_of(file, project)
    settings = read_project_settings(str(folder))
    for remark in settings.remarks:
        complain(remark)
    show("".join(f"{line}\n" for line in _what_weakens(folder, settings)))

    return _trusted(trust_place(str(folder)), settings, digest)


def forget_settings(file: str | None, project: str | None) -> int:
    """Trust the settings of the project that `file` belongs to no longer; return the exit code."""
    folder = _project_of(file, project)
    was = services.trusted_settings.forget_settings(trust_place(str(folder)))
    show(f"the settings of {str(folder)!r} are {'no longer' if was else 'not'} trusted\n")

    return 0


def _project_of(file: str | None, project: str | None) -> Path:
    """Return the folder of the project whose settings `file` holds."""
    if file is None:
        return project_folder(project)

    path = Path(os.path.abspath(file))  # noqa: PTH100 - a link counts where it stands
    names = {*FILES, FILE}
    name = next((each for each in names if path.as_posix().endswith(f"/{each}")), None)
    if name is None:
        raise WrongCallError(
            f"{file!r} holds no settings of a project; expected {FILES[0]}, {FILES[1]} or {FILE}"
        )
    folder = path.parents[len(Path(name).parts) - 1]
    if not folder.is_dir() or (project is not None and not folder.samefile(project)):
        raise WrongCallError(f"{file!r} is not in a project of yours; name the file in its folder")

    found = read_project_settings(str(folder)).options.source
    if name in FILES and found not in ("", name):
        raise WrongCallError(f"{name} does not count, because {found} is there; name that one")
    return folder


def _what_weakens(folder: Path, settings: ProjectSettings) -> list[str]:
    """Return a line for each key that weakens what was trusted or committed, or the defaults."""
    references: list[Tables] = [{}]
    trusted = find_trusted(str(folder))
    before = (
        trusted.tables if trusted is not None else committed(str(folder), settings, lambda: "HEAD")
    )
    if before is not None:
        references.insert(0, before)

    where = "" if folder == Path.cwd() else f" in {str(folder)!r}"
    lines = [described(settings, each) for each in weakened(references, settings.tables)]
    if not lines:
        return [f"No setting{where} weakens how reports are judged."]
    return [f"These settings{where} weaken how reports are judged:", *(f"  {e}" for e in lines)]


def _trusted(place: str, settings: ProjectSettings, given: str | None) -> int:
    wanted = services.trusted_settings.digest_of(settings.tables)
    if not are_trusted_by_caller(wanted, given):
        return A_PERSON

    services.trusted_settings.trust_settings(place, settings.tables)
    complain(f"trusted the settings as they are now ({wanted[:12]})")
    return 0
