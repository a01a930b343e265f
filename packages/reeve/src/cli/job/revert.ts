import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure } from '../failure.ts'
import { shortId } from '../output/table.ts'
import { findJob } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

/** `job revert`: registers an earlier version of a job again, by its number or tag. */
export async function runJobRevert(invocation: Invocation): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJob(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const version = await versionOf(invocation, at)
  const { data } = await client.v1.revertJob({
    ...at,
    body: {
      JobID: ID,
      JobVersion: version,
      EnforcePriorVersion: flags.whole('check-version'),
      Message: flags.text('message'),
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.text('override-comment'),
    },
  })
  if (data.Warnings !== '') output.note(data.Warnings.trimEnd())
  const how = data.EvalID === '' ? '' : ` (evaluation ${shortId(data.EvalID)})`
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID },
    done: `Job "${ID}" is reverted to version ${version}${how}.`,
  })
}

interface Place {
  readonly params: { readonly job_id: string }
  readonly query: { readonly namespace: string }
}

/** The version that was named; without a name, the last stable one before the current. */
async function versionOf({ client, args }: Invocation, at: Place): Promise<number> {
  const given = args[1]
  if (given !== undefined && /^\d{1,9}$/.test(given)) return Number(given)
  const { data } = await client.v1.listJobVersions(at)
  const [, ...earlier] = data.Versions
  const found =
    given === undefined
      ? earlier.find(({ Stable }) => Stable)
      : data.Versions.find(({ VersionTag }) => VersionTag?.Name === given)
  if (found !== undefined) return found.Version
  const jobId = at.params.job_id
  const what =
    given === undefined ? 'no earlier version that was stable' : `no version tagged "${given}"`
  throw new CommandFailure(`Job "${jobId}" has ${what}.`, {
    code: EXIT_CODES.missing,
    hint: `"reeve job history ${jobId}" lists the versions; name one by its number.`,
  })
}
