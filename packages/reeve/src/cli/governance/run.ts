import { v2 } from '@reeve/contract'
import {
  ApiError,
  followRunLog,
  formatLogLine,
  isTransient,
  type ItemOf,
  type PlainObject,
  type PlannedAction,
  type PlannedChange,
  readPlanChanges,
  resource,
  toOne,
} from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { readFileOrStdin, readJsonObject } from '../input.ts'
import type { Paint, TextStyle } from '../output/color.ts'
import { renderNonEmptyFields, joinSections } from '../output/format.ts'
import { findWorkspace } from './find.ts'
import { enabledNames, omitUndefined, printList } from './output.ts'
import {
  formatRunPolicyResults,
  readPolicyResults,
  type PolicyResults,
  formatSetResults,
} from './policy-results.ts'

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
    empty: 'There are no runs. "reeve run create WORKSPACE PLAN" creates one.',
  })
}

export async function runRunShow(invocation: CommandContext): Promise<number> {
  await printRun(invocation, invocation.args[0] ?? '')
  return EXIT_CODES.ok
}

/** Prints the current run with its policy results. */
async function printRun(invocation: CommandContext, runId: string): Promise<Run> {
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
const BLOCKED_BY_POLICY: readonly v2.RunStatus[] = ['policy_override', 'policy_soft_failed']

function toneOf(status: v2.RunStatus): 'good' | 'bad' | 'warning' {
  if (status === 'errored' || status === 'canceled') return 'bad'
  return BLOCKED_BY_POLICY.includes(status) ? 'warning' : 'good'
}

/** Duration of one long-polling request; requests are repeated until the run settles. */
const WAIT_SECONDS_PER_REQUEST = 30

/** Statuses that change without a user action. */
const IN_PROGRESS: readonly v2.RunStatus[] = [
  'pending',
  'planning',
  'post_plan_running',
  'policy_checking',
]

/**
 * `run create WORKSPACE PLAN`: creates a run, uploads its plan and waits for the policy results.
 */
export async function runRunCreate(invocation: CommandContext): Promise<number> {
  const { client, flags, output } = invocation
  const [name = '', file = ''] = invocation.args
  const plan = await readFileOrStdin(invocation, file, { bytesMax: v2.PLAN_UPLOAD_BYTES_MAX })
  const { id } = await findWorkspace(invocation, name)
  const attributes = omitUndefined({
    message: flags.string('message'),
    'plan-only': flags.has('plan-only') || undefined,
    'auto-apply': flags.has('auto-apply') || undefined,
  })
  const { data } = await client.v2.createRun({
    body: resource('runs', attributes, { workspace: toOne('workspaces', id) }),
  })
  const run = data.data
  output.printNotice(`Run ${run.id} is made; its plan is judged.`)
  await uploadPlan(invocation, { runId: run.id, planId: run.relationships.plan.data.id, plan })
  for (;;) {
    const { data: current } = await client.v2.readRun({
      params: { run_id: run.id },
      query: { wait: WAIT_SECONDS_PER_REQUEST },
      timeoutMs: 0,
    })
    if (!IN_PROGRESS.includes(current.data.attributes.status)) break
  }
  const { attributes: evaluated } = await printRun(invocation, run.id)
  if (BLOCKED_BY_POLICY.includes(evaluated.status)) {
    output.printNotice(
      `Policies stop it. "reeve run override ${run.id}" passes those that give way.`,
    )
    return EXIT_CODES.refusedByPolicy
  }
  return evaluated.status === 'errored' ? EXIT_CODES.refusedByPolicy : EXIT_CODES.ok
}

/**
 * Uploads the plan. If the server rejects it, the run is canceled, because it would wait for a plan
 * forever. If the upload fails in transit, the run is kept: the server may have received the plan.
 */
async function uploadPlan(
  { client, output }: CommandContext,
  { runId, planId, plan }: { runId: string; planId: string; plan: Uint8Array },
): Promise<void> {
  try {
    await client.v2.uploadPlan({ params: { plan_id: planId }, body: plan })
  } catch (thrown) {
    if (isTransient(thrown)) {
      output.printNotice(
        `Its plan may not have arrived. "reeve run show ${runId}" tells what became of it, ` +
          `"reeve run cancel ${runId}" ends it.`,
      )
      throw thrown
    }
    if (!(thrown instanceof ApiError)) throw thrown
    const isCanceled = await client.v2.cancelRun({ params: { run_id: runId }, body: {} }).then(
      () => true,
      () => false,
    )
    output.printNotice(
      isCanceled
        ? `Its plan is refused, and run ${runId} is canceled.`
        : `Its plan is refused. "reeve run cancel ${runId}" ends run ${runId}, which waits for one.`,
    )
    throw thrown
  }
}

type RunAction = 'applyRun' | 'cancelRun' | 'discardRun' | 'forceCancelRun'

async function performAction(invocation: CommandContext, decision: RunAction): Promise<number> {
  const { args, client, flags } = invocation
  const [runId = ''] = args
  const body = omitUndefined({ comment: flags.string('comment') })
  await client.v2[decision]({ params: { run_id: runId }, body })
  await printRun(invocation, runId)
  return EXIT_CODES.ok
}

export async function runRunApply(invocation: CommandContext): Promise<number> {
  return await performAction(invocation, 'applyRun')
}

export async function runRunDiscard(invocation: CommandContext): Promise<number> {
  return await performAction(invocation, 'discardRun')
}

export async function runRunCancel(invocation: CommandContext): Promise<number> {
  return await performAction(
    invocation,
    invocation.flags.has('force') ? 'forceCancelRun' : 'cancelRun',
  )
}

/**
 * `run override`: overrides failed policy checks (native policies) and task stages (OPA policies).
 */
export async function runRunOverride(invocation: CommandContext): Promise<number> {
  const { client, flags } = invocation
  const [runId = ''] = invocation.args
  const params = { run_id: runId }
  const body = omitUndefined({ comment: flags.string('comment') })
  let count = 0
  for await (const check of client.pages('listPolicyChecks', { params })) {
    if (!check.attributes.actions['is-overridable']) continue
    await client.v2.overridePolicyCheck({ params: { policy_check_id: check.id }, body })
    count += 1
  }
  for await (const stage of client.pages('listTaskStages', { params })) {
    if (!stage.attributes.actions['is-overridable']) continue
    await client.v2.overrideTaskStage({ params: { task_stage_id: stage.id }, body })
    count += 1
  }
  if (count === 0) {
    throw new CommandError(`Nothing of run ${runId} can be overridden.`, {
      hint: 'It passed, or a hard level stopped it: see "reeve run show".',
    })
  }
  await printRun(invocation, runId)
  return EXIT_CODES.ok
}

/** `run evaluate WORKSPACE PLAN`: evaluates the policies of a workspace without creating a run. */
export async function runRunEvaluate(invocation: CommandContext): Promise<number> {
  const { client, output } = invocation
  const [name = '', file = ''] = invocation.args
  const plan = await readJsonObject(invocation, file, v2.PLAN_UPLOAD_BYTES_MAX)
  const { id } = await findWorkspace(invocation, name)
  const { data } = await client.v2.evaluateWorkspacePolicies({
    params: { workspace_id: id },
    body: resource('policy-dry-runs', { plan }),
  })
  const { status, 'policy-set-outcomes': sets } = data.data.attributes
  output.print(data, () => {
    const head = `The policies say: ${output.paint(status === 'passed' ? 'good' : 'bad', status)}.`
    const none = 'No policy set guards this workspace.'
    return `${head}\n${sets.length === 0 ? none : formatSetResults(sets, output.paint)}`
  })
  return status === 'passed' ? EXIT_CODES.ok : EXIT_CODES.refusedByPolicy
}

export async function runRunLog(invocation: CommandContext): Promise<number> {
  const { client, output, signal } = invocation
  const url = await findLogUrl(invocation)
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of followRunLog(client, { url, signal })) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) output.printLine(formatLogLine(line))
  }
  if (rest !== '') output.printLine(formatLogLine(rest))
  return EXIT_CODES.ok
}

/** Returns the address of the log of the named phase, or of the latest one. */
async function findLogUrl({ args, client, flags }: CommandContext): Promise<string> {
  const [runId = ''] = args
  const phase = flags.string('phase')
  if (phase !== undefined && phase !== 'plan' && phase !== 'apply')
    throw new UsageError(`"${phase}" is no phase: it is plan or apply.`)
  const { data: run } = await client.v2.readRun({ params: { run_id: runId } })
  const { plan, apply } = run.data.relationships
  const hasApply = run.data.attributes['status-timestamps']['apply-queued-at'] !== undefined
  if (apply.data !== null && (phase === 'apply' || (phase === undefined && hasApply))) {
    const { data } = await client.v2.readApply({ params: { apply_id: apply.data.id } })
    if (data.data.attributes['log-read-url'] !== null) return data.data.attributes['log-read-url']
  }
  if (phase === 'apply') throw new CommandError(`Run "${runId}" has no log of an apply.`)
  const { data } = await client.v2.readPlan({ params: { plan_id: plan.data.id } })
  const url = data.data.attributes['log-read-url']
  if (url !== null) return url
  throw new CommandError(`Run "${runId}" has no log: its plan was uploaded.`, {
    hint: `"reeve run show ${runId}" shows what it changes.`,
  })
}

/** Resources, drift and outputs that a plan changes, with their attributes. */
export function formatPlanChanges(plan: PlainObject, paint: Paint): string {
  const { resources, drift, outputs } = readPlanChanges(plan)
  const linesOf = (changes: readonly PlannedChange[]): readonly string[] =>
    changes.flatMap((change) => changeLines(change, paint))
  return [
    formatSection('Resource changes', linesOf(resources)),
    formatSection('Drift', linesOf(drift)),
    formatSection('Output changes', linesOf(outputs)),
  ]
    .filter((text) => text !== '')
    .join('\n')
}

function formatSection(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}:\n${lines.map((line) => `  ${line}\n`).join('')}`
}

const SYMBOLS: Readonly<Record<PlannedAction, readonly [symbol: string, tone: TextStyle]>> = {
  create: ['+', 'added'],
  update: ['~', 'changed'],
  delete: ['-', 'removed'],
  replace: ['-/+', 'changed'],
  'create-first': ['+/-', 'changed'],
  forget: ['.', 'changed'],
  import: ['=', 'added'],
}

function changeLines(change: PlannedChange, paint: Paint): readonly string[] {
  const { name, action, isImported, attributes, text } = change
  const [symbol, tone] = SYMBOLS[action]
  const head = `${paint(tone, symbol)} ${name}${isImported ? ' (imported)' : ''}`
  if (text !== '') return [`${head}: ${text}`]
  return [head, ...attributes.map((attribute) => `    ${attribute.name}: ${attribute.text}`)]
}
