"""Make pages from templates, with everything escaped, and serve the files that they use."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from goop_mcp.validation.findings import counted_noun
from goop_mcp.validation.tiers import tier_in_words, tiers_in_words

__all__ = ["StaticFiles", "Templates", "visible"]

_HERE: Final = Path(__file__).parent
_MEDIA: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def _symbols() -> dict[int, str]:
    """Return what is shown for each character that is invisible or changes how others are read."""
    shown = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    shown[0x7F] = "\u2421"
    # C1 controls, the marks that turn the direction of text, invisible characters, tags, and
    # surrogates, which UTF-8 does not have.
    hidden = (
        *range(0x80, 0xA0),
        0xAD,
        0x061C,
        0x180E,
        *range(0x200B, 0x2010),
        *range(0x2028, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
        *range(0xFFF9, 0xFFFC),
        *range(0xE0000, 0xE0080),
        *range(0xD800, 0xE000),
    )
    shown |= {code: f"\u27e6U+{code:04X}\u27e7" for code in hidden}

    return shown


_SYMBOLS: Final = _symbols()


def visible(text: str) -> str:
    """Return `text` with invisible characters as symbols: ␛ for escape, ⟦U+202E⟧ for a bidi mark.

    Line feeds and tabs stay.
    """
    return text.replace("\r\n", "\n").translate(_SYMBOLS)


class Templates:
    """The templates of the pages."""

    def __init__(self) -> None:
        # Everything that a template prints passes `finalize`, so that no page can forget it.
        self._environment = Environment(
            loader=FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            finalize=_finalized,
        )
        self._environment.filters |= {
            "moment": _moment,
            "editable": _editable,
            "age": _age,
            "commands": _commands,
            "noun": counted_noun,
            "tier": tier_in_words,
            "tiers": tiers_in_words,
        }

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """Return the text of the template `name` with `values`."""
        return self._environment.get_template(name).render(values)


class StaticFiles:
    """The style, the script and the pictures of the workbench, read once."""

    @cached_property
    def files(self) -> Mapping[str, tuple[bytes, str]]:
        """Contents and media types by name."""
        return {
            path.name: (path.read_bytes(), _MEDIA[path.suffix])
            for path in sorted((_HERE / "static").iterdir())
            if path.suffix in _MEDIA
        }

    @cached_property
    def version(self) -> str:
        """A digest of all files, which their addresses hold, so that browsers may keep them."""
        return sha256(b"\0".join(content for content, _ in self.files.values())).hexdigest()[:12]


def _finalized(value: object) -> object:
    # Markup was made by templates and the filters below, and never from a text of agents.
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _editable(text: str) -> Markup:
    """Return the text of a field as it is: showing what a person edits must not change it."""
    return escape(text.encode("utf-8", "replace").decode())


def _moment(text: str | None) -> Markup:
    """Return a time in ISO 8601 as an element that the script shows in the reader's zone."""
    if not text:
        return Markup("–")

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return escape(visible(text))

    utc = moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    stamp = utc.isoformat(timespec="seconds").replace("+00:00", "Z")

    return Markup('<time datetime="{}">{} UTC</time>').format(stamp, f"{utc:%Y-%m-%d %H:%M}")


def _commands(sentence: str) -> Markup:
    """Return a sentence of ours in which what stands between backquotes is a command."""
    parts = sentence.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def _age(seconds: int) -> str:
    """Return an age in the largest fitting unit: 40 s, 12 min, 5 h, 3 days."""
    for size, unit, least in ((86_400, "days", 2), (3_600, "h", 2), (60, "min", 1)):
        if seconds >= least * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
