import type { v2 } from '@reeve/contract'
import type { ItemOf, PlainObject } from '@reeve/sdk'
import type { Invocation } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { knownFields, sections } from '../../output/known-fields.ts'
import { findWorkspace } from '../find.ts'
import { onText, showList } from '../texts.ts'
import { judgementsText, readJudgements, type Judgements } from './judgements.ts'
import { planChangesText } from './plan-changes.ts'

type Run = ItemOf<'listWorkspaceRuns'>

export async function runRunList(invocation: Invocation): Promise<number> {
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const runs = invocation.client.pages('listWorkspaceRuns', { params: { workspace_id: id } })
  return await showList(invocation, runs, {
    heading: ['ID', 'Status', 'Created', 'Message'],
    row: (run) => [
      run.id,
      run.attributes.status,
      run.attributes['created-at'],
      run.attributes.message ?? '',
    ],
    empty: 'There are no runs. "reeve run create WORKSPACE PLAN" makes one.',
  })
}

export async function runRunShow(invocation: Invocation): Promise<number> {
  await showRun(invocation, invocation.args[0] ?? '')
  return EXIT_CODES.ok
}

/** As it is now, with everything that the policies said. */
export async function showRun(invocation: Invocation, runId: string): Promise<Run> {
  const { client, output } = invocation
  const { data } = await client.v2.readRun({ params: { run_id: runId } })
  const judgements = await readJudgements(invocation, runId)
  const { data: plan } = await client.v2.readPlan({
    params: { plan_id: data.data.relationships.plan.data.id },
  })
  const changes = await readChanges(invocation, plan.data.id)
  output.show({ ...data, plan: plan.data, changes, judgements }, () =>
    runText(invocation, { run: data.data, plan: plan.data, changes, judgements }),
  )
  return data.data
}

/** Returns what the plan changes; undefined before it is there. */
async function readChanges({ client }: Invocation, planId: string) {
  const { data } = await client.v2.readPlanJson({ params: { plan_id: planId } })
  return data
}

interface ShownRun {
  readonly run: Run
  readonly plan: v2.RunPlan
  readonly changes: PlainObject | undefined
  readonly judgements: Judgements
}

function runText({ output }: Invocation, { run, plan, changes, judgements }: ShownRun): string {
  const { id, attributes } = run
  const position = attributes['position-in-queue']
  const head = knownFields([
    ['ID', id],
    ['Status', output.paint(toneOf(attributes.status), attributes.status)],
    ['Reason', attributes['status-reason'] ?? ''],
    ['Position in queue', position > 0 ? String(position) : ''],
    ['Message', attributes.message ?? ''],
    ['Plan', changes === undefined ? '' : planText(plan)],
    ['Created', attributes['created-at']],
    ['You may', onText(attributes.permissions)],
  ])
  const changed = changes === undefined ? '' : planChangesText(changes, output.paint)
  return sections([head, changed, judgementsText(judgements, output.paint)])
}

function planText({ attributes }: v2.RunPlan): string {
  const counts = [
    [attributes['resource-imports'], 'to import'],
    [attributes['resource-additions'], 'to add'],
    [attributes['resource-changes'], 'to change'],
    [attributes['resource-destructions'], 'to destroy'],
  ] as const
  if (!attributes['has-changes']) return 'no changes'
  return counts
    .filter(([count, what]) => count > 0 || what !== 'to import')
    .map(([count, what]) => `${count} ${what}`)
    .join(', ')
}

/** Runs that a policy has stopped, for good or until somebody overrides it. */
export const STOPPED_BY_POLICY: readonly v2.RunStatus[] = ['policy_override', 'policy_soft_failed']

function toneOf(status: v2.RunStatus): 'good' | 'bad' | 'warning' {
  if (status === 'errored' || status === 'canceled') return 'bad'
  return STOPPED_BY_POLICY.includes(status) ? 'warning' : 'good'
}
