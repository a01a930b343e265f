import type { Evaluation } from '@reeve/contract'
import { formatAllocationTable } from '../alloc/allocation-table.ts'
import type { AllocationStub } from '../alloc/find-allocation.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatId } from '../find-id.ts'
import { renderNonEmptyFields, joinSections } from '../output/known-fields.ts'
import { shortenId } from '../output/table.ts'
import { agoFromIso, agoFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'
import { formatPlacementFailure } from '../plan/metrics-text.ts'
import { findEvaluation } from './find-evaluation.ts'
import { formatEvaluationTable, runEvalList } from './list.ts'
import { waitForEvaluation } from './settled-evaluation.ts'

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
    ['Waits until', agoFromIso(evaluation.WaitUntil, host.nowMs())],
    ['Made by', id(evaluation.PreviousEval)],
    ['Next', id(evaluation.NextEval)],
    ['Waits for room', id(evaluation.BlockedEval)],
    ['Created', agoFromNs(evaluation.CreateTime, host.nowMs())],
    ['Modified', agoFromNs(evaluation.ModifyTime, host.nowMs())],
  ])
}
