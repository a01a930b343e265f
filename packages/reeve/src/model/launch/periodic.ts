import type { Job, PeriodicConfig } from '@reeve/contract'
import { msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import { nextCronTime, parseCron, type OffsetAt } from '../../lang/cron/index.ts'
import { isEqual } from '../deep-equal.ts'
import { isParameterized } from '../job/job.ts'
import { retargetPolicies } from '../scaling/scaling.ts'

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

interface PeriodicLaunchInput {
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

/**
 * Progress of a periodic job's schedule. Only active periodic jobs have one, so that the launcher
 * reads nothing else.
 */
export interface PeriodicLaunchRow {
  readonly Namespace: string
  readonly ID: string
  /**
   * The latest scheduled time that was processed: launched, or skipped because of an overlapping
   * instance. Initially the time from which the schedule applies. Nanoseconds.
   */
  readonly Done: number
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/**
 * Reports whether the schedule of the job is active. It is not for a job that is stopped, disabled
 * or parameterized.
 */
export function isActivePeriodic(job: Job): boolean {
  return job.Periodic !== null && job.Periodic.Enabled && !job.Stop && !isParameterized(job)
}

/**
 * Returns the record of a new version: a new one, the existing one (`keep`), or none. An unchanged
 * schedule keeps its record, so that no launch is lost by an update; a changed one starts now.
 */
export function launchRecordAfterUpdate(
  before: Job | undefined,
  after: Job,
  nowMs: number,
): PeriodicLaunchRow | 'keep' | undefined {
  if (!isActivePeriodic(after)) return undefined
  const applied = before !== undefined && isActivePeriodic(before)
  if (applied && isEqual(before.Periodic, after.Periodic)) return 'keep'
  return launchRecordAt(after, nowMs)
}

export function launchRecordAt(
  job: { readonly Namespace: string; readonly ID: string },
  doneMs: number,
): PeriodicLaunchRow {
  const { Namespace, ID } = job
  return { Namespace, ID, Done: nsFromMs(doneMs), CreateIndex: 0, ModifyIndex: 0 }
}

export function lastLaunchMs(row: PeriodicLaunchRow): number {
  return msFromNs(row.Done)
}
