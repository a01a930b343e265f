import { isIPv6 } from 'node:net'
import { Worker } from 'node:worker_threads'
import type { BridgeLease } from './bridge-leases.ts'

/** Forwards a port of an IPv6 address of the machine to a target. */
export interface RelayRoute {
  readonly host: string
  readonly port: number
  readonly targetHost: string
  readonly targetPort: number
}

/** Commands for the relay thread. */
export type RelayCommand =
  | { readonly kind: 'open'; readonly id: string; readonly routes: readonly RelayRoute[] }
  | { readonly kind: 'close'; readonly id: string }

const IPV6_LOOPBACK = '::1'
const LOOPBACK_HOST_IPS: ReadonlySet<string> = new Set(['', '0.0.0.0', '::', '127.0.0.1'])

/**
 * Relays IPv6 connections to allocations. The kernel cannot translate them to the IPv4 address of
 * an allocation, and many programs try `::1` first for `localhost`. Runs on its own thread, so that
 * traffic of tasks does not delay the agent, and only when a port needs it. Relayed connections end
 * with the agent, unlike those that the kernel forwards.
 */
export class LoopbackRelay {
  #worker: Worker | undefined

  open(id: string, lease: BridgeLease): void {
    const routes = relayRoutes(lease)
    if (routes.length > 0) this.#send({ kind: 'open', id, routes })
  }

  close(id: string): void {
    if (this.#worker !== undefined) this.#send({ kind: 'close', id })
  }

  #send(command: RelayCommand): void {
    this.#worker ??= this.#start()
    this.#worker.postMessage(command, [])
  }

  #start(): Worker {
    const worker = new Worker(new URL('./relay-worker.ts', import.meta.url))
    // The thread does not keep the process alive, and its failure does not affect the agent.
    worker.unref()
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      this.#worker = undefined
    })
    return worker
  }
}

/** Routes for ports assigned on loopback or on all addresses, and on an IPv6 address. */
export function relayRoutes({ address, ports }: BridgeLease): readonly RelayRoute[] {
  return ports.flatMap(({ hostIp, hostPort, to }) => {
    const target = { targetHost: address, targetPort: to > 0 ? to : hostPort }
    if (LOOPBACK_HOST_IPS.has(hostIp)) return [{ host: IPV6_LOOPBACK, port: hostPort, ...target }]
    return isIPv6(hostIp) ? [{ host: hostIp, port: hostPort, ...target }] : []
  })
}
