#!/bin/sh
# Starts Reeve on the runtime that it brings, with the flags for which the installation holds
# compiled code. The C library's allocator returns freed memory; the program removes these settings
# from its environment, so that tasks do not inherit them.
file=$0
[ -h "$file" ] && file=$(readlink -f "$file")
root=${file%/*}/..
[ "$file" = "${file#*/}" ] && root=..
export MALLOC_MMAP_THRESHOLD_="${MALLOC_MMAP_THRESHOLD_:-262144}"
export MALLOC_TRIM_THRESHOLD_="${MALLOC_TRIM_THRESHOLD_:-4194304}"
# Debian, Red Hat and their kin keep it in one of these; anywhere else the loader decides.
for library in /usr/lib*/libstdc++.so.6 /usr/lib/*-linux-gnu/libstdc++.so.6; do
  [ -e "$library" ] && exec "$root/lib/node" @FLAGS@ "$root/program/reeve.js" "$@"
done
"$root/lib/node" --version >/dev/null 2>&1 || {
  echo "Reeve's runtime does not start: $("$root/lib/node" --version 2>&1)" >&2
  echo "It needs glibc 2.28 or newer and libstdc++ (Debian, Ubuntu: apt-get install libstdc++6;" \
    "Fedora, RHEL: dnf install libstdc++)." >&2
  exit 1
}
exec "$root/lib/node" @FLAGS@ "$root/program/reeve.js" "$@"
