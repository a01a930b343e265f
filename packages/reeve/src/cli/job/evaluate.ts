import type { CommandContext } from '../command.ts'
import { shortenId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { monitorSubmission } from './submitted.ts'

/** `job eval`: creates a new evaluation for a job. */
export async function runJobEval(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const { data } = await client.v1.evaluateJob({
    params: { job_id: ID },
    query: { namespace: Namespace },
    body: { JobID: ID, EvalOptions: { ForceReschedule: flags.has('force-reschedule') } },
  })
  if (data.Warnings !== '') output.printNotice(data.Warnings.trimEnd())
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    message: `Job "${ID}" is evaluated again (evaluation ${shortenId(data.EvalID)}).`,
  })
}
