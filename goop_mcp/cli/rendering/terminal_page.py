"""Draw a page in Markdown on a terminal: headings, and tables with lines."""

from collections.abc import Iterable
from typing import Final

import click
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from goop_mcp.cli.rendering.styled import cells, columns, within, wrap
from goop_mcp.cli.streams import without_controls

__all__ = ["render_terminal_page"]

_WIDEST: Final = 100
_INDENT: Final = "  "
_BOLD, _UNDERLINED, _ITALIC = "\x1b[1m", "\x1b[4m", "\x1b[3m"


def render_terminal_page(markdown: str, *, width: int, colour: bool) -> str:
    """Return `markdown` drawn for a terminal of `width` cells, without styles unless `colour`."""
    # What stands in < > is shown, whether it is HTML, an address or a type.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("autolink")
    # Agents wrote parts of most pages.
    tree = SyntaxTreeNode(parser.parse(without_controls(markdown)))
    page = "\n".join(_blocks(tree.children, min(width, _WIDEST))) + "\n"

    return page if colour else click.unstyle(page)


def _blocks(nodes: Iterable[SyntaxTreeNode], width: int) -> list[str]:
    lines: list[str] = []
    stays_together = True
    for node in nodes:
        lines += [] if stays_together else [""]
        lines += _block(node, width)
        # The paragraphs in a list without blank lines are hidden; a list inside follows at once.
        stays_together = node.hidden

    return lines


def _block(node: SyntaxTreeNode, width: int) -> list[str]:
    match node.type:
        case "heading":
            style = _BOLD + _UNDERLINED if node.tag in ("h1", "h2") else _BOLD
            return wrap(within(style, _inline(node.children)), width)
        case "bullet_list" | "ordered_list":
            return _list(node, width)
        case "blockquote":
            bar = click.style("▌ ", fg="magenta")
            return [bar + line for line in _blocks(node.children, width - cells(bar))]
        case "fence" | "code_block":
            code = node.content.rstrip("\n").expandtabs(4)
            return [f"{_INDENT}{line}" for line in wrap(code, width - len(_INDENT))]
        case "hr":
            return [click.style("─" * width, dim=True)]
        case "table":
            return _table(node, width)
        case _:
            return wrap(_inline(node.children), width)


def _list(node: SyntaxTreeNode, width: int) -> list[str]:
    lines: list[str] = []
    for number, item in enumerate(node.children, int(node.attrs.get("start", 1))):
        first = " • " if node.type == "bullet_list" else f" {number}. "
        inside = _blocks(item.children, width - len(first)) or [""]
        is_loose = any(each.type == "paragraph" and not each.hidden for each in item.children)
        lines += [""] if lines and is_loose else []
        lines.append(click.style(first, bold=True) + inside[0])
        lines += [f"{' ' * len(first)}{line}" if line else "" for line in inside[1:]]

    return lines


def _table(node: SyntaxTreeNode, width: int) -> list[str]:
    head, *bodies = node.children
    rows = [row.children for part in (head, *bodies) for row in part.children]
    right = {at for at, cell in enumerate(rows[0]) if cell.attrs.get("style") == "text-align:right"}
    texts = [
        [within(_BOLD, _inline(cell.children)) for cell in rows[0]],
        *([_inline(cell.children) for cell in row] for row in rows[1:]),
    ]
    return columns(texts, width, gap=2, right=right, has_head=True)


def _inline(nodes: Iterable[SyntaxTreeNode]) -> str:
    return "".join(map(_inline_part, nodes))


def _inline_part(node: SyntaxTreeNode) -> str:
    match node.type:
        case "inline":
            return _inline(node.children)
        # Our pages mark with asterisks; __init__ is a name.
        case "strong" | "em" if node.markup.startswith("_"):
            return f"{node.markup}{_inline(node.children)}{node.markup}"
        case "strong":
            return within(_BOLD, _inline(node.children))
        case "em":
            return within(_ITALIC, _inline(node.children))
        case "code_inline":
            return click.style(node.content, fg="cyan", bold=True)
        case "softbreak":
            return " "
        case "hardbreak":
            return "\n"
        case "link":
            text, address = _inline(node.children), str(node.attrs["href"])
            return text if click.unstyle(text) == address else f"{text} ({address})"
        case _:
            return node.content
