import {
  POLICY_VARIABLE_PREFIX,
  RESERVED_VARIABLE_PREFIX,
  WORKLOAD_VARIABLE_PREFIX,
} from '@reeve/contract'

const PATH = /^[a-zA-Z0-9\-_~/]{1,128}$/
const RESERVED = RESERVED_VARIABLE_PREFIX.replace(/\/$/, '')

/** Why no variable can be stored under a path; undefined when one can. */
export function variablePathProblem(path: string): string | undefined {
  if (path === '') return 'missing variable path'
  if (!PATH.test(path))
    return `invalid path "${path.slice(0, SHOWN_MAX)}": it must match ${PATH.source}`
  if (!isBelow(path, RESERVED) || isBelow(path, WORKLOAD_VARIABLE_PREFIX)) return undefined
  if (isBelow(path, POLICY_VARIABLE_PREFIX)) return undefined
  return (
    `only paths at "${WORKLOAD_VARIABLE_PREFIX}" and below are valid ` +
    `paths under the top-level "${RESERVED}" directory`
  )
}

/** Characters of a path that a refusal repeats. */
const SHOWN_MAX = 128

/** A task of a job, or a whole group where the task does not matter. */
export interface Workload {
  readonly jobId: string
  readonly group: string
  readonly task: string
}

/**
 * The variables that belong to a workload: those of all jobs, of its job, of its group and its own.
 */
export function isOwnVariable({ jobId, group, task }: Workload, path: string): boolean {
  const own = [jobId, group, task].reduce<string[]>(
    (paths, part) => [...paths, `${paths.at(-1) ?? ''}/${part}`],
    [WORKLOAD_VARIABLE_PREFIX],
  )
  return own.includes(path)
}

function isBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`)
}
