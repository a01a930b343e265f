import type { v2 } from '@reeve/contract'
import { readPlanChanges, type PlannedAction, type PlannedChange } from '@reeve/sdk'
import { useApiQuery } from '../../data/api-query.ts'
import { Panel } from '../../components/page.tsx'
import { QueryView } from '../../components/query-view.tsx'

interface RunPlanProps {
  readonly run: v2.Run
}

/** Reads the plan of a run, with its changes if it has been made. */
export function useRunPlan(run: v2.Run) {
  const planId = run.relationships.plan.data.id
  return useApiQuery(
    ['run-plan', planId],
    async (api, signal) => {
      const params = { plan_id: planId }
      const { data: record } = await api.v2.readPlan({ params, signal })
      const { data: document } = await api.v2.readPlanJson({ params, signal })
      return { data: { record: record.data, document: document ?? null } }
    },
    { watches: [{ topic: 'Run' }] },
  )
}

/** The plan of a run: counts, resources, drift and outputs. */
export function RunPlanPanel({ run }: RunPlanProps) {
  const plan = useRunPlan(run)
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
      {isEmpty ? (
        <p className="good">No changes: the infrastructure matches the configuration.</p>
      ) : (
        <p>{countsText(attributes)}</p>
      )}
      <ChangeList title="Resources" changes={mostDestructiveFirst(resources)} />
      <ChangeList title="Changed outside of runs" changes={drift} />
      <ChangeList title="Outputs" changes={outputs} />
    </>
  )
}

export function countsText(attributes: v2.RunPlan['attributes']): string {
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

const ACTIONS: Readonly<Record<PlannedAction, ActionStyle>> = {
  delete: { symbol: '−', text: 'destroyed', risk: 0, tone: 'destructive' },
  replace: { symbol: '±', text: 'replaced', risk: 1, tone: 'destructive' },
  'create-first': {
    symbol: '±',
    text: 'replaced, the new one first',
    risk: 1,
    tone: 'destructive',
  },
  forget: { symbol: '·', text: 'no longer managed', risk: 2 },
  update: { symbol: '~', text: 'changed', risk: 3 },
  import: { symbol: '=', text: 'imported', risk: 4 },
  create: { symbol: '+', text: 'added', risk: 5 },
}

interface ActionStyle {
  readonly symbol: string
  readonly text: string
  /** Lower ones are listed first. */
  readonly risk: number
  readonly tone?: 'destructive'
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
      {groupByModule(changes.slice(0, CHANGES_SHOWN_MAX)).map(({ module, changes: own }) =>
        module === '' ? (
          <ChangeItems key={module} changes={own} />
        ) : (
          <details key={module} className="module" open={own.length <= OPEN_CHANGES_MAX}>
            <summary>
              <code>{module}</code> <span className="quiet">{moduleText(own)}</span>
            </summary>
            <ChangeItems changes={own} />
          </details>
        ),
      )}
      {changes.length > CHANGES_SHOWN_MAX && (
        <p className="quiet">{`${changes.length - CHANGES_SHOWN_MAX} more are not shown.`}</p>
      )}
    </>
  )
}

/** Groups changes by module, in the order of their most destructive change. */
function groupByModule(changes: readonly PlannedChange[]) {
  const groups = Map.groupBy(changes, ({ module }) => module)
  return [...groups].map(([module, own]) => ({ module, changes: own }))
}

/** Counts of the actions in a module: `2 added, 1 destroyed`. */
function moduleText(changes: readonly PlannedChange[]): string {
  const counts = Map.groupBy(changes, ({ action }) => ACTIONS[action].text)
  return [...counts].map(([text, { length }]) => `${length} ${text}`).join(', ')
}

/** Modules with more changes are closed at first. */
const OPEN_CHANGES_MAX = 20

function ChangeItems({ changes }: { readonly changes: readonly PlannedChange[] }) {
  return (
    <ul className="changes">
      {changes.map((change) => (
        <li key={`${change.name} ${change.action}`} className={ACTIONS[change.action].tone}>
          <Change change={change} />
        </li>
      ))}
    </ul>
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
