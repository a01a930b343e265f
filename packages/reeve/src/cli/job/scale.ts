import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError, UsageError } from '../failure.ts'
import { renderTable } from '../output/table.ts'
import { findJobOrUseId } from './find-job.ts'
import { monitorSubmission } from './submitted.ts'

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
