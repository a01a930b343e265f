import type { AgentHealth } from '@reeve/contract'
import { ApiError, CLOCK_SKEW_MS_MAX, clockSkewMs, healthInError, HEALTHY } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { backupsAreFresh } from './backups-check.ts'
import { copiesAreFresh } from './copies-check.ts'
import type { Finding } from './finding.ts'
import { limitsAreFar } from './limits-check.ts'
import { serverIsHealthy } from './server-check.ts'
import { serversAreThere } from './servers-check.ts'

type Check = (invocation: Invocation) => Promise<readonly Finding[]>

const NODES_MAX = 1_000
const NAMED_MAX = 5
const UNKNOWN_TOKEN = 403

/** In the order in which one depends on the other. */
export const CHECKS: readonly Check[] = [
  serverAnswers,
  leaderIsKnown,
  serversAreThere,
  copiesAreFresh,
  backupsAreFresh,
  tokenIsKnown,
  governanceAnswers,
  nodesAreReady,
  serverIsHealthy,
  workHasPlace,
  limitsAreFar,
]

async function serverAnswers({ client, host, settings }: Invocation): Promise<readonly Finding[]> {
  const before = host.nowMs()
  try {
    const { data, headers } = await client.v1.readAgentHealth()
    const clock = clockFinding(headers.get('date'), { before, after: host.nowMs() })
    return [...partFindings(data, settings.address), clock]
  } catch (thrown) {
    // Where a part is not well, the same is told as a refusal.
    const health = thrown instanceof ApiError ? healthInError(thrown) : undefined
    if (health === undefined) throw thrown
    return partFindings(health, settings.address)
  }
}

function partFindings(health: AgentHealth, address: string): readonly Finding[] {
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
  if (skewMs === undefined) return well('The server does not tell the time.')
  return skewMs <= CLOCK_SKEW_MS_MAX
    ? well('The clocks of this machine and of the server agree.')
    : {
        state: 'warning',
        what: `The clocks of this machine and of the server are ${Math.round(skewMs / 1000)} s apart.`,
        next: 'Let both follow a time server: expiries and ages are told by their clocks.',
      }
}

async function leaderIsKnown({ client }: Invocation): Promise<readonly Finding[]> {
  const { data } = await client.v1.readLeader()
  return data === ''
    ? [
        {
          state: 'bad',
          what: 'The servers have no leader: nothing can be changed or scheduled.',
          next: 'Look whether one of them runs and reaches the database.',
        },
      ]
    : [well(`The leader is ${data}.`)]
}

async function tokenIsKnown({ client, settings }: Invocation): Promise<readonly Finding[]> {
  const { token, sources } = settings
  try {
    const { data } = await client.v1.readOwnAclToken()
    const expiry = data.ExpirationTime === null ? '' : `, valid until ${data.ExpirationTime}`
    const from = `(from ${sources.token})`
    return [well(`The token ${from} is "${data.Name}", of type ${data.Type}${expiry}.`)]
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    if (thrown.code === 'acl-disabled')
      return [well('ACLs are disabled: /v1 accepts every request.')]
    if (thrown.status !== UNKNOWN_TOKEN) throw thrown
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

async function governanceAnswers({ client, settings }: Invocation): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v2.readAccount()
    return [well(`The governance API knows the token as "${data.data.attributes.username}".`)]
  } catch (thrown) {
    if (!(thrown instanceof ApiError) || thrown.status !== 401) throw thrown
    return [
      settings.token === undefined
        ? {
            state: 'warning',
            what: 'No token is sent, and the governance API answers nobody without one.',
            // Without ACLs there is no bootstrap: only an agent with --dev has made a token.
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

async function nodesAreReady({ client }: Invocation): Promise<readonly Finding[]> {
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
      ? well(`${countOf(open, 'node')} of ${nodes.length} can run allocations.`)
      : { state: 'bad', what: 'No node can run allocations.', next: 'See "reeve node status".' },
    ...listed(down, 'not ready', 'Look at their agents; "reeve node status NODE" tells more.'),
    ...listed(closed, 'ineligible', '"reeve node eligibility --enable NODE" opens one.'),
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

/** A driver that is there and does not work; one that is not there is no illness. */
function driverFindings({ Name, Drivers }: NodeFacts): readonly Finding[] {
  return Object.entries(Drivers ?? {})
    .filter(([, driver]) => driver.Detected && !driver.Healthy)
    .map(([driver, { HealthDescription }]) => ({
      state: 'warning',
      what: `Driver ${driver} of node "${Name}" is not well: ${HealthDescription}`,
      next: 'docs/reference/drivers.md tells what each driver needs.',
    }))
}

function listed(
  nodes: readonly { readonly Name: string }[],
  how: string,
  next: string,
): readonly Finding[] {
  if (nodes.length === 0) return []
  const names = nodes.slice(0, NAMED_MAX).map(({ Name }) => `"${Name}"`)
  const more = nodes.length > NAMED_MAX ? ' and others' : ''
  const what = `${countOf(nodes.length, 'node')} ${nodes.length === 1 ? 'is' : 'are'} ${how}: `
  return [{ state: 'warning', what: `${what}${names.join(', ')}${more}.`, next }]
}

async function workHasPlace({ client }: Invocation): Promise<readonly Finding[]> {
  const query = { namespace: '*', status: 'blocked', per_page: NODES_MAX }
  const { data: blocked } = await client.v1.listEvaluations({ query })
  const jobs = [...new Set(blocked.map(({ JobID }) => JobID))]
  if (jobs.length === 0) return [well('No job waits for capacity.')]
  const named = jobs.slice(0, NAMED_MAX).map((id) => `"${id}"`)
  return [
    {
      state: 'warning',
      what: `${countOf(jobs.length, 'job')} ${jobs.length === 1 ? 'waits' : 'wait'} for capacity: ${named.join(', ')}.`,
      next: `"reeve job explain ${jobs[0] ?? ''}" says what would place it.`,
    },
  ]
}

function well(what: string): Finding {
  return { state: 'ok', what, next: undefined }
}

function countOf(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`
}
