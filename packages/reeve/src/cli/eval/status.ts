import type { Evaluation } from '@reeve/contract'
import { allocationTable } from '../alloc/allocation-table.ts'
import type { AllocationStub } from '../alloc/find-allocation.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { idText } from '../find-id.ts'
import { knownFields, sections } from '../output/known-fields.ts'
import { shortId } from '../output/table.ts'
import { agoFromIso, agoFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'
import { metricsText } from '../plan/metrics-text.ts'
import { findEvaluation } from './find-evaluation.ts'
import { evaluationTable, runEvalList } from './list.ts'
import { settledEvaluation } from './settled-evaluation.ts'

export async function runEvalStatus(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const [given] = args
  if (given === undefined) return await runEvalList(invocation)
  const { ID, Namespace } = await findEvaluation(invocation, given)
  if (flags.has('monitor')) await settledEvaluation(invocation, { id: ID, namespace: Namespace })
  const params = { eval_id: ID }
  const query = { namespace: Namespace, related: true }
  const { data } = await client.v1.readEvaluation({ params, query })
  const made = await client.v1.listEvaluationAllocations({
    params,
    query: { namespace: Namespace },
  })
  output.show(data, () => evaluationText(data, made.data, invocation))
  return exitCodeOf(data, flags.has('monitor'))
}

/** Only who waits for the outcome is told it by the exit code. */
function exitCodeOf({ Status, FailedTGAllocs }: Evaluation, isWaiting: boolean): number {
  if (!isWaiting) return EXIT_CODES.ok
  if (Status === 'failed') return EXIT_CODES.failed
  return Object.keys(FailedTGAllocs ?? {}).length > 0 ? EXIT_CODES.unplaced : EXIT_CODES.ok
}

function evaluationText(
  evaluation: Evaluation,
  made: readonly AllocationStub[],
  invocation: Invocation,
): string {
  const { FailedTGAllocs, RelatedEvals, ID } = evaluation
  const failed = Object.entries(FailedTGAllocs ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const { paint } = invocation.output
  const related = RelatedEvals ?? []
  return sections([
    overview(evaluation, invocation),
    ...failed.map(([group, metrics]) => `${metricsText(group, metrics, paint)}\n`),
    failed.length === 0 ? '' : `"reeve eval explain ${shortId(ID)}" says what would place them.\n`,
    made.length === 0 ? '' : `Allocations\n${allocationTable(made, invocation)}`,
    related.length === 0 ? '' : `Related\n${evaluationTable(related, invocation)}`,
  ])
}

function overview(evaluation: Evaluation, { flags, host, output }: Invocation): string {
  const isVerbose = flags.has('verbose')
  const id = (text: string): string => idText(text, isVerbose)
  const { Status } = evaluation
  return knownFields([
    ['ID', evaluation.ID],
    ['Namespace', evaluation.Namespace],
    ['Job', evaluation.JobID],
    ['Node', id(evaluation.NodeID)],
    ['Deployment', id(evaluation.DeploymentID)],
    ['Type', evaluation.Type],
    ['Triggered by', evaluation.TriggeredBy],
    ['Priority', String(evaluation.Priority)],
    ['Status', output.paint(toneOf(Status), Status)],
    ['Description', evaluation.StatusDescription],
    ['Waits until', agoFromIso(evaluation.WaitUntil, host.nowMs())],
    ['Made by', id(evaluation.PreviousEval)],
    ['Next', id(evaluation.NextEval)],
    ['Waits for room', id(evaluation.BlockedEval)],
    ['Created', agoFromNs(evaluation.CreateTime, host.nowMs())],
    ['Modified', agoFromNs(evaluation.ModifyTime, host.nowMs())],
  ])
}
