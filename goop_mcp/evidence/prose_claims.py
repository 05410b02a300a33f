"""Claims about checks and files in the prose of a last message: "All 14 tests pass".

A few fixed forms, each a whole clause of an affirmative sentence about the present, and nothing
else: a claim that is missed costs a number, one that was never made accuses an honest agent. A bare
"done" or "fixed" is none.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from goop_mcp.validation.check_texts.languages import in_english
from goop_mcp.validation.check_texts.tokens import without_quotations
from goop_mcp.validation.claims import CheckClaim, FileClaim
from goop_mcp.validation.fences import fence_spans
from goop_mcp.validation.quotes import shown_spans
from goop_mcp.validation.scanner import Regions

__all__ = ["ProseClaim", "claims_in_prose"]

_READ: Final = 64_000
_LINE: Final = 1_000
_MOST: Final = 50


class ProseClaim(NamedTuple):
    """One claim: `words` is the sentence, as the agent wrote it, `line` its line from 1.

    `kind` is that of the check, or "file". `number` is how many tests it says passed, None if it
    says none. `whole`: it is about all tests. `reserved`: the message also speaks of failures, so
    that it hides none, whatever the claim says.
    """

    words: str
    line: int
    claim: CheckClaim | FileClaim
    kind: str = "file"
    number: int | None = None
    whole: bool = False
    reserved: bool = False


# The forms

_END: Final = (
    r"(?: (?:now|again|too|as well|successfully|cleanly|without (?:any )?(?:errors?|failures?"
    r"|issues?|problems?|warnings?)|with (?:no|0|zero) (?:errors?|failures?|issues?|problems?"
    r"|warnings?)|after (?:the|this|my|these) (?:changes?|fix|fixes|edits?))){0,4}"
)
_PASSING: Final = (
    r"(?:(?:now |still |all |are |is |have |has |it ){0,5}(?:pass|passes|passed|passing|green|clean"
    r"|succeed|succeeds|succeeded|successful|succesful|ok|ran successfully|run successfully"
    r"|ran cleanly|completed successfully|completes successfully|finished successfully))"
)
_ALL: Final = r"(?P<all>(?:all|every(?: one of)?)(?: of)?(?: the| our| my)?(?: existing and new)? )"
_TESTS: Final = r"(?:automated )?(?:tests?|test cases?|specs)(?: in (?:the|our) (?:test )?suite)?"
_SUITE: Final = (
    r"(?:the |our )?(?:(?P<suite>(?:full|whole|entire|complete) )(?:test ?)?suite|test ?suite)"
)
_RUNNER: Final = (
    r"(?:(?:npm|pnpm|yarn|bun)(?: run)? tests?|(?:python3? -m |uv run |poetry run )?pytest(?: -q)?"
    r"|vitest(?: run)?|jest|mocha|rspec|phpunit|cargo test|go test(?: \./\.\.\.)?|make test"
    r"|dotnet test|gradle test|mvn test|mix test|deno test|bun test|node --test|tox)"
)
_LINTER: Final = (
    r"(?:npm run lint|eslint|ruff(?: check)?|flake8|pylint|(?:cargo )?clippy|rubocop"
    r"|golangci-lint|stylelint)"
)
_CHECKER: Final = r"(?:npm run type-?check|tsc(?: --noemit)?|mypy|pyright|basedpyright)"
_REPORTS: Final = (
    r"(?:reports?|reported|shows?|found|finds|says|has|with) (?:no|0|zero)"
    r" (?:new )?(?:errors?|issues?|problems?|warnings?|failures?)"
)
_CHECKS: Final = r"(?: (?:check|checks|run))?"
_FORMS: Final = {
    "tests": (
        rf"{_ALL}(?P<n>\d{{1,6}} )?{_TESTS} {_PASSING}",
        rf"(?:the )?(?P<n>\d{{1,6}}) {_TESTS} (?P<all>all )?{_PASSING}",
        rf"(?:the )?{_TESTS} (?:are )?(?P<all>all )?{_PASSING}",
        rf"(?:the )?(?:tests?|test results?|{_RUNNER})(?: run| suite)? (?P<all>all )?"
        rf"(?P<n>\d{{1,6}}) (?:tests? )?{_PASSING}",
        rf"(?P<all>all )(?P<n>\d{{1,6}}) {_PASSING}",
        rf"{_PASSING} (?P<all>all )(?P<n>\d{{1,6}})(?: tests?)?",
        r"(?P<n>\d{1,6}) (?:tests? )?passed(?: in \d[\d.]* ?s(?:econds)?)?",
        rf"(?P<part>\d{{1,6}})/(?P<n>\d{{1,6}})(?: {_TESTS})? {_PASSING}",
        rf"{_SUITE} {_PASSING}",
        rf"{_RUNNER} {_PASSING}",
        r"(?P<all>no (?:test failures|failing tests))",
    ),
    "lint": (
        rf"(?:the )?(?:lint|linter|linting|{_LINTER}){_CHECKS} (?:{_PASSING}|{_REPORTS})",
        rf"no (?:lint|linting|linter|{_LINTER}) (?:errors?|issues?|problems?|warnings?)"
        r"(?: remain)?",
    ),
    "typecheck": (
        rf"(?:the )?(?:type ?-?check(?:s|ing|er)?|{_CHECKER}){_CHECKS} (?:{_PASSING}|{_REPORTS})",
        r"no (?:type|typescript|mypy|tsc|pyright) errors?(?: remain)?",
    ),
    "build": (
        rf"(?:the )?(?:(?:project|production|release) )?(?:build|npm run build|cargo build|go build"
        rf"(?: \./\.\.\.)?) (?:{_PASSING}|{_REPORTS}|works)",
        r"(?:the |everything )?(?:(?:project|code|app|package|crate) )?(?:compiles|builds)"
        r" (?:successfully|cleanly|fine|without (?:any )?errors?)",
    ),
}
_LEAD: Final = (
    r"(?:(?:and|now|finally|also|currently|overall|done|great|perfect|afterwards|as a result"
    r"|i (?:have |also )*(?:verified|confirmed|checked|made sure)(?: that)?|confirmed(?: that)?"
    r"|verified(?: that)?) ){0,4}"
)
_COMPILED: Final = {
    kind: tuple(re.compile(f"{_LEAD}(?P<claim>{form}){_END}") for form in forms)
    for kind, forms in _FORMS.items()
}
_FILE: Final = re.compile(
    r"(?:(?:i|i've|we|and|also|then|have) )*(?:created|added|wrote|updated|edited|modified|changed"
    r"|rewrote)(?: a| the)?(?: new)?(?: file)?"
    r" `?(?P<path>(?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z]\w{0,7})`?"
    r"(?: (?:with|to|so that|for|in order to) .*)?",
    re.IGNORECASE,
)
# What all claims about checks have in common, so that most texts are not read any further.
_SUSPECT: Final = re.compile(
    r"pass|green|clean|succe|\bno \w+ (?:error|issue|failure|test)|compiles|builds"
    r"|\b(?:ok|creat|add|wrote|updat|edit|modif|chang|rewrote)",
    re.IGNORECASE,
)

# What makes a sentence no claim about the present

_OPEN: Final = re.compile(
    r"\b(?:if|when|whenever|once|unless|until|till|should|shall|would|will|could|might|may|must"
    r"|can|expect\w*|need\w*|please|assum\w+|suppos\w+|presum\w+|hope\w*|hoping|ideally|probably"
    r"|likely|ensure|verify|confirm|make sure|check that|want\w*|goals?|so that|to make|to get"
    r"|plans?|planned|next|todo|later|after (?:you|we|it|that)|before|previous\w*|earlier|yesterday"
    r"|last (?:time|week|run)|was|were|had|used to|initially|originally|sa[iy]\w*|claim\w*"
    r"|to[l]d|asks?|asked|according|wh(?:ether|y|ich|ere|o|at)|how|examples?|e\.g|imagine|pretend|wish"
    r"|not|never|no longer|cannot|hardly|neither|nor|except\w*|besides|apart|other than|only"
    r"|just|but|however|although|though|while|some|most|many|almost|nearly|half|partial\w*|even"
    r"|ci|github|gitlab|main|master|upstream|staging|production server|windows|macos|linux|locally"
    r"|machine|you|your|users?|he|she|they|agents?|colleague|readme|docs?|targets?|aim|objective|intent\w*|condition\w*|statement"
    r"|sentence|phrase|messages?|titles?|label|strings?|prints?|printed|outputs?|logs?|false|wrong"
    r"|untrue|incorrect|inaccurate|allegedly|apparently|supposedly|reportedly|theory|paper"
    r"|as far as|options?|outcomes? are|criteri\w+|requirement\w*"
    r"|let's|let us|trying|tried|try|step \d"
    r"|as soon as|by the time|eventually|soon|tomorrow)\b"
    r"|n't\b|n’t\b|'ll\b|’ll\b|'d\b|’d\b",
    re.IGNORECASE,
)
_PLACE: Final = re.compile(
    r"(?:in|on|for|under|within|inside|at|regarding|as for|across)\b", re.IGNORECASE
)
_BEFORE_COLON: Final = re.compile(
    r"(?:final |test |build |current |overall )?(?:tests?|results?|verification|verified"
    r"|validation|status|checks?|summary|outcome|state|done|testing|lint|linting|linter|build"
    r"|types|type ?-?check(?:s|ing)?|quality gates?|quality|suite|test suite|pytest|jest|vitest"
    rf"|eslint|ruff|mypy|tsc|{_RUNNER}|{_LINTER}|{_CHECKER}"
    r"|everything (?:works|is (?:green|done|in place)))"
    r"|(?:(?:i|we|and|then|have|also) )*(?:re-?)?(?:ran|run|executed)(?: the| all| our)?"
    rf"(?: (?:full|whole|entire|complete))? (?:tests|test ?suite|suite|{_RUNNER})"
    r"(?: again| once more)?",
    re.IGNORECASE,
)
_GOOD_HEADING: Final = re.compile(
    r"(?:the |my |final |test |build |code |what i |summary of )*(?:verification|verified|results?"
    r"|tests?|testing|validation|status|checks?|summary|outcome|done|did|changes?|changed|completed"
    r"|implementation|implemented|work|report|quality(?: gates?| checks?)?|overview|final state"
    r"|files(?: changed| created| modified)?|fix(?:es)?)(?: (?:results?|summary|status|made|done"
    r"|performed|run|passed|complete[d]?))*[\s:.!✅✓✔🎉]*",
    re.IGNORECASE,
)
_HEADING: Final = re.compile(r"#{1,6}\s+(.{1,200}?)\s*#*|(?:\*\*|__)([^*_]{1,100})(?:\*\*|__):?")
_UNDERLINE: Final = re.compile(r"={3,}|-{3,}")
_LABEL_LINE: Final = re.compile(r"(.{1,120}):")
_LIST: Final = re.compile(r"(?:[-*+•–]|\d{1,3}[.)])\s+(?:\[[xX✓]\]\s+)?")
_UNCHECKED: Final = re.compile(r"(?:[-*+•]\s+)?\[ ?\]")
_STRUCK: Final = re.compile(r"~~[^~\n]{1,500}~~")
_MARKS: Final = re.compile(r"\*\*|__|[✅✓✔☑🎉🟢🚀💯]️?|(?<!\w)[*_]|[*_](?!\w)")
_SENTENCES: Final = re.compile(r"(?<=[.!?])(?=\s|\Z)|(?<=[。！？])")
_PARTS: Final = re.compile(
    r"( ?(?:[,;]? \b(?:and|with)\b(?! \d+ failed)|[,;:(—–，；：、]|\)[,;:]?| -(?= )) ?)",
    re.IGNORECASE,
)
_FREE: Final = frozenset({"", "and", ", and", "; and", ";", "；"})
# What may stand before a comma or a dash and a claim, and after it: all else may restrict it.
_MAY_PRECEDE: Final = re.compile(
    r"(?:i|i've|we|we've|and|done|great|perfect|everything|it|now|finally|then|the|this|that|all"
    r"|both|no|lint|linting|tests?|types?|\d+|after (?:the|this|my) (?:fix|change|edit)s?|\w+ed)\b",
    re.IGNORECASE,
)
_MAY_FOLLOW: Final = re.compile(
    r"(?:\d+/\d+|\d+ (?:tests?|passed|passing|in total)|\d[\d.]* ?s(?:econds)?|0 \w+|no \w+"
    r"|zero \w+|(?:including|plus) \d+ new (?:ones|tests)|(?:so|and) (?:this|it|the \w+) is"
    r" (?:ready|done|complete)|ready (?:for|to) \w+|[\w-]+ (?:is )?clean)?"
    r"(?: \d+ (?:passed|skipped))?",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"`([^`\n]{1,60})`")
_ANY_TOOL: Final = re.compile(
    rf"(?:{_RUNNER}|{_LINTER}|{_CHECKER}|npm run build|cargo build|go build(?: \./\.\.\.)?)",
    re.IGNORECASE,
)
_PATH_LIKE: Final = re.compile(
    r"(?:in|on|for|under|of|from|within) `?[\w.@-]*[/.][A-Za-z][\w/.@-]*`?"
)

# What says that something failed, and what only seems to.

_NO_FAILURE: Final = re.compile(
    r"\b(?:0|no|zero|without(?: any)?)(?: \w+)? (?:failures?|failed|failing|fails?|errors?"
    r"|skipped|regressions?)(?: tests?)?\b|\b(?:failed|failures?|failing|errors?|skipped)[:=] ?0\b"
    r"|\b(?:previously|formerly|originally|once|initially)[ -](?:failing|failed|broken|skipped)\b"
    r"|\bfail(?:ed|ing|s)? (?:before|previously|earlier|originally|at first|initially)\b"
    r"|\b(?:fix(?:ed|es)?|repaired|resolved|corrected|addressed)(?: \w+){0,5}? (?:fail\w*|broken"
    r"|flaky|crash\w*|errors?|hang\w*)\b",
    re.IGNORECASE,
)
_RESERVE: Final = re.compile(
    r"fail|\bbroken\b|flak|pre-?exist|\bred\b|crash|\bexcept\b|apart from|other than|skipp|xfail"
    r"|known (?:issue|problem)|unrelated|timed? ?out|\bhangs?\b|\bstill (?:need|to|miss|broken|red)"
    r"|\b(?:not|n't|n’t|never) (?:yet |been |be |actually )*(?:run|ran|executed?|pass\w*|verif\w*"
    r"|check\w*|test\w*|able)\b|\bunable\b|correction\b|disregard|was wrong|mutat|on purpose"
    r"|intentional|deliberat|there (?:are|is) no(?:ne)?\b"
    r"|no tests? (?:exist|yet|in |to run|were)|draft|template|changelog entry|was wrong"
    r"|\b(?:pr|pull request|commit|release) (?:description|message|body|notes|text)"
    r"|\berrors? (?:remain|in |still)|[❌✗✘⚠]"
    r"|\b(?:kaputt|rot|außer|aber|jedoch|sauf|mais|pero|excepto|salvo|exceto|mas|porém)\b"
    r"|schl[äa]g|schlug|fehl|échou|fall[ao]|falh"
    r"|кроме|\bно\b|упал|не проход|除|但|以外|ただし|失敗|失败",
    re.IGNORECASE,
)


def claims_in_prose(text: str) -> tuple[ProseClaim, ...]:
    """Return the claims in `text`, the prose of a last message, in order; at most 50.

    Quotations, fences, headings of plans, conditions, questions, and sentences about other times
    and other people hold none. Of a long text the last 64,000 characters are read. Linear.
    """
    text = text[-_READ:]
    if _SUSPECT.search(text) is None and in_english(text) is None:
        return ()

    reserved = _has_reserve(text)
    found: dict[tuple[object, ...], ProseClaim] = {}
    for number, line in _spoken_lines(text):
        for sentence in _SENTENCES.split(line):
            for claim in _claims_of(sentence.strip(), number):
                # A summary may repeat what stands above.
                key = (claim.kind, claim.number, getattr(claim.claim, "path", ""))
                found.setdefault(key, claim._replace(reserved=reserved))
                if len(found) == _MOST:
                    return tuple(found.values())

    return tuple(found.values())


def _has_reserve(text: str) -> bool:
    plain = _NO_FAILURE.sub(" ", text)
    if _RESERVE.search(plain) is not None:
        return True
    english = in_english(text)
    return english is not None and (
        _RESERVE.search(_NO_FAILURE.sub(" ", " ".join(english.split()))) is not None
    )


def _spoken_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that the agent says itself, without marks, with their numbers."""
    hidden = Regions([*((at, end) for at, end, _ in fence_spans(text)), *shown_spans(text)])
    lines = text.split("\n")
    section = _Section()
    start = 0
    for number, raw in enumerate(lines, 1):
        at, start = start, start + len(raw) + 1
        line = raw.strip()
        if hidden.hold(at, at + 1) or line.startswith((">", "|", "<", "+", "$", "@", "//", '"')):
            continue
        listed = _LIST.match(line)
        if not line or (raw.startswith(("    ", "\t")) and listed is None):
            section.blank = True
            continue

        below = next((each.strip() for each in lines[number : number + 2] if each.strip()), "")
        if section.enters(line, below, listed=listed is not None):
            continue
        if section.allowed and len(line) <= _LINE and _UNCHECKED.match(line) is None:
            yield number, line[listed.end() if listed else 0 :]


class _Section:
    """Whether the lines below a heading are about what was done, and not about what is wanted."""

    def __init__(self) -> None:
        self.allowed, self.blank = True, False
        self._by_label = self._had_content = False

    def enters(self, line: str, below: str, *, listed: bool) -> bool:
        """Look at the next line, `below` which another stands; return whether it is a heading."""
        # A line with a colon governs what follows it at once: a list, or one paragraph.
        if self._by_label and self.blank and self._had_content and not listed:
            self.allowed, self._by_label = True, False
        self.blank = False

        words = _heading_in(line, below, listed=listed)
        self._had_content = words is None
        if words is None:
            return False

        self.allowed = _GOOD_HEADING.fullmatch(_MARKS.sub("", words).strip()) is not None
        is_underlined = bool(_UNDERLINE.fullmatch(below))
        self._by_label = not (line.startswith("#") or is_underlined)
        return True


def _heading_in(line: str, below: str, *, listed: bool) -> str | None:
    """Return the words of a heading, a line with a colon, or one above a list; None for others."""
    found = _HEADING.fullmatch(line) or (None if listed else _LABEL_LINE.fullmatch(line))
    if found is not None:
        return next(each for each in found.groups() if each is not None)
    if listed or line.endswith((".", "!", "。")):
        return None
    return line if _UNDERLINE.fullmatch(below) or _LIST.match(below) else None


def _claims_of(sentence: str, number: int) -> Iterator[ProseClaim]:
    """Yield the claims of one sentence."""
    if not sentence or sentence.endswith(("?", "？", "..", "…")):
        return

    found = list(_in_english(sentence)) if _SUSPECT.search(sentence) is not None else []
    for claim in found or _translated(sentence):
        yield claim._replace(words=sentence, line=number)


def _in_english(sentence: str) -> Iterator[ProseClaim]:
    plain = _MARKS.sub("", _STRUCK.sub(" ", sentence)).strip()
    # The name of a runner in code is that of the check, any other code is a quotation.
    spoken = _CODE.sub(lambda found: found[1] if _ANY_TOOL.fullmatch(found[1]) else found[0], plain)
    bare = _NO_FAILURE.sub(_kept, without_quotations(spoken)).strip(" .!")
    bare = " ".join(bare.split())
    if _OPEN.search(bare) is not None or _PLACE.match(bare) is not None:
        return

    yield from _file_claims(plain)
    before, colon, after = bare.partition(":")
    if colon and after[:1] in (" ", "") and _BEFORE_COLON.fullmatch(before.strip()) is None:
        return
    if _PATH_LIKE.search(bare) is not None:
        return

    # "Tests: 14 passed" is one clause.
    joined = _matched(" ".join(bare.replace(": ", " ", 1).split()))
    seen: set[str] = set()
    for claim in [joined] if joined is not None else _in_clauses(_PARTS.split(bare)):
        # "14 passed, 14/14 tests" is one claim.
        if claim.kind not in seen:
            seen.add(claim.kind)
            yield claim


def _in_clauses(pieces: Sequence[str]) -> Iterator[ProseClaim]:
    """Yield the claims among the clauses of a sentence, with the separators between them."""
    clauses = [" ".join(each.split()) for each in pieces[::2]]
    between = ["", *(each.strip().lower() for each in pieces[1::2]), ""]
    for at, clause in enumerate(clauses):
        claim = _matched(clause)
        if claim is None:
            continue
        before = clauses[at - 1] if at else ""
        after = clauses[at + 1] if at + 1 < len(clauses) else ""
        follows = between[at + 1] in _FREE or bool(_MAY_FOLLOW.fullmatch(after) or _matched(after))
        if follows and (between[at] in _FREE or ":" in between[at] or _may_precede(before)):
            yield claim


def _may_precede(clause: str) -> bool:
    return bool(_MAY_PRECEDE.match(clause) or _BEFORE_COLON.fullmatch(clause) or _matched(clause))


def _kept(found: re.Match[str]) -> str:
    """Leave out what failed earlier, so that the words for "earlier" do not hide what is now."""
    earlier = re.search(r"before|previous|earlier|original|first|initial|former|once", found[0])
    return " " if earlier is not None else found[0]


def _translated(sentence: str) -> Iterator[ProseClaim]:
    """Yield the claim of a sentence in another language, all of whose words the tables have."""
    bare = _MARKS.sub("", sentence).strip(" .!。！")
    english = in_english(without_quotations(bare))
    if english is None:
        return
    words = " ".join(english.split())
    # The words of some languages follow another order.
    words = re.sub(r"\A(\d{1,6}) tests all (\w+)\Z", r"all \1 tests \2", words)
    claim = _matched(words) if _OPEN.search(words) is None else None
    if claim is not None:
        yield claim


def _matched(clause: str) -> ProseClaim | None:
    """Return the claim that the clause is, None for any other clause."""
    lower = clause.lower().replace("’", "'").strip()
    for kind, forms in _COMPILED.items():
        for form in forms:
            found = form.fullmatch(lower)
            if found is None:
                continue
            groups = found.groupdict()
            if groups.get("part") not in (None, groups.get("n")):
                return None
            count = groups.get("n")
            number = int(count) if count else None
            whole = any(groups.get(name) for name in ("all", "suite", "part"))
            named = _ANY_TOOL.search(found["claim"])
            text = f"{count.strip()} passed" if count and kind == "tests" else clause
            claim = CheckClaim(
                name=f"{kind} ({named[0]})" if named else kind, passed=True, text=text, where=""
            )
            return ProseClaim("", 0, claim, kind, number, whole)

    return None


def _file_claims(plain: str) -> Iterator[ProseClaim]:
    for clause in re.split(r"[;:,](?=\s)|\band\b", plain.rstrip(" .!")):
        found = _FILE.fullmatch(" ".join(clause.split()))
        if found is not None:
            claim = FileClaim(path=found["path"], where="", kind="touched")
            yield ProseClaim("", 0, claim)
