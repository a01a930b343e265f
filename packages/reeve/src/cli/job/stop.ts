import type { Invocation } from '../command.ts'
import { confirm } from '../confirm.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

type JobStub = Awaited<ReturnType<typeof findJob>>

/** `job stop`: ends the allocations of jobs; `--purge` forgets the jobs as well. */
export async function runJobStop(invocation: Invocation): Promise<number> {
  const jobs: JobStub[] = []
  for (const given of invocation.args) jobs.push(await findJob(invocation, given))
  // A beginning may have meant another job, which is only noticed when this one is gone.
  const guessed = jobs.filter(({ ID }, at) => ID !== invocation.args[at])
  if (guessed.length > 0) await confirm(invocation, questionOf(guessed))
  let code: number = EXIT_CODES.ok
  for (const job of jobs) {
    const ended = await stopOne(invocation, job)
    if (code === EXIT_CODES.ok) code = ended
  }
  return code
}

function questionOf(jobs: readonly JobStub[]): string {
  const names = jobs.map(({ ID, Namespace }) => `"${ID}" of namespace "${Namespace}"`)
  return `Stop job ${names.join(', ')}?`
}

async function stopOne(invocation: Invocation, { ID, Namespace }: JobStub): Promise<number> {
  const { client, flags } = invocation
  const { data } = await client.v1.stopJob({
    params: { job_id: ID },
    query: {
      namespace: Namespace,
      purge: flags.has('purge'),
      global: flags.has('global'),
      no_shutdown_delay: flags.isOff('shutdown-delay'),
      eval_priority: flags.whole('eval-priority'),
    },
  })
  const { EvalID } = data
  const how = flags.has('purge') ? 'stopped and purged' : 'stopped'
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: EvalID, isStopping: true },
    done:
      EvalID === ''
        ? `Job "${ID}" is ${how}.`
        : `Job "${ID}" is ${how} (evaluation ${shortId(EvalID)}).`,
  })
}
