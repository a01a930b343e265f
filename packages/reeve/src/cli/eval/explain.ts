import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { explanationText } from '../explain/explanation-text.ts'
import { findEvaluation } from './find-evaluation.ts'

const SCOPES = ['class', 'node'] as const

export async function runEvalExplain(invocation: Invocation): Promise<number> {
  const { args, client, flags, output } = invocation
  const by = flags.oneOf('by', SCOPES)
  const { ID, Namespace } = await findEvaluation(invocation, args[0] ?? '')
  const { data } = await client.v1.explainEvaluation({
    params: { eval_id: ID },
    query: { namespace: Namespace, by, limit: flags.whole('limit') },
  })
  output.show(data, () => explanationText(data, output))
  return EXIT_CODES.ok
}
