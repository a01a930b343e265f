import type { GroupExplanation, PlacementRefusal } from '@reeve/contract'
import { EmptyState } from '../../components/notices.tsx'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'
import { paths } from '../../paths.ts'
import { Link } from '../../routing/link.tsx'
import { type JobView, useJobExplanation } from './job-data.ts'

/** The tab that explains placement failures, with the smallest change that would help. */
export function ExplainTab({ name }: JobView) {
  const explanation = useJobExplanation(name)
  return (
    <QueryView query={explanation} what="the reasons">
      {({ Groups, Text, EvalID }) =>
        Groups.length === 0 ? (
          <EmptyState title="All allocations are placed">
            <p>{Text}</p>
          </EmptyState>
        ) : (
          <>
            <p className="note tone-warn">{Text}</p>
            <p className="lead">
              Computed from the current state.{' '}
              {EvalID !== '' && (
                <Link href={paths.evaluation(EvalID)}>Evaluation {EvalID.slice(0, 8)}</Link>
              )}
            </p>
            {Groups.map((group) => (
              <GroupExplanationPanel key={group.TaskGroup} group={group} />
            ))}
          </>
        )
      }
    </QueryView>
  )
}

/** Placement failures of one group, with suggested changes. */
export function GroupExplanationPanel({ group }: { readonly group: GroupExplanation }) {
  const { TaskGroup, Unplaced, Desired, Changes, Refusals, RefusalsOmitted, Instances } = group
  const waiting = Instances.filter(({ State }) => State !== 'refused')
  return (
    <Panel title={`${TaskGroup}: ${Unplaced} of ${Desired} not placed`}>
      {Changes.length > 0 && (
        <>
          <h3>Suggested changes</h3>
          <ul className="reasons">
            {Changes.map(({ Text, Places, Nodes }) => (
              <li key={Text}>
                {Text} <span className="quiet">(places {Places}</span>
                {Nodes.length > 0 && (
                  <span className="quiet">, on {Nodes.map((one) => one.Name).join(', ')}</span>
                )}
                <span className="quiet">)</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {waiting.length > 0 && (
        <>
          <h3>Waiting</h3>
          <ul className="reasons">
            {waiting.map(({ Name, State, Text }) => (
              <li key={Name}>
                <code>{Name}</code> {State}: {Text}
              </li>
            ))}
          </ul>
        </>
      )}
      <h3>Nodes, closest first</h3>
      <ul className="reasons">
        {Refusals.map((rejection) => (
          <NodeRejection key={rejection.ComputedClass + rejection.Distance} rejection={rejection} />
        ))}
      </ul>
      {RefusalsOmitted > 0 && <p className="quiet">{RefusalsOmitted} more node classes omitted.</p>}
    </Panel>
  )
}

function NodeRejection({ rejection }: { readonly rejection: PlacementRefusal }) {
  const { NodeCount, Nodes, Reasons } = rejection
  return (
    <li>
      <b>
        {NodeCount} {NodeCount === 1 ? 'node' : 'nodes'}
      </b>{' '}
      <span className="quiet">
        {Nodes.map(({ ID, Name }, index) => (
          <span key={ID}>
            {index > 0 && ', '}
            <Link href={paths.node(ID)}>{Name}</Link>
          </span>
        ))}
      </span>
      <ul>
        {Reasons.map(({ Rule, Text, Task }) => (
          <li key={Rule + Text}>
            <span className="tag">{Rule}</span> {Text}
            {Task !== '' && <span className="quiet"> (task {Task})</span>}
          </li>
        ))}
      </ul>
    </li>
  )
}
