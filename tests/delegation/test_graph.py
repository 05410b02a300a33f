import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from goop_mcp.delegation.graph import Graph, GraphError
from goop_mcp.delegation.lines import json_lines, line_of, long_key_line, toml_lines
from goop_mcp.delegation.parts import GraphAgent, GraphGate, GraphLimits, GraphTask
from goop_mcp.delegation.placeholders import MissingValueError, fill_in
from goop_mcp.delegation.states import NeededStep, readiness
from goop_mcp.validation.safe_json import JsonValue
from tests.delegation.graphs import write_login
from tests.requirements import requirement


def test_the_graph_of_the_documentation_is_read_as_it_is_written(tmp_path: Path) -> None:
    graph = Graph.load(write_login(tmp_path))

    assert (graph.name, graph.protocol) == ("login", "goop_report")
    assert graph.limits == GraphLimits(
        parallel=3, deadline=7200, max_tokens=2_000_000, max_calls=100
    )
    executor = graph.agent_named["executor"]
    assert (executor.run, executor.command) == ("command", ("my-agent", "--print"))
    assert executor.rate == pytest.approx(1 / 6)
    assert executor.retry.attempt_timeout == 1200
    assert executor.retry.strategies == ("same_conversation", "fresh")
    assert graph.steps["api"] == GraphTask(
        "api",
        agent="executor",
        prompt="Build it as ${plan.summary} says.",
        needs=("plan",),
        priority=10,
        timeout=1800,
        exclusive=("database",),
        workspace="worktree",
    )
    assert graph.steps["ship"] == GraphGate(
        "ship", question="Ship it?", needs=("review",), timeout=86400, default="no"
    )
    assert graph.waves == (("plan",), ("api", "ui", "docs"), ("review",), ("ship",))
    assert graph.distance == {"plan": 3, "api": 2, "ui": 2, "docs": 2, "review": 1, "ship": 0}
    assert graph.inputs() == ("goal",)


def test_a_graph_is_the_same_as_toml_as_json_and_as_it_is_stored(tmp_path: Path) -> None:
    graph = Graph.load(write_login(tmp_path))
    stored = json.loads(json.dumps(graph.to_dict()))
    file = tmp_path / "login.json"
    file.write_text(json.dumps(stored))

    assert Graph.from_dict(stored) == graph == Graph.load(file)
    assert Graph.from_dict(stored).digest == graph.digest == Graph.load(file).digest


def test_the_digest_is_of_what_is_run_and_not_of_comments(tmp_path: Path) -> None:
    graph = Graph.load(write_login(tmp_path))
    assert (
        Graph.load(write_login(tmp_path, "graph = 1", "# why\n\ngraph = 1")).digest == graph.digest
    )

    (tmp_path / "prompts" / "api.md").write_text("Delete everything.")
    assert Graph.load(tmp_path / "login.toml").digest != graph.digest


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('name = "login"', 'nane = "login"', 2, "there is no key 'nane'; did you mean 'name'?"),
        ("parallel = 3", "parallel = 0", 6, "parallel is 0; expected a whole number from 1"),
        ("parallel = 3", "parallel = true", 6, "expected a whole number"),
        ('deadline = "2h"', 'deadline = "soon"', 7, "deadline is 'soon'; expected a time above 0"),
        ('run = "claude-code"', 'run = "claude"', 15, "did you mean 'claude-code'?"),
        ('"my-agent"', '"my-agent", 3', 19, "expected a text of 1 to 10,000 characters"),
        ("on_stdin = true", "on_stdin = 1", 20, "on_stdin is 1; expected true or false"),
        ("on_stdin = true", 'program = "x"', 20, "program is for claude-code"),
        ("parallel = 3\nrate", "max = 3\nrate", 21, "there is no key 'max'"),
        ('rate = "10/min"', 'rate = "often"', 22, "expected a text such as"),
        ("{ max_attempts = 3", "{ attempts = 3", 23, "did you mean 'max_attempts'?"),
        ('"my_team:review"', '"my_team.review"', 26, "expected module:function"),
        ('fallback = "planner"', 'fallback = "plannr"', 27, "did you mean 'planner'?"),
        ('agent = "planner"', 'agent = "planer"', 30, "there is no agent 'planer'; did you mean"),
        ("${input.goal}", "${input.goal", 31, "is not closed"),
        ("${input.goal}", "${goal!}", 31, "names no value"),
        ("${input.goal}", "${input}", 31, "${input} names no value"),
        ("${input.goal}", "${api.summary}", 31, "no predecessor gives ${api.summary}; add 'api'"),
        ("${input.goal}", "${plam.summary}", 31, "did you mean 'plan'?"),
        ("expands = true", "expand = true", 32, "did you mean 'expands'?"),
        (
            'needs = ["plan"]',
            'needs = ["plam"]',
            36,
            "there is no task 'plam'; did you mean 'plan'",
        ),
        ('needs = ["plan"]', 'needs = ["plan", "plan"]', 36, "'plan' stands there twice"),
        ('workspace = "worktree"', 'workspace = "tree"', 41, "did you mean 'worktree'?"),
        ('feedback_to = ["api", "ui"]', 'feedback_to = ["ship"]', 57, "not a task before 'review'"),
        ('answers = ["yes", "no"]', 'answers = ["yes", "yes"]', 61, "none of them twice"),
        ('answers = ["yes", "no"]', 'answers = ["no", "No"]', 61, "none of them twice"),
        ('answers = ["yes", "no"]', 'answers = ["yes ", "no"]', 61, "is not one line of visible"),
        (
            'answers = ["yes", "no"]',
            'answers = ["y\\u202E", "no"]',
            61,
            "is not one line of visible",
        ),
        ('timeout = "24h"\n', "", 58, "timeout is missing; expected both"),
        ('default = "no"', 'default = "maybe"', 63, "default is 'maybe', which is none of answers"),
        ("[tasks.ui]", "[tasks.input]", 43, "is the name of what the run is given"),
        ("[gates.ship]", "[gates.ui]", 58, "there are two 'ui'"),
        ("[tasks.ui]", '[tasks."u i"]', 43, "the name 'u i' cannot be used"),
        ("max_tasks = 200", "max_tasks = 5", 29, "there are 6 tasks and gates; expected at most 5"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    file = write_login(tmp_path, old, new)
    with pytest.raises(GraphError) as refused:
        Graph.load(file)

    problem = refused.value.problems[0]
    assert message in problem.message
    assert problem.line == line
    assert refused.value.lines()[0].startswith(f"{file.as_posix()}:{line}: ")


def problems_in(folder: Path, content: str) -> list[tuple[int | None, str, str]]:
    file = folder / "graph.toml"
    file.write_text(content)
    with pytest.raises(GraphError) as refused:
        Graph.load(file)
    return [(e.line, ".".join(e.path), e.message.split(";")[0]) for e in refused.value.problems]


@requirement("H-68")
def test_what_is_wrong_in_different_ways_is_named_at_once(tmp_path: Path) -> None:
    found = problems_in(
        tmp_path,
        """\
graph = 1
name = "all"
[limits]
max_tasks = "many"
[agents.one]
run = "codexx"
fallback = "nobody"
[agents.two]
run = "command"
[tasks.a]
agent = "one"
timeout = "soon"
prompt = "${input}"
[tasks.b]
agent = "three"
needs = ["a", "aa"]
prompt = "${c.summary} ${open"
[tasks.c]
agent = "two"
needs = ["d"]
[tasks.d]
agent = "two"
needs = ["c"]
[tasks.e]
agent = "two"
needs = ["a"]
prompt = "${c.summary}"
[tasks.f]
needs = ["f"]
[gates.g]
question = "Go?"
default = "maybe"
timeout = "1h"
""",
    )
    assert found == [
        (4, "limits.max_tasks", "max_tasks is 'many'"),
        (6, "agents.one.run", "run is 'codexx'"),
        (8, "agents.two.command", "is missing"),
        (12, "tasks.a.timeout", "timeout is 'soon'"),
        (13, "tasks.a.prompt", "${input} names no value"),
        (15, "tasks.b.agent", "there is no agent 'three'"),
        (16, "tasks.b.needs", "there is no task 'aa'"),
        (17, "tasks.b.prompt", "'${open' is not closed"),
        (20, "tasks.c.needs", "the needs are a cycle: c → d → c"),
        (27, "tasks.e.prompt", "no predecessor gives ${c.summary}"),
        (28, "tasks.f", "agent is missing"),
        (29, "tasks.f.needs", "the needs are a cycle: f → f"),
        (32, "gates.g.default", "default is 'maybe', which is none of answers"),
    ]


def test_what_only_follows_from_another_mistake_is_not_named(tmp_path: Path) -> None:
    # The need of `b` is misspelled, so that nobody knows what comes before `b` and `c`; the agent
    # and the limit are those of the file, and the gate has its default.
    found = problems_in(
        tmp_path,
        """\
graph = 1
nane = "follows"
[limits]
max_taks = 500
[agents.one]
run = "command"
comand = ["x"]
[tasks.a]
agent = "one"
[tasks.b]
agent = "one"
nedds = ["a"]
prompt = "${a.summary}"
[tasks.c]
agnt = "one"
needs = ["b"]
prompt = "${a.summary}"
feedback_to = ["a"]
[gates.g]
question = "Go?"
needs = ["c"]
defalt = "yes"
timeout = "1h"
""",
    )
    paths = ["nane", "limits.max_taks", "agents.one.comand", "tasks.b.nedds"]
    assert [path for _, path, _ in found] == [*paths, "tasks.c.agnt", "gates.g.defalt"]


def test_each_cycle_is_named_with_its_path() -> None:
    tasks = [
        GraphTask(name, agent="one", needs=tuple(needs))
        for name, needs in (("a", "b"), ("b", "a"), ("c", "e"), ("d", "c"), ("e", "d"), ("f", "a"))
    ]
    with pytest.raises(GraphError) as refused:
        Graph(name="cycles", tasks=tuple(tasks))
    assert [each.message.split(": ")[1] for each in refused.value.problems] == [
        "a → b → a; take one away",
        "c → d → e → c; take one away",
    ]


def test_sessions_at_once_are_one_wave_and_what_needs_them_the_next() -> None:
    sessions = ("backend", "frontend", "docs")
    parallel = tuple(GraphTask(name, agent="x", prompt="Go") for name in sessions)
    assert Graph(name="parallel", agents=(GraphAgent("x"),), tasks=parallel).waves == (sessions,)

    after = GraphTask("review", agent="x", prompt="Look", needs=sessions)
    graph = Graph(name="both", agents=(GraphAgent("x"),), tasks=(*parallel, after))
    assert graph.waves == (sessions, ("review",))
    states = dict.fromkeys(sessions, "accepted")
    assert readiness("accepted", [NeededStep(each) for each in states.values()]) == "ready"
    states["docs"] = "running"
    assert readiness("accepted", [NeededStep(each) for each in states.values()]) == "waiting"


@requirement("H-68")
def test_a_cycle_is_refused_with_its_path(tmp_path: Path) -> None:
    file = write_login(tmp_path, 'agent = "planner"\n', 'agent = "planner"\nneeds = ["review"]\n')
    with pytest.raises(GraphError, match=r"cycle: plan → \w+ → review → plan; take"):
        Graph.load(file)

    with pytest.raises(GraphError, match="a → a"):
        Graph(name="self", tasks=(GraphTask("a", agent="x", needs=("a",)),))


def test_fallbacks_in_a_circle_are_refused() -> None:
    agents = (GraphAgent("a", fallback="b"), GraphAgent("b", fallback="a"))
    with pytest.raises(GraphError, match="fallbacks are a cycle: a → b → a"):
        Graph(name="x", agents=agents, tasks=(GraphTask("t", agent="a"),))


def test_all_problems_are_shown_at_once_and_bounded() -> None:
    tasks = tuple(GraphTask(f"t{n}", agent="a", needs=(f"missing{n}",)) for n in range(100))
    with pytest.raises(GraphError, match=r"and at least 50 more") as refused:
        Graph(name="x", tasks=tasks)
    assert len(refused.value.problems) == 50


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"graph = \n", ":1: "),
        (b'{"graph": 1', "Expecting"),
        (b"\xff\xfe", "is not text in UTF-8"),
        (b"x" * (4 * 1024 * 1024 + 1), "is larger than"),
        (b"[" * 100_000, "nested|Expecting|Cannot|Invalid"),
        (b"", "graph is missing"),
        (b"graph = 2\n", "graph is 2; expected 1"),
        (b'graph = 1\nname = "x"\ntasks = 3\n', "expected tables such as"),
        (b'graph = 1\nname = "x"\n', "expected at least one"),
        (b'graph = 1\nname = "x"\n[agents]\na = 3\n', "expected a table"),
    ],
)
@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_what_is_no_graph_is_refused(
    tmp_path: Path, suffix: str, content: bytes, message: str
) -> None:
    file = tmp_path / f"graph{suffix}"
    file.write_bytes(content)
    with pytest.raises(GraphError) as refused:
        Graph.load(file)
    assert file.name in str(refused.value)
    if suffix == ".toml" and not content.startswith(b"{"):
        shown = "\n".join(refused.value.lines())
        assert any(part in shown for part in message.split("|"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"missing\.toml: cannot be read \(no such file"):
        Graph.load(tmp_path / "missing.toml")
    with pytest.raises(GraphError, match="cannot be read"):
        Graph.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../secret.md", "is not below the folder of the graph"),
        ("/etc/passwd", "is not below the folder of the graph"),
        ("prompts/link.md", "is not below the folder of the graph"),
        ("prompts/none.md", "cannot be read"),
        ("prompts/empty.md", "is empty"),
        ("prompts/a\\u0000b", "is not the name of a file"),
    ],
)
def test_prompts_are_read_from_below_the_graph_only(
    tmp_path: Path, name: str, message: str
) -> None:
    folder = tmp_path / "graphs"
    file = write_login(folder, '"prompts/api.md"', f'"{name}"')
    (tmp_path / "secret.md").write_text("secret")
    (folder / "prompts" / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "prompts" / "empty.md").write_text(" \n")
    with pytest.raises(GraphError) as refused:
        Graph.load(file)
    assert message in refused.value.problems[0].message
    assert refused.value.problems[0].line == 37


def test_a_graph_from_outside_of_the_project_names_no_python_function(tmp_path: Path) -> None:
    file = write_login(tmp_path / "downloads")
    project = tmp_path / "project"
    project.mkdir()
    with pytest.raises(GraphError, match=r"login\.toml:25: .* outside of the project"):
        Graph.load(file, project=project)
    assert Graph.load(file, project=tmp_path / "downloads").name == "login"


def test_keys_change_with_what_a_task_would_do(tmp_path: Path) -> None:
    graph = Graph.load(write_login(tmp_path))
    task = graph.tasks[1]
    key = graph.key_of(task, "Build it.", ["a", "b"])

    assert graph.key_of(task, "Build it.", ["b", "a"]) == key
    assert graph.key_of(replace(task, priority=3, timeout=9.0), "Build it.", ["a", "b"]) == key
    others = [
        graph.key_of(task, "Build that.", ["a", "b"]),
        graph.key_of(task, "Build it.", ["a"]),
        graph.key_of(replace(task, agent="planner"), "Build it.", ["a", "b"]),
        graph.key_of(replace(task, protocol="speckit"), "Build it.", ["a", "b"]),
    ]
    assert len({key, *others}) == 5


def test_values_are_put_into_prompts_once() -> None:
    values: dict[str, JsonValue] = {
        "input": {"goal": "${plan.secret} and $x"},
        "plan": {"summary": "Two parts", "handoff": {"steps": ["one", "two"]}, "secret": "s3"},
        "docs": None,
    }
    assert fill_in("${input.goal}: ${plan.summary}", values) == "${plan.secret} and $x: Two parts"
    assert fill_in("${plan.envelope.handoff.steps.1}", values) == "two"
    assert json.loads(fill_in("${plan.handoff}", values)) == {"steps": ["one", "two"]}
    assert fill_in("costs $5, $${input.goal}", values) == "costs $5, ${input.goal}"
    assert fill_in("${docs.summary}", values) == "(docs ended without a result)"
    assert len(fill_in("${plan}", {"plan": {"a": "x" * 200_000}})) < 50_100

    with pytest.raises(MissingValueError, match=r"\$\{plan\.sumary\}.*there are handoff"):
        fill_in("${plan.sumary}", values)
    with pytest.raises(MissingValueError, match=r"\$\{input\.who\}"):
        fill_in("${input.who}", values)


def test_every_line_of_a_toml_file_is_found() -> None:
    text = (
        'a = 1\n"b.c" = """\nx = 1\n[no]\n"""\n[t.u] # [x]\nv = [ # c = 1\n  "]",\n  3,\n]\n'
        "w.x = { y = 1 }\n[[list]]\nk = 'it''\n".replace("'it''", "'it'")
        + "[[list]]\nk = '''\n'''''\nl = 2\n"
    )
    assert toml_lines(text) == {
        ("a",): 1,
        ("b.c",): 2,
        ("t",): 6,
        ("t", "u"): 6,
        ("t", "u", "v"): 7,
        ("t", "u", "w", "x"): 11,
        ("list",): 12,
        ("list", "0"): 12,
        ("list", "0", "k"): 13,
        ("list", "1"): 14,
        ("list", "1", "k"): 15,
        ("list", "1", "l"): 17,
    }
    assert line_of(("t", "u", "v", "0"), toml_lines(text)) == 7
    assert line_of(("nothing",), toml_lines(text)) == 1


KEY = ".".join(["k"] * 50_000)
QUOTED = ".".join(['"\\""', "''"] * 25_000)
WRITTEN = 'graph = 1\nname = """\nIt says \\""" and \'\n"""\n'


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (f"{KEY} = 1\n", 1),
        (f"{WRITTEN}[{KEY}]\n", 5),
        (f"{WRITTEN}[tasks]\nx = {{ a = '''\n\" ''', {KEY} = 1 }}\n", 7),
        (f"{WRITTEN}# it's\n{QUOTED} = 1\n", 6),
        (f"{WRITTEN}{KEY.replace('.', ' . ')} = 1\n", 5),
    ],
)
def test_a_key_of_thousands_of_parts_is_refused_before_it_is_parsed(
    tmp_path: Path, content: str, line: int
) -> None:
    file = tmp_path / "graph.toml"
    file.write_text(content)
    began = time.process_time()
    with pytest.raises(GraphError, match="more than 50 parts") as refused:
        Graph.load(file)
    assert time.process_time() - began < 1
    assert [each.line for each in refused.value.problems] == [line]


@pytest.mark.parametrize(
    "value", ['"{}"', "'{}'", '"""\nIt\'s {}\n"""', "'''\n\"{}'''", '"x" # {}']
)
def test_texts_may_have_as_many_dots_as_they_want(tmp_path: Path, value: str) -> None:
    text = 'graph = 1\nname = "dots"\n[agents.a]\nrun = "person"\n[tasks.t]\nagent = "a"\n'
    file = tmp_path / "graph.toml"
    file.write_text(f"{text}prompt = {value.format(KEY)}\n")
    assert Graph.load(file).tasks[0].prompt.strip("\n\"It's ") in (KEY, "x")


@pytest.mark.parametrize(
    "content",
    [
        *('\\"' * 2_000_000, '"' + '\\"' * 2_000_000, "'\"" * 2_000_000, "a" * 4_000_000),
        *('"""' + 'a\\"' * 1_000_000, "'''" * 1_000_001, 'a."' * 1_000_000, "'" * 4_000_000),
        "a." * 45 + '"' * 3_000_000,
    ],
    ids=str.__len__,
)
def test_what_is_no_toml_is_looked_through_in_one_pass(content: str) -> None:
    began = time.process_time()
    assert long_key_line(content) is None
    assert time.process_time() - began < 4


def test_every_line_of_a_json_file_is_found() -> None:
    text = '{\n"a": [1,\n "x:y",\n {"b\\n": 2}],\n"c": {}\n}'
    assert json_lines(text) == {
        ("a",): 2,
        ("a", "1"): 3,
        ("a", "2", "b\n"): 4,
        ("c",): 5,
    }


def test_a_graph_of_ten_thousand_tasks_in_a_row_is_read() -> None:
    tasks: dict[str, dict[str, object]] = {
        f"t{n}": {
            "agent": "a",
            "prompt": f"${{t{n - 1}.summary}}" if n else "Begin.",
            **({"needs": [f"t{n - 1}"]} if n else {}),
        }
        for n in range(10_000)
    }
    values = {
        "graph": 1,
        "name": "row",
        "limits": {"max_tasks": 10_000},
        "agents": {"a": {"run": "person"}},
        "tasks": tasks,
    }
    assert len(Graph.from_dict(values).waves) == 10_000

    tasks["t0"]["needs"] = ["t9999"]
    with pytest.raises(GraphError, match="cycle"):
        Graph.from_dict(values)


def test_agents_that_the_caller_gives_need_no_entry_in_code_but_in_a_file() -> None:
    graph = Graph(name="x", tasks=(GraphTask("t", agent="mine"),))
    assert graph.agents == (GraphAgent("mine"),)
    assert Graph.from_dict(graph.to_dict()) == graph

    values = graph.to_dict() | {"agents": {}}
    with pytest.raises(GraphError, match="there is no agent 'mine'; there are none"):
        Graph.from_dict(values)


def test_a_name_that_stands_twice_in_json_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "g.json"
    tasks = '{"a": {"agent": "w", "prompt": "One"}, "a": {"agent": "w", "prompt": "Two"}}'
    agents = '{"w": {"run": "host"}}'
    file.write_text(f'{{"graph": 1, "name": "g", "agents": {agents}, "tasks": {tasks}}}')
    with pytest.raises(GraphError, match="'a' stands there twice"):
        Graph.load(file)


@pytest.mark.parametrize(
    "lines",
    [
        'needs = ["u{0}", "v{0}"]\nagent = "w"',
        'agent = "x{0}"',
        'agent = "w"\nkey{0} = 1',
    ],
    ids=["needs", "agents", "keys"],
)
def test_thousands_of_problems_are_named_as_fast_as_fifty(tmp_path: Path, lines: str) -> None:
    head = 'graph = 1\nname = "g"\nlimits.max_tasks = 10000\n'
    agents = "".join(f'[agents.a{n}]\nrun = "host"\n' for n in range(150))
    tasks = "".join(f"[tasks.t{n}]\n{lines.format(n)}\n" for n in range(5_000))
    file = tmp_path / "g.toml"
    file.write_text(f'{head}{agents}[agents.w]\nrun = "host"\n{tasks}')
    began = time.thread_time()
    with pytest.raises(GraphError) as raised:
        Graph.load(file)
    assert len(raised.value.problems) == 50
    assert time.thread_time() - began < 20


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_prompt_is_not_waited_for_at_a_pipe(tmp_path: Path) -> None:
    file = write_login(tmp_path)
    (tmp_path / "prompts" / "api.md").unlink()
    os.mkfifo(tmp_path / "prompts" / "api.md")
    with pytest.raises(GraphError, match=r"api\.md is not a file"):
        Graph.load(file)
