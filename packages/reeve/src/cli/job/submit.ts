import { planWarnings, unplacedCount, type V1Routes } from '@reeve/contract'
import { ApiError, type DataOf } from '@reeve/sdk'
import { createCliClient } from '../client.ts'
import type { CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES } from '../errors.ts'
import { readJobFile, type LoadedJob } from '../job-file/read-job-file.ts'
import { jobFileArgs, suggestCommand } from '../plan/suggest-command.ts'
import { joinSections, shortenId } from '../output/format.ts'
import { formatDiff, formatUpdates, hasUpdates } from '../plan/plan-text.ts'
import { formatPlacementFailure, pluralize } from '../plan/placement-failures.ts'
import { isDenied, formatPolicyResults } from '../governance/policy-results.ts'
import { JOB_FILE_SOURCE } from '../settings/settings.ts'
import { monitorSubmission } from './monitor-submission.ts'

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

type Plan = DataOf<V1Routes['planJob']>

/** `job plan`: prints the dry run of the scheduler for a job file. */
export async function runJobPlan(invocation: CommandContext): Promise<number> {
  const { output, args, flags } = invocation
  const read = await readJobFile(invocation, args[0] ?? '')
  const { job } = read
  const regionContext = await forRegionOfJob(invocation, job)
  const { data } = await regionContext.client.v1
    .planJob({
      params: { job_id: job.ID },
      query: { namespace: resolveJobNamespace(invocation, job) },
      body: {
        Job: job,
        Diff: !flags.isNegated('diff'),
        PolicyOverride: flags.has('policy-override'),
      },
    })
    .catch(async (thrown: unknown) => {
      throw await withSourcePositions(thrown, regionContext, read)
    })
  output.print(data, () => formatPlan(data, invocation))
  return exitCodeForPlan(data)
}

/** Denials are printed as policies. */
function formatPlanWarnings({ Warnings }: Plan, { output: { paint } }: CommandContext): string {
  const lines = planWarnings(Warnings).map((text) => `  * ${text}\n`)
  return lines.length === 0 ? '' : `${paint('warning', 'Warnings')}\n${lines.join('')}`
}

/** Returns the exit code: the most severe result of the plan, for pipelines. */
function exitCodeForPlan(plan: Plan): number {
  if (isDenied(plan.PolicyVerdicts)) return EXIT_CODES.refusedByPolicy
  if (plan.FailedTGAllocs !== null) return EXIT_CODES.unplaced
  return hasChanges(plan) ? EXIT_CODES.changes : EXIT_CODES.ok
}

/** Whether the plan has changes. A new version is one, even without allocation changes. */
function hasChanges({ Annotations, Diff, JobModifyIndex }: Plan): boolean {
  if (JobModifyIndex === 0 || (Diff !== null && Diff.Type !== 'None')) return true
  return Object.values(Annotations.DesiredTGUpdates).some(hasUpdates)
}

function formatPlan(plan: Plan, invocation: CommandContext): string {
  const { paint } = invocation.output
  return joinSections([
    plan.Diff === null
      ? ''
      : formatDiff(plan.Diff, { paint, isVerbose: invocation.flags.has('verbose') }),
    `${paint('strong', 'What will happen')}\n${formatEffects(plan, invocation)}\n`,
    plan.PolicyVerdicts === null || plan.PolicyVerdicts.length === 0
      ? ''
      : `${paint('strong', 'Policies')}\n${formatPolicyResults(plan.PolicyVerdicts, paint)}\n`,
    formatPlanWarnings(plan, invocation),
    formatNextStep(plan, invocation),
  ])
}

function formatEffects(plan: Plan, { output: { paint } }: CommandContext): string {
  const { Annotations, FailedTGAllocs, NextPeriodicLaunch } = plan
  const groups = Object.entries(Annotations.DesiredTGUpdates).toSorted(byName)
  const failed = Object.entries(FailedTGAllocs ?? {}).toSorted(byName)
  const displaced = (Annotations.PreemptedAllocs ?? []).map(({ ID, JobID, Namespace }) => {
    return `Allocation ${ID.slice(0, 8)} of job "${JobID}" (namespace ${Namespace}) is displaced.`
  })
  const launch =
    Date.parse(NextPeriodicLaunch) > 0 ? [`It is launched next at ${NextPeriodicLaunch}.`] : []
  const lines = [
    ...groups.flatMap(([name, updates]) =>
      formatUpdates(name, updates, { paint, unplaced: unplacedCount(FailedTGAllocs?.[name]) }),
    ),
    ...displaced,
    ...failed.map(([name, metrics]) => formatPlacementFailure(name, metrics, paint)),
    ...launch,
  ]
  return lines.length === 0 ? 'Nothing is placed now.' : lines.join('\n')
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1
}

function formatNextStep(plan: Plan, invocation: CommandContext): string {
  const index = plan.JobModifyIndex
  if (isDenied(plan.PolicyVerdicts)) {
    const canOverride = (plan.PolicyVerdicts ?? []).every(
      ({ Effect, Overridable }) => Effect !== 'denies' || Overridable,
    )
    if (!canOverride) return 'It would be denied: change the job so that the policies pass.\n'
    const command = suggestRunCommand(invocation, index, ['--policy-override'])
    return `It would be denied. Whoever may override the policies runs it with:\n\n  ${command}\n`
  }
  if (!hasChanges(plan)) return 'Nothing would change.\n'
  const still =
    index === 0 ? 'nobody has created the job meanwhile' : 'nobody has changed it meanwhile'
  return `To run exactly this, if ${still}:\n\n  ${suggestRunCommand(invocation, index, [])}\n`
}

/** Returns the command that submits the planned job. Secrets are not repeated in it. */
function suggestRunCommand(
  invocation: CommandContext,
  index: number,
  more: readonly string[],
): string {
  const override = invocation.flags.has('policy-override') ? ['--policy-override'] : []
  const words = ['job', 'run', '--check-index', String(index), ...more, ...override]
  return suggestCommand(invocation, [...words, ...jobFileArgs(invocation)])
}

/** `job validate`: validates a job file on the server and prints all errors with positions. */
export async function runJobValidate(invocation: CommandContext): Promise<number> {
  const { output, args } = invocation
  const read = await readJobFile(invocation, args[0] ?? '')
  const data = await validateOnServer(await forRegionOfJob(invocation, read.job), read)
  const problems = data.ValidationErrors ?? []
  if (output.isStructured) {
    output.print(data, () => '')
    return problems.length === 0 ? EXIT_CODES.ok : EXIT_CODES.failed
  }
  if (data.Warnings !== '') output.printNotice(data.Warnings.trimEnd())
  if (problems.length > 0) throw await validationFailure(invocation, read, problems)
  output.printLine(`Job "${read.job.ID}" is valid.`)
  return EXIT_CODES.ok
}

/** Validates the job on the server. */
async function validateOnServer(invocation: CommandContext, { job }: LoadedJob) {
  const query = { namespace: resolveJobNamespace(invocation, job) }
  const { data } = await invocation.client.v1.validateJob({ query, body: { Job: job } })
  return data
}

/** Creates an error that lists the problems with their source positions. */
async function validationFailure(
  { args: [file = ''] }: Pick<CommandContext, 'args'>,
  read: LoadedJob,
  problems: readonly string[],
): Promise<CommandError> {
  const lines = await placed(read, problems)
  const what = `${pluralize(problems.length, 'problem')} in ${file === '-' ? 'standard input' : file}:`
  return new CommandError(`${what}\n\n${lines.join('\n')}`)
}

async function placed(
  { sourceMap }: LoadedJob,
  problems: readonly string[],
): Promise<readonly string[]> {
  if (sourceMap === undefined) return problems
  const { formatLocatedProblem: formatPlacedProblem, locateProblems: placeProblems } =
    await import('../../jobspec/index.ts')
  const parts = problems.map((problem) => {
    const [, path = '', message = problem] = /^([A-Z][\w.[\]]*): (.*)$/s.exec(problem) ?? []
    return { path, message }
  })
  return placeProblems(parts, sourceMap).map(formatPlacedProblem)
}

/**
 * Replaces a validation error of the server by one with source positions, which the server does not
 * know.
 */
async function withSourcePositions(
  thrown: unknown,
  invocation: CommandContext,
  read: LoadedJob,
): Promise<unknown> {
  if (!(thrown instanceof ApiError) || thrown.code !== 'job-invalid') return thrown
  const { ValidationErrors } = await validateOnServer(invocation, read).catch(ignoreApiError)
  const problems = ValidationErrors ?? []
  return problems.length === 0 ? thrown : await validationFailure(invocation, read, problems)
}

/** Ignores API errors: the original error is reported then. */
function ignoreApiError(thrown: unknown): { readonly ValidationErrors: null } {
  if (!(thrown instanceof ApiError)) throw thrown
  return { ValidationErrors: null }
}

interface NamespacedJob {
  readonly Namespace?: string | null | undefined
}

/**
 * Resolves the namespace of a job: flag, then job file, then environment. The file takes precedence
 * over the environment, which may be set for other work.
 */
function resolveJobNamespace(
  { flags, settings }: CommandContext,
  job: NamespacedJob,
): string | undefined {
  const namespace = flags.string('namespace') ?? (job.Namespace || settings.namespace)
  if (namespace !== '*') return namespace
  throw new CommandError('A job lives in one namespace, not in all of them.', {
    hint: 'Name it with --namespace, or in the job file.',
  })
}

/**
 * Returns a context for the region that the job file names, because the server registers the job
 * there. Flag and environment take precedence.
 */
async function forRegionOfJob(
  invocation: CommandContext,
  { Region }: LoadedJob['job'],
): Promise<CommandContext> {
  const isNamed = typeof Region === 'string' && Region !== ''
  return isNamed && invocation.settings.region === undefined
    ? await withRegion(invocation, Region)
    : invocation
}

/**
 * Returns a context for the region that accepted a multi-region job. If the job does not list the
 * region of the server, the server forwards it to a listed one.
 */
async function forRegionOfEvaluation(
  invocation: CommandContext,
  { Multiregion }: LoadedJob['job'],
  { evalId, namespace }: { readonly evalId: string; readonly namespace: string | undefined },
): Promise<CommandContext> {
  const regions = Multiregion?.Regions ?? []
  if (evalId === '' || regions.length === 0 || invocation.settings.region !== undefined)
    return invocation
  const others = regions.map(({ Name }) => Name ?? '').filter((name) => name !== '')
  for (const region of [undefined, ...others]) {
    const candidate = region === undefined ? invocation : await withRegion(invocation, region)
    if (await hasEvaluation(candidate, evalId, namespace)) return candidate
  }
  return invocation
}

async function hasEvaluation(
  { client }: CommandContext,
  evalId: string,
  namespace: string | undefined,
): Promise<boolean> {
  try {
    await client.v1.readEvaluation({ params: { eval_id: evalId }, query: { namespace } })
    return true
  } catch (thrown) {
    if (thrown instanceof ApiError) return false
    throw thrown
  }
}

async function withRegion(invocation: CommandContext, region: string): Promise<CommandContext> {
  const { transport, signal } = invocation
  const sources = { ...invocation.settings.sources, region: JOB_FILE_SOURCE }
  const settings = { ...invocation.settings, region, sources }
  return { ...invocation, settings, client: await createCliClient(settings, transport, signal) }
}
