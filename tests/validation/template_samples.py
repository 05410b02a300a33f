"""Template text that must be caught wherever it stands, and text that looks like it and must stay."""

import itertools
import random
from collections.abc import Iterator
from typing import Final

WHOLE: Final = (
    *("[what was done]", "[next task]", "[1-2 sentence summary]", "[1-2 sentences: what was built and why]"),
    *("[What wasn't found]", "[command: result]", "[why it matters (optional)]", "[SPEC.md requirement]"),
    *("[ summary ]", "[summary]", "[agent-name]", "[component_name]", "[None | Decision needed]", "[README|API|Guide]"),
    *("{summary}", "{what was done}", "{task-name}", "{{summary}}", "{{ task.title }}", "{{{body}}}"),
    *("<what was done>", "<summary>", "<agent-name>", "<how to fix>", "<ERROR_CODE>", "<your own words>"),
    *("${summary}", "${TASK_NAME}", "%SUMMARY%", "%task_name%", "__SUMMARY__", "__task_name__", "__what was done__"),
    *("...", "…", "[...]", "<…>", "TODO", "todo", "TBD", "TBD.", "XXX", "FIXME", "TODO:", "?", "???"),
    *(
        "Lorem ipsum dolor sit amet, consectetur",
        "Insert summary here",
        "insert the description here.",
        "[insert here]",
    ),
    *("Your summary here", "Enter description here", "Summary goes here", "TODO: insert summary here"),
    *("high|medium|low", "None | Decision needed", "yes | no", "PASS | FAIL", "created|modified|deleted"),
    *("confirmed | refuted | inconclusive", "none | description of the blocker", "COMPLETE|PARTIAL|BLOCKED|CHECKPOINT"),
    *("W[wave].T[task]", "type(scope): message", "type(scope): commit message", "<type>(<scope>): <description>"),
    *("[type]([scope]): [subject]", "N passed, M failed", "XX%", "X% coverage", "N of M tests passed", "~X minutes"),
    *("[N] passed, [M] failed", "TODO - fill in", "goop-[agent]", "/goop-[next]", "W{wave}.T{task}", "none|[reason]"),
    *("feat(<scope>): <description>", "feat(scope): description", "None or description of blocker", "0/N"),
    *("N/M", "X/Y tests passing", "Coverage: X% (target: Y%)"),
    *("- [item 1]\n- [item 2]", "[a file], [another file]", "[path] - [what changed]", "1. [first]\n2. [second]"),
    *("<name>, <name>", "[phase]/[wave]", "**[what was done]**", '"[what was done]"', "[what\n  was done]"),
    *("Add description here", "Put the summary here", "TODO: add summary", "TODO - write the summary", "FILL_ME_IN"),
    *("REPLACE_ME", "None or blocker description", "X/Y tests pass", "N files changed"),
    *("[N] findings, [M] recommendations", "To be filled.", "TBD later", "None | what blocks you"),
    *("placeholder", "to be determined", "1-2 sentence summary", "Brief summary", "replace me"),
)
"""Whole values that say nothing."""

PATHS: Final = ("[path]", "<path>", "{path}", "path/to/file", "path/to/file.ts", "./path/to/doc.md", "[path to file]")
"""Paths that name nothing."""

OPEN: Final = (
    *("Research [topic]", "Codebase map: [project/scope]", "Blueprint architecture: [approach]", "Design: [feature]"),
    *(
        "Found: [brief answer]",
        "Use [finding] to proceed with [task].",
        "Documentation ready at [path].",
        "See [topic]",
    ),
    *("Research <topic> first", "Research {topic} first", "Coverage gap ([description])", "Bug pattern: [short title]"),
    *("Implement [feature] per design spec", "Option B because [reason]", "docs: add [feature] documentation"),
    *("Delegate to goop-[type]", "next: W[wave].T[task]", "Summary: [1-2 sentence summary]", "bun test - [N] passed"),
    *("Verification: [scope] - [status]", "Blocked: [reason for block]", "Coverage went from X% to Y%", "added [what]"),
    *("pytest tests/ - N passed, M failed", "The coverage is XX% now", "Need [exact question] answered"),
)
"""Sentences that hold a slot."""

OPEN_PATHS: Final = ("docs/[feature].md", "specs/<feature-id>/spec.md", "docs/{component}.md", "src/__FEATURE__/a.py")
"""Paths that hold a slot."""

LOOK_ALIKES: Final = (
    # statuses, tags and references
    *("[WIP]", "[x]", "[X] done", "[ ] open", "[#123]", "[PROJ-42]", "[2024-01-01]", "[v1.2.3]", "[1.4.x]", "[OK]"),
    *("[PASS]", "[skip ci]", "[WIP] rotate tokens", "[x] read state.json\n[ ] write it", "N/A", "n/a", "None", "none."),
    *(
        "[api] handle empty bodies",
        "[feature] add login",
        "fix(api): [auth] handle timeouts",
        "feat: drop [deprecated]",
    ),
    *("[RFC 7231] conditional requests", "as in [RFC 7231]", "see [1] and [2]", "footnote[^1]", "[ADR-12]", "[MH1]"),
    *("[in progress]", "[BREAKING] drop Python 3.10", "revert: [WIP] login", "closes [#123], [PROJ-9]", "[1] first"),
    # Markdown
    *(
        "[the guide](docs/guide.md)",
        "see [topic](docs/topic.md)",
        "[topic][1] explains it",
        "[topic]: https://x.example",
    ),
    *(
        "![logo](logo.png)",
        "**Done** and tested",
        "__Done__ and tested",
        "__All green__",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ),
    *("- [x] parser\n- [ ] writer", "# Heading", "> quoted", "*emphasis*", "~~old~~ new", "<https://example.org>"),
    *("| File | Change |\n|---|---|\n| a.py | new |", "done :tada:", "[link](#anchor)", "---"),
    # code
    *("a[i]", "uses a[i] and b[j]", "map[string]int", "list[str]", "x[key] = value", "rows[index]", "foo[name]"),
    *("None | int in the signature", "None | waiting for legal", "<T extends Base>", "<? super Number>"),
    *("Rename the module. [Feature] Dark mode", "Closes #7. [Scope] is checked"),
    *("TODO: add retries", "Add retry logic here", "Put the rows here", "write logs here", "N+1 tests", "what did it"),
    *("<T>", "Map<K, V>", "Vec<T>", "Result<T, E>", "Option<String>", "Array<string>", "generic over <T>", "<K, V>"),
    *("a < b && c > d", "std::vector<int>", "Promise<void>", "List<Map<String, Integer>>", "if (a < n) { run() }"),
    *("[a-z]", "[A-Za-z0-9_]+", "[^/]+", "matches [a-z]{2,3}", "^[a-z]+$", "(a|b)+", "\\d{3}", "[0-9]", "/[a-z]+/i"),
    *("jpg|png|gif", "accepts high|medium|low here", "cat log | grep error | wc", "a | b", "int | None", "str | None"),
    *("[1, 2]", "[1..10]", "0..10", "[0, 1)", "(0, 1]", "1-10", "[0:10]", "a[1:n]", "[i:j]", "{1, 2, 3}", "{2,3}"),
    *('{"a": 1}', '["a", "b"]', "[]", "{}", "[true, false]", "[null]", '{"name": "x", "tags": ["y"]}', '[{"id": 1}]'),
    *(
        "/users/{id}",
        "GET /users/{id}",
        "POST /orders/{orderId}/items",
        "/api/v1/{tenant}/docs",
        "/users/:id",
        "/a/<int:pk>",
    ),
    *("src/app/[slug]/page.tsx renders it", "GET /files/{path}", "app/[lang]/layout.tsx", "pages/[...slug].tsx"),
    *(
        "removed the TODO",
        "removed the TODO in parser.py",
        "no TODO left",
        "The TBD section is gone",
        "grep XXX found none",
    ),
    *(
        "TODO list view",
        "Add TODO comments",
        "The ... operator spreads",
        "replaced lorem ipsum on the home page",
        "todo app",
    ),
    *(
        "reads ${HOME} first",
        "export PATH=${HOME}/bin",
        "echo $HOME",
        "${{ secrets.KEY }} is set",
        "`${name}`",
        "costs $5",
    ),
    *("__init__.py", "__init__", "__main__", "adds __all__ to utils", "renamed __name__ check", "src/__tests__/a.ts"),
    *("the %PATH% variable", "adds it to %PATH% on Windows", "50%", "100% of 10", "%d of %s", "uses %s", "95% covered"),
    *(
        "{{ user.name }} is rendered",
        "Jinja: Hello {{name}}",
        "uses `{{topic}}` in the template",
        "{% if x %}",
        "{{ x }}",
    ),
    *("the Vue template shows {{ title }}", "`[topic]` is a slot", 'the text "[topic]" stays', "“[topic]” stays"),
    *("Hello {name}, you have {count} items", "{count, plural, one {# file} other {# files}}", "{0} of {1}", "{n}"),
    *("{ color: red; }", "{ display: flex }", ".btn { margin: 0 }", "a { color: red; margin: 0 }", "{color: red}"),
    *("\\frac{a}{b}", "$x_{i}$", "\\begin{align}", "\\textbf{Done}", "E = mc^2", "{a, b}", "{ useState, useEffect }"),
    *("<br>", "<br/>", "</div>", '<a href="x">', "<div>", "the <title> element", "a <path> node", "<Foo />"),
    *("the <description> tag of the feed", "sets <scope>test</scope>", "check --out <file>", "goop-mcp check [path]"),
    *(
        "mail to <a@b.example>",
        "f(x) = [y]",
        "array of [name, age]",
        "[useState, useEffect]",
        "[tests, docs]",
        "{a: 1}",
    ),
    *(
        "[HttpGet]",
        '[Route("api/[controller]")]',
        "#[derive(Debug)]",
        "[Obsolete]",
        "@Test",
        "[[nodiscard]]",
        "[tool.ruff]",
    ),
    # counts and letters
    *(
        "N+1 queries are gone",
        "the value of N passed to it",
        "O(n log n)",
        "X-axis labels",
        "Y2K",
        "MxN grid",
        "Y",
        "X",
    ),
    *(
        "Vitamin M",
        "plan B",
        "n passed",
        "12 passed, 0 failed",
        "sorted N lists",
        "X/Twitter login",
        "model X",
        "N is 3",
    ),
    # sentences with words of templates
    *(
        "Description of the API is complete",
        "The summary is new",
        "Next task: write the docs",
        "Reason: the cache was cold",
    ),
    *(
        "Changed the description",
        "what was done is in CHANGELOG.md",
        "Placeholder text in forms is grey",
        "the placeholder",
    ),
    *(
        "Lorem ipsum is gone from the home page",
        "type(scope) is checked by a hook",
        "type(scope) subjects only",
        "The lorem ipsum stays",
        "Add retry logic here",
        "Continue here",
        "insert rows in batches",
        "Rule 4: ask the user",
        "Replace me-too imports",
    ),
    *(
        "type checks pass",
        "type: bug",
        "scope is clear",
        "fix(scope): tidy",
        "feat(type): add union",
        "style(ui): tabs",
    ),
    *(
        "high",
        "low | see notes",
        "choose A | B",
        "pass",
        "COMPLETE",
        "high-level",
        "true",
        "created",
        "n.a.",
        "OK",
        "wip",
    ),
    *(
        "Reads path/to/env before start",
        "the path/to prefix is gone",
        "paths are kept",
        "to be decided by the user: A or B",
    ),
    *(
        "hello … world",
        "wait...",
        "etc.",
        "and so on ...",
        "1 … 9",
        "Loading…",
        "“quoted”",
        "naïve 日本語 🙂",
        "→ next",
    ),
    *(
        "{{ count }} items",
        "v1.2.3",
        "2026-01-15T10:30:00Z",
        "a1b2c3d",
        "src/a.py:12",
        "https://example.org/[id]",
        "0.7",
    ),
    *(
        "bun test - 42 passed",
        "No errors",
        "All sections filled",
        "100% must-haves mapped",
        "pytest: 12 passed in 3.2s",
    ),
    *(
        "Execution blueprint",
        "Codebase exploration",
        "Review blueprint with user, then /goop-specify",
        "RULE 4: which one?",
    ),
    *(
        "W2.T4: Implement session management",
        "goop-executor takes over",
        "/goop-accept",
        "Options: A) Stripe, B) PayPal",
    ),
    *(
        "lambda x: [y for y in x]",
        "dict[str, list[int]]",
        "Callable[[int], str]",
        "Annotated[int, Gt(0)]",
        "x: [int] = []",
    ),
    *(
        "SELECT * FROM a WHERE b = '<c>'",
        "WHERE id IN (1, 2)",
        "git log --format=%H",
        "sed 's/[a-z]//g'",
        "find . -name '*.py'",
    ),
    *(
        "(see notes)",
        "[sic]",
        "foo [sic] bar",
        "Ctrl+[",
        "a] b [c",
        "[",
        "]",
        "{",
        "<",
        "|",
        "%",
        "__",
        "``",
        "<3",
        ":-]",
    ),
)
"""Honest texts, each a whole value or a sentence."""

HONEST_PATHS: Final = (
    *(
        "src/a.py",
        "app/[slug]/page.tsx",
        "src/[id]/page.tsx",
        "pages/[...slug].tsx",
        "src/routes/[project]/+page.svelte",
    ),
    *("src/{a,b}.ts", "__init__.py", "src/__tests__/a.test.ts", "docs/a b.md", "paths/to/file.md", "src/path/to.py"),
    *(
        ".goopspec/SPEC.md",
        "tests/[0-9].txt",
        "a%20b.md",
        "{{cookiecutter.name}}/setup.py",
        "my-path/to/x.md",
        "Makefile",
    ),
)
"""Paths that files have."""

_TYPES: Final = ("feat", "fix", "docs", "refactor", "test", "chore", "perf", "build", "ci", "style", "revert")
_SCOPES: Final = ("api", "auth", "parser", "ui", "deps", "deps-dev", "cli", "db", "core/io", "a11y", "i18n", "")
_VERBS: Final = ("handle", "drop", "add", "keep", "retry", "cache", "validate", "rename", "inline", "guard", "bump")
_THINGS: Final = (
    *("empty bodies", "`Map<K, V>`", "a[i] out of range", "`{{name}}` in mails", "/users/{id}", "the TODO in io.py"),
    *("[ENG-204] timeouts", "N+1 queries", "List<T> overloads", "${HOME} lookups", "__init__ order", "100% width"),
    *("regex [a-z]+", "nulls in a | b", "%PATH% parsing", "x <= y", "lodash from 4.17.20 to 4.17.21", "the … glyph"),
    *("summary and description columns", "feature flags", "topic names", "the next task", "placeholders in forms"),
)
_TAILS: Final = (
    "",
    "",
    " (#123)",
    " [skip ci]",
    " (closes #42)",
    " [ENG-7]",
    " — see docs/a.md",
    " in CI",
    "!",
    " (v2.1.0)",
)
_FORMS: Final = ("{type}{scope}: {what}", "{type}{scope}!: {what}", "[{scope_or_type}] {what}", "{What}", "{What}.")


def commit_subjects(seed: int, count: int) -> Iterator[str]:
    """Yield `count` subjects and sentences as people and agents write them."""
    chance = random.Random(seed)
    pick = chance.choice
    for _ in itertools.repeat(None, count):
        kind, scope = pick(_TYPES), pick(_SCOPES)
        what = f"{pick(_VERBS)} {pick(_THINGS)}{pick(_TAILS)}"
        yield pick(_FORMS).format(
            type=kind,
            scope=f"({scope})" if scope else "",
            scope_or_type=scope or kind,
            what=what,
            What=what[0].upper() + what[1:],
        )
