import { fetchLastSubmission } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import { confirm } from '../confirm.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'
import { readFileOrStdin } from '../input.ts'
import { renderTable, shortenId } from '../output/format.ts'
import { findJob, findJobOrUseId } from './find-job.ts'
import { monitorSubmission } from './monitor-submission.ts'

/** The payload limit of the server; larger files are not read. */
const PAYLOAD_BYTES_MAX = 16_384

/** `job dispatch`: creates a child of a parameterized job with payload and metadata. */
export async function runJobDispatch(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const [given = '', operand] = args
  const payload = await readPayload(invocation, flags.string('payload') ?? operand)
  const { ID, Namespace } = await findJobOrUseId(invocation, given)
  const { data } = await client.v1.dispatchJob({
    params: { job_id: ID },
    query: { namespace: Namespace, idempotency_token: flags.string('idempotency-token') },
    body: {
      JobID: ID,
      Payload: payload === undefined ? null : Buffer.from(payload).toString('base64'),
      Meta: flags.keyValues('meta'),
      IdPrefixTemplate: flags.string('id-prefix-template'),
      Priority: flags.integer('priority'),
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.string('override-comment'),
    },
  })
  const { Warnings = '', DispatchedJobID, EvalID } = data
  if (Warnings !== '') output.printNotice(Warnings.trimEnd())
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: DispatchedJobID, evalId: EvalID },
    message: isDuplicateDispatch(invocation, EvalID)
      ? `Job "${DispatchedJobID}" was dispatched with this token before; nothing new was made.`
      : `Job "${DispatchedJobID}" is dispatched.`,
  })
}

/**
 * Whether the dispatch was a duplicate: for a known token the API returns the existing child job
 * without an evaluation.
 */
function isDuplicateDispatch({ flags }: CommandContext, evalId: string): boolean {
  return evalId === '' && flags.string('idempotency-token') !== undefined
}

async function readPayload(
  invocation: CommandContext,
  path: string | undefined,
): Promise<Uint8Array | undefined> {
  if (path === undefined) return undefined
  return await readFileOrStdin(invocation, path, {
    bytesMax: PAYLOAD_BYTES_MAX,
    onTooLong: payloadTooLong,
  })
}

function payloadTooLong(bytes: number): CommandError {
  return new CommandError(
    `The payload has ${bytes} bytes; a dispatch takes ${PAYLOAD_BYTES_MAX}.`,
    { hint: 'Put it where the task can fetch it, and give its address with --meta.' },
  )
}

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

/** `job periodic force`: launches a child of a periodic job now. */
export async function runJobPeriodicForce(invocation: CommandContext): Promise<number> {
  const { client, args } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const query = { namespace: Namespace }
  const { data } = await client.v1.forcePeriodicJob({ params: { job_id: ID }, query })
  const { data: evaluation } = await client.v1.readEvaluation({
    params: { eval_id: data.EvalID },
    query,
  })
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: evaluation.JobID, evalId: data.EvalID },
    message: `Job "${ID}" is launched as "${evaluation.JobID}".`,
  })
}

/** `job promote`: promotes the canaries of the latest deployment. */
export async function runJobPromote(invocation: CommandContext): Promise<number> {
  const { client, args, flags } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const query = { namespace: Namespace }
  const { data: deployment } = await client.v1.readLatestDeployment({
    params: { job_id: ID },
    query,
  })
  if (deployment === null) {
    throw new CommandError(`Job "${ID}" has no deployment.`, {
      code: EXIT_CODES.missing,
      hint: `Only a deployment with canaries can be promoted: reeve job deployments ${ID}`,
    })
  }
  const groups = flags.strings('group')
  const { data } = await client.v1.promoteDeployment({
    params: { deployment_id: deployment.ID },
    query,
    body: {
      DeploymentID: deployment.ID,
      ...(groups.length === 0 ? { All: true } : { Groups: groups }),
    },
  })
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID, deploymentId: deployment.ID },
    message: `The canaries of job "${ID}" are promoted.`,
  })
}

/** `job release`: releases a job from quarantine and schedules it. */
export async function runJobRelease(invocation: CommandContext): Promise<number> {
  const { client, args } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const { data } = await client.v1.releaseJob(at)
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    message: `Job "${ID}" is released (evaluation ${shortenId(data.EvalID)}).`,
  })
}

/** `job revert`: reverts a job to an earlier version, by number or tag. */
export async function runJobRevert(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const version = await resolveVersion(invocation, at)
  const { data } = await client.v1.revertJob({
    ...at,
    body: {
      JobID: ID,
      JobVersion: version,
      EnforcePriorVersion: flags.integer('check-version'),
      Message: flags.string('message'),
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.string('override-comment'),
    },
  })
  if (data.Warnings !== '') output.printNotice(data.Warnings.trimEnd())
  const how = data.EvalID === '' ? '' : ` (evaluation ${shortenId(data.EvalID)})`
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    message: `Job "${ID}" is reverted to version ${version}${how}.`,
  })
}

interface JobRequest {
  readonly params: { readonly job_id: string }
  readonly query: { readonly namespace: string }
}

/** Resolves the version argument; defaults to the last stable version before the current one. */
async function resolveVersion(
  { client, args }: CommandContext,
  request: JobRequest,
): Promise<number> {
  const given = args[1]
  if (given !== undefined && /^\d{1,9}$/.test(given)) return Number(given)
  const { data } = await client.v1.listJobVersions(request)
  const [, ...earlier] = data.Versions
  const found =
    given === undefined
      ? earlier.find(({ Stable }) => Stable)
      : data.Versions.find(({ VersionTag }) => VersionTag?.Name === given)
  if (found !== undefined) return found.Version
  const jobId = request.params.job_id
  const what =
    given === undefined ? 'no earlier version that was stable' : `no version tagged "${given}"`
  throw new CommandError(`Job "${jobId}" has ${what}.`, {
    code: EXIT_CODES.missing,
    hint: `"reeve job history ${jobId}" lists the versions; name one by its number.`,
  })
}

/** `job scale JOB [GROUP] [COUNT]`: scales a group, or lists the counts. */
export async function runJobScale(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJobOrUseId(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const { data: scale } = await client.v1.readJobScale(at)
  const groups = Object.entries(scale.TaskGroups).toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (args.length === 1) {
    output.print(scale, () => {
      const rows = groups.map(([name, group]) => [
        name,
        ...[group.Desired, group.Placed, group.Running, group.Healthy, group.Unhealthy].map(String),
      ])
      return renderTable(['Group', 'Desired', 'Placed', 'Running', 'Healthy', 'Unhealthy'], rows)
    })
    return EXIT_CODES.ok
  }
  const [group, count] = parseScaleTarget(
    args.slice(1),
    groups.map(([name]) => name),
    ID,
  )
  const { data } = await client.v1.scaleJob({
    ...at,
    body: {
      Count: count,
      Target: { Group: group },
      Message: flags.string('message') ?? 'reeve job scale',
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.string('override-comment'),
      JobModifyIndex: flags.integer('check-index'),
    },
  })
  if (data.Warnings !== '') output.printNotice(data.Warnings.trimEnd())
  return await monitorSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID ?? '' },
    message: `Group "${group}" of job "${ID}" is scaled to ${count}.`,
  })
}

/** Parses group and count; the group is optional if the job has only one. */
function parseScaleTarget(
  words: readonly string[],
  groups: readonly string[],
  jobId: string,
): readonly [group: string, count: number] {
  const text = words.at(-1) ?? ''
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`COUNT is a whole number, not "${text}".`)
  const count = Number(text)
  const group = words.length > 1 ? words[0] : groups.length === 1 ? groups[0] : undefined
  if (group === undefined) {
    throw new UsageError(`Job "${jobId}" has several groups: name one of ${groups.join(', ')}.`)
  }
  if (!groups.includes(group)) {
    throw new CommandError(`Job "${jobId}" has no group "${group}".`, {
      code: EXIT_CODES.missing,
      hint: `It has ${groups.join(', ')}.`,
    })
  }
  return [group, count]
}

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

/** `job tag JOB NAME`: tags a version, which is then retained; `--unset` removes the tag. */
export async function runJobTag(invocation: CommandContext): Promise<number> {
  const { client, args, flags, output } = invocation
  const [given = '', name = ''] = args
  const { ID, Namespace } = await findJob(invocation, given)
  const params = { job_id: ID, tag_name: name }
  const query = { namespace: Namespace }
  const wanted = flags.integer('version')
  if (flags.has('unset')) {
    if (wanted !== undefined)
      throw new UsageError('--unset needs no --version: a tag has only one.')
    await client.v1.untagJobVersion({ params, query })
    output.printLine(`Tag "${name}" of job "${ID}" is removed.`)
    return EXIT_CODES.ok
  }
  const version =
    wanted ?? (await client.v1.readJob({ params: { job_id: ID }, query })).data.Version
  const { data } = await client.v1.tagJobVersion({
    params,
    query,
    body: { Version: version, Description: flags.string('description') },
  })
  output.print(data, () => `Version ${version} of job "${ID}" is tagged "${name}".`)
  return EXIT_CODES.ok
}
