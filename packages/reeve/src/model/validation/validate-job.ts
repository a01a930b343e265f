import { JOB_TYPES, type Job, type TaskGroup } from '@reeve/contract'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import { LIMITS } from '../limits.ts'
import { jobIdProblems } from './job-id.ts'
import { checkAffinities, checkConstraints, checkSpreads } from './validate-constraint.ts'
import {
  allOf,
  atMost,
  each,
  finding,
  findingsText,
  leavesOf,
  nest,
  quote,
  when,
  type Finding,
} from './finding.ts'
import { checkGroup } from './validate-group.ts'
import { checkJobNames } from './validate-names.ts'
import { checkParameterized, checkPeriodic } from './validate-launch.ts'

export interface JobRules {
  /** Maximum priority of a job. */
  readonly priorityMax?: number
  /** Problems found by checks that need more than the job; reported together with the others. */
  readonly others?: readonly JobProblem[]
}

export interface JobProblem {
  /** Path in wire names: `TaskGroups[0].Tasks[1].Driver`. */
  readonly path: string
  readonly message: string
}

/** All problems of a job. Both fields are empty if it is valid. */
export interface JobProblems {
  /** The body of the refusal: a multi-error, nested by group and task. */
  readonly text: string
  readonly list: readonly JobProblem[]
}

const PRIORITY_MAX_DEFAULT = 100
/** The type of jobs that servers create internally; users cannot submit one. */
const INTERNAL_TYPE = '_core'
const DESCRIPTION_CHARS_MAX = 1_000

/**
 * Validates a canonical job by every rule that needs nothing but the job. Rules about its
 * namespace, node pool or previous version are checked at registration. All violations are reported
 * together.
 */
export function validateJob(job: Job, rules: JobRules = {}): JobProblems {
  return runToCompletion(validateJobSteps(job, rules))
}

/** Validates in steps, for callers that share the event loop. */
export function* validateJobSteps(job: Job, rules: JobRules = {}): Steps<JobProblems> {
  const groups = yield* checkGroups(job)
  const all = allOf(
    checkIdentity(job),
    checkPlacement(job),
    groups,
    checkPeriodic(job),
    checkParameterized(job),
    checkAdmission(job, rules.priorityMax ?? PRIORITY_MAX_DEFAULT),
    checkUi(job),
    rules.others ?? [],
  )
  const findings = atMost(all, LIMITS.jobProblemsMax)
  const list = leavesOf(findings).map(({ path, message }) => ({ path, message }))
  return { text: findingsText(findings), list }
}

function checkIdentity(job: Job): readonly Finding[] {
  return allOf(
    when(job.Region === '' && finding('Region', 'Missing job region')),
    when(job.ID === '' && finding('ID', 'Missing job ID')),
    jobIdProblems(job.ID).map((problem) => finding('ID', problem)),
    when(job.Name === '' && finding('Name', 'Missing job name')),
    when(job.Name.includes('\0') && finding('Name', 'Job Name contains a null character')),
    checkJobNames(job),
    when(job.Namespace === '' && finding('Namespace', 'Job must be in a namespace')),
    checkType(job.Type),
  )
}

function checkType(type: string): readonly Finding[] {
  if (type === '') return [finding('Type', 'Missing job type')]
  if (type === INTERNAL_TYPE) return [finding('Type', 'job type cannot be core')]
  const known = JOB_TYPES.some((name) => name === type)
  return when(!known && finding('Type', `Invalid job type: ${quote(type)}`))
}

function checkPlacement(job: Job): readonly Finding[] {
  const noDatacenter = job.Datacenters.length === 0 && job.Multiregion === null
  const emptyName = job.Datacenters.includes('')
  const system = job.Type === 'system'
  return allOf(
    when(noDatacenter && finding('Datacenters', 'Missing job datacenters')),
    when(emptyName && finding('Datacenters', 'Job datacenter must be non-empty string')),
    checkConstraints(job.Constraints, 'Constraints'),
    system
      ? when(
          job.Affinities !== null &&
            finding('Affinities', 'System jobs may not have an affinity block'),
        )
      : checkAffinities(job.Affinities, 'Affinities'),
    system
      ? when(job.Spreads !== null && finding('Spreads', 'System jobs may not have a spread block'))
      : checkSpreads(job.Spreads, 'Spreads'),
  )
}

function* checkGroups(job: Job): Steps<readonly Finding[]> {
  const firstOf = new Map<string, number>()
  const placeOf = (group: TaskGroup, path: string, index: number): readonly Finding[] => {
    if (group.Name === '')
      return [finding(`${path}.Name`, `Job task group ${index + 1} missing name`)]
    const first = firstOf.get(group.Name)
    if (first === undefined) firstOf.set(group.Name, index)
    if (first === undefined) return []
    const text = `Job task group ${index + 1} redefines '${group.Name}' from group ${first + 1}`
    return [finding(`${path}.Name`, text)]
  }
  const own = allOf(
    when(job.TaskGroups.length === 0 && finding('TaskGroups', 'Missing job task groups')),
    each(job.TaskGroups, 'TaskGroups', (group, path, index) =>
      allOf(placeOf(group, path, index), checkGroupInJob(group, path, job)),
    ),
  )
  const all = [...own]
  for (const [index, group] of job.TaskGroups.entries()) {
    const path = `TaskGroups[${index}]`
    const found = yield* checkGroup(group, path, job)
    all.push(...nest(path, `Task group ${group.Name} validation failed`, found))
  }
  return all
}

function checkGroupInJob(group: TaskGroup, path: string, job: Job): readonly Finding[] {
  const system = job.Type === 'system'
  return allOf(
    when(
      (group.ShutdownDelay ?? 0) < 0 &&
        finding(`${path}.ShutdownDelay`, 'ShutdownDelay must be a positive value'),
    ),
    when(
      system &&
        group.Count > 1 &&
        finding(
          `${path}.Count`,
          `Job task group ${group.Name} has count ${group.Count}. Count cannot exceed 1 with system scheduler`,
        ),
    ),
    when(system && group.Scaling !== null && finding(`${path}.Scaling`, SYSTEM_SCALING)),
  )
}

/** Also the error of registration's own check, which runs first. */
export const SYSTEM_SCALING = 'Task groups with job type system do not support scaling blocks'

function checkAdmission(job: Job, priorityMax: number): readonly Finding[] {
  const total = job.TaskGroups.reduce((sum, group) => sum + group.Count, 0)
  const badPriority = job.Priority < 1 || job.Priority > priorityMax
  return allOf(
    when(badPriority && finding('Priority', `job priority must be between [1, ${priorityMax}]`)),
    when(
      total > LIMITS.jobCountMax &&
        finding(
          'TaskGroups',
          `total count was greater than configured job_max_count: ${total} > ${LIMITS.jobCountMax}`,
        ),
    ),
    when(
      job.Payload !== null &&
        !job.Dispatched &&
        finding('Payload', "job can't be submitted with a payload, only dispatched"),
    ),
  )
}

function checkUi(job: Job): readonly Finding[] {
  if (job.UI === null) return []
  const tooLong = job.UI.Description.length > DESCRIPTION_CHARS_MAX
  return allOf(
    when(
      tooLong &&
        finding(
          'UI.Description',
          `UI description must be under ${DESCRIPTION_CHARS_MAX} characters, currently ${job.UI.Description.length}`,
        ),
    ),
    each(job.UI.Links, 'UI.Links', (link, path) =>
      allOf(
        when(link.Label === '' && finding(`${path}.Label`, 'UI link must have a label')),
        when(link.URL === '' && finding(`${path}.URL`, 'UI link must have a URL')),
      ),
    ),
  )
}
