import type { Allocation, CheckResult } from '@reeve/contract'
import { useApiQuery } from '../../data/use-read.ts'
import { Panel } from '../../parts/panel.tsx'
import { StatusBadge } from '../../parts/state-badge.tsx'

/** Checks are polled, because no event reports their results. */
const POLL_INTERVAL_MS = 5_000

/** The latest results of the health checks; empty without checks. */
export function ChecksPanel({ allocation }: { readonly allocation: Allocation }) {
  const { ID, ClientStatus } = allocation
  const { data } = useApiQuery(
    ['allocation-checks', ID],
    (api, signal) => api.v1.readAllocationChecks({ params: { alloc_id: ID }, signal }),
    { enabled: ClientStatus === 'running', pollIntervalMs: POLL_INTERVAL_MS },
  )
  const checks = Object.values(data ?? {})
  if (checks.length === 0) return null
  return (
    <Panel title="Health checks">
      <ul className="reasons">
        {checks.map((check) => (
          <Check key={check.ID} check={check} />
        ))}
      </ul>
    </Panel>
  )
}

const STATES = { success: 'passing', failure: 'failed', pending: 'pending' } as const

function Check({ check }: { readonly check: CheckResult }) {
  const { Check: name, Service, Status, Output, StatusCode } = check
  return (
    <li>
      <StatusBadge state={STATES[Status]} text={Status} /> <b>{name}</b>{' '}
      <span className="quiet">
        of {Service}
        {StatusCode === undefined ? '' : `, status ${StatusCode}`}
      </span>
      {Output !== '' && <pre className="quiet">{Output}</pre>}
    </li>
  )
}
