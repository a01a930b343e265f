import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createClient, type Client } from '@reeve/sdk'
import { until } from '../build/until.ts'
import { startAgent, type AgentProcess } from './program-process.ts'

/** A real server of a cluster. */
export interface ServerProcess extends AgentProcess {
  readonly address: string
  readonly client: Client
  readonly dataDirectory: string
}

export interface ServerPlace {
  readonly url: string
  readonly directory: string
  readonly name: string
  /** Kept when it starts again. */
  readonly port?: number
  readonly flags?: readonly string[]
}

const CLUSTER_KEY = 'a key for the servers of tests'

/** Starts `reeve agent --server` on a database, without ACLs, and waits until it answers. */
export async function startServer(t: TestContext, place: ServerPlace): Promise<ServerProcess> {
  const port = place.port ?? (await freePort())
  const data = join(place.directory, place.name)
  const flags = ['--server', '--data-dir', data, '--node-name', place.name, '--log-json']
  const agent = startAgent(t, [...flags, '--http-port', String(port), ...(place.flags ?? [])], {
    environment: {
      REEVE_DATABASE: place.url,
      REEVE_CLUSTER_KEY: CLUSTER_KEY,
      REEVE_ACL: 'false',
      REEVE_MIN_HEARTBEAT_TTL: '1s',
    },
  })
  const address = `http://127.0.0.1:${port}`
  await until(
    `${place.name} to answer`,
    async () => {
      if (agent.child.exitCode !== null) throw new Error(`it ended: ${agent.output()}`)
      const status = await statusOf(address, '/v1/agent/health').catch(() => 0)
      return status === 200 ? true : undefined
    },
    60_000,
  )
  return { ...agent, address, client: createClient({ address }), dataDirectory: data }
}

export async function statusOf(address: string, path: string): Promise<number> {
  const answer = await fetch(`${address}${path}`, { signal: AbortSignal.timeout(5_000) })
  await answer.arrayBuffer()
  return answer.status
}

/** The address of the leader, as a server tells it; undefined while there is none. */
export async function leaderOf(server: { readonly address: string }): Promise<string | undefined> {
  const answer = await fetch(`${server.address}/v1/status/leader`).catch(() => undefined)
  const leader: unknown = await answer?.json()
  return typeof leader === 'string' && leader !== '' ? `http://${leader}` : undefined
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (typeof address !== 'object' || address === null) throw new Error('a port has a number')
  return address.port
}
