"""command_in_container(): the program that `docker run IMAGE pytest` and the like start."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from goop_mcp.evidence.shell.options import after_options, known_options
from goop_mcp.evidence.shell.tree import ShellWord

__all__ = ["CONTAINER_PROGRAMS", "Container", "InContainer", "command_in_container"]

CONTAINER_PROGRAMS: Final = frozenset({"docker", "docker-compose", "podman", "podman-compose"})
_ENGINE: Final = known_options(
    "-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey --url"
    " --connection --root --runroot --storage-driver --cgroup-manager",
    "-D --debug --tls --tlsverify -r --remote",
)
_COMPOSE: Final = known_options(
    "-f --file -p --project-name --profile --env-file --project-directory --ansi --progress"
    " --parallel --workdir -c --context",
    "--all-resources --compatibility --verbose",
)
_TERMINAL: Final = "-i --interactive -t --tty -T --no-tty --no-TTY --privileged"
# Without -d, with which they start the program and do not wait for it.
_RUN: Final = known_options(
    "--add-host --annotation -a --attach --cap-add --cap-drop --cgroupns --cidfile -c --cpu-shares"
    " --cpus --cpuset-cpus --cpuset-mems --detach-keys --device --dns --dns-search --domainname"
    " --entrypoint -e --env --env-file --env-from-file --expose --gpus --group-add -h --hostname"
    " --ip --ipc -l --label --label-file --link --log-driver --log-opt --mac-address -m --memory"
    " --memory-swap --mount --name --network --net --network-alias --oom-score-adj --pid"
    " --pids-limit --platform -p --publish --pull --restart --runtime --security-opt --shm-size"
    " --stop-signal --stop-timeout --storage-opt --sysctl --tmpfs --ulimit -u --user --userns"
    " --uts -v --volume --volumes-from -w --workdir --pod --secret --tz --umask",
    f"{_TERMINAL} --rm --init -P --publish-all --no-healthcheck --sig-proxy -q --quiet --read-only"
    " --build --no-deps --service-ports --use-aliases --remove-orphans --quiet-pull --quiet-build"
    " --replace --rmi",
    skip=1,
)
_EXEC: Final = known_options(
    "--detach-keys -e --env --env-file -u --user -w --workdir --index", _TERMINAL, skip=1
)
_VARIABLES: Final = frozenset({"-e", "--env"})
_FILES: Final = frozenset({"-f", "--file"})
_DEFINED_BY: Final = (
    *("Dockerfile", "Containerfile", "compose.yaml", "compose.yml", "docker-compose.yaml"),
    *("docker-compose.yml", "compose.override.yaml", "compose.override.yml"),
    *("docker-compose.override.yaml", "docker-compose.override.yml"),
)


class Container(NamedTuple):
    """Where a program runs: `prefix` are the words before it, and `defined_by` names its files.

    `direct` is whether the words after the prefix are the program for certain: an image may have an
    entry point that makes anything of them.
    """

    prefix: tuple[ShellWord, ...]
    direct: bool
    defined_by: tuple[str, ...] = _DEFINED_BY


class InContainer(NamedTuple):
    """A program with its arguments, and the variables that are set for it in its container."""

    words: tuple[ShellWord, ...]
    variables: tuple[tuple[str, ShellWord], ...]
    container: Container


def command_in_container(words: tuple[ShellWord, ...]) -> InContainer | None:
    """Return what `words`, a command of docker or podman, starts and waits for, None if nothing.

    With an option that is not known it may start something else, or nothing.
    """
    compose = words[0].text.endswith("-compose")
    left = after_options(words[1:], _COMPOSE if compose else _ENGINE)
    if left and not compose and left[0].text in ("compose", "container"):
        compose = left[0].text == "compose"
        left = after_options(left[1:], _COMPOSE) if compose else left[1:]
    if not left or left[0].text not in ("run", "exec"):
        return None

    options = _RUN if left[0].text == "run" else _EXEC
    files = _values(words[1 : len(words) - len(left)], _FILES) if compose else ()
    rest = after_options(left[1:], options)
    if not rest:
        return None

    given = left[1 : len(left) - len(rest)]
    program = rest[options.skip :]
    entry = _values(given, frozenset({"--entrypoint"}))
    # An empty one takes that of the image away.
    if entry and entry[-1].text:
        program = (entry[-1], *program)
    if not program:
        return None

    container = Container(
        words[: len(words) - len(rest) + options.skip],
        direct=options is _EXEC or bool(entry),
        defined_by=(*(each.text for each in files if each.literal), *_DEFINED_BY),
    )
    variables = ((*each.text.partition("="), each.literal) for each in _values(given, _VARIABLES))
    return InContainer(
        program,
        tuple(
            (name, ShellWord(value, literal)) for name, sign, value, literal in variables if sign
        ),
        container,
    )


def _values(options: Sequence[ShellWord], names: frozenset[str]) -> tuple[ShellWord, ...]:
    """Return the values of the options with these names."""
    values = []
    for at, word in enumerate(options):
        name, sign, value = word.text.partition("=")
        if name in names:
            values.append(
                ShellWord(value, word.literal) if sign else next(iter(options[at + 1 :]), word)
            )
        elif word.text[:2] in names and word.text[:2] != "--":
            # `-eCI=1`
            values.append(ShellWord(word.text[2:], word.literal))

    return tuple(values)
