import type { MetricGauge } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import type { Finding } from './finding.ts'

/** Share of a limit from which on an operator should know. */
const WARNING_RATIO = 0.8

/** The limits in force on the server that answers, and how near its busiest client is to each. */
export async function checkLimits({ client }: CommandContext): Promise<readonly Finding[]> {
  const { data } = await client.v1.readMetrics()
  return limitsFindings(data.Gauges)
}

type LabeledGauge = Pick<MetricGauge, 'Name' | 'Value' | 'Labels'>

/** One line for all limits, and one for each that is near or has rejected requests. */
export function limitsFindings(gauges: readonly LabeledGauge[]): readonly Finding[] {
  const limits = valuesOf(gauges, 'service_limit', 'limit')
  const used = valuesOf(gauges, 'service_limit_used', 'limit')
  const rejected = valuesOf(gauges, 'service_requests_rejected_total', 'reason')
  if (limits.size === 0) return []
  const shown = [...limits].map(([name, max]) => `${name} ${used.get(name) ?? 0} of ${max}`)
  const all: Finding = {
    state: 'ok',
    what: `Highest use of the limits of this server by one client: ${shown.join(', ')}.`,
    next: undefined,
  }
  const near = [...limits].flatMap(([name, max]) =>
    nearFindings({ name, max, used: used.get(name) ?? 0, rejected: rejected.get(name) ?? 0 }),
  )
  return [all, ...near]
}

interface Limit {
  readonly name: string
  readonly max: number
  readonly used: number
  readonly rejected: number
}

function nearFindings({ name, max, used, rejected }: Limit): readonly Finding[] {
  if (used < max * WARNING_RATIO && rejected === 0) return []
  const since = rejected === 1 ? '1 request was' : `${rejected} requests were`
  return [
    {
      state: 'warning',
      what: `Limit ${name}: ${used} of ${max} in use; ${since} rejected since the server started.`,
      next: name === 'open_files' ? FILES_ADVICE : LIMIT_ADVICE,
    },
  ]
}

const LIMIT_ADVICE =
  'docs/reference/limits.md lists every limit with its setting; raise it or find the client in the audit log.'

const FILES_ADVICE =
  'Raise the limit with LimitNOFILE= in the unit of the service, or ulimit -n, and restart; ' +
  'docs/reference/limits.md says how many a server needs.'

function valuesOf(
  gauges: readonly LabeledGauge[],
  metric: string,
  label: string,
): ReadonlyMap<string, number> {
  return new Map(
    gauges
      .filter(({ Name }) => Name === metric)
      .map(({ Value, Labels }) => [Labels[label] ?? '', Value]),
  )
}
