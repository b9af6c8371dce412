#!/usr/bin/env bash
# Builds packages into target/package: `scripts/package.sh [crates] [npm] [deb]`, all three without an argument.
# CALLSTACK_BINARY names a program that is built already, CALLSTACK_PACKAGES another folder.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
out=${CALLSTACK_PACKAGES:-$root/target/package}
[ $# -gt 0 ] || set -- crates npm deb

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# The program, its manual pages and completions, as npm and Debian packages hold them.
parts() {
    [ ! -d "$work/man" ] || return 0
    binary=${CALLSTACK_BINARY:-}
    if [ -z "$binary" ]; then
        scripts/need-cc.sh
        cargo build --release --locked -p callstack-cli
        binary=${CARGO_TARGET_DIR:-$root/target}/release/callstack
    fi
    "$binary" man "$work/man" >/dev/null
    for shell in bash zsh fish; do
        "$binary" completions "$shell" >"$work/$shell"
    done
}

crates() {
    # What they need of each other is not in the registry yet, so they can only be built as a whole:
    # `make test-package` does.
    cargo package --workspace --exclude callstack-testkit --locked --allow-dirty --no-verify --quiet \
        --target-dir "$work/crates"
    cp "$work"/crates/package/*.crate "$out"
}

npm_packages() {
    parts
    mkdir -p "$work/npm"
    node packaging/npm/package.js "$work/npm" "$version" "$binary" "$work/man"
    for package in "$work"/npm/*/; do
        (cd "$package" && npm pack --silent --offline --pack-destination "$out" >/dev/null)
    done
}

deb() {
    parts
    local to=$work/deb architecture
    architecture=$(dpkg --print-architecture)
    install -Dm755 "$binary" "$to/usr/bin/callstack"
    for page in "$work"/man/*.1; do
        install -Dm644 "$page" "$to/usr/share/man/man1/${page##*/}"
    done
    install -Dm644 CHANGELOG.md "$to/usr/share/doc/callstack/changelog"
    gzip -9n "$to"/usr/share/man/man1/*.1 "$to/usr/share/doc/callstack/changelog"
    cat LICENSE-MIT LICENSE-APACHE >"$to/usr/share/doc/callstack/copyright"
    chmod 644 "$to/usr/share/doc/callstack/copyright"
    install -Dm644 "$work/bash" "$to/usr/share/bash-completion/completions/callstack"
    install -Dm644 "$work/zsh" "$to/usr/share/zsh/vendor-completions/_callstack"
    install -Dm644 "$work/fish" "$to/usr/share/fish/vendor_completions.d/callstack.fish"
    mkdir "$to/DEBIAN"
    cat >"$to/DEBIAN/control" <<CONTROL
Package: callstack
Version: $version
Architecture: $architecture
Maintainer: The callstack authors <callstack@localhost>
Section: devel
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$to" | cut -f1)
Suggests: git
Description: call stack for AI coding agents
 A long agent session becomes a tree of frames. A finished frame leaves what
 the model is sent; its results, the evidence that the machine recorded and its
 full log stay on the disk.
CONTROL
    needs >>"$to/DEBIAN/control"
    dpkg-deb --build --root-owner-group "$to" "$out/callstack_${version}_$architecture.deb" >/dev/null
}

# The oldest C library that has all that the program asks of it.
needs() {
    local glibc
    glibc=$(objdump -T "$binary" 2>/dev/null | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1) || true
    [ -z "$glibc" ] || printf 'Depends: libc6 (>= %s), libgcc-s1\n' "${glibc#GLIBC_}"
}

for kind; do
    case $kind in
        crates) crates ;;
        npm) npm_packages ;;
        deb) deb ;;
        *) echo "there is no kind of package '$kind'" >&2; exit 2 ;;
    esac
done
printf '%s\n' "$out"/*
