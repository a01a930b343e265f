import {
  placementFailureReasons,
  unplacedCount,
  type Evaluation,
  type Job,
  type PlacementMetrics,
} from '@reeve/contract'
import { formatFuture } from '../../format.ts'

type EvaluationPosition = Pick<Evaluation, 'ID' | 'CreateIndex' | 'PreviousEval'>

/** Sorts newest first. A follow-up created in the same commit counts as newer. */
export function newestFirst(a: EvaluationPosition, b: EvaluationPosition): number {
  const byIndex = b.CreateIndex - a.CreateIndex
  return byIndex || Number(b.PreviousEval === a.ID) - Number(a.PreviousEval === b.ID)
}

/** Limits the requests if the clock of the server is behind and the launch is overdue. */
const REFETCH_MS_MIN = 10_000
/** Timers of browsers are limited to 2^31 ms, about 24 days. */
const REFETCH_MS_MAX = 86_400_000

type LaunchableJob = Pick<Job, 'Periodic' | 'Stop' | 'ParameterizedJob' | 'Dispatched'>

/** Returns why the schedule does not launch the job; undefined if it does. */
export function whyNotLaunched(job: LaunchableJob): string | undefined {
  if (job.Stop) return 'none: the job is stopped'
  if (job.Periodic?.Enabled !== true) return 'none: the schedule is disabled'
  return undefined
}

/** Formats the next launch; undefined means that the schedule has no future match. */
export function launchText(launch: Date | undefined, nowMs: number): string {
  return launch === undefined
    ? 'never (the schedule has no future match)'
    : formatFuture(launch, nowMs)
}

/** Returns how long the known next launch stays valid. */
export function launchStaleMs(launch: Date | undefined, nowMs: number): number {
  const untilMs = (launch?.getTime() ?? Infinity) - nowMs
  return Math.min(REFETCH_MS_MAX, Math.max(REFETCH_MS_MIN, untilMs + 1_000))
}

/** Describes why allocations could not be placed, one line per cause. */
export function placementFailureLines(metrics: PlacementMetrics): readonly string[] {
  const { NodesEvaluated, NodesInPool, NodePool } = metrics
  return [
    `${unplacedCount(metrics)} could not be placed: ${NodesEvaluated} of ${NodesInPool} nodes in pool ${NodePool} evaluated`,
    ...placementFailureReasons(metrics),
  ]
}
