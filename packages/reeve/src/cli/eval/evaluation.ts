import type { Evaluation } from '@reeve/contract'
import { formatAllocationTable } from '../alloc/allocation-text.ts'
import type { AllocationStub } from '../alloc/find-allocation.ts'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { formatId, resolveIdPrefix } from '../resolve.ts'
import {
  relativeFromIso,
  agoFromNs,
  joinSections,
  renderNonEmptyFields,
  renderTable,
  shortenId,
} from '../output/format.ts'
import { statusStyle } from '../output/color.ts'
import { formatExplanation, formatPlacementFailure, pluralize } from '../plan/placement-failures.ts'
import { waitForEvaluation } from './wait-for-evaluation.ts'

/** Evaluations shown by default. */
const DEFAULT_COUNT = 50

export async function runEvalList(invocation: CommandContext): Promise<number> {
  const { client, flags, output, signal } = invocation
  const count = flags.integer('count') ?? DEFAULT_COUNT
  const query = {
    filter: flags.string('filter'),
    job: flags.string('job'),
    status: flags.string('status'),
    reverse: true,
  }
  const found: Evaluation[] = []
  let isCut = false
  for await (const one of client.pages('listEvaluations', { query, signal })) {
    if (found.length === count) {
      isCut = true
      break
    }
    found.push(one)
  }
  output.print(found, () =>
    found.length === 0
      ? 'There are no such evaluations.'
      : formatEvaluationTable(found, invocation),
  )
  if (isCut) output.printNotice(`Only the newest ${count}: --count shows more.`)
  return EXIT_CODES.ok
}

type ListedEvaluation = Pick<
  Evaluation,
  'ID' | 'JobID' | 'NodeID' | 'TriggeredBy' | 'Priority' | 'Status' | 'CreateTime'
>

function formatEvaluationTable(
  evaluations: readonly ListedEvaluation[],
  { flags, host, output }: CommandContext,
): string {
  const isVerbose = flags.has('verbose')
  const rows = evaluations.map((one) => [
    formatId(one.ID, isVerbose),
    one.JobID,
    one.TriggeredBy,
    String(one.Priority),
    output.paint(statusStyle(one.Status), one.Status),
    agoFromNs(one.CreateTime, host.nowMs()),
  ])
  return renderTable(['ID', 'Job', 'Triggered by', 'Priority', 'Status', 'Created'], rows)
}

export async function runEvalStatus(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const [given] = args
  if (given === undefined) return await runEvalList(invocation)
  const { ID, Namespace } = await findEvaluation(invocation, given)
  if (flags.has('monitor')) await waitForEvaluation(invocation, { id: ID, namespace: Namespace })
  const params = { eval_id: ID }
  const query = { namespace: Namespace, related: true }
  const { data } = await client.v1.readEvaluation({ params, query })
  const allocations = await client.v1.listEvaluationAllocations({
    params,
    query: { namespace: Namespace },
  })
  output.print(data, () => formatEvaluation(data, allocations.data, invocation))
  return exitCodeOf(data, flags.has('monitor'))
}

/** Returns the result as exit code with `--monitor`, otherwise success. */
function exitCodeOf({ Status, FailedTGAllocs }: Evaluation, isWaiting: boolean): number {
  if (!isWaiting) return EXIT_CODES.ok
  if (Status === 'failed') return EXIT_CODES.failed
  return Object.keys(FailedTGAllocs ?? {}).length > 0 ? EXIT_CODES.unplaced : EXIT_CODES.ok
}

function formatEvaluation(
  evaluation: Evaluation,
  made: readonly AllocationStub[],
  invocation: CommandContext,
): string {
  const { FailedTGAllocs, RelatedEvals, ID } = evaluation
  const failed = Object.entries(FailedTGAllocs ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const { paint } = invocation.output
  const related = RelatedEvals ?? []
  return joinSections([
    overview(evaluation, invocation),
    ...failed.map(([group, metrics]) => `${formatPlacementFailure(group, metrics, paint)}\n`),
    failed.length === 0
      ? ''
      : `"reeve eval explain ${shortenId(ID)}" says what would place them.\n`,
    made.length === 0 ? '' : `Allocations\n${formatAllocationTable(made, invocation)}`,
    related.length === 0 ? '' : `Related\n${formatEvaluationTable(related, invocation)}`,
  ])
}

function overview(evaluation: Evaluation, { flags, host, output }: CommandContext): string {
  const isVerbose = flags.has('verbose')
  const id = (text: string): string => formatId(text, isVerbose)
  const { Status } = evaluation
  return renderNonEmptyFields([
    ['ID', evaluation.ID],
    ['Namespace', evaluation.Namespace],
    ['Job', evaluation.JobID],
    ['Node', id(evaluation.NodeID)],
    ['Deployment', id(evaluation.DeploymentID)],
    ['Type', evaluation.Type],
    ['Triggered by', evaluation.TriggeredBy],
    ['Priority', String(evaluation.Priority)],
    ['Status', output.paint(statusStyle(Status), Status)],
    ['Description', evaluation.StatusDescription],
    ['Wait until', relativeFromIso(evaluation.WaitUntil, host.nowMs())],
    ['Previous evaluation', id(evaluation.PreviousEval)],
    ['Next evaluation', id(evaluation.NextEval)],
    ['Blocked evaluation', id(evaluation.BlockedEval)],
    ['Created', agoFromNs(evaluation.CreateTime, host.nowMs())],
    ['Modified', agoFromNs(evaluation.ModifyTime, host.nowMs())],
  ])
}

export async function runEvalExplain(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const by = flags.has('by-node') ? 'node' : undefined
  const { ID, Namespace } = await findEvaluation(invocation, args[0] ?? '')
  const { data } = await client.v1.explainEvaluation({
    params: { eval_id: ID },
    query: { namespace: Namespace, by, limit: flags.integer('limit') },
  })
  output.print(data, () => formatExplanation(data, output.paint))
  return data.Groups.some(({ Unplaced }) => Unplaced > 0) ? EXIT_CODES.unplaced : EXIT_CODES.ok
}

/**
 * `eval delete`: deletes evaluations by ID or filter. The broker must be paused, so that no worker
 * processes them.
 */
export async function runEvalDelete(invocation: CommandContext): Promise<number> {
  const { args, client, flags, output } = invocation
  const filter = flags.string('filter')
  if ((filter === undefined) === (args.length === 0)) {
    throw new UsageError('name evaluations, or give --filter, not both.')
  }
  await assertBrokerPaused(invocation)
  const body = filter === undefined ? { EvalIDs: await resolveIds(invocation) } : { Filter: filter }
  const { data } = await client.v1.deleteEvaluations({ body })
  output.printLine(`Deleted ${pluralize(data.Count, 'evaluation')}.`)
  return EXIT_CODES.ok
}

async function resolveIds(invocation: CommandContext): Promise<string[]> {
  const ids: string[] = []
  for (const given of invocation.args) ids.push((await findEvaluation(invocation, given)).ID)
  return ids
}

async function assertBrokerPaused({ client }: CommandContext): Promise<void> {
  const { data } = await client.v1.readSchedulerConfiguration()
  if (data.SchedulerConfig.PauseEvalBroker) return
  throw new CommandError('Evaluations can be deleted only while the broker is paused.', {
    hint:
      'Pause it with "reeve operator scheduler set-config --pause-eval-broker true", and ' +
      'resume it with "... false" afterwards.',
  })
}

async function findEvaluation(
  { client, settings, signal }: CommandContext,
  given: string,
): Promise<Evaluation> {
  const namespace = settings.namespace ?? '*'
  return await resolveIdPrefix({
    noun: 'evaluation',
    input: given,
    listCommand: 'reeve eval list',
    search: (prefix) => client.pages('listEvaluations', { query: { prefix, namespace }, signal }),
    describe: ({ JobID, TriggeredBy, Status }) => `${JobID}, ${TriggeredBy}, ${Status}`,
  })
}
