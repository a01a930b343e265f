import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { readJobFile, type ReadJob } from '../job-file/read-job-file.ts'
import { fileWords, nextCommand } from '../plan/next-command.ts'
import { shortId } from '../output/table.ts'
import { jobNamespace } from './job-namespace.ts'
import { inRegionOfEvaluation, inRegionOfJob } from './job-region.ts'
import { withPlaces } from './problems.ts'
import { finishSubmission } from './submitted.ts'

/** `job run`: registers a job and watches it until it runs, or does not. */
export async function runJobRun(invocation: Invocation): Promise<number> {
  const { output, args, flags } = invocation
  const read = await readJobFile(invocation, args[0] ?? '')
  const body = requestOf(invocation, read)
  if (flags.has('output')) {
    invocation.host.out(`${JSON.stringify(body, null, 2)}\n`)
    return EXIT_CODES.ok
  }
  const namespace = jobNamespace(invocation, read.job)
  const asked = await inRegionOfJob(invocation, read.job)
  const { data } = await asked.client.v1
    .registerJob({ query: { namespace }, body })
    .catch(async (thrown: unknown) => {
      throw told(await withPlaces(thrown, asked, read), invocation)
    })
  const { EvalID, Warnings } = data
  const there = await inRegionOfEvaluation(asked, read.job, { evalId: EvalID, namespace })
  if (Warnings !== '') output.note(`${output.paint('warning', 'Warnings')}\n${Warnings.trimEnd()}`)
  const jobId = read.job.ID
  return await finishSubmission(there, {
    data,
    rollout: { namespace: namespace ?? 'default', jobId, evalId: EvalID },
    done:
      EvalID === ''
        ? waitingText(there, { ...read.job, Namespace: namespace })
        : `Job "${jobId}" is registered (evaluation ${shortId(EvalID)}).`,
  })
}

function requestOf({ flags }: Invocation, { job, submission }: ReadJob) {
  const index = flags.whole('check-index')
  return {
    Job: job,
    Submission: submission,
    ...(index === undefined ? {} : { EnforceIndex: true, JobModifyIndex: index }),
    PolicyOverride: flags.has('policy-override'),
    PolicyOverrideComment: flags.text('override-comment'),
    Message: flags.text('message'),
    PreserveCounts: flags.has('preserve-counts'),
    EvalPriority: flags.whole('eval-priority'),
  }
}

/** Somebody was faster than the plan that was made. */
function told(thrown: unknown, invocation: Invocation): unknown {
  if (!(thrown instanceof ApiError) || thrown.status !== 409) return thrown
  const plan = nextCommand(invocation, ['job', 'plan', ...fileWords(invocation)])
  return new CommandFailure(`${thrown.text.trim()}.`, {
    code: EXIT_CODES.conflict,
    hint: `The job was modified after it was planned. To plan it again:\n\n  ${plan}`,
  })
}

type WaitingJob = Pick<ReadJob['job'], 'ID' | 'Periodic' | 'ParameterizedJob'> & {
  readonly Namespace: string | undefined
}

/** Jobs without an evaluation: they run at a time, or when they are told to. */
function waitingText(invocation: Invocation, job: WaitingJob): string {
  const { ID, Namespace, Periodic, ParameterizedJob } = job
  const next = (...words: readonly string[]): string =>
    nextCommand(invocation, ['job', ...words], Namespace)
  const registered = `Job "${ID}" is registered.`
  if (ParameterizedJob !== null && ParameterizedJob !== undefined) {
    return `${registered} To dispatch it:\n\n  ${next('dispatch', ...dispatchWords(ID, ParameterizedJob))}`
  }
  if (Periodic !== null && Periodic !== undefined) {
    return `${registered} It runs on its schedule. To launch it now:\n\n  ${next('periodic', 'force', ID)}`
  }
  return `${registered} No evaluation was needed.`
}

/** With a place for everything that a dispatch is refused without. */
function dispatchWords(
  jobId: string,
  { MetaRequired, Payload }: NonNullable<WaitingJob['ParameterizedJob']>,
): readonly string[] {
  const meta = (MetaRequired ?? []).flatMap((key) => ['--meta', `${key}=VALUE`])
  return [...meta, jobId, ...(Payload === 'required' ? ['FILE'] : [])]
}
