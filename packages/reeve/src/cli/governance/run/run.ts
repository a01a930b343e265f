import type { v2 } from '@reeve/contract'
import type { ItemOf, PlainObject } from '@reeve/sdk'
import type { CommandContext } from '../../command.ts'
import { EXIT_CODES } from '../../exit-code.ts'
import { renderNonEmptyFields, joinSections } from '../../output/known-fields.ts'
import { findWorkspace } from '../find.ts'
import { enabledNames, printList } from '../texts.ts'
import { formatRunPolicyResults, readPolicyResults, type PolicyResults } from './judgements.ts'
import { formatPlanChanges } from './plan-changes.ts'

type Run = ItemOf<'listWorkspaceRuns'>

export async function runRunList(invocation: CommandContext): Promise<number> {
  const { id } = await findWorkspace(invocation, invocation.args[0] ?? '')
  const runs = invocation.client.pages('listWorkspaceRuns', { params: { workspace_id: id } })
  return await printList(invocation, runs, {
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

export async function runRunShow(invocation: CommandContext): Promise<number> {
  await printRun(invocation, invocation.args[0] ?? '')
  return EXIT_CODES.ok
}

/** Prints the current run with its policy results. */
export async function printRun(invocation: CommandContext, runId: string): Promise<Run> {
  const { client, output } = invocation
  const { data } = await client.v2.readRun({ params: { run_id: runId } })
  const judgements = await readPolicyResults(invocation, runId)
  const { data: plan } = await client.v2.readPlan({
    params: { plan_id: data.data.relationships.plan.data.id },
  })
  const changes = await readChanges(invocation, plan.data.id)
  output.print({ ...data, plan: plan.data, changes, judgements }, () =>
    formatRun(invocation, { run: data.data, plan: plan.data, changes, judgements }),
  )
  return data.data
}

/** Reads the plan as JSON; undefined before it is available. */
async function readChanges({ client }: CommandContext, planId: string) {
  const { data } = await client.v2.readPlanJson({ params: { plan_id: planId } })
  return data
}

interface RunView {
  readonly run: Run
  readonly plan: v2.RunPlan
  readonly changes: PlainObject | undefined
  readonly judgements: PolicyResults
}

function formatRun(
  { output }: CommandContext,
  { run, plan, changes, judgements }: RunView,
): string {
  const { id, attributes } = run
  const position = attributes['position-in-queue']
  const head = renderNonEmptyFields([
    ['ID', id],
    ['Status', output.paint(toneOf(attributes.status), attributes.status)],
    ['Reason', attributes['status-reason'] ?? ''],
    ['Position in queue', position > 0 ? String(position) : ''],
    ['Message', attributes.message ?? ''],
    ['Plan', changes === undefined ? '' : formatPlanCounts(plan)],
    ['Created', attributes['created-at']],
    ['You may', enabledNames(attributes.permissions)],
  ])
  const changed = changes === undefined ? '' : formatPlanChanges(changes, output.paint)
  return joinSections([head, changed, formatRunPolicyResults(judgements, output.paint)])
}

function formatPlanCounts({ attributes }: v2.RunPlan): string {
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

/** Statuses of runs that a policy blocks, with or without the option to override. */
export const BLOCKED_BY_POLICY: readonly v2.RunStatus[] = ['policy_override', 'policy_soft_failed']

function toneOf(status: v2.RunStatus): 'good' | 'bad' | 'warning' {
  if (status === 'errored' || status === 'canceled') return 'bad'
  return BLOCKED_BY_POLICY.includes(status) ? 'warning' : 'good'
}
