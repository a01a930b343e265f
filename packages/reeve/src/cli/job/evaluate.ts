import type { Invocation } from '../command.ts'
import { shortId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

/** `job eval`: runs the scheduling logic for a job again. */
export async function runJobEval(invocation: Invocation): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const { data } = await client.v1.evaluateJob({
    params: { job_id: ID },
    query: { namespace: Namespace },
    body: { JobID: ID, EvalOptions: { ForceReschedule: flags.has('force-reschedule') } },
  })
  if (data.Warnings !== '') output.note(data.Warnings.trimEnd())
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    done: `Job "${ID}" is evaluated again (evaluation ${shortId(data.EvalID)}).`,
  })
}
