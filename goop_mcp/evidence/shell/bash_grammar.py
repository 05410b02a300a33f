"""The grammar of bash as a second reader of shell lines, where tree-sitter-bash is installed."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final

from goop_mcp.evidence.shell.reading import read_script
from goop_mcp.evidence.shell.tree import (
    AndOr,
    Compound,
    Function,
    Group,
    Item,
    Node,
    Pipeline,
    Script,
    ShellWord,
    Simple,
    UnreadableLineError,
)

if TYPE_CHECKING:
    from tree_sitter import Node as SyntaxNode
    from tree_sitter import Parser

__all__ = ["best_reader", "read_with_grammar"]

_DEPTH: Final = 40
_GRAMMAR_CHARACTERS: Final = 8 * 1024
_MARKS: Final = frozenset(";&|<>(){}$`\n'\"\\#")
"""A line without any of these has one command, for which no grammar needs to be loaded."""

_COMPOUNDS: Final = frozenset(
    {"if_statement", "for_statement", "while_statement", "case_statement", "c_style_for_statement"}
)
_PARTS: Final = frozenset({"do_group", "elif_clause", "else_clause", "case_item"})
_STATEMENTS: Final = frozenset(
    {
        *_COMPOUNDS,
        "command",
        "compound_statement",
        "declaration_command",
        "function_definition",
        "list",
        "negated_command",
        "pipeline",
        "redirected_statement",
        "subshell",
        "test_command",
        "unset_command",
        "variable_assignment",
        "variable_assignments",
    }
)


def best_reader(line: str) -> Callable[[str], Script]:
    """Return what reads `line`: the grammar if it is installed and the line has any operator."""
    if not _MARKS.intersection(line):
        return read_script
    return read_with_grammar if _parser() is not None else read_script


@cache
def _parser() -> "Parser | None":
    # An extra, which takes 20 ms to load
    try:
        import tree_sitter  # noqa: PLC0415
        import tree_sitter_bash  # noqa: PLC0415
    except ImportError:
        return None

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def read_with_grammar(text: str) -> Script:
    """Return the structure of `text` as `read_script` does, by the grammar.

    `read_script` reads it first: a line that it refuses never reaches the grammar, whose search for
    a meaning takes quadratic time. Its result counts where the grammar sees an error, and for here
    documents, whose end the grammar puts into the wrong place. Raise UnreadableLineError as it
    does.
    """
    script = read_script(text)
    parser = _parser()
    if parser is None or len(text) > _GRAMMAR_CHARACTERS or "<<" in text:
        return script

    root = parser.parse(text.encode("utf-8", "surrogatepass")).root_node

    return script if root.has_error else _script(root, 0)


def _script(node: "SyntaxNode", depth: int) -> Script:
    if depth > _DEPTH:
        raise UnreadableLineError("the line is nested too deeply")

    items: list[Item] = []
    for child in node.children:
        if child.type == "&" and items:
            items[-1] = Item(items[-1].node, background=True)
        elif child.type in _STATEMENTS:
            items.append(Item(_node(child, depth + 1), background=False))

    return Script(tuple(items))


def _node(node: "SyntaxNode", depth: int) -> Node:
    if depth > _DEPTH:
        raise UnreadableLineError("the line is nested too deeply")

    inner = [child for child in node.children if child.type in _STATEMENTS]
    kind = node.type
    if kind == "list":
        left, right = (_node(child, depth + 1) for child in inner)
        return AndOr(left, right, both=any(child.type == "&&" for child in node.children))
    if kind == "pipeline":
        return Pipeline(tuple(_node(child, depth + 1) for child in inner))
    if kind == "negated_command":
        return Pipeline((_node(inner[0], depth + 1),), negated=True)
    if kind == "redirected_statement":
        return _node(inner[0], depth + 1) if inner else Simple((), (("", ShellWord("")),))
    if kind in ("subshell", "compound_statement"):
        # `((…))` is a compound statement as well, and only calculates.
        if node.children[0].type == "((":
            return Compound(())
        return Group(_script(node, depth + 1), subshell=kind == "subshell")
    if kind == "function_definition":
        name = node.child_by_field_name("name")
        return Function("" if name is None else _text(name))
    if kind in _COMPOUNDS:
        return Compound(tuple(_parts(node, depth + 1)))
    return _simple(node, depth + 1)


def _parts(node: "SyntaxNode", depth: int) -> Iterator[Script]:
    """Yield the scripts inside a compound command, its conditions first."""
    yield _script(node, depth)
    for child in node.children:
        if child.type in _PARTS:
            if depth > _DEPTH:
                raise UnreadableLineError("the line is nested too deeply")
            yield from _parts(child, depth + 1)


def _simple(node: "SyntaxNode", depth: int) -> Simple:
    """Return a command, an assignment, `[[ … ]]`, `export …` or `unset …`."""
    if node.type == "variable_assignment":
        return Simple((), (_assignment(node, depth),))
    if node.type == "variable_assignments":
        return Simple((), tuple(_assignment(child, depth) for child in node.named_children))
    if node.type == "test_command":
        return Simple((ShellWord(_text(node.children[0])),))

    words: list[ShellWord] = []
    assignments = []
    for child in node.children:
        if child.type == "variable_assignment" and node.type == "command":
            assignments.append(_assignment(child, depth))
        elif child.type == "variable_assignment":
            name, value = _assignment(child, depth)
            words.append(ShellWord(f"{name}={value.text}", value.literal, value.inner))
        elif child.type == "command_name":
            words.append(_word(child.children[0], depth))
        elif not child.type.endswith("_redirect"):
            words.append(_word(child, depth))

    return Simple(tuple(words), tuple(assignments))


def _assignment(node: "SyntaxNode", depth: int) -> tuple[str, ShellWord]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    return (
        "" if name is None else _text(name).partition("[")[0],
        ShellWord("") if value is None else _word(value, depth),
    )


def _word(node: "SyntaxNode", depth: int) -> ShellWord:
    if depth > _DEPTH:
        raise UnreadableLineError("the line is nested too deeply")

    text = _text(node)
    kind = node.type
    if kind == "raw_string":
        return ShellWord(text[1:-1])
    if kind in ("command_substitution", "process_substitution"):
        script = _script(node, depth + 1)
        return ShellWord(
            "", literal=False, inner=script if kind == "command_substitution" else None
        )
    if kind in ("simple_expansion", "expansion", "arithmetic_expansion", "array"):
        return ShellWord(text, literal=False)
    if kind in ("concatenation", "string"):
        pieces, literal = [], True
        inner: Script | None = None
        for child in node.children:
            if child.type == '"':
                continue
            if child.type == "string_content":
                pieces.append(_text(child).replace('\\"', '"').replace("\\$", "$"))
                continue

            word = _word(child, depth + 1)
            pieces.append(word.text)
            literal, inner = literal and word.literal, word.inner or inner

        return ShellWord("".join(pieces), literal, inner)

    if kind == "ansi_c_string":
        return ShellWord(text[2:-1])

    # A bare word: a backslash stands before what is meant as it is.
    return ShellWord(text.replace("\\\n", "").replace("\\", "") if "\\" in text else text)


def _text(node: "SyntaxNode") -> str:
    return (node.text or b"").decode("utf-8", "replace")
