"""Loose JSON is read if it has one reading; changes are listed, no letter is lost (D-17)."""

import json

import pytest

from goop_mcp.protocols.factory import Reply
from goop_mcp.validation.json_positions import nearest_position
from goop_mcp.validation.json_repair import Ending, read_loosely
from goop_mcp.validation.json_samples import FACTORY_REPLY
from tests.protocols.json_replies import changed, judge, judge_both, the_finding, weighty_rules
from tests.requirements import requirement

STATUS = '"status": "success",'
SUMMARY = "Designed a data pipeline with four agents"
METRICS = '"metrics": {"agents_defined": 4, "estimated_files": 6},'


def repaired(old: str, new: str) -> tuple[Reply, list[tuple[str, str]]]:
    """Return what lenient mode reads after the change, and before and after of each repair."""
    lenient, strict = judge_both(changed(FACTORY_REPLY, (old, new)), "factory")
    assert weighty_rules(lenient) == {"json/loose-syntax"}
    assert lenient.accepted
    assert not strict.accepted
    assert isinstance(lenient.envelope, Reply)
    assert lenient.repaired_text is not None
    assert judge(lenient.repaired_text, "factory", "strict").envelope == lenient.envelope
    assert all(repair.line for repair in lenient.repairs)

    return lenient.envelope, [(repair.before, repair.after) for repair in lenient.repairs]


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        (STATUS, f"{STATUS} // all of it", "// all of it", ""),
        (STATUS, STATUS + " /* a } b */", "/* a } b */", ""),
        (STATUS, f"# note\n  {STATUS}", "# note", ""),
        ('"next_action": "ready_for_review"', '"next_action": "ready_for_review",', ",", ""),
        ('"estimated_files": 6}', '"estimated_files": 6,}', ",", ""),
        (
            '"next_action": "ready_for_review"',
            '"next_action": "ready_for_review", ...',
            ", ...",
            "",
        ),
        ('"estimated_files": 6}', '"more": [1, …]}', ", …", ""),
        (STATUS, "'status': 'success',", "'status'", '"status"'),
        (STATUS, "“status”: “success”,", "“status”", '"status"'),
        (METRICS, '"metrics": {"reviewed": True, "note": None},', "True", "true"),
        (f'"{SUMMARY}"', '"one\ntwo"', "one two", "one\\ntwo"),
        (f'"{SUMMARY}"', '"the "core" first"', '"core', '\\"core'),
        (f'"{SUMMARY}"', r'"matches \d+"', "\\d", "\\\\d"),
    ],
)
@requirement("S-15", "F-26")
def test_loose_syntax_is_repaired_and_listed(old: str, new: str, before: str, after: str) -> None:
    reply, repairs = repaired(old, new)

    assert reply.status == "success"
    assert any(before in was and (not after or after in now) for was, now in repairs), repairs


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("'it\\'s \"quoted\"'", 'it\'s "quoted"'),
        ("'don't, can't'", "don't, can't"),
        ("“a “b” c”", "a “b” c"),
        ('"a“b”c, ‘d’"', "a“b”c, ‘d’"),
        ('"say "hi", then go"', 'say "hi", then go'),
        ('"tab\there"', "tab\there"),
        ('"http://a/b // no comment"', "http://a/b // no comment"),
        ('"..., {x}, [y]"', "..., {x}, [y]"),
        (r'"C:\data\_x"', r"C:\data\_x"),
        ('"\\u00e9\\n"', "é\n"),
    ],
)
def test_text_keeps_every_letter(written: str, read: str) -> None:
    found = read_loosely(f'{{"a": {written}, "b": 1}}', depth=64)

    assert found.failure is None
    assert found.value == {"a": read, "b": 1}


@pytest.mark.parametrize(
    "source",
    [
        '{"status": success}',
        '{"a": "x" "b": "y"}',
        '{"a": "x "y", "b": "z"}',
        '{"a": ["x" "y"]}',
        '{"a": 1 "b": 2}',
        '{"a": 01}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": .5}',
        '{"a": undefined}',
        "{1a: 1}",
        '{"a": "\\ud800"}',
        '{"a": ' + "1" * 41 + "}",
        '{"a": 1,, "b": 2}',
        '{"a" 1}',
    ],
)
@requirement("S-09", "F-26")
def test_what_has_no_reading_or_several_is_malformed_with_its_place(source: str) -> None:
    text = changed(FACTORY_REPLY, (STATUS, f'{STATUS} "extra": {source},'))

    for verdict in judge_both(text, "factory"):
        finding = the_finding(verdict, "json/malformed")
        assert verdict.envelope is None
        assert not verdict.accepted
        assert finding.line == text[: text.index("extra")].count("\n") + 1
        assert (finding.column or 0) > text.splitlines()[finding.line - 1].index("extra")


def test_key_that_stands_twice_is_an_error_at_the_second_place() -> None:
    text = changed(FACTORY_REPLY, (STATUS, f'"status": "failure",\n  {STATUS}'))

    for verdict in judge_both(text, "factory"):
        finding = the_finding(verdict, "json/duplicate-key")
        assert not verdict.accepted
        assert finding.path == "/status"
        assert finding.line == text[: text.index(STATUS)].count("\n") + 1


@pytest.mark.parametrize("control", [chr(code) for code in range(32)])
@pytest.mark.parametrize("protocol", ["speckit", "factory"])
def test_backslash_before_a_control_character_is_kept_and_stops_nothing(
    control: str, protocol: str
) -> None:
    reply = changed(FACTORY_REPLY, (SUMMARY, f"{SUMMARY} a\\{control}b"))

    lenient, strict = judge_both(reply, protocol)

    assert not strict.accepted
    if protocol != "speckit":
        assert isinstance(lenient.envelope, Reply)
        assert lenient.envelope.summary == f"{SUMMARY} a\\{control}b"


def test_escaped_spelling_of_a_key_does_not_hide_that_it_stands_twice() -> None:
    text = changed(FACTORY_REPLY, (STATUS, f'"statu\\u0073": "failure",\n  {STATUS}'))

    assert "json/duplicate-key" in weighty_rules(judge(text, "factory"))


def test_object_inside_of_a_wrapper_is_read_and_its_findings_keep_their_place() -> None:
    inner = FACTORY_REPLY.partition("```json\n")[2].partition("```")[0].strip()
    text = f'{{"factory": {inner.replace(SUMMARY, "Done")}}}'

    for verdict in judge_both(text, "factory"):
        assert weighty_rules(verdict) == {"json/loose-syntax", "factory/vague-summary"}
        finding = the_finding(verdict, "factory/vague-summary")
        assert finding.path == "/summary"
        assert '"Done"' in text.splitlines()[(finding.line or 0) - 1][: (finding.column or 0) + 10]

    assert (
        judge(text, "factory").repaired_text
        == judge(json.dumps(json.loads(text)), "factory").repaired_text
    )


@pytest.mark.parametrize("around", ["{}", "Sent:\n{}\nBye.", "```json\n{}\n```\n"])
def test_object_written_as_a_text_is_read(around: str) -> None:
    inner = FACTORY_REPLY.partition("```json\n")[2].partition("```")[0].strip()
    text = around.format(json.dumps(inner.replace(SUMMARY, "Done")))

    for verdict in judge_both(text, "factory"):
        # A host makes one JSON text of a whole reply: that is no repair.
        form = set() if around == "{}" else {"json/loose-syntax"}
        assert weighty_rules(verdict) == form | {"factory/vague-summary"}
        finding = the_finding(verdict, "factory/vague-summary")
        assert text.splitlines()[(finding.line or 0) - 1][(finding.column or 0) - 1 :].startswith(
            '\\"Done'
        )


@pytest.mark.parametrize("levels", [65, 127, 129, 2_000, 100_000])
@pytest.mark.parametrize("loose", [False, True])
def test_deep_nesting_is_a_finding_and_no_exception(levels: int, loose: bool) -> None:
    deep = '{"a":' * levels + "1" + "}" * levels
    text = changed(FACTORY_REPLY, (METRICS, f'"metrics": {deep},'))
    text = text.replace(STATUS, f"{STATUS} // loose") if loose else text

    for verdict in judge_both(text, "factory"):
        assert weighty_rules(verdict) == {"envelope/too-deep"} or (
            levels > 1_000 and not verdict.accepted
        )


@pytest.mark.parametrize("size", [70_000, 600_000])
def test_text_over_the_limits_is_refused(size: int) -> None:
    for verdict in judge_both(changed(FACTORY_REPLY, (SUMMARY, "x" * size)), "factory"):
        assert weighty_rules(verdict) == {"envelope/too-large"}


def test_pointers_are_found_in_plain_and_in_loose_text() -> None:
    for source in (
        '{"a/b": {"c~d": [1, {"e": "x"}]}}',
        "{'a/b': {'c~d': [1, /* 2 */ {'e': 'x'},]}}",
    ):
        positions = read_loosely(source, depth=64).positions
        assert source[positions["/a~1b/c~0d/1/e"] + 1] == "x"
        assert source[positions["/a~1b/c~0d/0"]] == "1"


@pytest.mark.parametrize(
    ("source", "ending", "value"),
    [
        ('{"a": "x"', Ending.ROOT_OPEN, {"a": "x"}),
        ('{"a": {"b": "x"}', Ending.ROOT_OPEN, {"a": {"b": "x"}}),
        ('{"a": true', Ending.ROOT_OPEN, {"a": True}),
        ('{"a": "x",', Ending.CUT_OFF, {"a": "x"}),
        ('{"a": 12', Ending.CUT_OFF, {}),
        ('{"a": 12\n', Ending.CUT_OFF, {"a": 12}),
        ('{"a": tr', Ending.CUT_OFF, {}),
        ('{"a": "x', Ending.CUT_OFF, {}),
        ('{"a": {"b": "x"', Ending.CUT_OFF, {"a": {"b": "x"}}),
        ('{"a": ["x"', Ending.CUT_OFF, {"a": ["x"]}),
        ('{"a"', Ending.CUT_OFF, {}),
        ("{", Ending.CUT_OFF, {}),
        ('{"a": "x"}', Ending.WHOLE, {"a": "x"}),
    ],
)
def test_end_of_a_cut_off_object_is_reported(
    source: str, ending: Ending, value: dict[str, object]
) -> None:
    found = read_loosely(source, depth=64)

    assert found.failure is None
    assert (found.ending, found.value) == (ending, value)


@pytest.mark.parametrize(
    "spoiled", ["", ', "note": "deliverables"', ', "notes": {"deliverables": []}']
)
def test_a_field_is_found_however_often_its_name_is_met(spoiled: str) -> None:
    text = (
        f'{{"summary": "One file"{spoiled},\n "status": "success",\n "deliverables" : [{{"path":'
        ' "a.md"}]}'
    )

    assert nearest_position(text, "/deliverables") == text.index('[{"path"')
