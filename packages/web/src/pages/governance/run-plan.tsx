import type { v2 } from '@reeve/contract'
import { readPlanChanges, type PlannedAction, type PlannedChange } from '@reeve/sdk'
import { useApiQuery } from '../../data/api-query.ts'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'

interface RunPlanProps {
  readonly run: v2.Run
}

/** The plan of a run: counts, resources, drift and outputs. */
export function RunPlanPanel({ run }: RunPlanProps) {
  const planId = run.relationships.plan.data.id
  const plan = useApiQuery(
    ['run-plan', planId],
    async (api, signal) => {
      const params = { plan_id: planId }
      const { data: record } = await api.v2.readPlan({ params, signal })
      const { data: document } = await api.v2.readPlanJson({ params, signal })
      return { data: { record: record.data, document: document ?? null } }
    },
    { watches: [{ topic: 'Run' }] },
  )
  return (
    <QueryView query={plan} what="the plan">
      {({ record, document }) => (
        <Panel title="Plan">
          {document === null ? (
            <p className="quiet">{waitingText(run)}</p>
          ) : (
            <PlanChangesView record={record} document={document} />
          )}
        </Panel>
      )}
    </QueryView>
  )
}

function waitingText({ attributes }: v2.Run): string {
  const position = attributes['position-in-queue']
  if (position > 0) return `Number ${position} in the queue of the organization.`
  const reason = attributes['status-reason']
  return reason ?? 'No plan yet.'
}

interface PlanChangesProps {
  readonly record: v2.RunPlan
  readonly document: Readonly<Record<string, unknown>>
}

function PlanChangesView({ record, document }: PlanChangesProps) {
  const { resources, drift, outputs } = readPlanChanges(document)
  const { attributes } = record
  const isEmpty = resources.length + drift.length + outputs.length === 0
  return (
    <>
      <p>
        {isEmpty
          ? 'No changes: the infrastructure matches the configuration.'
          : countsText(attributes)}
      </p>
      <ChangeList title="Resources" changes={mostDestructiveFirst(resources)} />
      <ChangeList title="Changed outside of runs" changes={drift} />
      <ChangeList title="Outputs" changes={outputs} />
    </>
  )
}

function countsText(attributes: v2.RunPlan['attributes']): string {
  const imports = attributes['resource-imports']
  return [
    ...(imports > 0 ? [`${imports} to import`] : []),
    `${attributes['resource-additions']} to add`,
    `${attributes['resource-changes']} to change`,
    `${attributes['resource-destructions']} to destroy`,
  ].join(', ')
}

/** Sorts destructive changes first. */
function mostDestructiveFirst(changes: readonly PlannedChange[]): readonly PlannedChange[] {
  return changes.toSorted((a, b) => ACTIONS[a.action].risk - ACTIONS[b.action].risk)
}

const ACTIONS: Readonly<
  Record<PlannedAction, { readonly symbol: string; readonly text: string; readonly risk: number }>
> = {
  delete: { symbol: '−', text: 'destroyed', risk: 0 },
  replace: { symbol: '±', text: 'replaced', risk: 1 },
  'create-first': { symbol: '±', text: 'replaced, the new one first', risk: 1 },
  forget: { symbol: '·', text: 'no longer managed', risk: 2 },
  update: { symbol: '~', text: 'changed', risk: 3 },
  import: { symbol: '=', text: 'imported', risk: 4 },
  create: { symbol: '+', text: 'added', risk: 5 },
}

/** Maximum number of listed changes; the CLI shows all. */
const CHANGES_SHOWN_MAX = 500

interface ChangeListProps {
  readonly title: string
  readonly changes: readonly PlannedChange[]
}

function ChangeList({ title, changes }: ChangeListProps) {
  if (changes.length === 0) return null
  return (
    <>
      <h3>{`${title} ${changes.length}`}</h3>
      <ul className="changes">
        {changes.slice(0, CHANGES_SHOWN_MAX).map((change) => (
          <li key={`${change.name} ${change.action}`}>
            <Change change={change} />
          </li>
        ))}
      </ul>
      {changes.length > CHANGES_SHOWN_MAX && (
        <p className="quiet">{`${changes.length - CHANGES_SHOWN_MAX} more are not shown.`}</p>
      )}
    </>
  )
}

function Change({ change }: { readonly change: PlannedChange }) {
  const { name, action, isImported, attributes, text } = change
  const { symbol, text: actionText } = ACTIONS[action]
  const head = (
    <>
      <span aria-hidden="true">{symbol}</span> <code>{name}</code>{' '}
      <span className="quiet">
        {isImported && action !== 'import' ? `imported, ${actionText}` : actionText}
      </span>
    </>
  )
  if (attributes.length === 0)
    return (
      <>
        {head} {text !== '' && <code>{text}</code>}
      </>
    )
  return (
    <details open={attributes.length <= OPEN_ATTRIBUTES_MAX}>
      <summary>{head}</summary>
      <dl className="facts">
        {attributes.map((attribute) => (
          <div key={attribute.name}>
            <dt>{attribute.name}</dt>
            <dd>
              <code>{attribute.text}</code>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

const OPEN_ATTRIBUTES_MAX = 10
