import { once } from 'node:events'
import { createServer } from 'node:net'
import { Fault } from '@reeve/kit/fault.ts'

const PORT_MAX = 65_535
/** Maximum number of ports tried. */
const ATTEMPTS_MAX = 200

/** Finds free ports from `first` upward, or any if `first` is 0. */
export async function findFreePorts(first: number, count: number): Promise<readonly number[]> {
  const found: number[] = []
  for (let tries = 0; found.length < count && tries < ATTEMPTS_MAX; tries++) {
    const wanted = first === 0 ? 0 : first + tries
    if (wanted > PORT_MAX) break
    const port = await tryPort(wanted)
    if (port !== undefined && !found.includes(port)) found.push(port)
  }
  if (found.length === count) return found
  throw new Fault(
    'start',
    `There are no ${count} free ports from ${first} on; choose others with --http-port.`,
  )
}

async function tryPort(wanted: number): Promise<number | undefined> {
  const server = createServer()
  try {
    server.listen(wanted, '127.0.0.1')
    await once(server, 'listening')
  } catch {
    return undefined // taken, or not ours to take
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? address?.port : undefined
}
