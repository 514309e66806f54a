# What ./run and ./test share: where the build goes, and how a missing program is installed.
# Sourced, not run.

# Outside the clone, so that a fresh clone builds fast when another one has been built before.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/iowhy/target}
[ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"

fail() { # TEXT HINT
    printf 'iowhy: %s\n\nhint: %s\n' "$1" "$2" >&2
    exit 2
}

need_cargo() {
    command -v cargo >/dev/null ||
        fail 'cannot build: `cargo` is missing' 'install a Rust toolchain (1.88 or newer) with rustup'
    # Cargo takes what another clone built for this one's, with the other's paths compiled in.
    local clone stamp=$CARGO_TARGET_DIR/clone
    clone=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    if [ "$(cat "$stamp" 2>/dev/null)" != "$clone" ]; then
        find "$clone/crates" -name '*.rs' -exec touch {} +
        mkdir -p "$CARGO_TARGET_DIR"
        echo "$clone" >"$stamp"
    fi
}

# Whether `--setup` was given, and what is missing without it.
setup=
missing=

is_there() { # PROGRAM
    [ -x "/usr/sbin/$1" ] || command -v "$1" >/dev/null
}

want() { # PROGRAM PACKAGE...: installed with --setup, else named by `name_missing`
    if [ -n "$setup" ]; then
        need "$@"
    else
        is_there "$1" || missing="$missing, $1"
    fi
}

must_have() { # PROGRAM PACKAGE...: installed with --setup, else there is no build
    if [ -n "$setup" ]; then
        need "$@"
    elif ! is_there "$1"; then
        fail "cannot build: \`$1\` is missing" "as root: \`./test --setup\`, or \`apt-get install ${*:2}\`"
    fi
}

name_missing() { # WHAT-HAPPENS WHAT-INSTALLS
    [ -z "$missing" ] || printf 'iowhy: missing: %s; %s; %s installs them (as root)\n' "${missing#, }" "$1" "$2" >&2
}

apt_is_fresh=
need() { # PROGRAM PACKAGE...: installed if it is missing
    local program=$1
    shift
    is_there "$program" && return
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
        fail "\`$program\` is missing" "install the package(s) $* (as root: apt-get install $*)"
    echo "iowhy: installing $* (for \`$program\`)" >&2
    if [ -z "$apt_is_fresh" ]; then
        apt-get update -qq >&2
        apt_is_fresh=yes
    fi
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

want_files() { # PROGRAM PACKAGE: its files only, beside the build cache; installed, it would run as a service
    local place=${CARGO_TARGET_DIR%/*}/files folder
    export PATH=$PATH:$place/usr/bin
    command -v "$1" >/dev/null && return
    [ -n "$setup" ] || { missing="$missing, $1" && return; }
    command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return 0
    echo "iowhy: unpacking $2 (for \`$1\`)" >&2
    [ -n "$apt_is_fresh" ] || apt-get update -qq >&2
    apt_is_fresh=yes
    mkdir -p "$place" && folder=$(mktemp -d) && chmod 755 "$folder"
    (cd "$folder" && apt-get download -qq "$2" >&2 && dpkg-deb -x "$2"_*.deb "$place") ||
        echo "iowhy: left out: tests that need \`$1\`" >&2
    rm -rf "$folder"
}

want_tool() { # CARGO-SUBCOMMAND: built with --setup
    local tools=${CARGO_TARGET_DIR%/*}/tools
    export PATH=$tools/bin:$PATH
    if [ -n "$setup" ]; then
        need_tool "$1"
    else
        command -v "$1" >/dev/null || missing="$missing, $1"
    fi
}

need_tool() { # CARGO-SUBCOMMAND, built once and kept beside the build cache
    local tools=${CARGO_TARGET_DIR%/*}/tools
    export PATH=$tools/bin:$PATH
    command -v "$1" >/dev/null && return
    echo "iowhy: building $1 (once)" >&2
    env -u CARGO_ENCODED_RUSTFLAGS CARGO_TARGET_DIR="$tools/target" \
        cargo install --quiet --locked --root "$tools" "$1" >&2
    rm -rf "$tools/target"
}

# A whole number with a comma before each three digits, in any locale.
grouped() { # NUMBER
    printf '%s\n' "$1" | sed -E ':again; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; t again'
}

# Runs the built suite twice side by side, N times over; keeps what failed, and fails if anything did.
twice() { # N
    local round side failed=0 kept
    kept=$(mktemp -d)
    cargo test --quiet --locked --workspace --no-run >&2 || exit 1
    for round in $(seq "$1"); do
        for side in a b; do
            "$CARGO_TARGET_DIR/debug/xtask" test --run-only >"$kept/$round$side" 2>&1 &
            eval "$side=\$!"
        done
        wait "$a" || failed=$((failed + 1))
        wait "$b" || failed=$((failed + 1))
        printf 'round %s: %s | %s\n' "$round" "$(tail -1 "$kept/${round}a")" "$(tail -1 "$kept/${round}b")"
    done
    [ "$failed" = 0 ] && rm -r "$kept" && return
    printf 'iowhy: %s runs failed; what they printed lies in %s\n' "$failed" "$kept"
    return 1
}
