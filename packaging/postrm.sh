#!/bin/sh
# After the files are removed. "purge" (Debian) removes state too, except that of tasks that run.
set -e
if [ -d /run/systemd/system ]; then systemctl daemon-reload || :; fi
[ "${1-}" = purge ] || exit 0
rm -rf /var/lib/reeve/server /var/cache/reeve-server /var/cache/reeve-agent
live=
for task in /proc/[0-9]*/exe; do
  case $(readlink "$task" 2>/dev/null) in /var/lib/reeve/agent/*) live=yes ;; esac
done
if [ -z "$live" ]; then
  rm -rf /var/lib/reeve/agent
  rmdir /var/lib/reeve 2>/dev/null || :
else
  echo 'Tasks of this node still run; their directory /var/lib/reeve/agent stays.'
fi
rm -rf /etc/reeve.d/server /etc/reeve.d/agent
rmdir /etc/reeve.d 2>/dev/null || :
exit 0
