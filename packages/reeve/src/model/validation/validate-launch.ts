import { PAYLOAD_REQUIREMENTS, type Job, type PeriodicConfig, type Task } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { parseCron } from '../../lang/cron/index.ts'
import { isBatchType } from '../job/job-type.ts'
import { parseTaskCron, zoneOf } from '../launch/task-schedule.ts'
import { LIMITS } from '../limits.ts'
import { allOf, each, finding, quote, when, type Finding } from './finding.ts'

/** Validates the periodic and parameterized blocks. */
export function checkPeriodic(job: Job): readonly Finding[] {
  if (job.Periodic === null) return []
  const text = 'Periodic can only be used with "batch" or "sysbatch" scheduler'
  return allOf(
    when(!isBatchType(job.Type) && finding('Periodic', text)),
    job.Periodic.Enabled ? checkSpecs(job.Periodic) : [],
  )
}

function checkSpecs(periodic: PeriodicConfig): readonly Finding[] {
  const { Spec: spec, Specs: specs, SpecType: type, TimeZone: zone } = periodic
  const count = specs?.length ?? 0
  if (count > LIMITS.periodicSpecsMax) return [finding('Periodic.Specs', tooManySpecs(count))]
  const cron = (text: string, path: string): readonly Finding[] => {
    const parsed = type === 'cron' ? parseCron(text) : undefined
    if (parsed === undefined || parsed.ok) return []
    return [finding(path, `Invalid cron spec ${quote(text)}: ${parsed.error}`)]
  }
  const zoneProblem = checkTimeZone(zone)
  return allOf(
    when(spec !== '' && specs !== null && finding('Periodic', 'Only cron or crons may be used')),
    when(spec === '' && specs === null && finding('Periodic', 'Must specify a spec')),
    when(
      zoneProblem !== undefined &&
        finding('Periodic.TimeZone', `Invalid time zone ${quote(zone)}: ${zoneProblem}`),
    ),
    when(
      type !== 'cron' &&
        finding('Periodic.SpecType', `Unknown periodic specification type ${quote(type)}`),
    ),
    spec === '' ? [] : cron(spec, 'Periodic.Spec'),
    each(specs, 'Periodic.Specs', cron),
  )
}

/** The number is limited because all specs are evaluated for each launch. */
function tooManySpecs(count: number): string {
  return `Periodic has ${count} specs. It cannot have more than ${LIMITS.periodicSpecsMax}`
}

/** Validates the schedule of a task. */
export function checkSchedule(task: Task, path: string): readonly Finding[] {
  if (task.Schedule === null) return []
  const { Cron: cron } = task.Schedule
  const at = `${path}.Schedule.Cron`
  if (cron === null) return [finding(at, 'Schedule validation failed: a cron block is required')]
  const parsed = parseTaskCron(cron)
  const zone = zoneOf(cron.Timezone, 'UTC')
  const zoneProblem = checkTimeZone(zone)
  return allOf(
    when(!parsed.ok && finding(at, `Schedule validation failed: ${parsed.error}`)),
    when(
      zoneProblem !== undefined &&
        finding(`${at}.Timezone`, `Schedule validation failed: ${zoneProblem}`),
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

export function checkParameterized(job: Job): readonly Finding[] {
  const config = job.ParameterizedJob
  if (config === null) return []
  const optional = new Set(config.MetaOptional)
  const both = [...new Set(config.MetaRequired)]
    .filter((key) => optional.has(key))
    .toSorted(compareText)
  return allOf(
    when(
      !isBatchType(job.Type) &&
        finding(
          'ParameterizedJob',
          'Parameterized job can only be used with "batch" or "sysbatch" scheduler',
        ),
    ),
    when(
      !PAYLOAD_REQUIREMENTS.some((known) => known === config.Payload) &&
        finding(
          'ParameterizedJob.Payload',
          `Unknown payload requirement: ${quote(config.Payload)}`,
        ),
    ),
    when(
      both.length > 0 &&
        finding(
          'ParameterizedJob.MetaOptional',
          `Required and optional meta keys should be disjoint. Following keys exist in both: [${both.join(' ')}]`,
        ),
    ),
  )
}
