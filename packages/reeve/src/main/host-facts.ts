import { randomUUID } from 'node:crypto'
import { hostname, networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { isatty } from 'node:tty'
import type { HostInfo } from './config/option.ts'

export function readHostInfo(): HostInfo {
  return {
    hostName: hostname(),
    address: findAddress(),
    workingDirectory: process.cwd(),
    temporaryDirectory: join(tmpdir(), `reeve-dev-${randomUUID()}`),
    isErrorTerminal: isatty(process.stderr.fd),
  }
}

/**
 * Returns the first non-loopback address, IPv4 before IPv6. The result is stable on one machine.
 */
function findAddress(): string | undefined {
  const all = Object.entries(networkInterfaces())
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, addresses = []]) => addresses.filter(({ internal }) => !internal))
  // Link-local addresses are only valid together with their interface.
  const usable = all.filter(({ scopeid = 0 }) => scopeid === 0)
  return (usable.find(({ family }) => family === 'IPv4') ?? usable[0])?.address
}
