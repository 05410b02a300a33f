#!/usr/bin/env bash
# Software: in-toto-attestation 0.9.3 with protobuf 6.33.1, Python
# Date: 2026-11-27
# Guess: the predicate of a statement is written as it was given: a count of 12 is 12, and its keys stay in order.
# Seen: integers become floats ("12.0"), those beyond 2**53 another number, and the order of the keys changes, because the
#       predicate travels as a protobuf Struct.
# Matters: a verifier that compares counts as text or as integers, or the digest of the statement with one that another
#          language wrote, finds a difference where nothing was changed; an id of 19 digits names something else.
. "$(dirname "$0")/lib/finding.sh"
python_packages env in-toto-attestation==0.9.3 protobuf==6.33.1

python_in env <<'PY'
import json

from google.protobuf.json_format import MessageToDict
from in_toto_attestation.v1.resource_descriptor import ResourceDescriptor
from in_toto_attestation.v1.statement import Statement

subject = ResourceDescriptor(name="tree", digest={"sha256": "a" * 64})
predicate = {"result": "PASSED", "count": 12, "run": 9007199254740993}
statement = Statement([subject.pb], "https://in-toto.io/attestation/test-result/v0.1", predicate)
statement.validate()
written = MessageToDict(statement.pb)["predicate"]
print(json.dumps(dict(sorted(written.items()))))
print(f"equal to what was given: {written == predicate}")
PY

expect <<'TEXT'
{"count": 12.0, "result": "PASSED", "run": 9007199254740992.0}
equal to what was given: False
TEXT
