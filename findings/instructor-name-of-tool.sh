#!/usr/bin/env bash
# Software: instructor 1.17.0, Python, mode TOOLS
# Date: 2026-11-27
# Guess: the answer has to call the tool of the response model: another name is a failed attempt, after which the model is
#        asked again; of two calls, both different, one is not silently chosen.
# Seen: the name is not looked at: arguments that fit the model are accepted under any name, and the first of several
#       calls is taken.
# Matters: where a model also knows other tools from its prompt, a call of one of them can become a "validated" answer,
#          and a second, corrected call is dropped.
. "$(dirname "$0")/lib/finding.sh"
python_packages env instructor==1.17.0

python_in env <<'PY'
import instructor
from openai import OpenAI
from pydantic import BaseModel
from scripted_model import ScriptedModel, call, reply


class Report(BaseModel):
    passed: int


calls = {
    "its own name": [call("Report", '{"passed": 1}')],
    "another name": [call("delete_reports", '{"passed": 1}')],
    "two calls": [call("Report", '{"passed": 1}', "1"), call("Report", '{"passed": 2}', "2")],
}
for name, made in calls.items():
    model = ScriptedModel(reply(None, *made), reply(None, call("Report", '{"passed": 9}')))
    client = instructor.from_openai(OpenAI(base_url=model.url), mode=instructor.Mode.TOOLS)
    messages = [{"role": "user", "content": "Report."}]
    report = client.chat.completions.create(model="scripted", response_model=Report, messages=messages)
    [offered] = {tool["function"]["name"] for tool in model.requests[0]["tools"]}
    print(f"{name}: {report!r} after {len(model.requests)} requests, offered {offered}")
PY

expect <<'TEXT'
its own name: Report(passed=1) after 1 requests, offered Report
another name: Report(passed=1) after 1 requests, offered Report
two calls: Report(passed=1) after 1 requests, offered Report
TEXT
