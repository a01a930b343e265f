import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { explanationText } from '../plan/explanation-text.ts'
import { findJob } from './find-job.ts'

/** `job explain`: why instances are not placed, and the smallest change that would place them. */
export async function runJobExplain(invocation: Invocation): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const { data } = await client.v1.explainJob({
    params: { job_id: ID },
    query: {
      namespace: Namespace,
      by: flags.has('by-node') ? 'node' : undefined,
      limit: flags.whole('limit'),
    },
  })
  output.show(data, () => explanationText(data, output.paint))
  return data.Groups.some(({ Unplaced }) => Unplaced > 0) ? EXIT_CODES.unplaced : EXIT_CODES.ok
}
