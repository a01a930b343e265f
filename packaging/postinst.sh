#!/bin/sh
# After the files are in place. $1 is "configure" and $2 the version before, for Debian; for RPM $1
# is the number of installed versions.
set -e
case ${1-} in
  configure) before=${2-} ;;
  1) before= ;;
  2) before=another ;;
  *) exit 0 ;;
esac
if command -v systemd-sysusers >/dev/null 2>&1; then
  systemd-sysusers reeve.conf >/dev/null 2>&1 || :
fi
if ! getent passwd reeve >/dev/null; then
  if command -v useradd >/dev/null 2>&1; then
    useradd --system --user-group --no-create-home --home-dir /var/lib/reeve \
      --shell /usr/sbin/nologin reeve
  else
    echo 'reeve: there is no useradd; create the system user "reeve" before you start the server.' >&2
  fi
fi
if getent group reeve >/dev/null; then
  chgrp reeve /etc/reeve.d /etc/reeve.d/server /etc/reeve.d/agent
fi
chmod 0750 /etc/reeve.d /etc/reeve.d/server /etc/reeve.d/agent
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload || :
  # Tasks are not touched: the agent's unit stops its own process alone.
  if [ -n "$before" ]; then
    systemctl try-restart reeve-server.service reeve-agent.service || :
  fi
fi
if [ -z "$before" ]; then
  echo 'Reeve is installed; nothing was started. Examples are in /usr/share/doc/reeve/examples.'
  echo 'Put one into /etc/reeve.d/server or /etc/reeve.d/agent, then: systemctl enable --now reeve-server (or reeve-agent).'
fi
exit 0
