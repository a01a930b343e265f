import { PAYLOAD_REQUIREMENTS, type Job, type PeriodicConfig, type Task } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { parseCron } from '../../lang/cron/index.ts'
import { isBatchType } from '../job/job.ts'
import { parseTaskCron, timeZoneOf } from '../launch/task-schedule.ts'
import { LIMITS } from '../limits.ts'
import {
  concatIssues,
  forEachEntry,
  issue,
  quote,
  issueIf,
  type ValidationIssue,
} from './validation-issue.ts'

/** Validates the periodic and parameterized blocks. */
export function checkPeriodic(job: Job): readonly ValidationIssue[] {
  if (job.Periodic === null) return []
  const text = 'Periodic can only be used with "batch" or "sysbatch" scheduler'
  return concatIssues(
    issueIf(!isBatchType(job.Type) && issue('Periodic', text)),
    job.Periodic.Enabled ? checkSpecs(job.Periodic) : [],
  )
}

function checkSpecs(periodic: PeriodicConfig): readonly ValidationIssue[] {
  const { Spec: spec, Specs: specs, SpecType: type, TimeZone: zone } = periodic
  const count = specs?.length ?? 0
  if (count > LIMITS.periodicSpecsMax) return [issue('Periodic.Specs', tooManySpecs(count))]
  const cron = (text: string, path: string): readonly ValidationIssue[] => {
    const parsed = type === 'cron' ? parseCron(text) : undefined
    if (parsed === undefined || parsed.ok) return []
    return [issue(path, `Invalid cron spec ${quote(text)}: ${parsed.error}`)]
  }
  const zoneProblem = checkTimeZone(zone)
  return concatIssues(
    issueIf(spec !== '' && specs !== null && issue('Periodic', 'Only cron or crons may be used')),
    issueIf(spec === '' && specs === null && issue('Periodic', 'Must specify a spec')),
    issueIf(
      zoneProblem !== undefined &&
        issue('Periodic.TimeZone', `Invalid time zone ${quote(zone)}: ${zoneProblem}`),
    ),
    issueIf(
      type !== 'cron' &&
        issue('Periodic.SpecType', `Unknown periodic specification type ${quote(type)}`),
    ),
    spec === '' ? [] : cron(spec, 'Periodic.Spec'),
    forEachEntry(specs, 'Periodic.Specs', cron),
  )
}

/** The number is limited because all specs are evaluated for each launch. */
function tooManySpecs(count: number): string {
  return `Periodic has ${count} specs. It cannot have more than ${LIMITS.periodicSpecsMax}`
}

/** Validates the schedule of a task. */
export function checkSchedule(task: Task, path: string): readonly ValidationIssue[] {
  if (task.Schedule === null) return []
  const { Cron: cron } = task.Schedule
  const at = `${path}.Schedule.Cron`
  if (cron === null) return [issue(at, 'Schedule validation failed: a cron block is required')]
  const parsed = parseTaskCron(cron)
  const zone = timeZoneOf(cron.Timezone, 'UTC')
  const zoneProblem = checkTimeZone(zone)
  return concatIssues(
    issueIf(!parsed.ok && issue(at, `Schedule validation failed: ${parsed.error}`)),
    issueIf(
      zoneProblem !== undefined &&
        issue(`${at}.Timezone`, `Schedule validation failed: ${zoneProblem}`),
    ),
  )
}

/**
 * Validates a name of the time zone database; offsets such as `+02:00`, which the engine accepts
 * too, are rejected.
 */
function checkTimeZone(zone: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(zone)) return `unknown time zone ${zone}`
  try {
    Intl.DateTimeFormat('en', { timeZone: zone })
    return undefined
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown
    return `unknown time zone ${zone}`
  }
}

export function checkParameterized(job: Job): readonly ValidationIssue[] {
  const config = job.ParameterizedJob
  if (config === null) return []
  const optional = new Set(config.MetaOptional)
  const both = [...new Set(config.MetaRequired)]
    .filter((key) => optional.has(key))
    .toSorted(compareText)
  return concatIssues(
    issueIf(
      !isBatchType(job.Type) &&
        issue(
          'ParameterizedJob',
          'Parameterized job can only be used with "batch" or "sysbatch" scheduler',
        ),
    ),
    issueIf(
      !PAYLOAD_REQUIREMENTS.some((known) => known === config.Payload) &&
        issue('ParameterizedJob.Payload', `Unknown payload requirement: ${quote(config.Payload)}`),
    ),
    issueIf(
      both.length > 0 &&
        issue(
          'ParameterizedJob.MetaOptional',
          `Required and optional meta keys should be disjoint. Following keys exist in both: [${both.join(' ')}]`,
        ),
    ),
  )
}
