import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { table } from '../output/table.ts'
import { findJobOrTakeId } from './find-job.ts'
import { finishSubmission } from './submitted.ts'

/** `job scale JOB [GROUP] [COUNT]`: changes the count of a group, or shows the counts. */
export async function runJobScale(invocation: Invocation): Promise<number> {
  const { client, args, flags, output } = invocation
  const { ID, Namespace } = await findJobOrTakeId(invocation, args[0] ?? '')
  const at = { params: { job_id: ID }, query: { namespace: Namespace } }
  const { data: scale } = await client.v1.readJobScale(at)
  const groups = Object.entries(scale.TaskGroups).toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (args.length === 1) {
    output.show(scale, () => {
      const rows = groups.map(([name, group]) => [
        name,
        ...[group.Desired, group.Placed, group.Running, group.Healthy, group.Unhealthy].map(String),
      ])
      return table(['Group', 'Desired', 'Placed', 'Running', 'Healthy', 'Unhealthy'], rows)
    })
    return EXIT_CODES.ok
  }
  const [group, count] = wishOf(
    args.slice(1),
    groups.map(([name]) => name),
    ID,
  )
  const { data } = await client.v1.scaleJob({
    ...at,
    body: {
      Count: count,
      Target: { Group: group },
      Message: flags.text('message') ?? 'reeve job scale',
      PolicyOverride: flags.has('policy-override'),
      PolicyOverrideComment: flags.text('override-comment'),
      JobModifyIndex: flags.whole('check-index'),
    },
  })
  if (data.Warnings !== '') output.note(data.Warnings.trimEnd())
  return await finishSubmission(invocation, {
    data,
    rollout: { namespace: Namespace, jobId: ID, evalId: data.EvalID ?? '' },
    done: `Group "${group}" of job "${ID}" is scaled to ${count}.`,
  })
}

/** A job with one group needs no name for it. */
function wishOf(
  words: readonly string[],
  groups: readonly string[],
  jobId: string,
): readonly [group: string, count: number] {
  const text = words.at(-1) ?? ''
  if (!/^\d{1,9}$/.test(text)) throw new UsageError(`COUNT is a whole number, not "${text}".`)
  const count = Number(text)
  const named = words.length > 1 ? words[0] : groups.length === 1 ? groups[0] : undefined
  if (named === undefined) {
    throw new UsageError(`Job "${jobId}" has several groups: name one of ${groups.join(', ')}.`)
  }
  if (!groups.includes(named)) {
    throw new CommandFailure(`Job "${jobId}" has no group "${named}".`, {
      code: EXIT_CODES.missing,
      hint: `It has ${groups.join(', ')}.`,
    })
  }
  return [named, count]
}
