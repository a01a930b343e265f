import { setupTexts } from '../build-stamp.ts'

/** What there is to tell about a cluster that has just started. */
export interface ClusterFacts {
  readonly version: string
  readonly servers: readonly ServerFacts[]
  readonly nodes: readonly { readonly name: string; readonly pid: number }[]
  /** The PostgreSQL that was started for it. */
  readonly databasePid: number | undefined
  readonly directory: string
  readonly isTemporary: boolean
  readonly acl: boolean
}

export interface ServerFacts {
  readonly name: string
  readonly address: string
  readonly pid: number
  readonly leads: boolean
}

/** What a person needs to know of it, and what to try. */
export function renderClusterBanner(facts: ClusterFacts): string {
  const { version, servers, nodes } = facts
  const head = `Reeve ${version} runs as ${count(servers.length, 'server')} on one PostgreSQL, with ${count(nodes.length, 'node')}.`
  const rows = rowsOf(facts)
  const width = Math.max(...rows.map(([name]) => name.length))
  const table = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd())
  const steps = stepsOf(facts).map(([says, line]) => `  ${says}\n    ${line}`)
  const what = `What to try, in a second terminal${setupTexts.commandNote}:`
  const end = 'Ctrl-C ends all of it. What happens to the servers is told below.'
  return `${[head, '', ...table, '', what, ...steps, '', end].join('\n')}\n`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

type Row = readonly [name: string, text: string]

function rowsOf({ servers, nodes, databasePid, directory, isTemporary, acl }: ClusterFacts): Row[] {
  const database = databasePid === undefined ? 'the one of --database' : `pid ${databasePid}`
  return [
    ...servers.map(({ name, address, pid, leads }): Row => [
      name,
      `${address}  pid ${pid}${leads ? '  leads' : ''}`,
    ]),
    ...nodes.map(({ name, pid }): Row => [name, `pid ${pid}`]),
    ['PostgreSQL', database],
    ['Web UI', `${usedServer(servers)?.address ?? ''}/ui/`],
    ['Data', `${directory}${isTemporary ? ' (removed at the end; --data-dir keeps it)' : ''}`],
    ['Logs', `${directory}/logs`],
    ['ACLs', acl ? 'enabled' : 'disabled: anyone who can reach /v1 has full access'],
  ]
}

/** One that does not lead: it is still there when the leader has been killed. */
function usedServer(servers: readonly ServerFacts[]): ServerFacts | undefined {
  return servers.find(({ leads }) => !leads) ?? servers[0]
}

function stepsOf({ servers, nodes, acl }: ClusterFacts): readonly Row[] {
  const address = usedServer(servers)?.address ?? ''
  const leader = servers.find(({ leads }) => leads)
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
