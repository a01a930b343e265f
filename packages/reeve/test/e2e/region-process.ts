import { writeFile } from 'node:fs/promises'
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
import { secureFetch } from '../build/secure-fetch.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startAgent, type AgentProcess } from './program-process.ts'

/** The secret of the global management token that tests bootstrap with. */
export const SECRET = '5c2f6b0e-8d8b-4c67-9a53-1d7a2f0b9e11'

/** Agents start slowly on a busy machine. */
const START_MS_MAX = 180_000

/** A real server of one of several regions. */
export interface RegionServer extends AgentProcess {
  readonly address: string
  readonly client: Client
}

export interface RegionPlace {
  readonly region: string
  readonly authoritative: string
  readonly port: number
  /** Kept when it starts again; one of its own unless given. */
  readonly directory?: string
  /** Addresses of each region, as this server knows them. */
  readonly known: Readonly<Record<string, readonly string[]>>
  /** Further lines of its configuration. */
  readonly lines?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly isSecure?: boolean
}

/** Starts a server from a file as in docs/how-to/regions.md and waits until it answers. */
export async function startRegion(t: TestContext, place: RegionPlace): Promise<RegionServer> {
  const directory = place.directory ?? (await temporaryDirectory(t))
  const file = join(directory, 'reeve.hcl')
  await writeFile(file, configurationOf(place, join(directory, 'data')))
  const environment = {
    XDG_CONFIG_HOME: directory,
    REEVE_SECRETS_IN_MEMORY: 'false',
    ...place.environment,
  }
  const flags = ['--config', file, '--log-json']
  const agent = startAgent(t, flags, { environment, lastSignal: 'SIGTERM' })
  const address = `${place.isSecure === true ? 'https' : 'http'}://127.0.0.1:${place.port}`
  const answers = async (): Promise<true | undefined> => {
    if (agent.child.exitCode !== null) throw new Error(`it ended: ${agent.output()}`)
    const answer = await fetchBlindly(`${address}/v1/agent/health`).catch(() => undefined)
    return answer?.status === 200 || undefined
  }
  await until(`${place.region} to answer`, answers, START_MS_MAX)
  const client = createClient({ address, token: SECRET, fetch: createNodeFetch(BLINDLY) })
  return { ...agent, address, client }
}

/** Also from a server whose certificate nobody has signed: what it says is what tests are about. */
const BLINDLY = { ...certificate('user'), rejectUnauthorized: false }
export const fetchBlindly = secureFetch(BLINDLY)

function configurationOf(place: RegionPlace, dataDirectory: string): string {
  const known = Object.entries(place.known).map(
    ([name, addresses]) => `  region "${name}" { addresses = ${JSON.stringify(addresses)} }`,
  )
  return `region = "${place.region}"
data_dir = "${dataDirectory}"
ports { http = ${place.port} }
server {
  enabled = true
  authoritative_region = "${place.authoritative}"
${known.join('\n')}
}
acl { replication_token = "${SECRET}" }
${place.lines ?? ''}
`
}

export interface TlsBlock {
  readonly holder: Holder
  /** The file with the authority that it believes; that of the tests unless given. */
  readonly authority?: string
  readonly verifiesCallers?: boolean
  /** Without `rpc` it starts with a certificate that its own authority has not signed. */
  readonly isMutual?: boolean
  /** Its certificate names another region; it starts, because it looks for no names itself. */
  readonly isMisnamed?: boolean
}

/** The `tls` block of a server with this certificate. */
export function tlsBlock(block: TlsBlock): string {
  const { holder, authority = AUTHORITY_FILE, isMutual = true } = block
  const { verifiesCallers = false, isMisnamed = false } = block
  const { certFile, keyFile } = certificateFiles(holder)
  return `tls {
  http = true
  rpc = ${isMutual}
  ca_file = "${authority}"
  cert_file = "${certFile}"
  key_file = "${keyFile}"
  verify_https_client = ${verifiesCallers}
  verify_server_hostname = ${!isMisnamed}
}
`
}

/** Bootstraps the installation with the secret that every region replicates with. */
export async function bootstrapAt({ address }: RegionServer): Promise<Response> {
  return await fetchBlindly(`${address}/v1/acl/bootstrap`, {
    method: 'POST',
    body: JSON.stringify({ BootstrapSecret: SECRET }),
  })
}
