import { connect, createServer, type Server, type Socket } from 'node:net'
import { parentPort } from 'node:worker_threads'
import { AGENT_LIMITS } from '../limits.ts'
import type { RelayCommand, RelayRoute } from './loopback-relay.ts'

/** Thread of LoopbackRelay: the listeners by allocation. */
const servers = new Map<string, Server[]>()
const sockets = new Map<string, Set<Socket>>()

parentPort?.on('message', (order: RelayCommand) => {
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
  // No IPv6, or the port is in use: IPv4 still works.
  server.on('error', () => undefined)
  server.listen({ host, port, ipv6Only: true })
  return server
}

function forward(id: string, incoming: Socket, outgoing: Socket): void {
  const openSockets = sockets.get(id) ?? new Set()
  sockets.set(id, openSockets)
  const pair = [incoming, outgoing]
  for (const socket of pair) {
    openSockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      openSockets.delete(socket)
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
