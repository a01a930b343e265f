import type { Evaluation } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortId } from '../output/table.ts'

interface EvaluationName {
  readonly id: string
  readonly namespace: string
}

/** The evaluation as soon as the scheduler has worked on it. */
export async function settledEvaluation(
  { client, signal }: Invocation,
  { id, namespace }: EvaluationName,
): Promise<Evaluation> {
  const request = { params: { eval_id: id }, query: { namespace }, signal }
  for await (const { data } of client.blocking('readEvaluation', request)) {
    if (data.Status !== 'pending') return data
  }
  throw signal.reason
}

/** Waits for an evaluation and says what came of it; gives the exit code. */
export async function watchEvaluation(invocation: Invocation, name: EvaluationName) {
  const { client, output } = invocation
  const { id, namespace } = name
  const evaluation = await settledEvaluation(invocation, name)
  const request = { params: { eval_id: id }, query: { namespace } }
  const { data } = await client.v1.listEvaluationAllocations(request)
  for (const { ID, TaskGroup, NodeName } of data.filter((one) => one.DesiredStatus === 'run')) {
    output.say(`Allocation ${shortId(ID)} of group "${TaskGroup}" is placed on ${NodeName}.`)
  }
  const { Status, StatusDescription, FailedTGAllocs, BlockedEval } = evaluation
  const reason = StatusDescription === '' ? '' : ` (${StatusDescription})`
  output.say(`Evaluation ${shortId(id)} is ${Status}${reason}.`)
  const groups = Object.keys(FailedTGAllocs ?? {})
  if (groups.length === 0) return Status === 'failed' ? EXIT_CODES.failed : EXIT_CODES.ok
  output.say(`No room for ${groups.map((group) => `"${group}"`).join(', ')}.`)
  output.note(`"reeve eval explain ${shortId(BlockedEval || id)}" says why and what would help.`)
  return EXIT_CODES.unplaced
}
