import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatExplanation } from '../plan/explanation-text.ts'
import { findEvaluation } from './find-evaluation.ts'

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
