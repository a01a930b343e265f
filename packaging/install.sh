#!/bin/sh
# Installs Reeve below a directory, without root: download, signature, checksum, one run, one link.
#   sh install.sh [--version V] [--prefix DIR] [--from URL-or-directory] [--public-key KEY]
set -eu

main() {
  version=@VERSION@
  prefix=${REEVE_PREFIX:-$HOME/.local}
  from=${REEVE_FROM:-https://github.com/reeve/reeve/releases/download/v$version}
  key=@PUBLIC_KEY@
  while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || fail "$1 needs a value."
    case $1 in
      --version) version=$2 ;;
      --prefix) prefix=$2 ;;
      --from) from=$2 ;;
      --public-key) key=$2 ;;
      *) fail "unknown option $1. Known: --version, --prefix, --from, --public-key." ;;
    esac
    shift 2
  done
  [ "$(uname -s)" = Linux ] || fail "this installer is for Linux; this is $(uname -s)."
  case $(uname -m) in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no build for $(uname -m)." ;;
  esac
  for tool in tar xz sha256sum; do
    command -v "$tool" >/dev/null 2>&1 ||
      fail "$tool is missing (Debian: apt-get install xz-utils; Fedora: dnf install xz)."
  done
  mkdir -p "$prefix/lib/reeve" "$prefix/bin" 2>/dev/null && [ -w "$prefix/lib/reeve" ] ||
    fail "$prefix cannot be written to. Choose another with --prefix DIR. Nothing was installed."
  name=reeve-$version-linux-$arch
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  for file in SHA256SUMS "$name.tar.xz"; do fetch "$file"; done
  verify
  target=$prefix/lib/reeve/$version
  rm -rf "$target.new"
  mkdir "$target.new"
  tar -xJf "$work/$name.tar.xz" -C "$target.new" --strip-components=1 --no-same-owner
  "$target.new/bin/reeve" version ||
    fail "the program does not run here (see above). Nothing was installed."
  rm -rf "$target"
  mv "$target.new" "$target"
  ln -sfn "$version" "$prefix/lib/reeve/current.new"
  mv -T "$prefix/lib/reeve/current.new" "$prefix/lib/reeve/current"
  ln -sfn ../lib/reeve/current/bin/reeve "$prefix/bin/reeve"
  echo "Installed: $prefix/bin/reeve"
  case ":$PATH:" in *":$prefix/bin:"*) ;; *) echo "Add $prefix/bin to PATH." ;; esac
}

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

fetch() {
  if [ -d "$from" ]; then
    cp "$from/$1" "$work/$1" || fail "$from has no $1. Nothing was installed."
  elif command -v curl >/dev/null 2>&1; then
    curl -fsSL "$from/$1" -o "$work/$1" || fail "$from/$1 could not be downloaded. Nothing was installed."
  elif command -v wget >/dev/null 2>&1; then
    wget -qO "$work/$1" "$from/$1" || fail "$from/$1 could not be downloaded. Nothing was installed."
  else
    fail "neither curl nor wget is there to download with."
  fi
}

verify() {
  if [ -z "$key" ]; then
    echo "This release is not signed: only the checksum is checked." >&2
  elif command -v minisign >/dev/null 2>&1; then
    fetch SHA256SUMS.minisig
    minisign -Vqm "$work/SHA256SUMS" -P "$key" ||
      fail "SHA256SUMS is not signed by the release's key. Nothing was installed."
  else
    echo "minisign is not there: only the checksum is checked." >&2
  fi
  wanted=$(sed -n "s/^\([0-9a-f]*\)  $name\.tar\.xz$/\1/p" "$work/SHA256SUMS")
  found=$(sha256sum "$work/$name.tar.xz" | cut -d ' ' -f 1)
  [ -n "$wanted" ] || fail "SHA256SUMS does not name $name.tar.xz. Nothing was installed."
  [ "$wanted" = "$found" ] ||
    fail "$name.tar.xz is not what the release says. Nothing was installed."
}

main "$@"
