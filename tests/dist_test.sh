#!/usr/bin/env bash
# dist_test.sh PYTHON DISTRIBUTION: install it in a new environment and run tests/smoke.py in an empty folder.
set -euo pipefail
smoke=$(realpath "$(dirname "$0")/smoke.py")
distribution=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "$distribution"
cd "$folder"
env -u PYTHONPATH -u ZIBALDONE_MEMORY -u ZIBALDONE_USER "$folder/venv/bin/python" -I "$smoke"
# What a user downloads stays small: megabytes with compiled modules, without the installer.
size=$(du -sm --exclude=pip --exclude='pip-*' --exclude='setuptools*' --exclude=pkg_resources "$folder/venv" | cut -f1)
echo "installed: $size MB"
[ "$size" -le 195 ] || { echo "more than 195 MB" >&2; exit 1; }
