#!/bin/sh
# Starts Reeve on the runtime that it brings. The installation holds compiled code for the flags of
# servers and nodes, and for the flag of all other commands: with more flags, a command would compile
# the runtime's own modules. The C library's allocator returns freed memory; the program removes
# these settings from its environment, so that tasks do not inherit them.
file=$0
[ -h "$file" ] && file=$(readlink -f "$file")
root=${file%/*}/..
[ "$file" = "${file#*/}" ] && root=..
export MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-262144}"
export MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_:-4194304}"
case ${1-} in
  agent | dev-cluster | operator) set -- @FLAGS@ "$root/program/reeve.js" "$@" ;;
  *) set -- @COMMAND_FLAGS@ "$root/program/reeve.js" "$@" ;;
esac
# Debian, Red Hat and their kin keep it in one of these; anywhere else the loader decides.
for library in /usr/lib*/libstdc++.so.6 /usr/lib/*-linux-gnu/libstdc++.so.6; do
  [ -e "$library" ] && exec "$root/lib/node" "$@"
done
"$root/lib/node" --version >/dev/null 2>&1 || {
  echo "Reeve's runtime does not start: $("$root/lib/node" --version 2>&1)" >&2
  echo "It needs glibc 2.28 or newer and libstdc++ (Debian, Ubuntu: apt-get install libstdc++6;" \
    "Fedora, RHEL: dnf install libstdc++)." >&2
  exit 1
}
exec "$root/lib/node" "$@"
