import type { CommandContext } from '../command.ts'
import { shortenId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { monitorSubmission } from './submitted.ts'

/** `job release`: releases a job from quarantine and schedules it. */
export async function runJobRelease(invocation: CommandContext): Promise<number> {
  const { client, args } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const { data } = await client.v1.releaseJob(at)
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    message: `Job "${ID}" is released (evaluation ${shortenId(data.EvalID)}).`,
  })
}
