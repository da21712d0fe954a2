#!/bin/sh
# Everything that must hold of the canvas editor: types, lint, tests, and that static/canvas is what the sources build.
# Needs node >= 20.19 and npm on PATH. With --build the bundle is written instead of compared.
set -eu
cd "$(dirname "$0")"
bundle=../../static/canvas

npm ci --ignore-scripts --no-audit --no-fund
npm run --silent types
npm run --silent lint
npm run --silent test

if [ "${1:-}" = --build ]; then
    npm run --silent build
    exit
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
npm run --silent build -- --outDir "$made" --emptyOutDir
diff -rq "$made" "$bundle" || {
    echo "static/canvas is not what canvas/frontend builds: run canvas/frontend/check.sh --build and commit it." >&2
    exit 1
}
