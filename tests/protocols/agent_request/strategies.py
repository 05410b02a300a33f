"""Hypothesis strategies that build whole requests."""

from collections.abc import Iterable, Iterator

from hypothesis import strategies as st

from goop_mcp.protocols.agent_request.attributes import read_duration
from goop_mcp.protocols.agent_request.model import (
    Deliverable,
    Extension,
    Priority,
    Request,
    RequestMode,
    RequestWorkflow,
)
from goop_mcp.protocols.agent_request.reading import ROOT_PARTS
from goop_mcp.protocols.agent_request.writing import normal_text
from tests.validation.strategies import no_template

SNIPPETS = (
    "a && b",
    "List<int>",
    "</task_details>",
    "<mode>",
    "</agent_request>",
    "<agent_request>",
    "<think>",
    "<!-- x -->",
    "<![CDATA[x]]>",
    "]]>",
    "&amp;",
    "```",
    "````xml",
    "~~~",
    "'\"“”",
    "naïve 日本語 🙂",
    "{'a': 1}",
)
# What XML can carry; the rest is a matter of its own.
_CHARACTERS = st.characters(exclude_categories=["Cs", "Cc", "Cn"])
_WORDS = st.one_of(st.text(_CHARACTERS, min_size=1, max_size=12), st.sampled_from(SNIPPETS))
_LINES = st.lists(_WORDS, max_size=4).map(" ".join).filter(no_template)
TEXTS = st.lists(_LINES, min_size=1, max_size=5).map("\n".join).map(normal_text).filter(no_template)
FILLED = TEXTS.filter(bool)
NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(-[a-z0-9]{1,8})?", fullmatch=True)
SESSIONS = st.builds(
    "{:08}-{:06}-{}".format, st.integers(20200101, 20991231), st.integers(0, 235959), NAMES
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
_DURATIONS = st.sampled_from(["30s", "10m", "2h", "1h30m", "1.5d"]).map(read_duration)
_DELIVERABLES = st.one_of(
    st.builds(Deliverable, kind=st.just("file"), path=PATHS, required=st.booleans(), text=TEXTS),
    st.builds(Deliverable, kind=st.sampled_from(["decision", "report"]), text=TEXTS),
)
_SPACES = st.sampled_from(["http://instructor-workflow.org/qa/v1", "urn:x", "urn:y"])
_ATTRIBUTES = st.dictionaries(
    st.one_of(NAMES, st.builds("{{{}}}{}".format, _SPACES, NAMES)),
    st.text(_CHARACTERS, max_size=8).filter(no_template),
    max_size=3,
).map(lambda each: tuple({name.lower(): (name, value) for name, value in each.items()}.values()))


def _with_children(
    children: st.SearchStrategy[tuple[Extension, ...]],
) -> st.SearchStrategy[tuple[Extension, ...]]:
    element = st.builds(
        Extension,
        name=NAMES,
        namespace=st.none() | _SPACES,
        attributes=_ATTRIBUTES,
        children=children,
        prefix=st.none() | st.sampled_from(["p", "q"]),
    )
    return st.lists(element, max_size=3).map(tuple)


_LEAVES = st.lists(
    st.builds(
        Extension, name=NAMES, namespace=st.none() | _SPACES, text=_LINES, attributes=_ATTRIBUTES
    ),
    max_size=3,
).map(tuple)
EXTENSIONS = st.recursive(_LEAVES, _with_children, max_leaves=8)


@st.composite
def requests(draw: st.DrawFn, *, plain: bool = False) -> Request:
    """Draw a request that is accepted; a `plain` one holds only what the literal schema knows."""
    request = Request(
        mode=draw(st.sampled_from(RequestMode)),
        original_intent=draw(FILLED),
        current_task_summary=draw(FILLED),
        workflow=draw(st.sampled_from(RequestWorkflow)),
        task_details=draw(FILLED),
        constraints=draw(
            st.none() | st.lists(FILLED, min_size=1 if plain else 0, max_size=3).map(tuple)
        ),
        deliverables=draw(st.lists(_DELIVERABLES, min_size=1, max_size=4).map(tuple)),
        backlog_notes=draw(st.none() | TEXTS),
        session_id=draw(st.none() | SESSIONS),
        parent_agent=draw(st.none() | NAMES),
        target_agent=draw(st.none() | NAMES),
    )
    return request if plain else _extended(draw, request)


def _names(extensions: Iterable[Extension]) -> Iterator[str]:
    for each in extensions:
        yield each.name
        yield from _names(each.children)


def _extended(draw: st.DrawFn, request: Request) -> Request:
    values = {name: getattr(request, name) for name in request.__dataclass_fields__}
    extensions = draw(EXTENSIONS)
    # An attribute of the root that contradicts an element of the same name is reported.
    taken = {*ROOT_PARTS, *_names(extensions)}
    return Request(
        **{
            **values,
            "version": draw(st.sampled_from(["1.0", "1.1"])),
            "priority": draw(st.none() | st.sampled_from(Priority)),
            "estimated_duration": draw(st.none() | _DURATIONS),
            "timeout": draw(st.none() | _DURATIONS),
            "max_retries": draw(st.none() | st.integers(0, 99)),
            "notify_on_completion": draw(st.lists(NAMES, max_size=3).map(tuple)),
            "depends_on": draw(
                st.lists(SESSIONS.filter(lambda each: each != request.session_id), max_size=2).map(
                    tuple
                )
            ),
            "extra_attributes": tuple(
                [each for each in draw(_ATTRIBUTES) if each[0].lower() not in taken]
            ),
            "extensions": extensions,
        }
    )
