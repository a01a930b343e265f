import type { TaskSchedule } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  nextCronTime,
  parseCron,
  type CronExpression,
  type OffsetAt,
} from '../../lang/cron/index.ts'

/** State of a task's schedule: whether it may run, and until when this is valid. */
export interface ScheduleWindow {
  readonly isOpen: boolean
  /** Time at which the window closes or the next one opens; undefined if never. */
  readonly nextChangeMs: number | undefined
}

interface TaskCron {
  readonly start: CronExpression
  readonly end: CronExpression
}

/**
 * Search range for the last start: windows end once a day, and two days also cover clock changes.
 */
const SEARCH_RANGE_MS = 50 * 3_600_000
const SECOND_MS = 1_000

/**
 * Returns the window of a schedule at a time. A window opens at each time of `start` and closes at
 * the next time of day given by `end`, on the same or the next day. A schedule without `cron` is
 * always open. Without a time zone the machine's is used.
 */
export function scheduleWindow(
  { Cron: cron }: TaskSchedule,
  { nowMs, offsetAt, localZone }: { nowMs: number; offsetAt: OffsetAt; localZone: string },
): ScheduleWindow {
  const parsed = cron === null ? undefined : parseTaskCron(cron)
  // Invalid expressions are rejected at registration.
  if (cron === null || parsed === undefined || !parsed.ok) return ALWAYS_OPEN
  const zone = timeZoneOf(cron.Timezone, localZone)
  const next = (expression: CronExpression, afterMs: number): number | undefined =>
    nextCronTime(expression, { zone, afterMs, offsetAt })
  const { start, end } = parsed.value
  const closedMs = lastOccurrenceBefore((afterMs) => next(end, afterMs), nowMs)
  const openedMs = next(start, closedMs - SECOND_MS)
  if (openedMs !== undefined && openedMs <= nowMs)
    return { isOpen: true, nextChangeMs: next(end, nowMs) }
  return { isOpen: false, nextChangeMs: openedMs }
}

const ALWAYS_OPEN: ScheduleWindow = { isOpen: true, nextChangeMs: undefined }

/** Returns the latest time up to `nowMs`; the start of the search range if there is none. */
function lastOccurrenceBefore(
  next: (afterMs: number) => number | undefined,
  nowMs: number,
): number {
  let lastMs = nowMs - SEARCH_RANGE_MS
  for (;;) {
    const foundMs = next(lastMs)
    if (foundMs === undefined || foundMs > nowMs) return lastMs
    lastMs = foundMs
  }
}

export function timeZoneOf(timezone: string, localZone: string): string {
  return timezone === '' || timezone.toLowerCase() === 'local' ? localZone : timezone
}

const END_PATTERN = /^\s*(\d{1,2})\s+(\d{1,2})\s*$/

/**
 * Parses the expressions: `start` is a cron expression, `end` a minute and an hour. The error names
 * the invalid one.
 */
export function parseTaskCron(cron: {
  readonly Start: string
  readonly End: string
}): Result<TaskCron, string> {
  const start = parseCron(cron.Start)
  if (!start.ok) return err(`invalid start ${JSON.stringify(cron.Start)}: ${start.error}`)
  const [, minute, hour] = END_PATTERN.exec(cron.End) ?? []
  const end = parseCron(`${minute ?? ''} ${hour ?? ''} * * *`)
  if (minute === undefined || !end.ok) {
    const hint = 'a minute and an hour are required, such as "30 17"'
    return err(`invalid end ${JSON.stringify(cron.End)}: ${hint}`)
  }
  return ok({ start: start.value, end: end.value })
}
