import type { Explanation, GroupExplanation } from '@reeve/contract'
import { explainGroup, type ExplainOptions } from './explain-group.ts'

/** What `explainGroup` says of every group that has instances without a place. */
export function explainJob(options: ExplainOptions & { readonly index: number }): Explanation {
  const { job, evaluation, index } = options
  const groups = job.Stop
    ? []
    : job.TaskGroups.map((group) => explainGroup(group, options)).filter(
        (group) => group.Unplaced > 0,
      )
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    JobVersion: job.Version,
    EvalID: evaluation.ID,
    EvalStatus: evaluation.Status,
    Index: index,
    Text: groups.length === 0 ? 'every instance is placed' : groups.map(sentence).join('; '),
    Groups: groups,
  }
}

function sentence(group: GroupExplanation): string {
  const { TaskGroup, Desired, Unplaced, NodesConsidered, Refusals, Changes } = group
  const what = `${Unplaced} of ${Desired} instances of ${TaskGroup} are not placed`
  const [nearest] = Refusals
  if (NodesConsidered === 0) return `${what}: there are no nodes`
  if (nearest === undefined) return what
  const why = nearest.Reasons.map((reason) => reason.Text).join(', ')
  const [change] = Changes
  const help = change === undefined ? '' : `; to place ${change.Places}: ${change.Text}`
  return `${what}: on the nearest node ${why}${help}`
}
