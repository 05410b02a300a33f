#!/usr/bin/env bash
# Installs this checkout of goop-mcp and checks the files that the inputs name.
# action.yml passes the inputs in the environment, because inside the text of a command they could be commands.
set -euo pipefail

# The version that the workflow pinned is the one that runs, not the newest of a package index.
python3 -m venv "$GOOP_FOLDER"
"$GOOP_FOLDER/bin/python" -m pip install --quiet --disable-pip-version-check "$GOOP_SOURCE"
check=("$GOOP_FOLDER/bin/goop-mcp" check --protocol "$GOOP_PROTOCOL")
if [ "$GOOP_STRICT" = true ]; then check+=(--strict); fi
if [ "$GOOP_WORKSPACE" = true ]; then check+=(--workspace); fi

# A pattern expands to the files that match it. One that matches nothing stays, and the command reports it.
shopt -s globstar
files=()
IFS=
while read -r pattern; do
  # Without quotes, because it is to be expanded; with an empty IFS it is not split at its spaces.
  # shellcheck disable=SC2206
  files+=($pattern)
done <<<"$GOOP_FILES"

if [ ${#files[@]} -eq 0 ]; then
  echo "::error::The input 'files' names no file: give one path or pattern a line."
  exit 2
fi

# Rejected replies (exit code 1) are results of the SARIF file; what else fails ends the step with its code.
if [ -n "$GOOP_SARIF" ]; then
  code=0
  "${check[@]}" --format sarif -- "${files[@]}" > "$GOOP_SARIF" || code=$?
  if [ "$code" -gt 1 ]; then exit "$code"; fi
fi
"${check[@]}" --format github -- "${files[@]}"
