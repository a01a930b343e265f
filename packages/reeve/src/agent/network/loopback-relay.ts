import { isIPv6 } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { Lease } from './bridge-leases.ts'

/** A port of an IPv6 address of the machine, and where its connections go. */
export interface RelayRoute {
  readonly host: string
  readonly port: number
  readonly targetHost: string
  readonly targetPort: number
}

/** Commands to the thread of the relay. */
export type RelayOrder =
  | { readonly kind: 'open'; readonly id: string; readonly routes: readonly RelayRoute[] }
  | { readonly kind: 'close'; readonly id: string }

const IPV6_LOOPBACK = '::1'
const LOOPBACK_TOO: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '127.0.0.1'])

/**
 * Connections of IPv6 that are forwarded to allocations. The kernel cannot translate them to the
 * IPv4 address that an allocation has, and many programs try `::1` first for `localhost`.
 *
 * It runs on a thread of its own, so that no traffic of tasks delays the agent, and only once a
 * port needs it. Connections end with the agent; those of IPv4, which the kernel forwards, do not.
 */
export class LoopbackRelay {
  #worker: Worker | undefined

  open(id: string, lease: Lease): void {
    const routes = relayRoutes(lease)
    if (routes.length > 0) this.#order({ kind: 'open', id, routes })
  }

  close(id: string): void {
    if (this.#worker !== undefined) this.#order({ kind: 'close', id })
  }

  #order(order: RelayOrder): void {
    this.#worker ??= this.#start()
    this.#worker.postMessage(order, [])
  }

  #start(): Worker {
    const worker = new Worker(new URL('./relay-worker.ts', import.meta.url))
    // The agent does not stay for it, and goes on without it.
    worker.unref()
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      this.#worker = undefined
    })
    return worker
  }
}

/** Ports granted on loopback or on every address, and those granted on an address of IPv6. */
export function relayRoutes({ address, ports }: Lease): readonly RelayRoute[] {
  return ports.flatMap(({ hostIp, hostPort, to }) => {
    const target = { targetHost: address, targetPort: to > 0 ? to : hostPort }
    if (LOOPBACK_TOO.has(hostIp)) return [{ host: IPV6_LOOPBACK, port: hostPort, ...target }]
    return isIPv6(hostIp) ? [{ host: hostIp, port: hostPort, ...target }] : []
  })
}
