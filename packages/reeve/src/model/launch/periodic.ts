import type { Job, PeriodicConfig } from '@reeve/contract'
import { nextCronTime, parseCron, type OffsetAt } from '../../lang/cron/index.ts'
import { retargetPolicies } from '../scaling/settle-policies.ts'

export type { OffsetAt } from '../../lang/cron/index.ts'

/**
 * Returns the first launch after a time; undefined if there is none. With several specs the
 * earliest counts.
 */
export function nextLaunchMs(
  periodic: PeriodicConfig,
  afterMs: number,
  offsetAt: OffsetAt,
): number | undefined {
  const specs = periodic.Specs ?? [periodic.Spec]
  const times = specs.flatMap((spec) => {
    const parsed = parseCron(spec)
    if (!parsed.ok) return [] // rejected at registration
    return nextCronTime(parsed.value, { zone: periodic.TimeZone, afterMs, offsetAt }) ?? []
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Delay above which a launch counts as missed rather than late. */
const MISSED_LAUNCH_MS = 60_000

export interface PeriodicLaunchInput {
  readonly periodic: PeriodicConfig
  /** Scheduled time of the launch; not in the future. */
  readonly dueMs: number
  readonly nowMs: number
  /** Whether an earlier instance is still running. */
  readonly isOverlapping: boolean
  readonly offsetAt: OffsetAt
}

export interface LaunchDecision {
  /** Launch time that names the new instance; undefined if none is launched. */
  readonly launchMs: number | undefined
  /** New progress of the schedule. */
  readonly doneMs: number
}

/**
 * Decides about a launch that is due. An overlapping launch is skipped if overlap is prohibited.
 * Launches that were missed while no server ran are replaced by one immediate launch.
 */
export function decideLaunch(input: PeriodicLaunchInput): LaunchDecision {
  const { dueMs, nowMs, periodic } = input
  const followingMs = nextLaunchMs(periodic, dueMs, input.offsetAt) ?? Infinity
  const isMissed = nowMs - dueMs > MISSED_LAUNCH_MS || followingMs <= nowMs
  const doneMs = isMissed ? nowMs : dueMs
  const isSkipped = periodic.ProhibitOverlap && input.isOverlapping
  return { launchMs: isSkipped ? undefined : doneMs, doneMs }
}

/** Returns `<parent>/periodic-<unix seconds of the launch>`. */
function periodicChildId(parentId: string, launchMs: number): string {
  return `${parentId}/periodic-${Math.floor(launchMs / 1_000)}`
}

/** Returns the child job of a periodic launch, as it would be submitted. */
export function periodicChild(parent: Job, launchMs: number): Job {
  return { ...childJob(parent, periodicChildId(parent.ID, launchMs)), Periodic: null }
}

/** Returns the child of a job: everything except fields that servers set on the parent. */
export function childJob(parent: Job, id: string): Job {
  return {
    ...parent,
    ID: id,
    Name: id,
    ParentID: parent.ID,
    TaskGroups: retargetPolicies(parent.TaskGroups, id),
    Stop: false,
    Status: 'pending',
    StatusDescription: '',
    Stable: false,
    Version: 0,
    VersionTag: null,
  }
}
