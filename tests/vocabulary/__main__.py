"""List discouraged words in code, messages and pages: `python -m tests.vocabulary [PATH ...]`.

The words and what to write instead are in words.toml. Without a path, all files under version
control are read. Exit code 1 when a discouraged word is found.
"""

import argparse
import fnmatch
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.repository import ROOT

_WORDS: Final = Path(__file__).with_name("words.toml")
_READ = (
    "*.py",
    "*.md",
    "*.toml",
    "*.yml",
    "*.yaml",
    "*.sql",
    "*.html",
    "*.css",
    "*.js",
    "*.svg",
    "*.xsd",
    "*.csv",
    "*.sh",
    "*.service",
    "schemas/*.json",
    "packaging/*.json",
    "packaging/*/scripts/*",
    "*Dockerfile",
    "Makefile",
)
_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]")


def discouraged_words(paths: Sequence[str]) -> Iterator[str]:
    """Yield `path:line: "word": write …` for each discouraged word in the files `paths`."""
    vocabulary = tomllib.loads(_WORDS.read_text(encoding="utf-8"))
    patterns = [(_pattern(entry), entry["use"]) for entry in vocabulary["discouraged"]]

    for path in paths:
        if any(fnmatch.fnmatch(path, skipped) for skipped in vocabulary["skipped"]):
            continue
        text = (ROOT / path).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), start=1):
            words = _WORD_STARTS.sub(" ", line)
            for pattern, use in patterns:
                for found in pattern.finditer(words):
                    if found["word"]:
                        yield f'{path}:{number}: "{found["word"]}": write {use}'


def _pattern(entry: dict[str, Any]) -> re.Pattern[str]:
    # What is allowed is matched first, and leaves the group of the word empty.
    allowed = "".join(rf"{phrase}|" for phrase in entry.get("allowed", []))
    word = entry["pattern"]
    return re.compile(rf"(?<![a-z])(?:{allowed}(?P<word>{word}))(?![a-z])", re.IGNORECASE)


def files_under_version_control() -> list[str]:
    """Return the paths of all files to read, from the project's root."""
    listed = subprocess.run(
        # Git is found by PATH
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *_READ],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return [path for path in listed.stdout.split("\0") if path and (ROOT / path).is_file()]


def main() -> None:
    """Print each discouraged word with its place."""
    parser = argparse.ArgumentParser(prog="python -m tests.vocabulary")
    parser.add_argument("paths", nargs="*", help="files or folders, from the project's root")
    prefixes = tuple(path.rstrip("/") for path in parser.parse_args().paths)

    files = files_under_version_control()
    if prefixes:
        files = [
            each
            for each in files
            if each in prefixes or each.startswith(tuple(f"{prefix}/" for prefix in prefixes))
        ]
    found = list(discouraged_words(files))
    sys.stdout.writelines(f"{line}\n" for line in found)
    if found:
        sys.stdout.write(
            f"{len(found)} discouraged words; tests/vocabulary/words.toml lists them\n"
        )
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
