import {
  placementFailureReasons,
  planWarnings,
  unplacedCount,
  type DesiredUpdates,
  type JobPlanResponse,
  type PlacementMetrics,
} from '@reeve/contract'
import { Panel } from '../../components/page.tsx'
import { JobOutcomes } from '../policies/policy-results.tsx'
import { DiffView } from './diff-view.tsx'

/** The result of a plan: changes, placement failures, policies and diff. */
export function PlanView({ plan }: { readonly plan: JobPlanResponse }) {
  const { Annotations, FailedTGAllocs, Diff, Warnings, PolicyVerdicts } = plan
  const failed = Object.entries(FailedTGAllocs ?? {})
  // Denials are shown above the plan.
  const passedOutcomes = (PolicyVerdicts ?? []).filter(({ Effect }) => Effect !== 'denies')
  return (
    <>
      <PlanWarnings text={Warnings} />
      <Panel title="Plan">
        <ul className="reasons">
          {Object.entries(Annotations.DesiredTGUpdates).map(([group, updates]) => (
            <li key={group}>
              <b>{group}</b> {describeUpdates(updates)}
            </li>
          ))}
        </ul>
        {failed.map(([group, metrics]) => (
          <p key={group} className="note tone-warn">
            {describePlacementFailure(group, metrics)}
          </p>
        ))}
        {failed.length === 0 && <p className="note tone-good">All allocations can be placed.</p>}
      </Panel>
      {passedOutcomes.length > 0 && (
        <Panel title="Policy checks">
          <JobOutcomes outcomes={passedOutcomes} />
        </Panel>
      )}
      <Panel title="Diff">
        {Diff === null ? (
          <p className="quiet">Nothing to compare with.</p>
        ) : (
          <DiffView diff={Diff} oldTitle="Now" newTitle="After" />
        )}
      </Panel>
    </>
  )
}

function PlanWarnings({ text }: { readonly text: string }) {
  const items = planWarnings(text)
  if (items.length === 0) return null
  return (
    <div className="note tone-warn">
      <p>
        <b>{items.length === 1 ? '1 warning' : `${items.length} warnings`}</b>
      </p>
      <ul className="reasons">
        {items.map((item) => (
          <li key={item}>{item}</li>
        ))}
      </ul>
    </div>
  )
}

const UPDATE_LABELS: Readonly<Record<keyof DesiredUpdates, string>> = {
  Place: 'to place',
  Canary: 'canaries to place',
  DestructiveUpdate: 'to replace',
  InPlaceUpdate: 'to update in place',
  Migrate: 'to migrate',
  Stop: 'to stop',
  Ignore: 'unchanged',
  Preemptions: 'of other jobs to preempt',
  Disconnect: 'disconnected',
  Reconnect: 'reconnected',
  RescheduleNow: 'to reschedule now',
  RescheduleLater: 'to reschedule later',
}

function describeUpdates(updates: DesiredUpdates): string {
  // The table has the keys of the type; Object.keys only forgets that.
  const names = Object.keys(UPDATE_LABELS) as (keyof DesiredUpdates)[]
  const parts = names
    .filter((name) => updates[name] > 0)
    .map((name) => `${updates[name]} ${UPDATE_LABELS[name]}`)
  return parts.length === 0 ? 'nothing to do' : parts.join(', ')
}

function describePlacementFailure(group: string, metrics: PlacementMetrics): string {
  const reasons = placementFailureReasons(metrics).join('; ')
  return `${group}: ${unplacedCount(metrics)} can't be placed${reasons === '' ? '' : `: ${reasons}`}.`
}
