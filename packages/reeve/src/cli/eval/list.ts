import type { Evaluation } from '@reeve/contract'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatId } from '../find-id.ts'
import { renderTable } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { statusStyle } from '../output/tone.ts'

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

export function formatEvaluationTable(
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
