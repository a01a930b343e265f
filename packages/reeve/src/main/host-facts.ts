import { randomUUID } from 'node:crypto'
import { hostname, networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import type { HostFacts } from './config/option.ts'

export function readHostFacts(): HostFacts {
  return {
    hostName: hostname(),
    address: findAddress(),
    workingDirectory: process.cwd(),
    temporaryDirectory: join(tmpdir(), `reeve-dev-${randomUUID()}`),
    isErrorTerminal: isatty(process.stderr.fd),
  }
}

/** The first address that is not loopback, IPv4 before IPv6; of one machine always the same. */
function findAddress(): string | undefined {
  const all = Object.entries(networkInterfaces())
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, addresses = []]) => addresses.filter(({ internal }) => !internal))
  // A link-local address means nothing without the interface it belongs to.
  const usable = all.filter(({ scopeid = 0 }) => scopeid === 0)
  return (usable.find(({ family }) => family === 'IPv4') ?? usable[0])?.address
}
