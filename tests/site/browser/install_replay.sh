#!/usr/bin/env bash
# Put ReplayWeb.page into the folder named, without its dependencies: its two scripts contain them.
set -euo pipefail
place=$1/replaywebpage
sum=6faef5c261e94b6e83cd6ee975bd0378fd4bc948bb14d36d45c709ffecb261b8
mkdir -p "$place"
npm pack --silent --pack-destination "$place" replaywebpage@2.4.6 > /dev/null
echo "$sum  $place/replaywebpage-2.4.6.tgz" | sha256sum --check --quiet
tar xzf "$place/replaywebpage-2.4.6.tgz" -C "$place" --strip-components=1 package/ui.js package/sw.js package/LICENSE
rm "$place/replaywebpage-2.4.6.tgz"
