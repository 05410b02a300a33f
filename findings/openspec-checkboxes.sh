#!/usr/bin/env bash
# Software: @fission-ai/openspec 1.13.2, Node
# Date: 2026-11-27
# Guess: tasks are counted as Markdown shows them: a checkbox in a block of code or in a comment is none, and one that is
#        dropped ([-]) or struck through is not open.
# Seen: each of them is an open task; a quoted one is none. `status` marks the tasks as there with an [x]
#       while some are open, `validate --strict` says nothing, and `archive --yes` files the change with exit code 0.
# Matters: an example in tasks.md keeps a finished change open for ever in `list`, so that people learn to ignore the
#          number; a gate that trusts `validate`, `status` or the exit code of `archive` passes unfinished work.
. "$(dirname "$0")/lib/finding.sh"
node_packages node @fission-ai/openspec@1.13.2

export PATH="$work/node/node_modules/.bin:$PATH"
mkdir "$work/project" && cd "$work/project"
openspec init --tools none . >/dev/null 2>&1
mkdir -p openspec/changes/limits/specs/login
cat >openspec/changes/limits/proposal.md <<'MD'
## Why
People who mistype their password are locked out for a day, which costs support.
## What Changes
- a limit
MD
cat >openspec/changes/limits/specs/login/spec.md <<'MD'
## ADDED Requirements
### Requirement: Limit
The system SHALL lock an account for a minute after five wrong passwords.
#### Scenario: Five
- **WHEN** the fifth wrong password is sent
- **THEN** the account is locked for a minute
MD

tasks() {
    printf -- '- [x] done\n%b\n' "$2" >openspec/changes/limits/tasks.md
    echo "$1: $(openspec list | sed -n 's/^ *limits *\([^ ]* [A-Za-z]*\).*/\1/p')" | tee -a "$work/seen"
}
tasks "in a block of code" '```\n- [ ] example\n```'
tasks "in a comment" '<!--\n- [ ] example\n-->'
tasks "dropped" '- [-] dropped'
tasks "struck through" '- [ ] ~~dropped~~'
tasks "quoted" '> - [ ] quoted'
tasks "open" '- [ ] open'
openspec validate limits --strict | tee -a "$work/seen"
openspec status --change limits 2>&1 | grep ' tasks$' | tee -a "$work/seen"
code=0
openspec archive limits --yes >"$work/archived" 2>&1 || code=$?
echo "archive: exit code $code, $(grep -c 'incomplete task' "$work/archived") warning" | tee -a "$work/seen"

expect <<'TEXT'
in a block of code: 1/2 tasks
in a comment: 1/2 tasks
dropped: 1/2 tasks
struck through: 1/2 tasks
quoted: ✓ Complete
open: 1/2 tasks
Change 'limits' is valid
[x] tasks
archive: exit code 0, 1 warning
TEXT
