import type { JobFilePlace } from '@reeve/contract'
import type { JobFileAliases } from '../../compat/index.ts'
import { nodeCrypto } from '@reeve/kit/node'
import type { Random } from '@reeve/kit/clock.ts'
import {
  findPlaces,
  formatPlacedProblem,
  formatProblems,
  parseJobFile,
  parseLegacyJobFile,
  placeProblems,
  type JobFileResult,
} from '../../jobspec/index.ts'
import { canonicalizeJob, LIMITS, type JobDefaults, type JobProblem } from '../../model/index.ts'

/** A job file to read, as it is handed to another thread. */
export interface JobFileTask {
  readonly text: string
  /** The text of a variable file; empty for none. */
  readonly variables: string
  readonly isLegacy: boolean
  /** Set when unset fields are to be filled with defaults. */
  readonly defaults: JobDefaults | undefined
  readonly nowMs: number
  /** Other names that the file may use; none unless given. */
  readonly aliases?: JobFileAliases
  /** Values of variables by name, which win over `variables`. */
  readonly flags?: Readonly<Record<string, string>>
  /** What is wrong with the job that came from the file, to be found in it. */
  readonly problems?: readonly JobProblem[]
  /** Fields of the job to be found in the file, such as `TaskGroups[0].Count`. */
  readonly paths?: readonly string[]
}

export type JobFileOutcome =
  /** With a line for each of the task's problems, which says where in the file it is. */
  | {
      readonly kind: 'job'
      readonly json: string
      readonly placed: readonly string[]
      /** Where each of the task's paths is. */
      readonly places: readonly JobFilePlace[]
    }
  | { readonly kind: 'refused'; readonly message: string }

/** What messages call a text that has no name of its own. */
const FILE = 'input.hcl'
const VARIABLES_FILE = 'variables.hcl'

/**
 * Reads a job file as a server does: no files, no environment, and a value for a variable that is
 * not declared does no harm. The job is written out here, so that a large one costs the thread that
 * asked nothing but its text.
 */
export function runJobFileTask(task: JobFileTask, random: Random): JobFileOutcome {
  const read = readTask(task, random)
  if (!read.ok) return { kind: 'refused', message: formatProblems(read.error) }
  const { job, positions } = read.value
  const { defaults } = task
  const json = JSON.stringify(defaults === undefined ? job : canonicalizeJob(job, defaults))
  const placed = placeProblems(task.problems ?? [], positions).map(formatPlacedProblem)
  const places = findPlaces(task.paths ?? [], positions)
  if (json.length <= LIMITS.parsedJobCharsMax) return { kind: 'job', json, placed, places }
  const message = `The job has ${json.length} characters as JSON; at most ${LIMITS.parsedJobCharsMax} can be registered.`
  return { kind: 'refused', message }
}

function readTask(task: JobFileTask, random: Random): JobFileResult {
  const { text, variables, nowMs, flags = {}, aliases } = task
  const named = aliases === undefined ? {} : { aliases }
  if (task.isLegacy) return parseLegacyJobFile({ file: FILE, text, ...named })
  const variableTexts = variables === '' ? [] : [{ file: VARIABLES_FILE, text: variables }]
  const request = { file: FILE, text, variableTexts, flags, strict: false, files: undefined }
  return parseJobFile({ ...request, ...named, random, crypto: nodeCrypto, nowMs })
}
