import type { CommandContext } from '../command.ts'
import { monitorSubmission } from './submitted.ts'
import { findJob } from './find-job.ts'

/** `job periodic force`: launches a child of a periodic job now. */
export async function runJobPeriodicForce(invocation: CommandContext): Promise<number> {
  const { client, args } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const query = { namespace: Namespace }
  const { data } = await client.v1.forcePeriodicJob({ params: { job_id: ID }, query })
  const { data: evaluation } = await client.v1.readEvaluation({
    params: { eval_id: data.EvalID },
    query,
  })
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: evaluation.JobID, evalId: data.EvalID },
    message: `Job "${ID}" is launched as "${evaluation.JobID}".`,
  })
}
