import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { LimitUse } from '../../kit/tenant-slots.ts'

/** Time in which a client has to send the head of a request. */
const HEAD_MS_MAX = 15_000
/** How often connections that are past their time are closed. */
export const CONNECTION_CHECK_MS = 5_000
/** Share of the files that a process may open which is left for storage and outgoing calls. */
const RESERVED_SHARE = 0.2

/**
 * Bounds the connections of a server and the time in which a request has to arrive. Without a bound
 * a client that opens connections uses up the files that the process may open, and the server
 * can neither accept others nor open its storage. The result says how many there are.
 */
export function limitConnections(
  server: Server,
  connectionsMax: number | undefined,
): () => Promise<LimitUse> {
  const files = openFilesMax() * (1 - RESERVED_SHARE)
  server.maxConnections = Math.floor(Math.min(connectionsMax ?? Number.POSITIVE_INFINITY, files))
  server.headersTimeout = HEAD_MS_MAX
  let rejected = 0
  server.on('drop', () => rejected++)
  return async () => {
    const used = await countConnections(server)
    return { name: 'connections', max: server.maxConnections, used, rejected }
  }
}

function countConnections(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
}

/** Files that this process may open, where the system says so. */
function openFilesMax(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown) return Number.POSITIVE_INFINITY
    throw thrown
  }
}
