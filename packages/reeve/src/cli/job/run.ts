import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { readJobFile, type LoadedJob } from '../job-file/read-job-file.ts'
import { jobFileArgs, suggestCommand } from '../plan/next-command.ts'
import { shortenId } from '../output/table.ts'
import { resolveJobNamespace } from './job-namespace.ts'
import { forRegionOfEvaluation, forRegionOfJob } from './job-region.ts'
import { withSourcePositions } from './problems.ts'
import { monitorSubmission } from './submitted.ts'

/** `job run`: registers a job and monitors its deployment. */
export async function runJobRun(invocation: CommandContext): Promise<number> {
  const { output, args, flags } = invocation
  const read = await readJobFile(invocation, args[0] ?? '')
  const body = registerRequest(invocation, read)
  if (flags.has('output')) {
    invocation.host.out(`${JSON.stringify(body, null, 2)}\n`)
    return EXIT_CODES.ok
  }
  const namespace = resolveJobNamespace(invocation, read.job)
  const regionContext = await forRegionOfJob(invocation, read.job)
  const { data } = await regionContext.client.v1
    .registerJob({ query: { namespace }, body })
    .catch(async (thrown: unknown) => {
      throw addReplanHint(await withSourcePositions(thrown, regionContext, read), invocation)
    })
  const { EvalID, Warnings } = data
  const evaluationContext = await forRegionOfEvaluation(regionContext, read.job, {
    evalId: EvalID,
    namespace,
  })
  if (Warnings !== '')
    output.printNotice(`${output.paint('warning', 'Warnings')}\n${Warnings.trimEnd()}`)
  const jobId = read.job.ID
  return await monitorSubmission(evaluationContext, {
    data,
    rollout: { namespace: namespace ?? 'default', jobId, evalId: EvalID },
    message:
      EvalID === ''
        ? formatRegistered(evaluationContext, { ...read.job, Namespace: namespace })
        : `Job "${jobId}" is registered (evaluation ${shortenId(EvalID)}).`,
  })
}

function registerRequest({ flags }: CommandContext, { job, submission }: LoadedJob) {
  const index = flags.integer('check-index')
  return {
    Job: job,
    Submission: submission,
    ...(index === undefined ? {} : { EnforceIndex: true, JobModifyIndex: index }),
    PolicyOverride: flags.has('policy-override'),
    PolicyOverrideComment: flags.string('override-comment'),
    Message: flags.string('message'),
    PreserveCounts: flags.has('preserve-counts'),
    EvalPriority: flags.integer('eval-priority'),
  }
}

/** Adds the command to plan again if the job was modified after it was planned. */
function addReplanHint(thrown: unknown, invocation: CommandContext): unknown {
  if (!(thrown instanceof ApiError) || thrown.status !== 409) return thrown
  const plan = suggestCommand(invocation, ['job', 'plan', ...jobFileArgs(invocation)])
  return new CommandError(`${thrown.text.trim()}.`, {
    code: EXIT_CODES.conflict,
    hint: `The job was modified after it was planned. To plan it again:\n\n  ${plan}`,
  })
}

type RegisteredJob = Pick<LoadedJob['job'], 'ID' | 'Periodic' | 'ParameterizedJob'> & {
  readonly Namespace: string | undefined
}

/** Formats the registration of a periodic or parameterized job, which creates no evaluation. */
function formatRegistered(invocation: CommandContext, job: RegisteredJob): string {
  const { ID, Namespace, Periodic, ParameterizedJob } = job
  const next = (...words: readonly string[]): string =>
    suggestCommand(invocation, ['job', ...words], Namespace)
  const registered = `Job "${ID}" is registered.`
  if (ParameterizedJob !== null && ParameterizedJob !== undefined) {
    return `${registered} To dispatch it:\n\n  ${next('dispatch', ...dispatchArguments(ID, ParameterizedJob))}`
  }
  if (Periodic !== null && Periodic !== undefined) {
    return `${registered} It runs on its schedule. To launch it now:\n\n  ${next('periodic', 'force', ID)}`
  }
  return `${registered} No evaluation was needed.`
}

/** Returns the dispatch arguments with placeholders for required metadata and payload. */
function dispatchArguments(
  jobId: string,
  { MetaRequired, Payload }: NonNullable<RegisteredJob['ParameterizedJob']>,
): readonly string[] {
  const meta = (MetaRequired ?? []).flatMap((key) => ['--meta', `${key}=VALUE`])
  return [...meta, jobId, ...(Payload === 'required' ? ['FILE'] : [])]
}
