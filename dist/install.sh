#!/bin/sh
# Installs the static binary of iowhy with its man pages and completions into /usr/local, or PREFIX. The download is
# unpacked only after the signature of the list of checksums is verified and the list has its checksum.
#   sh install.sh              the version that this script came with
#   sh install.sh --uninstall  removes those files again
set -eu
version=@VERSION@
url=${IOWHY_URL:-@URL@}/$version
prefix=${PREFIX:-/usr/local}
# The public keys of the signer of this release: OpenPGP (base64 of `gpg --export`) and minisign.
openpgp=@OPENPGP@
minisign=@MINISIGN@

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 1
}
files() { # the files that are installed, one a line: as they are in the archive, then below the prefix
    echo "iowhy bin/iowhy"
    (cd "$1" && ls man) | sed -n 's,.*\(.\)\.gz$,man/& share/man/man\1/&,p'
    echo "completions/iowhy share/bash-completion/completions/iowhy"
    echo "completions/_iowhy share/zsh/site-functions/_iowhy"
    echo "completions/iowhy.fish share/fish/vendor_completions.d/iowhy.fish"
}
if [ "${1-}" = --uninstall ]; then
    rm -f "$prefix/bin/iowhy" "$prefix"/share/man/man[17]/iowhy.1.gz "$prefix"/share/man/man[17]/iowhy-*.gz \
        "$prefix/share/bash-completion/completions/iowhy" "$prefix/share/zsh/site-functions/_iowhy" \
        "$prefix/share/fish/vendor_completions.d/iowhy.fish"
    exit
fi
case $(uname -s)-$(uname -m) in
Linux-x86_64) name=iowhy-$version-linux-x86_64 ;;
Linux-aarch64) name=iowhy-$version-linux-aarch64 ;;
*) fail "no binary for $(uname -s) on $(uname -m): build from source" ;;
esac
fetch() {
    if command -v curl >/dev/null; then curl -fsSL -o "$2" "$1"; else wget -qO "$2" "$1"; fi ||
        fail "cannot download $1"
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fetch "$url/SHA256SUMS" SHA256SUMS
if [ -n "$openpgp" ] && command -v gpgv >/dev/null; then
    echo "$openpgp" | base64 -d >key.gpg
    fetch "$url/SHA256SUMS.asc" SHA256SUMS.asc
    gpgv --quiet --keyring ./key.gpg SHA256SUMS.asc SHA256SUMS || fail 'the signature of SHA256SUMS is bad: nothing was installed'
elif [ -n "$minisign" ] && command -v minisign >/dev/null; then
    fetch "$url/SHA256SUMS.minisig" SHA256SUMS.minisig
    minisign -Vqm SHA256SUMS -P "$minisign" || fail 'the signature of SHA256SUMS is bad: nothing was installed'
else
    fail "cannot verify the signature: install gpgv${minisign:+ or minisign}"
fi
fetch "$url/$name.tar.gz" "$name.tar.gz"
grep " $name.tar.gz\$" SHA256SUMS | sha256sum -c >/dev/null || fail "the checksum of $name.tar.gz is wrong: nothing was installed"
tar -xzf "$name.tar.gz"
files "$name" | while read -r from to; do install -D -m 644 "$name/$from" "$prefix/$to"; done
chmod 755 "$prefix/bin/iowhy"
echo "installed: $("$prefix/bin/iowhy" --version | head -1) in $prefix; next: iowhy"
