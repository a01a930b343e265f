import type { Job, PeriodicConfig } from '@reeve/contract'
import { nextCronTime, parseCron, type OffsetAt } from '../../lang/cron/index.ts'
import { retargeted } from '../scaling/settle-policies.ts'

export type { OffsetAt } from '../../lang/cron/index.ts'

/**
 * The first launch after a time; undefined when there is none any more. Of several specs the
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
    if (!parsed.ok) return [] // refused at registration
    return nextCronTime(parsed.value, { zone: periodic.TimeZone, afterMs, offsetAt }) ?? []
  })
  return times.length === 0 ? undefined : Math.min(...times)
}

/** Later than this, a launch was missed rather than slow. */
const SLOW_MS_MAX = 60_000

export interface DueLaunch {
  readonly periodic: PeriodicConfig
  /** When the launch was due; not in the future. */
  readonly dueMs: number
  readonly nowMs: number
  /** Whether an earlier instance has not ended. */
  readonly isOverlapping: boolean
  readonly offsetAt: OffsetAt
}

export interface LaunchDecision {
  /** The time that names the new instance; undefined when there is none. */
  readonly launchMs: number | undefined
  /** How far the schedule is carried out then. */
  readonly doneMs: number
}

/**
 * What to do about a launch that is due. One that overlaps is passed over where overlap is
 * prohibited. Launches that were missed while no server ran are made up for by one, now; then the
 * schedule goes on.
 */
export function decideLaunch(due: DueLaunch): LaunchDecision {
  const { dueMs, nowMs, periodic } = due
  const followingMs = nextLaunchMs(periodic, dueMs, due.offsetAt) ?? Infinity
  const isMissed = nowMs - dueMs > SLOW_MS_MAX || followingMs <= nowMs
  const doneMs = isMissed ? nowMs : dueMs
  const isPassedOver = periodic.ProhibitOverlap && due.isOverlapping
  return { launchMs: isPassedOver ? undefined : doneMs, doneMs }
}

/** `<parent>/periodic-<unix seconds of the launch>`. */
function periodicChildId(parentId: string, launchMs: number): string {
  return `${parentId}/periodic-${Math.floor(launchMs / 1_000)}`
}

/** The job that one launch of a periodic job makes, as it would be submitted. */
export function periodicChild(parent: Job, launchMs: number): Job {
  return { ...childOf(parent, periodicChildId(parent.ID, launchMs)), Periodic: null }
}

/** What a child takes over: everything but what servers wrote about the parent itself. */
export function childOf(parent: Job, id: string): Job {
  return {
    ...parent,
    ID: id,
    Name: id,
    ParentID: parent.ID,
    TaskGroups: retargeted(parent.TaskGroups, id),
    Stop: false,
    Status: 'pending',
    StatusDescription: '',
    Stable: false,
    Version: 0,
    VersionTag: null,
  }
}
