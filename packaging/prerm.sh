#!/bin/sh
# Before the files are removed; nothing on an upgrade. $1 is "remove" for Debian, 0 for RPM.
set -e
case ${1-} in remove | 0) ;; *) exit 0 ;; esac
if [ -d /run/systemd/system ]; then
  systemctl --no-reload disable --now reeve-server.service reeve-agent.service || :
fi
if ls /var/lib/reeve/agent/allocations >/dev/null 2>&1 || pgrep -x reeve-task >/dev/null 2>&1; then
  echo 'Tasks of this node go on. Next time, drain it first: reeve node drain --enable NAME'
fi
exit 0
