"""Texts that a host cut in the middle of a character reach the tools, over every transport."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from goop_mcp.server.surrogates import whole_characters
from tests.server.http.requests import ask
from tests.server.http.serving import served
from tests.server.test_stdio_process import running

CALL: dict[str, JsonValue] = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "validate_report", "arguments": {"text": "The parser is done \ud83d"}},
}


@given(st.text(st.characters(exclude_categories=[])))
def test_only_halves_of_characters_are_replaced(text: str) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    for sent in (json.dumps(text), json.dumps(text).replace(r"\ud", r"\uD")):
        read = whole_characters(sent.encode())
        assert len(read) == len(sent)
        assert json.loads(read) == whole


def test_a_backslash_before_a_u_is_not_an_escape() -> None:
    text = r"match \ud800 and \\ud83d in a pattern"
    assert json.loads(whole_characters(json.dumps(text).encode())) == text


def test_a_cut_text_is_judged_over_stdio() -> None:
    with running() as process:
        process.open()
        process.write(json.dumps(CALL).encode())
        answer = process.answer()

    assert answer["id"] == 7
    assert "rejected: no envelope" in json.dumps(answer["result"])


def test_a_cut_text_is_judged_over_http(tmp_path: Path) -> None:
    with served("--transport", "http", "--stateless", project=tmp_path) as server:
        answer = ask(server.mcp, body=CALL)

    assert answer.status_code == 200
    assert "rejected: no envelope" in answer.text
