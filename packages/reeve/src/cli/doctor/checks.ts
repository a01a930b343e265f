import type { AgentHealth } from '@reeve/contract'
import { ApiError, CLOCK_SKEW_MS_MAX, clockSkewMs, healthInError, HEALTHY } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { checkBackups } from './backups-check.ts'
import { checkReplication } from './copies-check.ts'
import type { Finding } from './finding.ts'
import { checkLimits } from './limits-check.ts'
import { checkServerHealth } from './server-check.ts'
import { checkServers } from './servers-check.ts'

type Check = (invocation: CommandContext) => Promise<readonly Finding[]>

const NODES_MAX = 1_000
const NAMED_MAX = 5
const FORBIDDEN = 403

/** All checks, ordered by dependency. */
export const CHECKS: readonly Check[] = [
  checkServer,
  checkLeader,
  checkServers,
  checkReplication,
  checkBackups,
  checkToken,
  checkGovernance,
  checkNodes,
  checkServerHealth,
  checkPlacement,
  checkLimits,
]

async function checkServer({
  client,
  host,
  settings,
}: CommandContext): Promise<readonly Finding[]> {
  const before = host.nowMs()
  try {
    const { data, headers } = await client.v1.readAgentHealth()
    const clock = clockFinding(headers.get('date'), { before, after: host.nowMs() })
    return [...healthFindings(data, settings.address), clock]
  } catch (thrown) {
    // An unhealthy agent returns the same document with an error status.
    const health = thrown instanceof ApiError ? healthInError(thrown) : undefined
    if (health === undefined) throw thrown
    return healthFindings(health, settings.address)
  }
}

function healthFindings(health: AgentHealth, address: string): readonly Finding[] {
  return Object.entries(health).map(([part, { ok: isWell, message }]): Finding => {
    const what = `The ${part} of the agent at ${address} says: ${message}`
    if (isWell && message !== HEALTHY)
      return { state: 'warning', what, next: 'Reads and deletes are served meanwhile.' }
    return isWell
      ? { state: 'ok', what, next: undefined }
      : { state: 'bad', what, next: 'Its log says more: "reeve agent --log-level debug".' }
  })
}

function clockFinding(date: string | null, between: Parameters<typeof clockSkewMs>[1]): Finding {
  const skewMs = clockSkewMs(date, between)
  if (skewMs === undefined) return okFinding('The server does not tell the time.')
  return skewMs <= CLOCK_SKEW_MS_MAX
    ? okFinding('The clocks of this machine and of the server agree.')
    : {
        state: 'warning',
        what: `The clocks of this machine and of the server are ${Math.round(skewMs / 1000)} s apart.`,
        next: 'Let both follow a time server: expiries and ages are told by their clocks.',
      }
}

async function checkLeader({ client }: CommandContext): Promise<readonly Finding[]> {
  const { data } = await client.v1.readLeader()
  return data === ''
    ? [
        {
          state: 'bad',
          what: 'The servers have no leader: nothing can be changed or scheduled.',
          next: 'Look whether one of them runs and reaches the database.',
        },
      ]
    : [okFinding(`The leader is ${data}.`)]
}

async function checkToken({ client, settings }: CommandContext): Promise<readonly Finding[]> {
  const { token, sources } = settings
  try {
    const { data } = await client.v1.readOwnAclToken()
    const expiry = data.ExpirationTime === null ? '' : `, valid until ${data.ExpirationTime}`
    const from = `(from ${sources.token})`
    return [okFinding(`The token ${from} is "${data.Name}", of type ${data.Type}${expiry}.`)]
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    if (thrown.code === 'acl-disabled')
      return [okFinding('ACLs are disabled: /v1 accepts every request.')]
    if (thrown.status !== FORBIDDEN) throw thrown
    return [tokenFinding(token, sources.token)]
  }
}

function tokenFinding(token: string | undefined, source: string): Finding {
  return token === undefined
    ? {
        state: 'warning',
        what: 'No token is sent: only what is allowed to everybody can be done.',
        next: '"reeve login" keeps one; "reeve acl bootstrap" makes the first one.',
      }
    : {
        state: 'warning',
        what: `The token (from ${source}) is not one of /v1.`,
        next: 'For jobs and nodes take one of "reeve acl token create"; "reeve login" keeps it.',
      }
}

async function checkGovernance({ client, settings }: CommandContext): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v2.readAccount()
    return [okFinding(`The governance API knows the token as "${data.data.attributes.username}".`)]
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.status !== 401) throw thrown
    return [
      settings.token === undefined
        ? {
            state: 'warning',
            what: 'No token is sent, and the governance API answers nobody without one.',
            // Without ACLs there is no bootstrap: only an agent with --dev has created a token.
            next:
              'Keep one with "reeve login": an agent with --dev prints it, else ' +
              '"reeve acl bootstrap", with ACLs on, makes the first one.',
          }
        : {
            state: 'warning',
            what: 'The governance API does not know the token.',
            next: 'For organizations and policies take a token of "reeve token create".',
          },
    ]
  }
}

async function checkNodes({ client }: CommandContext): Promise<readonly Finding[]> {
  const { data: nodes } = await client.v1.listNodes({ query: { per_page: NODES_MAX } })
  if (nodes.length === 0) {
    const next =
      'Start one with "reeve agent --client --join HOST:PORT" (docs/reference/configuration.md).'
    return [{ state: 'bad', what: 'There is no node: nothing can run.', next }]
  }
  const down = nodes.filter(({ Status }) => Status !== 'ready')
  const closed = nodes.filter(
    ({ Status, SchedulingEligibility }) =>
      Status === 'ready' && SchedulingEligibility !== 'eligible',
  )
  const open = nodes.length - down.length - closed.length
  return [
    open > 0
      ? okFinding(`${countNoun(open, 'node')} of ${nodes.length} can run allocations.`)
      : { state: 'bad', what: 'No node can run allocations.', next: 'See "reeve node status".' },
    ...nodeListFindings(
      down,
      'not ready',
      'Look at their agents; "reeve node status NODE" tells more.',
    ),
    ...nodeListFindings(closed, 'ineligible', '"reeve node eligibility --enable NODE" opens one.'),
    ...nodes.flatMap(driverFindings).slice(0, NAMED_MAX),
  ]
}

interface NodeFacts {
  readonly Name: string
  readonly Drivers: Readonly<
    Record<
      string,
      { readonly Detected: boolean; readonly Healthy: boolean; readonly HealthDescription: string }
    >
  > | null
}

/** Reports drivers that are detected and unhealthy. A driver that is not detected is no problem. */
function driverFindings({ Name, Drivers }: NodeFacts): readonly Finding[] {
  return Object.entries(Drivers ?? {})
    .filter(([, driver]) => driver.Detected && !driver.Healthy)
    .map(([driver, { HealthDescription }]) => ({
      state: 'warning',
      what: `Driver ${driver} of node "${Name}" is not well: ${HealthDescription}`,
      next: 'docs/reference/drivers.md tells what each driver needs.',
    }))
}

function nodeListFindings(
  nodes: readonly { readonly Name: string }[],
  how: string,
  next: string,
): readonly Finding[] {
  if (nodes.length === 0) return []
  const names = nodes.slice(0, NAMED_MAX).map(({ Name }) => `"${Name}"`)
  const more = nodes.length > NAMED_MAX ? ' and others' : ''
  const what = `${countNoun(nodes.length, 'node')} ${nodes.length === 1 ? 'is' : 'are'} ${how}: `
  return [{ state: 'warning', what: `${what}${names.join(', ')}${more}.`, next }]
}

async function checkPlacement({ client }: CommandContext): Promise<readonly Finding[]> {
  const query = { namespace: '*', status: 'blocked', per_page: NODES_MAX }
  const { data: blocked } = await client.v1.listEvaluations({ query })
  const jobs = [...new Set(blocked.map(({ JobID }) => JobID))]
  if (jobs.length === 0) return [okFinding('No job waits for capacity.')]
  const named = jobs.slice(0, NAMED_MAX).map((id) => `"${id}"`)
  return [
    {
      state: 'warning',
      what: `${countNoun(jobs.length, 'job')} ${jobs.length === 1 ? 'waits' : 'wait'} for capacity: ${named.join(', ')}.`,
      next: `"reeve job explain ${jobs[0] ?? ''}" says what would place it.`,
    },
  ]
}

function okFinding(what: string): Finding {
  return { state: 'ok', what, next: undefined }
}

function countNoun(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`
}
