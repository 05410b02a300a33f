#!/usr/bin/env bash
# Software: dbos 3.4.0 and openai 2.8.1, Python
# Date: 2026-11-27
# Guess: an error that a workflow caught from a step is the same one when the workflow is recovered after a kill: the same
#        class with the same fields, or the step fails when its error cannot be stored.
# Seen: an error whose class takes more than a message, as those of openai do, is stored without complaint and comes back
#       as a TypeError about its own constructor. The workflow takes another branch than it took before the kill.
# Matters: "wait and ask again at a rate limit, give up at anything else" gives up after a restart, in exactly the runs that
#          durable execution is for; nothing is logged.
. "$(dirname "$0")/lib/finding.sh"
python_packages env dbos==3.4.0 openai==2.8.1

cat >"$work/app.py" <<'PY'
import os
import sys
import time

import httpx
import openai
from dbos import DBOS, SetWorkflowID

folder = sys.argv[1]
DBOS(config={"name": "finding", "system_database_url": f"sqlite:///{folder}/dbos.sqlite", "log_level": "CRITICAL"})


def note(text: str) -> None:
    with open(f"{folder}/notes", "a") as notes:
        notes.write(f"{text}\n")


@DBOS.step()
def ask_plain() -> str:
    raise ValueError("busy")


@DBOS.step()
def ask_model() -> str:
    response = httpx.Response(429, request=httpx.Request("POST", "http://127.0.0.1/v1"))
    raise openai.RateLimitError("too many requests", response=response, body=None)


@DBOS.step()
def stop_once() -> None:
    if not os.path.exists(f"{folder}/stopped"):
        open(f"{folder}/stopped", "w").close()
        os._exit(9)


@DBOS.workflow()
def work() -> str:
    for step in (ask_plain, ask_model):
        try:
            step()
        except Exception as error:
            note(f"caught {type(error).__name__}")
    stop_once()
    return "done"


DBOS.launch()
if sys.argv[2] == "begin":
    with SetWorkflowID("one"):
        DBOS.start_workflow(work).get_result()
else:
    note("recovered")
    handle = DBOS.retrieve_workflow("one")
    until = time.monotonic() + 60
    while handle.get_status().status in ("PENDING", "ENQUEUED") and time.monotonic() < until:
        time.sleep(0.1)
    note(handle.get_status().status)
DBOS.destroy()
PY
python_in env "$work" <<'PY'
import subprocess
import sys

folder = sys.argv[1]
for what in ("begin", "recover"):
    subprocess.run([sys.executable, f"{folder}/app.py", folder, what], capture_output=True)
notes = open(f"{folder}/notes").read().splitlines()
# The recovery may begin before or after the line that says so.
print("\n".join(note for note in notes if note != "recovered"))
PY

expect <<'TEXT'
caught ValueError
caught RateLimitError
caught ValueError
caught TypeError
SUCCESS
TEXT
