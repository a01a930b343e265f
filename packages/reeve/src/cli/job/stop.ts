import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortenId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { monitorSubmission } from './submitted.ts'

type JobStub = Awaited<ReturnType<typeof findJob>>

/** `job stop`: stops jobs; `--purge` also deletes them. */
export async function runJobStop(invocation: CommandContext): Promise<number> {
  const jobs: JobStub[] = []
  for (const given of invocation.args) jobs.push(await findJob(invocation, given))
  // A prefix may match a different job than intended, which would be noticed too late.
  const resolvedByPrefix = jobs.filter(({ ID }, at) => ID !== invocation.args[at])
  if (resolvedByPrefix.length > 0) await confirm(invocation, confirmationQuestion(resolvedByPrefix))
  let code: number = EXIT_CODES.ok
  for (const job of jobs) {
    const ended = await stopOne(invocation, job)
    if (code === EXIT_CODES.ok) code = ended
  }
  return code
}

function confirmationQuestion(jobs: readonly JobStub[]): string {
  const names = jobs.map(({ ID, Namespace }) => `"${ID}" of namespace "${Namespace}"`)
  return `Stop job ${names.join(', ')}?`
}

async function stopOne(invocation: CommandContext, { ID, Namespace }: JobStub): Promise<number> {
  const { client, flags } = invocation
  const { data } = await client.v1.stopJob({
    params: { job_id: ID },
    query: {
      namespace: Namespace,
      purge: flags.has('purge'),
      global: flags.has('global'),
      no_shutdown_delay: flags.isNegated('shutdown-delay'),
      eval_priority: flags.integer('eval-priority'),
    },
  })
  const { EvalID } = data
  const how = flags.has('purge') ? 'stopped and purged' : 'stopped'
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: EvalID, isStopping: true },
    message:
      EvalID === ''
        ? `Job "${ID}" is ${how}.`
        : `Job "${ID}" is ${how} (evaluation ${shortenId(EvalID)}).`,
  })
}
