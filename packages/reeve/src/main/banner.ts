import { join } from 'node:path'
import { isLoopback } from '@reeve/sdk'
import type { AgentConfig } from './config/agent-config.ts'
import { setupTexts } from './build-stamp.ts'
import { GOVERNANCE_TOKEN_FILE } from './dev-token.ts'
import type { RunningAgent } from './start-agent.ts'

interface BannerInput {
  readonly config: AgentConfig
  readonly program: RunningAgent
  readonly version: string
}

/** Renders the start banner of an agent: addresses, token and next steps. */
export function renderBanner(facts: BannerInput): string {
  const { config, version } = facts
  const head = `Reeve ${version} runs as ${describeRole(config)}.`
  const rows = bannerRows(facts)
  const width = Math.max(...rows.map(([name]) => name.length))
  const table = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
  const steps = bannerSteps(facts).map(([says, line]) => `  ${says}\n    ${line}`)
  const what = `What to try next, in a second terminal${setupTexts.commandNote}:`
  return `${[head, '', ...table, '', what, ...steps, ''].join('\n')}\n`
}

function describeRole({ dev, server, client }: AgentConfig): string {
  if (dev) return 'server and node for development (--dev)'
  return server.enabled && client.enabled ? 'server and node' : server.enabled ? 'server' : 'node'
}

type Row = readonly [name: string, text: string]

function bannerRows({ config, program }: BannerInput): readonly Row[] {
  const { httpAddress, governanceToken, dataDirectory } = program
  const temporary = config.isDataTemporary ? ' (removed at the end; --data-dir keeps it)' : ''
  const rows: Row[] = [['Data', `${dataDirectory}${temporary}`]]
  if (!config.server.enabled) return [['Servers', config.client.servers.join(', ')], ...rows]
  rows.unshift(
    ['API', httpAddress],
    ['Web UI', uiLink(program)],
    ['Documentation', `${httpAddress}/docs`],
  )
  rows.push([
    'ACLs',
    config.acl.enabled ? 'enabled' : 'disabled: anyone who can reach /v1 has full access',
  ])
  if (governanceToken !== undefined)
    rows.push(
      ['/api/v2', `Authorization: Bearer ${governanceToken}`],
      ['', `also in ${join(dataDirectory, 'server', GOVERNANCE_TOKEN_FILE)}`],
    )
  return rows
}

/**
 * With a dev token, the link signs the user in. The web UI reads the token from the fragment, which
 * is never sent to a server or logged, and only on the same machine (docs/reference/web-ui.md).
 */
function uiLink({ httpAddress, governanceToken }: RunningAgent): string {
  const home = `${httpAddress}/ui/`
  const isLocal = isLoopback(new URL(httpAddress).hostname)
  return governanceToken === undefined || !isLocal
    ? home
    : `${home}sign-in#token=${governanceToken}`
}

/** The default server address of the command line. */
const DEFAULT_CLI_ADDRESS = 'http://127.0.0.1:4646'

/** The URL with which the node connects to a server. */
function urlOf(server: string, { tls }: AgentConfig): string {
  if (server.includes('://')) return server
  return `${tls.http || tls.rpc ? 'https' : 'http'}://${server}`
}

/** The first steps of the README's tour. */
function bannerSteps({ config, program }: BannerInput): readonly Row[] {
  const { server, client, acl } = config
  const [dialled = ''] = client.servers
  const address = server.enabled ? program.httpAddress : urlOf(dialled, config)
  const steps: Row[] = []
  if (address !== DEFAULT_CLI_ADDRESS)
    steps.push(['Point the CLI at this server:', `export REEVE_ADDR=${address}`])
  if (server.enabled && acl.enabled)
    steps.push(
      ['Create the first token, with all permissions on both APIs:', 'reeve acl bootstrap'],
      ['Keep its secret for the commands that follow:', 'reeve login'],
    )
  // Only with this driver is a node sure to accept the example job.
  if (server.enabled && client.enabled && client.rawExec)
    steps.push(
      ['Write a first job file and run it:', 'reeve job init && reeve job run example.hcl'],
      ['Read its output:', 'reeve job logs -f example'],
      ['Watch the cluster:', 'reeve top'],
    )
  else steps.push(['List the nodes:', 'reeve node status'])
  return steps
}
