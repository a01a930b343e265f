import type { Evaluation } from '@reeve/contract'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { idText } from '../find-id.ts'
import { table } from '../output/table.ts'
import { agoFromNs } from '../output/time.ts'
import { toneOf } from '../output/tone.ts'

/** The newest are what people look for. */
const SHOWN_DEFAULT = 50

export async function runEvalList(invocation: Invocation): Promise<number> {
  const { client, flags, output, signal } = invocation
  const count = flags.whole('count') ?? SHOWN_DEFAULT
  const query = {
    filter: flags.text('filter'),
    job: flags.text('job'),
    status: flags.text('status'),
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
  output.show(found, () =>
    found.length === 0 ? 'There are no such evaluations.' : evaluationTable(found, invocation),
  )
  if (isCut) output.note(`Only the newest ${count}: --count shows more.`)
  return EXIT_CODES.ok
}

type Listed = Pick<
  Evaluation,
  'ID' | 'JobID' | 'NodeID' | 'TriggeredBy' | 'Priority' | 'Status' | 'CreateTime'
>

export function evaluationTable(
  evaluations: readonly Listed[],
  { flags, host, output }: Invocation,
): string {
  const isVerbose = flags.has('verbose')
  const rows = evaluations.map((one) => [
    idText(one.ID, isVerbose),
    one.JobID,
    one.TriggeredBy,
    String(one.Priority),
    output.paint(toneOf(one.Status), one.Status),
    agoFromNs(one.CreateTime, host.nowMs()),
  ])
  return table(['ID', 'Job', 'Triggered by', 'Priority', 'Status', 'Created'], rows)
}
