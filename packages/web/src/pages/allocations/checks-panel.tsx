import type { Allocation, CheckResult } from '@reeve/contract'
import { useRead } from '../../data/use-read.ts'
import { Panel } from '../../parts/panel.tsx'
import { StateBadge } from '../../parts/state-badge.tsx'

/** No event tells of a check that answers differently. */
const EVERY_MS = 5_000

/** The latest answers of the health checks; nothing where there are none. */
export function ChecksPanel({ allocation }: { readonly allocation: Allocation }) {
  const { ID, ClientStatus } = allocation
  const { data } = useRead(
    ['allocation-checks', ID],
    (api, signal) => api.v1.readAllocationChecks({ params: { alloc_id: ID }, signal }),
    { enabled: ClientStatus === 'running', everyMs: EVERY_MS },
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
      <StateBadge state={STATES[Status]} text={Status} /> <b>{name}</b>{' '}
      <span className="quiet">
        of {Service}
        {StatusCode === undefined ? '' : `, status ${StatusCode}`}
      </span>
      {Output !== '' && <pre className="quiet">{Output}</pre>}
    </li>
  )
}
