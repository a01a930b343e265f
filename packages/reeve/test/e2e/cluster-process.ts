import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createClient, type Client } from '@reeve/sdk'
import { createNodeFetch } from '../../src/cli/node-fetch.ts'
import {
  AUTHORITY_FILE,
  certificate,
  certificateFiles,
  type Holder,
} from '../build/certificates.ts'
import { freePort } from '../build/free-port.ts'
import { secureFetch } from '../build/secure-fetch.ts'
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
  readonly environment?: Readonly<Record<string, string>>
  /** Its certificate: servers and nodes then prove themselves to each other. */
  readonly tls?: Holder
  /** Where that certificate is, when it is to be exchanged. */
  readonly own?: CertificateFiles
}

/** On a machine that is busy with other tests. */
const START_MS_MAX = 120_000
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
      ...(place.tls !== undefined && tlsEnvironment(place.tls, place.own)),
      ...place.environment,
    },
  })
  const address = `${place.tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`
  await until(
    `${place.name} to answer`,
    async () => {
      if (agent.child.exitCode !== null) throw new Error(`it ended: ${agent.output()}`)
      const status = await statusOf(address, '/v1/agent/health').catch(() => 0)
      return status === 200 ? true : undefined
    },
    START_MS_MAX,
  ).catch((thrown: unknown) => {
    throw new Error(`${place.name} did not start: ${agent.output()}`, { cause: thrown })
  })
  const client = createClient({ address, fetch: createNodeFetch(BELIEVED) })
  return { ...agent, address, client, dataDirectory: data }
}

interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
}

/** Variables of an agent that has this certificate. */
export function tlsEnvironment(
  holder: Holder,
  files: CertificateFiles = certificateFiles(holder),
): Readonly<Record<string, string>> {
  const { certFile, keyFile } = files
  return {
    REEVE_TLS_HTTP: 'true',
    REEVE_TLS_RPC: 'true',
    REEVE_TLS_CA_FILE: AUTHORITY_FILE,
    REEVE_TLS_CERT_FILE: certFile,
    REEVE_TLS_KEY_FILE: keyFile,
  }
}

/** Believes the authority of the tests, and what is not encrypted. */
const BELIEVED = { ca: certificate('user').ca }
const fetchAny = secureFetch(BELIEVED)

export async function statusOf(address: string, path: string): Promise<number> {
  const answer = await fetchAny(`${address}${path}`, { signal: AbortSignal.timeout(5_000) })
  await answer.arrayBuffer()
  return answer.status
}

/** The address of the leader, as a server tells it; undefined while there is none. */
export async function leaderOf(server: { readonly address: string }): Promise<string | undefined> {
  const answer = await fetchAny(`${server.address}/v1/status/leader`).catch(() => undefined)
  // A restarting server rejects all requests for a moment.
  if (answer?.status !== 200) return undefined
  const leader: unknown = await answer.json()
  return typeof leader === 'string' && leader !== ''
    ? `${new URL(server.address).protocol}//${leader}`
    : undefined
}
