#!/usr/bin/env bash
# Software: dspy 3.4.1, Python, with a model that has the chat API
# Date: 2026-11-28
# Guess: if a reply has the fields of the signature twice, a draft and then the final ones, the final ones are the answer;
#        text below a header that the signature does not have stays in the field above; JSON that was cut at the token
#        limit is an error.
# Seen: of headers the draft is the answer, with the sentence that revokes it in its last field; of JSON the final one. Text
#       below an unknown header is dropped. Cut JSON is completed and accepted.
# Matters: an agent that corrects itself in its reply is recorded with what it took back, its findings below a header of
#          its own vanish, and a report that was cut off looks whole.
. "$(dirname "$0")/lib/finding.sh"
python_packages env dspy==3.4.1

python_in env <<'PY'
import logging
from typing import Literal

import dspy
from scripted_model import ScriptedModel, reply

logging.disable(logging.CRITICAL)


class Report(dspy.Signature):
    """Report."""

    task: str = dspy.InputField()
    status: Literal["COMPLETE", "BLOCKED"] = dspy.OutputField()
    summary: str = dspy.OutputField()


def fields(status: str, summary: str) -> str:
    return f"[[ ## status ## ]]\n{status}\n\n[[ ## summary ## ]]\n{summary}\n"


def as_json(status: str, summary: str) -> str:
    return f'{{"status": "{status}", "summary": "{summary}"}}\n'


REPLIES = {
    "headers twice": fields("COMPLETE", "All pass.") + "No, 2 fail.\n" + fields("BLOCKED", "2 fail."),
    "JSON twice": as_json("COMPLETE", "All pass.") + "No, 2 fail.\n" + as_json("BLOCKED", "2 fail."),
    "unknown header": fields("COMPLETE", "All pass.") + "[[ ## risks ## ]]\nThe data is gone.",
    "cut JSON": as_json("COMPLETE", "Nothing fails but")[:-3],
}
for name, text in REPLIES.items():
    model = ScriptedModel(reply(text, finish="length" if name == "cut JSON" else "stop"))
    chat = dspy.LM("openai/scripted", api_base=model.url, cache=False, num_retries=0)
    with dspy.context(lm=chat):
        answer = dspy.Predict(Report)(task="Check.")
    print(f"{name}: {len(model.requests)} requests, {answer.toDict()}")
PY

expect <<'TEXT'
headers twice: 1 requests, {'status': 'COMPLETE', 'summary': 'All pass.\nNo, 2 fail.'}
JSON twice: 2 requests, {'status': 'BLOCKED', 'summary': '2 fail.'}
unknown header: 1 requests, {'status': 'COMPLETE', 'summary': 'All pass.'}
cut JSON: 2 requests, {'status': 'COMPLETE', 'summary': 'Nothing fails but'}
TEXT
