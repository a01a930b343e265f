import type { TaskNetwork } from '../agent/index.ts'

/** Returns `/etc/hosts` of a task that does not use the network of the host. */
export function hostsFileContent(hostname: string, { hosts }: Pick<TaskNetwork, 'hosts'>): string {
  const loopbackLines = `127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 ${hostname}\n`
  return loopbackLines + extraHostLines({ hosts })
}

/** Returns the lines of additional hosts. */
export function extraHostLines({ hosts }: Pick<TaskNetwork, 'hosts'>): string {
  return hosts.map(({ address, names }) => `${address} ${names.join(' ')}\n`).join('')
}

/** `/etc/resolv.conf`. */
export function resolvConfContent(dns: NonNullable<TaskNetwork['dns']>): string {
  const lines = [
    ...dns.servers.map((server) => `nameserver ${server}`),
    ...(dns.searches.length === 0 ? [] : [`search ${dns.searches.join(' ')}`]),
    ...(dns.options.length === 0 ? [] : [`options ${dns.options.join(' ')}`]),
  ]
  return `${lines.join('\n')}\n`
}
