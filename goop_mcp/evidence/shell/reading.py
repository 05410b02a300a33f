"""read_script(): a shell line as a tree; a small reader without any library.

It reads what decides about an exit status: operators, quotes, groups, compound commands, here
documents and substitutions. Each character is read once, so that the time is linear.
"""

import re
from collections.abc import Callable
from typing import Final

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

__all__ = ["LINE_CHARACTERS", "read_script"]

LINE_CHARACTERS: Final = 64 * 1024
"""Longer lines are not read."""

# Each level is a call of a function, here and where the tree is judged.
_DEPTH = 40
_CHAIN = 150

_SPACE = re.compile(r"(?:[ \t\r]|\\\r?\n)*")
_PLAIN = re.compile(r"[^\s;&|()<>'\"\\$`#]+")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]\s]{0,40}\])?\+?=")
_VARIABLE = re.compile(r"\w+|[@*#?$!-]")
_REDIRECTION = re.compile(
    r"(?:\d{1,3}|\{\w{1,40}\})?(<<<|<<-|<<|<&|<>|>>|>\||>&|<(?!\()|>(?!\())|&>>|&>"
)
_RESERVED = re.compile(
    r"(if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|\{|\}|!|\[\[)"
    r"(?=[\s;&|()<>]|$)"
)
_ENDS_OF_COMMANDS = frozenset(";&|)\n")
# Reserved words that end a part of a compound command.
_ENDS_OF_PARTS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})


def read_script(text: str) -> Script:
    """Return the structure of `text`. Raise UnreadableLineError if that is unclear."""
    if len(text) > LINE_CHARACTERS:
        raise UnreadableLineError("the line is too long")

    reader = _LineReader(text)
    script = reader.script()
    if reader.at < len(text):
        raise UnreadableLineError(f"{text[reader.at]!r} is not expected here")

    return script


class _LineReader:
    """Reads one text from left to right; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self._depth = 0
        # Ends of here documents whose text follows on the next line, and whether tabs are cut.
        self._documents: list[tuple[str, bool]] = []

    # Lists, and-or lists, pipelines

    def script(self) -> Script:
        """Read commands up to the end, `)`, `;;` or a reserved word that ends a part."""
        self._depth += 1
        if self._depth > _DEPTH:
            raise UnreadableLineError("the line is nested too deeply")

        items: list[Item] = []
        while True:
            self._blank_lines()
            if not self._here() or self._here() == ")" or self._starts(";;", ";&"):
                break
            if self._reserved() in _ENDS_OF_PARTS:
                break

            # Pipelines that `&&` and `||` join are read from the left.
            node = self._pipeline()
            count = 0
            while self._starts("&&", "||"):
                count += 1
                if count > _CHAIN:
                    raise UnreadableLineError("the line has too many commands")

                both = self._here() == "&"
                self.at += 2
                self._blank_lines()
                node = AndOr(node, self._pipeline(), both)

            background = False
            if self._here() == "&":
                self.at += 1
                background = True
            elif self._here() == ";" and not self._starts(";;", ";&"):
                self.at += 1

            items.append(Item(node, background))

        self._depth -= 1

        return Script(tuple(items))

    def _pipeline(self) -> Node:
        negated = False
        while self._reserved() == "!":
            self.at += 1
            negated = not negated
            self._spaces()

        commands = [self._command()]
        while self._here() == "|" and not self._starts("||"):
            self.at += 2 if self._starts("|&") else 1
            self._blank_lines()
            commands.append(self._command())

        return (
            commands[0]
            if len(commands) == 1 and not negated
            else Pipeline(tuple(commands), negated)
        )

    # Commands

    def _command(self) -> Node:
        reserved = self._reserved()
        if self._here() == "(":
            if self._starts("(("):
                node: Node = self._arithmetic()
            else:
                self.at += 1
                body = self.script()
                self._expect(")")
                node = Group(body, subshell=True)
        elif reserved in self._COMPOUNDS:
            self._depth += 1
            if self._depth > _DEPTH:
                raise UnreadableLineError("the line is nested too deeply")

            self.at += len(reserved)
            node = self._COMPOUNDS[reserved](self)
            self._depth -= 1
        elif reserved:
            raise UnreadableLineError(f"{reserved!r} is not expected here")
        else:
            return self._simple()

        while self._spaces() and self._redirection() is not None:
            pass

        return node

    def _arithmetic(self) -> Node:
        self.at += 2
        self._closing(2)
        return Compound(())

    def _group(self) -> Node:
        body = self.script()
        self._expect("}")
        return Group(body, subshell=False)

    def _if(self) -> Node:
        parts = [self.script()]
        self._expect("then")
        parts.append(self.script())
        while self._reserved() in ("elif", "else"):
            condition = self._reserved() == "elif"
            self.at += 4
            parts.append(self.script())
            if condition:
                self._expect("then")
                parts.append(self.script())

        self._expect("fi")

        return Compound(tuple(parts))

    def _while(self) -> Node:
        condition = self.script()
        return Compound((condition, self._do()))

    def _for(self) -> Node:
        self._spaces()
        if self._starts("(("):
            self._arithmetic()

        while self._spaces() and self._here() not in _ENDS_OF_COMMANDS:
            self._word()

        if self._here() == ";":
            self.at += 1
        self._blank_lines()

        return Compound((self._do(),))

    def _do(self) -> Script:
        self._expect("do")
        body = self.script()
        self._expect("done")
        return body

    def _case(self) -> Node:
        self._spaces()
        self._word()
        self._blank_lines()
        if not self._starts("in"):
            raise UnreadableLineError("case without in")

        self.at += 2
        parts = []
        while True:
            self._blank_lines()
            if self._reserved() == "esac":
                break
            if self._here() == "(":
                self.at += 1
            while self._spaces() and self._here() not in ("", ")", "\n"):
                if self._here() == "|":
                    self.at += 1
                else:
                    self._word()

            self._expect(")")
            parts.append(self.script())
            self._blank_lines()
            if self._starts(";;&"):
                self.at += 3
            elif self._starts(";;", ";&"):
                self.at += 2
            elif self._reserved() != "esac":
                raise UnreadableLineError("a case without its end")

        self._expect("esac")

        return Compound(tuple(parts))

    def _function(self) -> Node:
        self._spaces()
        name = self._word().text
        self._spaces()
        if self._starts("()"):
            self.at += 2

        return self._defined(name)

    def _defined(self, name: str) -> Node:
        self._blank_lines()
        self._command()
        return Function(name)

    def _condition(self) -> Node:
        words = [ShellWord("[[")]
        while True:
            self._blank_lines()
            if self._starts("]]"):
                self.at += 2
                return Simple((*words, ShellWord("]]")))
            if not self._here():
                raise UnreadableLineError("[[ without ]]")
            if self._here() in "&|<>()":
                self.at += 1
            elif self._here() == ";":
                raise UnreadableLineError("[[ without ]]")
            else:
                words.append(self._word())

    _COMPOUNDS: Final[dict[str, Callable[["_LineReader"], Node]]] = {
        "{": _group,
        "if": _if,
        "while": _while,
        "until": _while,
        "for": _for,
        "select": _for,
        "case": _case,
        "function": _function,
        "[[": _condition,
    }

    def _simple(self) -> Node:
        start = self.at
        words: list[ShellWord] = []
        assignments: list[tuple[str, ShellWord]] = []
        redirections: list[tuple[str, ShellWord]] = []
        while self._spaces():
            if (redirection := self._redirection()) is not None:
                redirections.append(redirection)
                continue

            here = self._here()
            if here == "(" and len(words) == 1 and not assignments:
                self.at += 1
                self._spaces()
                self._expect(")")
                return self._defined(words[0].text)
            if not here or here in _ENDS_OF_COMMANDS or here == "#":
                break
            if here == "(":
                raise UnreadableLineError("'(' is not expected here")

            assignment = None if words else _ASSIGNMENT.match(self.text, self.at)
            if assignment is None:
                words.append(self._word())
                continue

            self.at = assignment.end()
            if self._here() == "(":
                # The values of an array
                self.at += 1
                self._closing(1)
                value = ShellWord("", literal=False)
            else:
                value = self._word(may_be_empty=True)

            assignments.append((assignment[1], value))

        if self.at == start:
            raise UnreadableLineError("a command is missing")

        return Simple(tuple(words), tuple(assignments), tuple(redirections))

    def _redirection(self) -> tuple[str, ShellWord] | None:
        """Read one redirection; return None if there is none."""
        found = _REDIRECTION.match(self.text, self.at)
        if found is None:
            return None

        self.at = found.end()
        self._spaces()
        target = self._word()
        if found[1] in ("<<", "<<-"):
            self._documents.append((target.text, found[1] == "<<-"))

        return found[1] or found[0], target

    # Words

    def _word(self, *, may_be_empty: bool = False) -> ShellWord:
        start, pieces, literal = self.at, [], True
        inner: Script | None = None
        while self.at < len(self.text):
            plain = _PLAIN.match(self.text, self.at)
            if plain is not None:
                pieces.append(plain[0])
                self.at = plain.end()
                continue

            here = self.text[self.at]
            if here == "#" and self.at > start:
                pieces.append(here)
                self.at += 1
            elif here == "'":
                pieces.append(self._until("'"))
            elif here == '"':
                quoted, script = self._quoted()
                pieces.append(quoted.text)
                literal, inner = literal and quoted.literal, script or inner
            elif here == "\\":
                pieces.append(self.text[self.at + 1 : self.at + 2].replace("\n", ""))
                self.at += 2
            elif here in "$`":
                text, is_literal, script = self._expansion()
                pieces.append(text)
                literal, inner = literal and is_literal, script or inner
            elif here in "<>" and self._starts("<(", ">("):
                self.at += 2
                self.script()
                self._expect(")")
                literal = False
            else:
                break

        if self.at == start and not may_be_empty:
            raise UnreadableLineError("a word is missing")

        return ShellWord("".join(pieces), literal, inner)

    def _until(self, quote: str) -> str:
        end = self.text.find(quote, self.at + 1)
        if end < 0:
            raise UnreadableLineError(f"{quote} is not closed")

        text = self.text[self.at + 1 : end]
        self.at = end + 1

        return text

    def _quoted(self) -> tuple[ShellWord, Script | None]:
        """Read a text in double quotes."""
        self.at += 1
        pieces, literal = [], True
        inner: Script | None = None
        while (here := self._here()) != '"':
            if not here:
                raise UnreadableLineError('" is not closed')
            if here == "\\":
                following = self.text[self.at + 1 : self.at + 2]
                pieces.append(following if following in '"\\$`' else "\\" + following)
                self.at += 2
            elif here in "$`":
                text, is_literal, script = self._expansion(quoted=True)
                pieces.append(text)
                literal, inner = literal and is_literal, script or inner
            else:
                pieces.append(here)
                self.at += 1

        self.at += 1

        return ShellWord("".join(pieces), literal), inner

    def _expansion(self, *, quoted: bool = False) -> tuple[str, bool, Script | None]:
        """Read what begins with `$` or a backquote: the text, whether it is one, a script."""
        start = self.at
        if self._here() == "`":
            text = self._until("`")
            return "", False, read_script(text.replace("\\", ""))

        self.at += 1
        if self._starts("(("):
            self.at += 2
            self._closing(2)
        elif self._starts("("):
            self.at += 1
            script = self.script()
            self._expect(")")
            return "", False, script
        elif self._starts("{"):
            self._braces()
        elif self._starts("'") and not quoted:
            return self._ansi_quoted(), True, None
        elif self._starts('"') and not quoted:
            return "", True, None
        elif (name := _VARIABLE.match(self.text, self.at)) is not None:
            self.at = name.end()
        else:
            return "$", True, None

        return self.text[start : self.at], False, None

    def _ansi_quoted(self) -> str:
        self.at += 1
        pieces = []
        while (here := self._here()) != "'":
            if not here:
                raise UnreadableLineError("' is not closed")

            self.at += 1
            if here == "\\":
                here = self._here()
                self.at += 1

            pieces.append(here)

        self.at += 1

        return "".join(pieces)

    def _braces(self) -> None:
        """Pass over `${…}`, which may hold quotes and further expansions."""
        self.at += 1
        self._depth += 1
        if self._depth > _DEPTH:
            raise UnreadableLineError("the line is nested too deeply")

        while (here := self._here()) != "}":
            if not here:
                raise UnreadableLineError("${ is not closed")
            if here in "$`":
                self._expansion()
            elif here == "'":
                self._until("'")
            elif here == '"':
                self._quoted()
            else:
                self.at += 2 if here == "\\" else 1

        self.at += 1
        self._depth -= 1

    def _closing(self, count: int) -> None:
        """Pass over arithmetic or an array up to the parentheses that close it."""
        opened = count
        while opened:
            here = self._here()
            if not here:
                raise UnreadableLineError("( is not closed")
            if here == "'":
                self._until("'")
                continue
            if here == '"':
                self._quoted()
                continue

            opened += (here == "(") - (here == ")")
            self.at += 2 if here == "\\" else 1

    # Characters

    def _here(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def _starts(self, *texts: str) -> bool:
        return self.text.startswith(texts, self.at)

    def _reserved(self) -> str:
        found = _RESERVED.match(self.text, self.at)
        return found[1] if found is not None else ""

    def _expect(self, text: str) -> None:
        self._blank_lines()
        if not self._starts(text):
            raise UnreadableLineError(f"{text} is missing")

        self.at += len(text)

    def _spaces(self) -> bool:
        """Pass over blanks; return True, so that loops can go on with what follows."""
        found = _SPACE.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return True

    def _blank_lines(self) -> None:
        """Pass over blanks, comments, ends of lines and the here documents after them."""
        while True:
            self._spaces()
            if self._here() == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            if self._here() != "\n":
                return

            self.at += 1
            for name, cut_tabs in self._documents:
                # A here document ends with the line that is its name, or with the text.
                while self.at < len(self.text):
                    end = self.text.find("\n", self.at)
                    end = len(self.text) if end < 0 else end
                    line = self.text[self.at : end]
                    self.at = min(end + 1, len(self.text))
                    if (line.lstrip("\t") if cut_tabs else line) == name:
                        break

            self._documents.clear()
