import type { Invocation } from '../command.ts'
import { confirm } from '../confirm.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { shortId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

/** `job stop`: ends the allocations of jobs; `--purge` forgets the jobs as well. */
export async function runJobStop(invocation: Invocation): Promise<number> {
  let code: number = EXIT_CODES.ok
  for (const given of invocation.args) {
    const ended = await stopOne(invocation, given)
    if (code === EXIT_CODES.ok) code = ended
  }
  return code
}

async function stopOne(invocation: Invocation, given: string): Promise<number> {
  const { client, flags } = invocation
  const { ID, Namespace } = await findJob(invocation, given)
  // A beginning may have meant another job, which is only noticed when this one is gone.
  if (ID !== given) await confirm(invocation, `Stop job "${ID}" of namespace "${Namespace}"?`)
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
  const how = flags.has('purge') ? 'stopped and forgotten' : 'stopped'
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: EvalID, isStopping: true },
    done:
      EvalID === ''
        ? `Job "${ID}" is ${how}.`
        : `Job "${ID}" is ${how} (evaluation ${shortId(EvalID)}).`,
  })
}
