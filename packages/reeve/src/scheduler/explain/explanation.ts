import type { Evaluation, Explanation, GroupExplanation, Job } from '@reeve/contract'
import { isAllAtOnce } from '../job-kind.ts'

export interface ExplanationOptions {
  readonly job: Job
  readonly evaluation: Evaluation
  readonly index: number
  /** Number of groups that were not explained. */
  readonly omitted?: number
}

/** Combines the explanations of groups into that of a job, without complete groups. */
export function toExplanation(
  groupExplanations: readonly GroupExplanation[],
  { job, evaluation, index, omitted = 0 }: ExplanationOptions,
): Explanation {
  const groups = groupExplanations.filter((group) => group.Unplaced > 0)
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    JobVersion: job.Version,
    EvalID: evaluation.ID,
    EvalStatus: evaluation.Status,
    Index: index,
    Text: groups.length === 0 ? 'all allocations are placed' : explanationText(groups, job),
    Groups: groups,
    GroupsOmitted: omitted,
  }
}

function explanationText(groups: readonly GroupExplanation[], job: Job): string {
  const text = groups.map(groupSentence).join('; ')
  const isRefused = groups.some(({ Metrics }) => Metrics !== null)
  return isRefused && isAllAtOnce(job)
    ? `${text}; the allocations are placed all at once or not at all`
    : text
}

function groupSentence(group: GroupExplanation): string {
  const { TaskGroup, Desired, Unplaced, NodesConsidered, Instances, Refusals, Changes } = group
  const summary = `${Unplaced} of ${Desired} allocations of group "${TaskGroup}" are unplaced`
  const [nearest] = Refusals
  if (NodesConsidered === 0) return `${summary}: there are no nodes`
  if (nearest === undefined) return `${summary}: ${Instances[0]?.Text ?? ''}`
  const reasons = nearest.Reasons.map((reason) => reason.Text).join('; ')
  const [node] = nearest.Nodes
  const name = node === undefined ? '' : ` ${node.Name || node.ID.slice(0, 8)}`
  const [change] = Changes
  const remedy = change === undefined ? '' : `; to place ${change.Places}: ${change.Text}`
  return `${summary}: closest node${name}: ${reasons}${remedy}`
}
