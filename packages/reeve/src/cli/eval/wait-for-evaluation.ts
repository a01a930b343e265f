import type { Evaluation } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import { shortenId } from '../output/format.ts'

interface EvaluationKey {
  readonly id: string
  readonly namespace: string
}

/** Waits until the scheduler has processed the evaluation. */
export async function waitForEvaluation(
  { client, signal }: CommandContext,
  { id, namespace }: EvaluationKey,
): Promise<Evaluation> {
  const request = { params: { eval_id: id }, query: { namespace }, signal }
  for await (const { data } of client.blocking('readEvaluation', request)) {
    if (data.Status !== 'pending') return data
  }
  throw signal.reason
}

/** Waits for an evaluation, prints its result and returns the exit code. */
export async function watchEvaluation(invocation: CommandContext, name: EvaluationKey) {
  const { client, output } = invocation
  const { id, namespace } = name
  const evaluation = await waitForEvaluation(invocation, name)
  const request = { params: { eval_id: id }, query: { namespace } }
  const { data } = await client.v1.listEvaluationAllocations(request)
  for (const { ID, TaskGroup, NodeName } of data.filter((one) => one.DesiredStatus === 'run')) {
    output.printLine(
      `Allocation ${shortenId(ID)} of group "${TaskGroup}" is placed on ${NodeName}.`,
    )
  }
  const { Status, StatusDescription, FailedTGAllocs, BlockedEval } = evaluation
  const reason = StatusDescription === '' ? '' : ` (${StatusDescription})`
  output.printLine(`Evaluation ${shortenId(id)} is ${Status}${reason}.`)
  const groups = Object.keys(FailedTGAllocs ?? {})
  if (groups.length === 0) return Status === 'failed' ? EXIT_CODES.failed : EXIT_CODES.ok
  output.printLine(`No room for ${groups.map((group) => `"${group}"`).join(', ')}.`)
  output.printNotice(
    `"reeve eval explain ${shortenId(BlockedEval || id)}" says why and what would help.`,
  )
  return EXIT_CODES.unplaced
}
