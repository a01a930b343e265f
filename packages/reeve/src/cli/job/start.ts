import { fetchLastSubmission } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { shortenId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { monitorSubmission } from './submitted.ts'

/** `job start`: starts a stopped job by registering it again. */
export async function runJobStart(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const { data: job } = await client.v1.readJob(at)
  if (!job.Stop) {
    throw new CommandError(`Job "${ID}" is not stopped.`, {
      hint: `To start its tasks anew: reeve job restart ${ID}`,
    })
  }
  const { data } = await client.v1.registerJob({
    query: at.query,
    body: {
      Job: { ...job, Stop: false },
      Submission: await fetchLastSubmission(client, job),
      // The index check makes sure that the job was not modified since it was read.
      EnforceIndex: true,
      JobModifyIndex: job.JobModifyIndex,
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.string('override-comment'),
    },
  })
  if (data.Warnings !== '') output.printNotice(data.Warnings.trimEnd())
  if (data.EvalID === '') {
    output.print(data, () => `Job "${ID}" is started; it waits for its next launch.`)
    return EXIT_CODES.ok
  }
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    message: `Job "${ID}" is started (evaluation ${shortenId(data.EvalID)}).`,
  })
}
