import type { Invocation } from '../command.ts'
import { shortId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

/** `job release`: ends the quarantine of a job, and places it again. */
export async function runJobRelease(invocation: Invocation): Promise<number> {
  const { client, args } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const { data } = await client.v1.releaseJob(at)
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    done: `Job "${ID}" is released (evaluation ${shortId(data.EvalID)}).`,
  })
}
