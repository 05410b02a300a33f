#!/usr/bin/env bash
# Writes FOLDER/sbom.cdx.json: what an installation of the wheel in FOLDER consists of (CycloneDX).
set -euo pipefail
folder=${1:?the folder of the wheel}

place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
python3 -m venv "$place/installed"
python3 -m venv "$place/tools"
"$place/installed/bin/python" -m pip install --quiet --disable-pip-version-check "$folder"/*.whl
"$place/tools/bin/python" -m pip install --quiet --disable-pip-version-check 'cyclonedx-bom>=7,<8'
"$place/tools/bin/cyclonedx-py" environment --output-reproducible --output-format JSON \
  --output-file "$folder/sbom.cdx.json" "$place/installed/bin/python"
