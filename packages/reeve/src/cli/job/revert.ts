import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError } from '../failure.ts'
import { shortenId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { monitorSubmission } from './submitted.ts'

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
