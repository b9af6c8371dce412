#!/bin/sh
# SQLite and zstd are compiled from C. Debian's cargo package brings a compiler along, rustup does not.
set -eu
command -v cc >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq && apt-get install -y -qq gcc libc6-dev
else
    echo "A C compiler is needed: on Debian, run 'apt-get install gcc libc6-dev' as root." >&2
    exit 1
fi
