import type { Invocation } from '../command.ts'
import { finishSubmission } from './submitted.ts'
import { findJob } from './find-job.ts'

/** `job periodic force`: an instance of a periodic job, now. */
export async function runJobPeriodicForce(invocation: Invocation): Promise<number> {
  const { client, args } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const query = { namespace: Namespace }
  const { data } = await client.v1.forcePeriodicJob({ params: { job_id: ID }, query })
  const { data: evaluation } = await client.v1.readEvaluation({
    params: { eval_id: data.EvalID },
    query,
  })
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: evaluation.JobID, evalId: data.EvalID },
    done: `Job "${ID}" is launched as "${evaluation.JobID}".`,
  })
}
