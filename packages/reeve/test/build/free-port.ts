import { once } from 'node:events'
import { createServer } from 'node:net'

/** Free a moment ago: for servers that have to know where the others will be. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || address === null) throw new Error('a port has a number')
  return address.port
}
