import { JOB_TYPES, type Job, type TaskGroup } from '@reeve/contract'
import { runToCompletion, type Steps } from '@reeve/kit/slices.ts'
import { LIMITS } from '../limits.ts'
import { checkAffinities, checkConstraints, checkSpreads } from './validate-constraint.ts'
import {
  concatIssues,
  limitIssues,
  forEachEntry,
  issue,
  issuesText,
  leafIssues,
  nestIssues,
  quote,
  issueIf,
  type ValidationIssue,
} from './validation-issue.ts'
import { checkGroup } from './validate-group.ts'
import { checkJobNames } from './validate-names.ts'
import { checkParameterized, checkPeriodic } from './validate-launch.ts'

interface ValidateJobOptions {
  /** Maximum priority of a job. */
  readonly maxPriority?: number
  /** Problems found by checks that need more than the job; reported together with the others. */
  readonly additionalProblems?: readonly JobProblem[]
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

const DEFAULT_MAX_PRIORITY = 100
/** The type of jobs that servers create internally; users cannot submit one. */
const INTERNAL_TYPE = '_core'
const DESCRIPTION_CHARS_MAX = 1_000

/**
 * Validates a canonical job by every rule that needs nothing but the job. Rules about its
 * namespace, node pool or previous version are checked at registration. All violations are reported
 * together.
 */
export function validateJob(job: Job, rules: ValidateJobOptions = {}): JobProblems {
  return runToCompletion(validateJobSteps(job, rules))
}

/** Validates in steps, for callers that share the event loop. */
export function* validateJobSteps(job: Job, rules: ValidateJobOptions = {}): Steps<JobProblems> {
  const groups = yield* checkGroups(job)
  const all = concatIssues(
    checkIdentity(job),
    checkPlacement(job),
    groups,
    checkPeriodic(job),
    checkParameterized(job),
    checkServerLimits(job, rules.maxPriority ?? DEFAULT_MAX_PRIORITY),
    checkUi(job),
    rules.additionalProblems ?? [],
  )
  const findings = limitIssues(all, LIMITS.jobProblemsMax)
  const list = leafIssues(findings).map(({ path, message }) => ({ path, message }))
  return { text: issuesText(findings), list }
}

function checkIdentity(job: Job): readonly ValidationIssue[] {
  return concatIssues(
    issueIf(job.Region === '' && issue('Region', 'Missing job region')),
    issueIf(job.ID === '' && issue('ID', 'Missing job ID')),
    jobIdProblems(job.ID).map((problem) => issue('ID', problem)),
    issueIf(job.Name === '' && issue('Name', 'Missing job name')),
    issueIf(job.Name.includes('\0') && issue('Name', 'Job Name contains a null character')),
    checkJobNames(job),
    issueIf(job.Namespace === '' && issue('Namespace', 'Job must be in a namespace')),
    checkType(job.Type),
  )
}

function checkType(type: string): readonly ValidationIssue[] {
  if (type === '') return [issue('Type', 'Missing job type')]
  if (type === INTERNAL_TYPE) return [issue('Type', 'job type cannot be core')]
  const known = JOB_TYPES.some((name) => name === type)
  return issueIf(!known && issue('Type', `Invalid job type: ${quote(type)}`))
}

function checkPlacement(job: Job): readonly ValidationIssue[] {
  const noDatacenter = job.Datacenters.length === 0 && job.Multiregion === null
  const emptyName = job.Datacenters.includes('')
  const system = job.Type === 'system'
  return concatIssues(
    issueIf(noDatacenter && issue('Datacenters', 'Missing job datacenters')),
    issueIf(emptyName && issue('Datacenters', 'Job datacenter must be non-empty string')),
    checkConstraints(job.Constraints, 'Constraints'),
    system
      ? issueIf(
          job.Affinities !== null &&
            issue('Affinities', 'System jobs may not have an affinity block'),
        )
      : checkAffinities(job.Affinities, 'Affinities'),
    system
      ? issueIf(job.Spreads !== null && issue('Spreads', 'System jobs may not have a spread block'))
      : checkSpreads(job.Spreads, 'Spreads'),
  )
}

function* checkGroups(job: Job): Steps<readonly ValidationIssue[]> {
  const firstIndexByName = new Map<string, number>()
  const checkGroupName = (
    group: TaskGroup,
    path: string,
    index: number,
  ): readonly ValidationIssue[] => {
    if (group.Name === '')
      return [issue(`${path}.Name`, `Job task group ${index + 1} missing name`)]
    const first = firstIndexByName.get(group.Name)
    if (first === undefined) firstIndexByName.set(group.Name, index)
    if (first === undefined) return []
    const text = `Job task group ${index + 1} redefines '${group.Name}' from group ${first + 1}`
    return [issue(`${path}.Name`, text)]
  }
  const jobIssues = concatIssues(
    issueIf(job.TaskGroups.length === 0 && issue('TaskGroups', 'Missing job task groups')),
    forEachEntry(job.TaskGroups, 'TaskGroups', (group, path, index) =>
      concatIssues(checkGroupName(group, path, index), checkGroupInJob(group, path, job)),
    ),
  )
  const all = [...jobIssues]
  for (const [index, group] of job.TaskGroups.entries()) {
    const path = `TaskGroups[${index}]`
    const groupIssues = yield* checkGroup(group, path, job)
    all.push(...nestIssues(path, `Task group ${group.Name} validation failed`, groupIssues))
  }
  return all
}

function checkGroupInJob(group: TaskGroup, path: string, job: Job): readonly ValidationIssue[] {
  const system = job.Type === 'system'
  return concatIssues(
    issueIf(
      (group.ShutdownDelay ?? 0) < 0 &&
        issue(`${path}.ShutdownDelay`, 'ShutdownDelay must be a positive value'),
    ),
    issueIf(
      system &&
        group.Count > 1 &&
        issue(
          `${path}.Count`,
          `Job task group ${group.Name} has count ${group.Count}. Count cannot exceed 1 with system scheduler`,
        ),
    ),
    issueIf(system && group.Scaling !== null && issue(`${path}.Scaling`, SYSTEM_SCALING_PROBLEM)),
  )
}

/** Also the error of registration's own check, which runs first. */
export const SYSTEM_SCALING_PROBLEM =
  'Task groups with job type system do not support scaling blocks'

function checkServerLimits(job: Job, priorityMax: number): readonly ValidationIssue[] {
  const total = job.TaskGroups.reduce((sum, group) => sum + group.Count, 0)
  const badPriority = job.Priority < 1 || job.Priority > priorityMax
  return concatIssues(
    issueIf(badPriority && issue('Priority', `job priority must be between [1, ${priorityMax}]`)),
    issueIf(
      total > LIMITS.jobCountMax &&
        issue(
          'TaskGroups',
          `total count was greater than configured job_max_count: ${total} > ${LIMITS.jobCountMax}`,
        ),
    ),
    issueIf(
      job.Payload !== null &&
        !job.Dispatched &&
        issue('Payload', "job can't be submitted with a payload, only dispatched"),
    ),
  )
}

function checkUi(job: Job): readonly ValidationIssue[] {
  if (job.UI === null) return []
  const tooLong = job.UI.Description.length > DESCRIPTION_CHARS_MAX
  return concatIssues(
    issueIf(
      tooLong &&
        issue(
          'UI.Description',
          `UI description must be under ${DESCRIPTION_CHARS_MAX} characters, currently ${job.UI.Description.length}`,
        ),
    ),
    forEachEntry(job.UI.Links, 'UI.Links', (link, path) =>
      concatIssues(
        issueIf(link.Label === '' && issue(`${path}.Label`, 'UI link must have a label')),
        issueIf(link.URL === '' && issue(`${path}.URL`, 'UI link must have a URL')),
      ),
    ),
  )
}

/**
 * Returns the problems of a job ID, including that of a dispatched job. Stricter than peers: a job
 * is read and stopped by a URL that contains its ID, so an ID that is impossible in a URL would
 * make the job unmanageable. The length is checked against the limit of path segments.
 */
export function jobIdProblems(id: string): readonly string[] {
  const problems: string[] = []
  if (id.includes(' ')) problems.push('Job ID contains a space')
  if (id.includes('\0')) problems.push('Job ID contains a null character')
  // Clients resolve them before they send the request, even when percent-encoded.
  if (id === '.' || id === '..') problems.push(`Job cannot have the ID "${id}"`)
  if (!id.isWellFormed()) problems.push('Job ID contains half of a surrogate pair')
  return problems
}
