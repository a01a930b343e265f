import type { Evaluation, Explanation, GroupExplanation, Job } from '@reeve/contract'
import { isPlacedAtOnce } from '../job-kind.ts'

export interface ExplanationOptions {
  readonly job: Job
  readonly evaluation: Evaluation
  readonly index: number
  /** Groups that nothing was found out about. */
  readonly omitted?: number
}

/** The answer for a job, of what was said of its groups; those that are complete are left out. */
export function explanationOf(
  all: readonly GroupExplanation[],
  { job, evaluation, index, omitted = 0 }: ExplanationOptions,
): Explanation {
  const groups = all.filter((group) => group.Unplaced > 0)
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    JobVersion: job.Version,
    EvalID: evaluation.ID,
    EvalStatus: evaluation.Status,
    Index: index,
    Text: groups.length === 0 ? 'all allocations are placed' : textOf(groups, job),
    Groups: groups,
    GroupsOmitted: omitted,
  }
}

function textOf(groups: readonly GroupExplanation[], job: Job): string {
  const text = groups.map(sentence).join('; ')
  const isRefused = groups.some(({ Metrics }) => Metrics !== null)
  return isRefused && isPlacedAtOnce(job)
    ? `${text}; the allocations are placed all at once or not at all`
    : text
}

function sentence(group: GroupExplanation): string {
  const { TaskGroup, Desired, Unplaced, NodesConsidered, Instances, Refusals, Changes } = group
  const what = `${Unplaced} of ${Desired} allocations of group "${TaskGroup}" are unplaced`
  const [nearest] = Refusals
  if (NodesConsidered === 0) return `${what}: there are no nodes`
  if (nearest === undefined) return `${what}: ${Instances[0]?.Text ?? ''}`
  const why = nearest.Reasons.map((reason) => reason.Text).join('; ')
  const [node] = nearest.Nodes
  const name = node === undefined ? '' : ` ${node.Name || node.ID.slice(0, 8)}`
  const [change] = Changes
  const help = change === undefined ? '' : `; to place ${change.Places}: ${change.Text}`
  return `${what}: closest node${name}: ${why}${help}`
}
