import type { DesiredUpdates, JobPlanResponse, PlacementMetrics } from '@reeve/contract'
import { Panel } from '../../parts/panel.tsx'
import { JobOutcomes } from '../policies/job-outcome.tsx'
import { DiffView } from './diff-view.tsx'

/** What would happen, before it does. */
export function PlanView({ plan }: { readonly plan: JobPlanResponse }) {
  const { Annotations, FailedTGAllocs, Diff, Warnings, PolicyVerdicts } = plan
  const failed = Object.entries(FailedTGAllocs ?? {})
  return (
    <>
      {Warnings !== '' && <p className="note tone-warn">{Warnings}</p>}
      <Panel title="What would happen">
        <ul className="reasons">
          {Object.entries(Annotations.DesiredTGUpdates).map(([group, updates]) => (
            <li key={group}>
              <b>{group}</b> {describeUpdates(updates)}
            </li>
          ))}
        </ul>
        {failed.map(([group, metrics]) => (
          <p key={group} className="note tone-warn">
            {describeFailure(group, metrics)}
          </p>
        ))}
        {failed.length === 0 && <p className="note tone-good">Everything finds a place.</p>}
      </Panel>
      {PolicyVerdicts !== null && PolicyVerdicts.length > 0 && (
        <Panel title="What the policies say">
          <JobOutcomes outcomes={PolicyVerdicts} />
        </Panel>
      )}
      <Panel title="What changes in the definition">
        {Diff === null ? (
          <p className="quiet">Nothing to compare with.</p>
        ) : (
          <DiffView diff={Diff} oldTitle="Now" newTitle="After" />
        )}
      </Panel>
    </>
  )
}

const UPDATE_WORDS: Readonly<Record<keyof DesiredUpdates, string>> = {
  Place: 'to place',
  Canary: 'canaries to place',
  DestructiveUpdate: 'to replace',
  InPlaceUpdate: 'to update in place',
  Migrate: 'to migrate',
  Stop: 'to stop',
  Ignore: 'left as they are',
  Preemptions: 'of others to preempt',
  Disconnect: 'disconnected',
  Reconnect: 'reconnected',
  RescheduleNow: 'to reschedule now',
  RescheduleLater: 'to reschedule later',
}

function describeUpdates(updates: DesiredUpdates): string {
  // The table has the keys of the type; Object.keys only forgets that.
  const names = Object.keys(UPDATE_WORDS) as (keyof DesiredUpdates)[]
  const words = names
    .filter((name) => updates[name] > 0)
    .map((name) => `${updates[name]} ${UPDATE_WORDS[name]}`)
  return words.length === 0 ? 'nothing to do' : words.join(', ')
}

function describeFailure(group: string, metrics: PlacementMetrics): string {
  const { NodesEvaluated, NodesFiltered, NodesExhausted, CoalescedFailures } = metrics
  const rules = { ...metrics.ConstraintFiltered, ...metrics.DimensionExhausted }
  const why = Object.entries(rules).map(([rule, count]) => `${rule} (${count} nodes)`)
  return (
    `${group}: ${1 + CoalescedFailures} would not be placed. ${NodesEvaluated} nodes looked at, ` +
    `${NodesFiltered} refused by a rule, ${NodesExhausted} without room` +
    (why.length === 0 ? '.' : `: ${why.join(', ')}.`)
  )
}
