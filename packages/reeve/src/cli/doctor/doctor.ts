import type { AgentHealth } from '@reeve/contract'
import {
  ApiError,
  CLOCK_SKEW_MS_MAX,
  clockSkewMs,
  ConnectionError,
  healthInError,
  HEALTHY,
} from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import type { TextStyle } from '../output/color.ts'
import {
  checkBackups,
  checkLimits,
  checkReplication,
  checkServerHealth,
  checkServers,
  type Finding,
} from './server-checks.ts'

const STATE_SYMBOLS: Readonly<Record<Finding['state'], readonly [tone: TextStyle, sign: string]>> =
  {
    ok: ['good', '✓'],
    warning: ['warning', '!'],
    bad: ['bad', '✗'],
  }

/** `doctor`: prints one line per finding, and the next step for each problem. */
export async function runDoctor(invocation: CommandContext): Promise<number> {
  const { output } = invocation
  const findings: Finding[] = []
  for (const check of CHECKS) {
    const found = await runCheck(check, invocation)
    // Several checks may fail for the same reason, which is reported once.
    const isNews = ({ what }: Finding): boolean => findings.every((told) => told.what !== what)
    findings.push(...found.findings.filter(isNews))
    if (found.stopsChecks) break
  }
  output.print(findings, () =>
    findings
      .map(({ state, what, next }) => {
        const [tone, sign] = STATE_SYMBOLS[state]
        const step = next === undefined ? '' : `  ${output.paint('dim', next)}\n`
        return `${output.paint(tone, sign)} ${what}\n${step}`
      })
      .join(''),
  )
  return findings.some(({ state }) => state === 'bad') ? EXIT_CODES.failed : EXIT_CODES.ok
}

interface CheckResult {
  readonly findings: readonly Finding[]
  /** The remaining checks are skipped, because they would fail for the same reason. */
  readonly stopsChecks: boolean
}

async function runCheck(
  check: (invocation: CommandContext) => Promise<readonly Finding[]>,
  invocation: CommandContext,
): Promise<CheckResult> {
  try {
    return { findings: await check(invocation), stopsChecks: false }
  } catch (thrown) {
    if (thrown instanceof ConnectionError) {
      return { findings: [unreachableFinding(thrown, invocation)], stopsChecks: true }
    }
    if (!(thrown instanceof ApiError)) throw thrown
    return { findings: [rejectedFinding(thrown)], stopsChecks: false }
  }
}

function unreachableFinding(error: ConnectionError, { settings }: CommandContext): Finding {
  const { address, sources } = settings
  return {
    state: 'bad',
    what: `Cannot connect to the server at ${address} (from ${sources.address}): ${error.message}`,
    next: 'Start one with "reeve agent --dev", or set another address with --address or REEVE_ADDR.',
  }
}

/** Reports a rejected check. A missing permission is only a warning. */
function rejectedFinding({ status, text, message }: ApiError): Finding {
  const said = text.trim() === '' ? message : text.trim()
  return status === 401 || status === 403
    ? { state: 'warning', what: `Not looked at: ${said}`, next: 'A management token sees more.' }
    : { state: 'bad', what: said, next: undefined }
}

type Check = (invocation: CommandContext) => Promise<readonly Finding[]>

const NODES_MAX = 1_000
const NAMED_MAX = 5
const FORBIDDEN = 403

/** All checks, ordered by dependency. */
const CHECKS: readonly Check[] = [
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
  if (skewMs === undefined) return okFinding('The server sends no date.')
  return skewMs <= CLOCK_SKEW_MS_MAX
    ? okFinding('The clocks of this machine and of the server agree.')
    : {
        state: 'warning',
        what: `The clocks of this machine and of the server are ${Math.round(skewMs / 1000)} s apart.`,
        next: 'Synchronize both with a time server: expiries and ages depend on the clocks.',
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
            what: 'No token is configured; the governance API requires one.',
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
