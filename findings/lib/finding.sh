# Sourced by each finding: a temporary folder, pinned packages in it, and the comparison with what was seen.
set -euo pipefail

lib=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Nothing of the user is read or written, and nothing is sent anywhere.
export HOME="$work/home" PYTHONPATH="$lib" PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore
export DO_NOT_TRACK=1 OPENSPEC_TELEMETRY=0 OPENAI_API_KEY=scripted OPENAI_AGENTS_DISABLE_TRACING=1
export npm_config_cache="$work/npm-cache"
mkdir "$HOME"

# python_packages ENVIRONMENT REQUIREMENT...: make an environment with these packages.
python_packages() {
    local environment="$work/$1"
    shift
    python3 -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$@" 2>"$work/install.log" ||
        not_installed
}

# node_packages FOLDER PACKAGE...: make a folder with these packages.
node_packages() {
    local folder="$work/$1"
    shift
    mkdir "$folder"
    (cd "$folder" && npm init --yes >/dev/null && npm install --silent --no-audit --no-fund "$@") \
        2>"$work/install.log" || not_installed
}

not_installed() {
    cat "$work/install.log" >&2
    echo "the packages could not be installed" >&2
    exit 2
}

# python_in ENVIRONMENT [ARGUMENT...] <program: run it there and keep what it prints.
python_in() {
    cat >"$work/program.py"
    "$work/$1/bin/python" "$work/program.py" "${@:2}" 2>"$work/errors" | tee -a "$work/seen" || failed
}

# node_in FOLDER [ARGUMENT...] <program: the same for Node.
node_in() {
    cat >"$work/$1/program.mjs"
    (cd "$work/$1" && node program.mjs "${@:2}") 2>"$work/errors" | tee -a "$work/seen" || failed
}

failed() {
    cat "$work/errors" >&2
    echo "the program failed" >&2
    exit 1
}

# expect <text: end with 1 unless exactly this was printed.
expect() {
    if diff -u --label expected --label seen - "$work/seen"; then
        echo "as it was seen before"
    else
        echo "the behaviour has changed" >&2
        exit 1
    fi
}
