import { lastSource } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { shortId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

/** `job start`: registers a stopped job again as it was. */
export async function runJobStart(invocation: Invocation): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const { data: job } = await client.v1.readJob(at)
  if (!job.Stop) {
    throw new CommandFailure(`Job "${ID}" is not stopped.`, {
      hint: `To start its tasks anew: reeve job restart ${ID}`,
    })
  }
  const { data } = await client.v1.registerJob({
    query: at.query,
    body: {
      Job: { ...job, Stop: false },
      Submission: await lastSource(client, job),
      // What was read is what is started, or nothing is.
      EnforceIndex: true,
      JobModifyIndex: job.JobModifyIndex,
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.text('override-comment'),
    },
  })
  if (data.Warnings !== '') output.note(data.Warnings.trimEnd())
  if (data.EvalID === '') {
    output.show(data, () => `Job "${ID}" is started; it waits for its next launch.`)
    return EXIT_CODES.ok
  }
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    done: `Job "${ID}" is started (evaluation ${shortId(data.EvalID)}).`,
  })
}
