"""How replies are judged while agents work: what weakens since they began needs a person.

What is compared with is what a person trusts, the settings as they stood at the first event that we
saw of a session, and, where that event came late, those of the commit at which the task began. It
is kept for each session in a small file, so that an event costs no more than a look at it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from goop_mcp import services
from goop_mcp.errors import GoopError
from goop_mcp.recording.state_folder import may_be_trusted
from goop_mcp.services import stop_hooks
from goop_mcp.services.options_file import FILES
from goop_mcp.services.stop_hooks.kept_files import KeptFiles
from goop_mcp.services.stop_hooks.policy import (
    ProjectSettings,
    StopPolicy,
    Tables,
    read_project_settings,
    trust_place,
    usable_tables,
)

if TYPE_CHECKING:
    from typing import TypedDict

    from goop_mcp.services.stop_hooks.judged_by import JudgedBy
    from goop_mcp.services.trusted_settings import TrustedSettings
    from goop_mcp.validation.expectations import Profile

    # Defined here only: every hook would pay for the class, which is JSON as it is kept.
    class _Reference(TypedDict):
        """What settings must not weaken: each of `tables`, and the profile.

        `source` is the file that had options then, `folder` whether it was a project,
        `rules` has the digest of each file of custom rules. `shown` is the checksum of the last
        line about what does not count.
        """

        tables: Sequence[Tables]
        profile: str
        source: str
        folder: bool
        rules: Mapping[str, str]
        shown: int


__all__ = ["HeldSettings", "KeptSession"]

_FOLDER: Final = "session-settings"
_MOST_BYTES: Final = 1024 * 1024
_NEXT_SESSION: Final = (
    "a file in .goopspec that was not there before names the profile v1, which counts from the next"
    " session on"
)


class KeptSession:
    """Where the reference of one session is kept, for the processes that answer its events."""

    def __init__(self, state: str, session: str) -> None:
        """Use the folder `state`, which may not exist, for the session with this id."""
        self._files = KeptFiles(state, _FOLDER, most_bytes=_MOST_BYTES)
        self._session = session

    def read(self) -> "_Reference | None":
        """Return what is kept, None where nothing is or it cannot be read."""
        try:
            values: Any = json.loads(self._files.read(self._session) or b"null")
            # Anybody may have written there, and what cannot be used must not stop the judge.
            return {
                "tables": [usable_tables(each) for each in values["tables"]],
                "profile": str(values["profile"]),
                "source": str(values["source"]),
                "folder": values["folder"] is True,
                "rules": {str(name): str(digest) for name, digest in values["rules"].items()},
                "shown": int(values["shown"]),
            }
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def write(self, reference: "_Reference", *, again: bool) -> None:
        """Keep `reference`, also in place of another one if it is `again`. Raises OSError."""
        content = json.dumps(reference).encode("ascii")
        if again:
            self._files.replace(self._session, content)
        else:
            self._files.create(self._session, content)

    def use(self) -> None:
        """Keep what is kept for longer, as the session goes on."""
        self._files.use(self._session)


class HeldSettings:
    """The settings of a project for as long as agents are judged there.

    `kept` is where the reference stands between processes, None for one process. `base` returns a
    commit for a first look that may come late: an agent has worked before it. `say` receives the
    line about what does not count, once; without it the caller asks for `message`. `rules` are the
    custom ones of the caller, as `load_rules` takes them.
    """

    def __init__(
        self,
        project: str,
        *,
        kept: KeptSession | None = None,
        base: Callable[[], str] | None = None,
        say: Callable[[str], None] | None = None,
        rules: tuple[str, ...] = (),
    ) -> None:
        self._project, self._kept, self._base, self._say = project, kept, base, say
        self._rules = rules
        self._reference: _Reference | None = None
        self._held: dict[str, str] = {}
        self.remarks: tuple[str, ...] = ()

    def policy(self) -> StopPolicy:
        """Return the policy that holds now; `remarks` say what its files have that is unusable."""
        settings = read_project_settings(self._project)
        self.remarks = settings.remarks
        self._held.pop("settings", None)
        reference = self._known(settings)
        # Most projects change nothing while agents work.
        if all(each == settings.tables for each in reference["tables"]):
            return settings.policy

        policy = self._compared(settings, reference)
        self._report()

        return policy

    def profile(self) -> "Profile":
        """Return the profile that holds now."""
        now = stop_hooks.profile.read_profile(self._project)
        self._held.pop("profile", None)
        if now != "v1" or self._reference is None or self._reference["profile"] == now:
            return now

        self._held["profile"] = _NEXT_SESSION
        self._report()

        return "0.x"

    def is_project(self) -> bool:
        """Return whether claims are verified here: it is a project, or was one."""
        self._held.pop("folder", None)
        if stop_hooks.profile.is_project(self._project):
            return True
        if self._reference is None or not self._reference["folder"]:
            return False

        self._held["folder"] = (
            "the git repository or .goopspec is gone, and claims are verified as before"
        )
        self._report()

        return True

    def rules(self) -> tuple[str, ...]:
        """Return the custom rules whose files are as they were: they are code, and run here."""
        known = {} if self._reference is None else self._reference["rules"]
        changed = {
            name for name, digest in self._digests().items() if known.get(name, digest) != digest
        }
        if changed:
            self._held["rules"] = (
                f"the custom rules of {', '.join(sorted(changed))} have changed and are not applied"
                " before the next session"
            )

        return tuple(each for each in self._rules if each not in changed)

    def _digests(self) -> Mapping[str, str]:
        # Few hooks have custom rules.
        return services.load_rules.digests_of(self._rules) if self._rules else {}

    def judged_by(self) -> "JudgedBy":
        """Return policy and profile that hold now."""
        return stop_hooks.judged_by.JudgedBy(self.policy(), self.profile())

    def message(self) -> str | None:
        """Return the line about what does not count, None if there is none or it was shown."""
        if self._reference is None or not self._held:
            return None

        line = "; ".join(self._held.values())
        # Loaded here, because most events have nothing to show.
        shown = import_module("zlib").crc32(line.encode("utf-8", "surrogatepass"))
        if shown == self._reference["shown"]:
            return None
        self._keep({**self._reference, "shown": shown}, again=True)

        return line

    def _report(self) -> None:
        if self._say is not None and (line := self.message()) is not None:
            self._say(line)

    def _known(self, settings: ProjectSettings) -> "_Reference":
        """Return the reference; the first look at a session makes it."""
        if self._reference is None and self._kept is not None:
            self._reference = self._kept.read()
            self._kept.use()
        if self._reference is None:
            reference: _Reference = {
                "tables": self._first_tables(settings),
                "profile": stop_hooks.profile.read_profile(self._project),
                "source": settings.options.source,
                "folder": stop_hooks.profile.is_project(self._project),
                "rules": self._digests(),
                "shown": 0,
            }
            self._keep(reference, again=False)
            return reference

        return self._reference

    def _first_tables(self, settings: ProjectSettings) -> list[Tables]:
        """Return what a first look compares with: these settings, and what was confirmed before."""
        trusted = self._trusted()
        if trusted is not None and trusted.is_for(settings.tables):
            return [settings.tables]
        before = None if trusted is None else trusted.tables
        if before is None and self._base is not None:
            before = services.confirmed_settings.committed(self._project, settings, self._base)

        return [settings.tables] if before is None else [before, settings.tables]

    def _compared(self, settings: ProjectSettings, reference: "_Reference") -> StopPolicy:
        weakening = services.weakening
        found = weakening.weakened(reference["tables"], settings.tables)
        if not found:
            return settings.policy

        trusted = self._trusted()
        if trusted is not None and trusted.is_for(settings.tables):
            self._keep({**reference, "tables": [settings.tables]}, again=True)
            return settings.policy

        self._held["settings"] = (
            "settings that weaken how reports are judged do not count until a person trusts them:"
            f" {weakening.describe(settings, found)}; to trust them: goop-mcp trust"
            f" {weakening.file_of(settings, found) or reference['source'] or FILES[0]}"
        )

        return weakening.stricter(settings, reference["tables"])

    def _trusted(self) -> "TrustedSettings | None":
        # Most machines trust nothing, and a hook need not load what reads it.
        if not may_be_trusted(trust_place(self._project)):
            return None
        try:
            return services.confirmed_settings.find_trusted(self._project)
        except GoopError as error:
            self.remarks = (*self.remarks, str(error))
            return None

    def _keep(self, reference: "_Reference", *, again: bool) -> None:
        self._reference = reference
        try:
            if self._kept is not None:
                self._kept.write(reference, again=again)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            self.remarks = (
                *self.remarks,
                f"the settings with which the session began cannot be kept ({reason}), so that"
                " those of the last commit are compared with",
            )
