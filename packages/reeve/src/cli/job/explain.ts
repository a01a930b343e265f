import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { formatExplanation } from '../plan/explanation-text.ts'
import { findJob } from './find-job.ts'

/** `job explain`: explains failed placements and the smallest change that would place them. */
export async function runJobExplain(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const { data } = await client.v1.explainJob({
    params: { job_id: ID },
    query: {
      namespace: Namespace,
      by: flags.has('by-node') ? 'node' : undefined,
      limit: flags.integer('limit'),
    },
  })
  output.print(data, () => formatExplanation(data, output.paint))
  return data.Groups.some(({ Unplaced }) => Unplaced > 0) ? EXIT_CODES.unplaced : EXIT_CODES.ok
}
