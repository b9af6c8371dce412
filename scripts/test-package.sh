#!/usr/bin/env bash
# Installs the packages that scripts/package.sh built, each into an empty home, works with it, and takes it out again:
# `scripts/test-package.sh [crates] [npm] [deb]`, all three without an argument.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=${CALLSTACK_PACKAGES:-$root/target/package}
[ $# -gt 0 ] || set -- crates npm deb

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "test-package: $1" >&2; exit 1; }

# What stands in an empty home behind the installation, with a folder on the path.
try() {
    local kind=$1 bin=$2 home=$work/$1/home
    local project=$home/project
    mkdir -p "$project"
    in_home() {
        (cd "$project" && env -i HOME="$home" PATH="$bin:/usr/local/bin:/usr/bin:/bin" LANG=C.UTF-8 "$@")
    }
    [ "$(in_home sh -c 'command -v callstack')" = "$bin/callstack" ] || fail "$kind: callstack is not on the path"
    [ "$(in_home callstack --version)" = "callstack $version" ] || fail "$kind: it is of another version"
    in_home git init -q .
    in_home callstack init opencode >"$work/said"
    grep -q "store made" "$work/said" || fail "$kind: init made no store: $(cat "$work/said")"
    # A plugin that names a folder of this machine is of no use to anybody who gets it with the project.
    ! grep -qF "$work" "$project/.opencode/plugin/callstack.ts" || fail "$kind: the plugin names this machine"
    [ -x "$(cat "$home/.local/state/callstack/binary")" ] || fail "$kind: the plugin finds no program"
    in_home callstack tree >/dev/null
    [ -n "$(in_home git status --porcelain)" ] || fail "$kind: init left no plugin"
    in_home callstack init opencode --remove >"$work/said"
    local left
    left=$(in_home git status --porcelain --ignored)
    [ -z "$left" ] || fail "$kind: init --remove leaves $left"
    ! in_home callstack no-such-command 2>/dev/null || fail "$kind: failures are not passed on"
}

# The crates as one would get them from a registry, with those of ours that are not in it yet beside them.
try_crates() {
    local crate name patches=()
    mkdir -p "$work/crates/src"
    for crate in "$out"/callstack-*-"$version".crate; do
        tar -xzf "$crate" -C "$work/crates/src"
        name=$(basename "$crate" "-$version.crate")
        patches+=(--config "patch.crates-io.$name.path=\"$work/crates/src/$name-$version\"")
    done
    # `--debug` takes a fraction of the time, and other flags of the compiler make no other package.
    cargo install --quiet --debug --path "$work/crates/src/callstack-cli-$version" --root "$work/crates/installed" \
        --target-dir "${CARGO_TARGET_DIR:-$root/target}/packaged" --no-track "${patches[@]}"
    try crates "$work/crates/installed/bin"
}

try_npm() {
    local prefix=$work/npm/prefix
    local npm=(env HOME="$work/npm/home" npm_config_cache="$work/npm/cache" npm --silent --prefix "$prefix")
    mkdir -p "$work/npm/home" "$prefix/lib"
    "${npm[@]}" install -g --offline --no-audit --no-fund "$out"/callstack-cli-"$version".tgz \
        "$out"/callstack-cli-*-"$version".tgz
    [ -f "$prefix/share/man/man1/callstack.1" ] || fail "npm: there is no manual page"
    try npm "$prefix/bin"
    local names
    names=$(cd "$prefix/lib/node_modules" && echo callstack-cli*)
    # shellcheck disable=SC2086
    "${npm[@]}" uninstall -g $names
    [ -z "$(find "$prefix" -name '*callstack*')" ] || fail "npm: uninstalling leaves something"
}

try_deb() {
    local to=$work/deb/system deb
    deb=$(echo "$out/callstack_${version}_"*.deb)
    mkdir -p "$to"/var/lib/dpkg/{info,updates}
    touch "$to/var/lib/dpkg/status"
    # No packages stand in an empty folder, so the C library is not among them.
    local dpkg=(dpkg --root="$to" --force-not-root --force-depends --log=/dev/null)
    PATH=$PATH:/usr/sbin:/sbin "${dpkg[@]}" -i "$deb" >/dev/null 2>&1 || fail "deb: it can't be installed"
    for file in share/man/man1/callstack-push.1.gz share/bash-completion/completions/callstack \
        share/zsh/vendor-completions/_callstack share/fish/vendor_completions.d/callstack.fish; do
        [ -s "$to/usr/$file" ] || fail "deb: there is no $file"
    done
    try deb "$to/usr/bin"
    PATH=$PATH:/usr/sbin:/sbin "${dpkg[@]}" -P callstack >/dev/null 2>&1 || fail "deb: it can't be removed"
    [ -z "$(find "$to" -name '*callstack*')" ] || fail "deb: removing it leaves something"
}

for kind; do
    "try_$kind"
    echo "$kind: installed, used and removed"
done
