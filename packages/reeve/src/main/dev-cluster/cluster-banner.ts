import { setupTexts } from '../build-stamp.ts'

/** Input of the cluster banner. */
export interface ClusterBannerInput {
  readonly version: string
  readonly servers: readonly ServerStatus[]
  readonly nodes: readonly { readonly name: string; readonly pid: number }[]
  /** PID of the PostgreSQL process that the cluster started. */
  readonly databasePid: number | undefined
  readonly directory: string
  readonly isTemporary: boolean
  readonly acl: boolean
}

export interface ServerStatus {
  readonly name: string
  readonly address: string
  readonly pid: number
  readonly isLeader: boolean
}

/** Renders the start banner of a cluster: addresses, token and things to try. */
export function renderClusterBanner(facts: ClusterBannerInput): string {
  const { version, servers, nodes } = facts
  const head = `Reeve ${version} runs as ${formatCount(servers.length, 'server')} on one PostgreSQL, with ${formatCount(nodes.length, 'node')}.`
  const rows = bannerRows(facts)
  const width = Math.max(...rows.map(([name]) => name.length))
  const table = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd())
  const steps = bannerSteps(facts).map(([says, line]) => `  ${says}\n    ${line}`)
  const what = `What to try, in a second terminal${setupTexts.commandNote}:`
  const end = 'Ctrl-C ends all of it. What happens to the servers is told below.'
  return `${[head, '', ...table, '', what, ...steps, '', end].join('\n')}\n`
}

function formatCount(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

type Row = readonly [name: string, text: string]

function bannerRows({
  servers,
  nodes,
  databasePid,
  directory,
  isTemporary,
  acl,
}: ClusterBannerInput): Row[] {
  const database = databasePid === undefined ? 'the one of --database' : `pid ${databasePid}`
  return [
    ...servers.map(({ name, address, pid, isLeader }): Row => [
      name,
      `${address}  pid ${pid}${isLeader ? '  leads' : ''}`,
    ]),
    ...nodes.map(({ name, pid }): Row => [name, `pid ${pid}`]),
    ['PostgreSQL', database],
    ['Web UI', `${suggestedServer(servers)?.address ?? ''}/ui/`],
    ['Data', `${directory}${isTemporary ? ' (removed at the end; --data-dir keeps it)' : ''}`],
    ['Logs', `${directory}/logs`],
    ['ACLs', acl ? 'enabled' : 'disabled: anyone who can reach /v1 has full access'],
  ]
}

/** Selects a follower, which remains available when the user kills the leader. */
function suggestedServer(servers: readonly ServerStatus[]): ServerStatus | undefined {
  return servers.find(({ isLeader }) => !isLeader) ?? servers[0]
}

function bannerSteps({ servers, nodes, acl }: ClusterBannerInput): readonly Row[] {
  const address = suggestedServer(servers)?.address ?? ''
  const leader = servers.find(({ isLeader }) => isLeader)
  const steps: Row[] = [
    [
      'Talk to a server that does not lead; it passes on what it must:',
      `export REEVE_ADDR=${address}`,
    ],
  ]
  if (acl) steps.push(['Make the first token, then keep it:', 'reeve acl bootstrap && reeve login'])
  if (nodes.length > 0)
    steps.push([
      'Write a first job file and run it:',
      'reeve job init && reeve job run example.hcl',
    ])
  steps.push(
    ['Watch what happens, from any server:', 'reeve event stream'],
    ['See the servers, and who leads:', 'reeve server members'],
  )
  if (servers.length > 1 && leader !== undefined)
    steps.push(
      [`Kill the leader (${leader.name}); another takes over within 5 s:`, `kill -9 ${leader.pid}`],
      ['See that the job went on, on the same allocation:', 'reeve job status example'],
    )
  return steps
}
