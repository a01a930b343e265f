import { connect, createServer, type Server, type Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { AGENT_LIMITS } from '../limits.ts'
import type { RelayOrder, RelayRoute } from './loopback-relay.ts'

/** The thread of LoopbackRelay: one server for each route, by the allocation it is of. */
const servers = new Map<string, Server[]>()
const sockets = new Map<string, Set<Socket>>()

parentPort?.on('message', (order: RelayOrder) => {
  close(order.id)
  if (order.kind === 'close') return
  servers.set(
    order.id,
    order.routes.map((route) => listen(order.id, route)),
  )
})

function listen(id: string, { host, port, targetHost, targetPort }: RelayRoute): Server {
  const server = createServer((incoming) => forward(id, incoming, connect(targetPort, targetHost)))
  server.maxConnections = AGENT_LIMITS.relayConnectionsMax
  // A machine without IPv6, or a port that somebody else has: IPv4 works all the same.
  server.on('error', () => undefined)
  server.listen({ host, port, ipv6Only: true })
  return server
}

function forward(id: string, incoming: Socket, outgoing: Socket): void {
  const open = sockets.get(id) ?? new Set()
  sockets.set(id, open)
  const pair = [incoming, outgoing]
  for (const socket of pair) {
    open.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      open.delete(socket)
      for (const other of pair) other.destroy()
    })
  }
  incoming.pipe(outgoing)
  outgoing.pipe(incoming)
}

function close(id: string): void {
  for (const server of servers.get(id) ?? []) server.close()
  for (const socket of sockets.get(id) ?? []) socket.destroy()
  servers.delete(id)
  sockets.delete(id)
}
