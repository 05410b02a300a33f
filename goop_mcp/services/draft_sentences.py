"""Read sentences of plain English that ask for work: what is to be done, and within which limits.

Precision comes before recall: a sentence counts only in a form with one meaning, and all others are
listed for the person who wrote them. Pure, and linear in the length of the sentence.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

__all__ = ["Reading", "is_greeting", "is_prohibited", "read_sentence"]

# What is longer is no plain sentence, and proves nothing.
_LONGEST: Final = 600
_SHORTEST_REQUEST: Final = 10
_LONGEST_REQUEST: Final = 500
_FEWEST_WORDS: Final = 3
_PRONOUNS: Final = frozenset(
    {"it", "this", "that", "them", "these", "those", "everything", "nothing", "me", "us", "to"}
)
_PUNCTUATION: Final = "\"'“”‘’`()[],;:.!?*"


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_GREETING = re.compile(
    r"(?:hi|hello|hey|dear|thanks|thank you|many thanks|cheers|please|regards|best regards)\b"
    r"(?: [\w'’-]+){0,3}"
)
_POLITE = re.compile(
    r"(?:(?:please|(?:could|can|would) you(?: please)?|we need(?: you)? to|i need you to"
    r"|i(?: would|'d|’d) like you to|i want you to|you(?:r task is| should| have)? to|then|also)"
    r",? ){0,8}",
    re.IGNORECASE,
)
_POLITE_ENDS: Final = (" thank you", " thanks", " please")
_WRITING_VERBS: Final = _set_of(
    "add build correct create document edit extend fix generate implement introduce refactor"
    " rewrite update write"
)
_OTHER_VERBS: Final = _set_of(
    "convert delete drop extract migrate move port remove rename replace split"
)
_FIXING: Final = frozenset({"correct", "fix"})
_DOUBTS: Final = _set_of(
    "if unless maybe perhaps possibly might probably either or instead like similar not never"
    " without whether"
)
_INTO: Final = frozenset({"to", "in", "into", "inside"})
# "similar to a.py", "a link to a.py", "as in a.py": the file is not the one that is written.
_NO_PLACE_AFTER: Final = _set_of(
    "according as close due equal equivalent found given identical import imports link links next"
    " pointer redirect reference references relative respect route routes seen shown up written"
)
_FILE = re.compile(
    r"(?:(?:the|a|a new|the new) )?(?:file|script|module|page|document)? ?", re.IGNORECASE
)
_SO_THAT = re.compile(r",? so that (?P<why>.+)", re.IGNORECASE)

_PROHIBITION = re.compile(
    r"(?:please |you )?(?:do not|don't|don’t|must not|never) (?P<verb>[a-z]+)\b", re.IGNORECASE
)
_PROHIBITED_VERBS: Final = _set_of(
    "add alter break bypass call change commit delete deploy disable drop edit expose install log"
    " merge migrate modify move overwrite print publish push release remove rename replace restart"
    " rewrite run send skip store touch update upgrade use write"
)
_BUT_NOT = re.compile(r",? but (?=(?:please )?(?:do not|don't|don’t|never) )", re.IGNORECASE)
# "It must have been the cache" and "You must be joking" guess, and oblige to nothing.
_OBLIGATION = re.compile(
    r"(?:it|this|that|they|the|all|each|every|no|new|existing|our|its)\b[^,;:]{0,200}?"
    r"\b(?:must|shall|has to|have to|should|may)(?P<not> not| never|n't|n’t)?"
    r" (?P<verb>(?!be (?:a|an|the|because|some\w*)\b|have (?:been|[a-z]+ed)\b)[a-z]+)\b.*",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"(?:no (?:new|additional|extra|external|further|other|third-party|breaking) .+"
    r"|without (?:new|additional|extra|external|further|other|third-party|breaking) .+"
    r"|(?:please )?only (?:change|touch|edit|modify|use|read|write to) .+"
    r"|(?:please )?keep .+ (?:unchanged|compatible|stable|as (?:it is|they are))"
    r"|(?:please )?leave .+ (?:alone|untouched|unchanged|as (?:it is|they are))"
    r"|(?:please )?(?:make sure|ensure)(?: that)? .+ (?:pass|passes|work|works|stay green))",
    re.IGNORECASE,
)
_BETWEEN_CLAUSES = re.compile(r"[,;]|\band\b")
_READ_ONLY = re.compile(
    r"(?:please |this is |stay |work |strictly |everything |all |it is )*read[- ]only(?: access)?"
    r"(?: please)?|(?:please )?change nothing|(?:please )?(?:only|just) read",
    re.IGNORECASE,
)
_TESTS_FIRST = re.compile(
    r"(?:please )?(?:(?:write |with )?(?:the )?tests? first"
    r"|(?:use |by |do |with )?(?:tdd|test[- ]driven(?: development)?)"
    r"|(?:start|begin) with (?:the |a )?(?:failing )?tests?)(?: please)?",
    re.IGNORECASE,
)
_WITH_TESTS = re.compile(
    r"tests included|(?:please )?(?:with(?:out)?|no|(?:also )?(?:add|write|include))"
    r" (?:the |unit )?tests?"
    r"(?: for (?:it|this|that|them|both))?(?: as well| too| please)?",
    re.IGNORECASE,
)
_UNITS: Final = {
    "second": "s",
    "sec": "s",
    "minute": "m",
    "min": "m",
    "hour": "h",
    "h": "h",
    "day": "d",
}
_SMALL_NUMBERS: Final = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
_NUMBERS: Final = {
    word: str(number)
    for number, word in enumerate(
        _SMALL_NUMBERS.split(),
        start=1,
    )
} | {
    "a": "1",
    "an": "1",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "sixty": "60",
    "ninety": "90",
}
# The limit is a clause of its own: "sessions expire within ten minutes" limits no work.
_TIME_LIMIT = re.compile(
    r"(?:please |and |it |this |that |the (?:task|work) |you |do not |don't |don’t )*"
    r"(?:may |can |should |must |has to |have to )?(?:not )?"
    r"(?:take |takes |spend |use |need |have |be done |be finished |finish |done |stop )?(?:it )?"
    r"(?:at most|at the most|no more than|more than|not more than|max\.?|maximum|a maximum of"
    r"|within|in under|in less than|less than|up to|no longer than|longer than|not longer than"
    r"|after) "
    r"(?:(?P<number>\d{1,4}|[a-z]+)[ -]?(?P<unit>seconds?|sec|minutes?|mins?|hours?|h|days?)"
    r"|(?P<half>half an hour))"
    r"(?: (?:for|on) (?:this|it|that|the (?:task|work)))?(?: please)?",
    re.IGNORECASE,
)
# "No more than ten minutes" is a limit, and "more than ten minutes" none.
_MORE_THAN = re.compile(r"\b(?:more|longer) than\b", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:no|not|don't|don’t)\b", re.IGNORECASE)


class Reading(NamedTuple):
    """A field of a request and its value; `request` is what is to be done, in a person's words.

    The value of `deliverables` is the path of a file.
    """

    field: str
    value: str


def is_greeting(sentence: str) -> bool:
    """Return whether a sentence is only polite: "Hi all," or "Thank you!"."""
    return _GREETING.fullmatch(sentence.strip(" .,!").lower()) is not None


def read_sentence(sentence: str, paths: Sequence[str]) -> list[Reading]:
    """Return what `sentence` says, () for nothing; `paths` are those of files that it names.

    A question says nothing, except for a polite request: "Could you add tests to a.py?".
    """
    text = sentence.strip().rstrip(".! ")
    if not text or len(sentence) > _LONGEST:
        return []
    if len(parts := _BUT_NOT.split(text)) > 1:
        return [each for part in parts for each in read_sentence(part, _named_in(part, paths))]
    if is_prohibited(text):
        return [Reading("constraints", text)]

    request = _request_in(sentence, paths)
    if request or text.endswith("?"):
        return request
    if clauses := list(_clauses(text)):
        return clauses
    return [Reading("constraints", text)] if _is_limit(text) else []


def is_prohibited(text: str) -> bool:
    """Return whether a sentence is an imperative that forbids: "Never restart production"."""
    # Only at the start of a sentence: "this does not delete anything" forbids nothing.
    found = _PROHIBITION.match(text)
    return found is not None and found["verb"].lower() in _PROHIBITED_VERBS and text[-1:] != "?"


def _request_in(sentence: str, paths: Sequence[str]) -> list[Reading]:
    asked = _words_of(sentence)
    for end in _POLITE_ENDS:
        if asked.lower().endswith(end):
            asked = asked[: -len(end)].rstrip(" ,")
    polite = _POLITE.match(asked)
    asked = asked[polite.end() :] if polite is not None else asked
    words = asked.split()
    verb = words[0].lower() if words else ""
    is_question = sentence.rstrip().endswith("?")
    if verb not in _WRITING_VERBS | _OTHER_VERBS or (is_question and asked == _words_of(sentence)):
        return []
    is_vague = len(words) < _FEWEST_WORDS or words[1].lower().strip(_PUNCTUATION) in _PRONOUNS
    if is_vague or not _SHORTEST_REQUEST <= len(asked) <= _LONGEST_REQUEST:
        return []
    # "Add tests" belongs to a request, and is none.
    if _WITH_TESTS.fullmatch(asked) or _TESTS_FIRST.fullmatch(asked):
        return [] if is_question else list(_clauses(asked))

    why = _SO_THAT.search(asked)
    asked, found = _without_limits(asked)
    found.insert(0, Reading("request", asked[:1].upper() + asked[1:]))
    if why is not None:
        found.append(Reading("original_intent", why["why"]))
    what = asked[: why.start()] if why is not None else asked
    if verb in _WRITING_VERBS and (path := _written_file(what, verb, paths)) is not None:
        found.append(Reading("deliverables", path))
    return found


def _without_limits(asked: str) -> tuple[str, list[Reading]]:
    """Return a request without the limits at its end, and these: "…, tests first, read only"."""
    found: list[Reading] = []
    while (at := max(asked.rfind(","), asked.rfind(";"))) > 0:
        reading = _read_clause(asked[at + 1 :].strip().removeprefix("and "))
        if reading is None:
            break
        asked = asked[:at].rstrip()
        found.insert(0, reading)
    return asked, found


def _named_in(text: str, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path in text]


def _words_of(sentence: str) -> str:
    """Return a sentence without the punctuation at its end."""
    return sentence.strip().rstrip(".!? ")


def _written_file(asked: str, verb: str, paths: Sequence[str]) -> str | None:
    """Return the one file that a request names as its place or object."""
    words = [word.strip(_PUNCTUATION) for word in asked.split()]
    if len(paths) != 1 or _DOUBTS.intersection(word.lower() for word in words):
        return None
    path = paths[0]
    if verb in _FIXING and "test" in path.lower():
        # A failing test is named by its file, and corrected somewhere else.
        return None

    rest = asked[len(verb) :].strip()
    after = rest[_file_words(rest) :]
    if after.lstrip("`").startswith(path):
        return path
    *_, what, into, last = ["", "", *(word.lower() for word in words[:-1]), words[-1]]
    is_other = what in _NO_PLACE_AFTER or what.endswith("ed") or what == verb
    return path if last == path and into in _INTO and not is_other else None


def _file_words(text: str) -> int:
    """Return the length of "the file " and the like at the start of `text`."""
    found = _FILE.match(text)
    return found.end() if found is not None else 0


def _is_limit(text: str) -> bool:
    found = _OBLIGATION.fullmatch(text)
    if found is not None:
        # "It may be slow" and "it should work" allow or expect something.
        modal = found.group(0)[: found.start("verb")].split()[-1].lower()
        # "They must be tired" guesses.
        guesses = found["verb"].lower() == "be" and text.lower().startswith(
            ("they", "this", "that")
        )
        weak = modal in ("may", "should") or guesses
        return found["not"] is not None or not weak
    return _LIMIT.fullmatch(text) is not None


def _clauses(text: str) -> Iterator[Reading]:
    """Yield what the clauses between commas say; nothing where one of them says something else."""
    clauses = [each.strip() for each in _BETWEEN_CLAUSES.split(text)]
    given = [each for each in clauses if each.lower() not in ("", "please")]
    read = [reading for each in given if (reading := _read_clause(each)) is not None]
    if len(read) == len(given):
        yield from read


def _read_clause(clause: str) -> Reading | None:
    if _READ_ONLY.fullmatch(clause) or _WITH_TESTS.fullmatch(clause):
        return Reading("constraints", clause[:1].upper() + clause[1:])
    if _TESTS_FIRST.fullmatch(clause):
        return Reading("workflow", "TDD")
    if _LIMIT.fullmatch(clause):
        return Reading("constraints", clause[:1].upper() + clause[1:])
    limit = _TIME_LIMIT.fullmatch(clause)
    exceeds = _MORE_THAN.search(clause) is not None and _NEGATED.search(clause) is None
    if limit is None or exceeds:
        return None
    if limit["half"]:
        return Reading("timeout", "30m")
    number = limit["number"].lower()
    number = number if number.isdecimal() else _NUMBERS.get(number, "")
    unit = _UNITS[limit["unit"].lower().removesuffix("s")]
    return Reading("timeout", f"{number}{unit}") if number else None
