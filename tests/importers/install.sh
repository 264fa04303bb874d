#!/usr/bin/env bash
# Get the importers that Python and npm have into the folder named: exact versions, nothing outside of it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
place=$1
ghost=5.130.4
quiet=(--no-package-lock --no-audit --no-fund --loglevel=error)

"${PYTHON:-python3}" -m venv "$place" || "${PYTHON:-python3}" -m virtualenv --quiet "$place"
"$place/bin/python" -m pip install -qq --disable-pip-version-check -r "$here/requirements.txt"

mkdir -p "$place/npm"
cp "$here/package.json" "$place/npm/"
npm install --prefix "$place/npm" "${quiet[@]}"

# Ghost's package brings parts of itself as archives that npm finds only from inside of it.
rm -rf "$place/ghost"
mkdir -p "$place/ghost"
cd "$place/ghost"
npm pack --silent --loglevel=error "ghost@$ghost" > /dev/null
tar xzf "ghost-$ghost.tgz" --strip-components=1
npm pkg delete devDependencies
npm install --omit=dev --ignore-scripts --legacy-peer-deps "${quiet[@]}"
# Its database driver is no more than a source there; what npm would fetch for it is outside of the registry.
JOBS=2 npx --no-install node-gyp rebuild --directory node_modules/sqlite3 --silent \
  --nodedir="$(dirname "$(dirname "$(readlink -f "$(command -v node)")")")" > gyp.log 2>&1 || { tail -30 gyp.log; exit 1; }
