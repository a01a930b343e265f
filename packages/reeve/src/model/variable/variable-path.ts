import {
  POLICY_VARIABLE_PREFIX,
  RESERVED_VARIABLE_PREFIX,
  WORKLOAD_VARIABLE_PREFIX,
} from '@reeve/contract'

const PATH = /^[a-zA-Z0-9\-_~/]{1,128}$/
const RESERVED = RESERVED_VARIABLE_PREFIX.replace(/\/$/, '')

/** Returns why a path is invalid for a variable; undefined if it is valid. */
export function variablePathProblem(path: string): string | undefined {
  if (path === '') return 'missing variable path'
  if (!PATH.test(path))
    return `invalid path "${path.slice(0, SHOWN_PATH_LENGTH_MAX)}": it must match ${PATH.source}`
  if (!isBelow(path, RESERVED) || isBelow(path, WORKLOAD_VARIABLE_PREFIX)) return undefined
  if (isBelow(path, POLICY_VARIABLE_PREFIX)) return undefined
  return (
    `only paths at "${WORKLOAD_VARIABLE_PREFIX}" and below are valid ` +
    `paths under the top-level "${RESERVED}" directory`
  )
}

/** Maximum length of a path in an error message. */
const SHOWN_PATH_LENGTH_MAX = 128

/** A task of a job, or a whole group if the task is not relevant. */
export interface Workload {
  readonly jobId: string
  readonly group: string
  readonly task: string
}

/**
 * Reports whether a variable belongs to a workload: to all jobs, its job, its group or its task.
 */
export function belongsToWorkload({ jobId, group, task }: Workload, path: string): boolean {
  const workloadPaths = [jobId, group, task].reduce<string[]>(
    (paths, part) => [...paths, `${paths.at(-1) ?? ''}/${part}`],
    [WORKLOAD_VARIABLE_PREFIX],
  )
  return workloadPaths.includes(path)
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}
