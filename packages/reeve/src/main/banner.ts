import { join } from 'node:path'
import { HEADERS } from '@reeve/contract'
import type { AgentConfig } from './config/agent-config.ts'
import { GOVERNANCE_TOKEN_FILE } from './dev-token.ts'
import type { RunningProgram } from './program.ts'

interface BannerFacts {
  readonly config: AgentConfig
  readonly program: RunningProgram
  readonly version: string
}

/** The first job of the README: a process that says the time every five seconds. */
const FIRST_JOB = {
  ID: 'hello',
  TaskGroups: [
    {
      Name: 'hello',
      Tasks: [
        {
          Name: 'hello',
          Driver: 'raw_exec',
          Config: { command: '/bin/sh', args: ['-c', 'while true; do date; sleep 5; done'] },
        },
      ],
    },
  ],
}

/** What a person needs to know of an agent that has just started, and what to do next. */
export function renderBanner(facts: BannerFacts): string {
  const { config, version } = facts
  const head = `Reeve ${version} runs as ${describeRole(config)}.`
  const rows = rowsOf(facts)
  const width = Math.max(...rows.map(([name]) => name.length))
  const table = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`)
  const steps = nextSteps(facts).map(([says, line]) => `  ${says}\n    ${line}`)
  return `${[head, '', ...table, '', 'What to try next:', ...steps, ''].join('\n')}\n`
}

function describeRole({ dev, server, client }: AgentConfig): string {
  if (dev) return 'server and node for trying things out (--dev)'
  return server.enabled && client.enabled ? 'server and node' : server.enabled ? 'server' : 'node'
}

type Row = readonly [name: string, text: string]

function rowsOf({ config, program }: BannerFacts): readonly Row[] {
  const { httpAddress, governanceToken, dataDirectory } = program
  const temporary = config.isDataTemporary ? ' (removed at the end; --data-dir keeps it)' : ''
  const rows: Row[] = [['Data', `${dataDirectory}${temporary}`]]
  if (!config.server.enabled) return [['Servers', config.client.servers.join(', ')], ...rows]
  rows.unshift(['API', httpAddress], ['Documentation', `${httpAddress}/docs`])
  rows.push(['ACLs', config.acl.enabled ? 'on' : 'off: /v1 does whatever it is asked'])
  if (governanceToken !== undefined)
    rows.push(
      ['/api/v2', `Authorization: Bearer ${governanceToken}`],
      ['', `also in ${join(dataDirectory, 'server', GOVERNANCE_TOKEN_FILE)}`],
    )
  return rows
}

function nextSteps({ config, program }: BannerFacts): readonly Row[] {
  const { server, client, acl } = config
  const [dialled = ''] = client.servers
  const at = `${server.enabled ? program.httpAddress : `http://${dialled}`}/v1`
  const asWho = acl.enabled ? ` -H "${HEADERS.token}: $REEVE_TOKEN"` : ''
  const steps: Row[] = []
  if (server.enabled && acl.enabled)
    steps.push([
      'Make the first token, once; its SecretID is REEVE_TOKEN below, and the bearer of /api/v2:',
      `curl -X POST ${at}/acl/bootstrap`,
    ])
  // Only here is it certain that a node takes the job.
  if (server.enabled && client.enabled && client.rawExec)
    steps.push(
      ['Run a job:', `curl${asWho} ${at}/jobs -d '${JSON.stringify({ Job: FIRST_JOB })}'`],
      ['See where it runs:', `curl${asWho} ${at}/job/${FIRST_JOB.ID}/allocations`],
    )
  else steps.push(['See the nodes:', `curl${asWho} ${at}/nodes`])
  return steps
}
