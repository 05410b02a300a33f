"""Whether the words of a passed check say that a program ran and ended well (D-113).

Most checks are about something else: a plan that covers its requirements, a document in the right
form, a review. Where that is not certain, nothing is concluded.
"""

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from goop_mcp.evidence.attribution import words_in
from goop_mcp.evidence.check_kinds import BY_HAND, RUNNER_WORDS
from goop_mcp.evidence.runners import KIND_WORDS, word_set
from goop_mcp.validation.check_texts import parse_result, shows_no_result, vocabulary
from goop_mcp.validation.check_texts.tokens import WORD, tokens_of

if TYPE_CHECKING:
    from goop_mcp.validation.claims import CheckClaim

__all__ = ["NOT_CLAIMED", "ClaimedRun", "claimed_run"]

# Who or what else may have run a check, and when: words with which a report says so.
_ELSEWHERE: Final = word_set(
    "actions agent agents azure baseline before buildkite ci circleci cloud coder colleague "
    "colleagues critic earlier elsewhere executor github gitlab hook hooks human husky jenkins "
    "lead lefthook lint-staged maintainer maintainers orchestrator parent person pipeline "
    "pipelines planner pre-commit precommit previous previously remote researcher reviewer "
    "reviewers subagent subagents teammate tester testers travis upstream verifier workflow "
    "workflows"
)
_ELSEWHERE_FORMS: Final = re.compile(
    r"https?://|goop-[a-z]|\bw\d{1,6}\.t\d{1,6}|\baccording to\b"
    r"|\b(?:by|from) (?:the |a )?user\b|\b(?:user|you) (?:ran|sa(?:id|ys)|confirmed|verified)\b"
    r"|\b(?:run|ran|executed|verified|confirmed|reported|checked|tested|done) by\b"
)
# A person or agent looked, and no program.
_LOOKED: Final = BY_HAND | word_set("eye grep inspected looked read reading walkthrough")
_OF_RUNS: Final = frozenset().union(
    *(vocabulary.STATES, vocabulary.NUMBERS, vocabulary.TEST_NOUNS, vocabulary.OTHER_NOUNS),
    *(vocabulary.ADJECTIVES, vocabulary.CONNECTIVES, vocabulary.TOOLS, vocabulary.REPORTING),
    *(vocabulary.NOW, vocabulary.POSITIVE, vocabulary.ENDED, vocabulary.EXIT_FILLERS),
    *(vocabulary.CODE_WORDS, vocabulary.AUXILIARIES, vocabulary.ARTICLES, vocabulary.SHARES),
    *(KIND_WORDS, RUNNER_WORDS),
    word_set(
        "against automated backend check checked code command errors everything exits existing "
        "failures findings frontend full issues local locally my mode my new our problems "
        "project strict successful tool unchanged using violations warning warnings without yes"
    ),
)
"""All words of a check that says that a program ran, and nothing else."""

_CLAIMS: Final = vocabulary.POSITIVE | word_set(
    "all error errors exit exits exited failures findings issues problems ran run unchanged "
    "violations vulnerabilities warnings yes"
)
# Names that documents and plans have as well: only a runner in the text says more.
_VAGUE: Final = word_set(
    "audit cov coverage format formatted formatting integration spec specs suite types typing unit"
)
_SHARE: Final = re.compile(r"\d ?%")
_TEXT_CHARACTERS: Final = 4000


class ClaimedRun(NamedTuple):
    """What a check says of a run: whether a program ran, and which `runners` it names."""

    by_program: bool
    runners: frozenset[str] = frozenset()


NOT_CLAIMED: Final = ClaimedRun(by_program=False)


def claimed_run(check: "CheckClaim", kind: str) -> ClaimedRun:
    """Return what `check`, one of `kind` that is reported as passed, says of a run."""
    text = check.text[:_TEXT_CHARACTERS]
    name = check.name[:_TEXT_CHARACTERS].replace("_", " ")
    lower = f"{name} {text}".casefold()
    words = frozenset(words_in(lower))
    if (
        not (_ELSEWHERE | _LOOKED).isdisjoint(words)
        or _ELSEWHERE_FORMS.search(lower)
        or (text.strip() and shows_no_result(text))
    ):
        return NOT_CLAIMED

    # In another language, any word that no table has may say who ran it.
    tokens = [*tokens_of(name)[0], *tokens_of(text)[0]]
    if any(token.foreign for token in tokens):
        return NOT_CLAIMED

    runners = RUNNER_WORDS & words
    if kind == "tests" and parse_result(text).passed:
        return ClaimedRun(by_program=True, runners=runners)

    # A single letter is an option.
    is_plain = all(
        token.text in _OF_RUNS for token in tokens if token.kind == WORD and len(token.text) > 1
    )
    is_claim = not text.strip() or not _CLAIMS.isdisjoint(words_in(text.casefold()))
    named = {word for word in words_in(name.casefold()) if word in KIND_WORDS}
    if kind == "coverage":
        return ClaimedRun(by_program=is_plain and _SHARE.search(text) is not None, runners=runners)
    shown = bool(runners) or not named <= _VAGUE or (kind == "audit" and "vulnerabilities" in words)
    return ClaimedRun(by_program=is_plain and is_claim and shown, runners=runners)
