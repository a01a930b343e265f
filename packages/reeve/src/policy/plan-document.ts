import { exactJsonMemoryBytes } from '@reeve/kit/json.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { PlanCounts } from '../model/index.ts'
import { parseExactJson } from '@reeve/native-policy'
import type { InputProblem, PlanSummary } from './engine.ts'
import type { JsonObject, PolicyInput } from './policy-input.ts'

/** Planning tools do not produce deeper plans, and recursive functions could overflow the stack. */
const DEPTH_MAX = 200

/** Objects and lists of a plan, about as many as in 50 MB of a real one. */
const CONTAINERS_MAX = 3_000_000

/**
 * Memory that a plan with long numbers may take while it is parsed: the thread has 1 GB, and the
 * process ends with a thread that exceeds its limit inside the parser.
 */
const EXACT_MEMORY_BYTES_MAX = 850 * 1024 * 1024

/** Matches a number that may exceed the precision of a double. Digits in strings do not match. */
const LONG_NUMBER = /[[:,]\s*-?\d{16}/

/**
 * Parses and validates a plan. `decode` decodes UTF-8, removes a byte order mark, and throws if the
 * bytes are invalid.
 */
export function parsePlan(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => string,
): Result<JsonObject, string> {
  const problem = checkSize(bytes)
  if (problem !== undefined) return err(problem)
  try {
    const text = decode(bytes)
    // 64-bit integers keep all digits.
    if (!LONG_NUMBER.test(text)) return validatePlan(JSON.parse(text))
    if (exactJsonMemoryBytes(bytes) > EXACT_MEMORY_BYTES_MAX)
      return err('The plan has too many values for one with numbers of more than 15 digits')
    return validatePlan(parseExactJson(text))
  } catch (thrown) {
    const isText = thrown instanceof SyntaxError
    return err(isText ? `The plan is not JSON: ${thrown.message}` : 'The plan is not UTF-8 text')
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** `[` and `{` differ only in this bit, and so do `]` and `}`; no other bytes become a bracket. */
const BRACE_BIT = 0x20
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Checks nesting and number of containers in one pass, without parsing. */
function checkSize(bytes: Uint8Array): string | undefined {
  let depth = 0
  let containers = 0
  let isInString = false
  for (let index = 0; index < bytes.length; index++) {
    const code = bytes[index] ?? 0
    if (isInString) {
      if (code === BACKSLASH) index++
      else if (code === QUOTE) isInString = false
    } else if (code === QUOTE) isInString = true
    else if ((code | BRACE_BIT) === OPEN_BRACE) {
      depth++
      containers++
      if (depth > DEPTH_MAX) return `The plan is nested more than ${DEPTH_MAX} levels deep`
      if (containers > CONTAINERS_MAX)
        return `The plan has more than ${CONTAINERS_MAX} objects and lists`
    } else if ((code | BRACE_BIT) === CLOSE_BRACE) depth--
  }
  return undefined
}

/** Validates that a plan is an object with `format_version` 0 or 1 and `resource_changes`. */
export function validatePlan(value: unknown): Result<JsonObject, string> {
  if (!isObject(value)) return err('The plan must be a JSON object')
  const version = value['format_version']
  if (typeof version !== 'string') return err('The plan must have a format_version')
  if (!/^[01]\./.test(version))
    return err(`The plan has the format_version ${JSON.stringify(version)}; 1.x is known`)
  if (!Array.isArray(value['resource_changes']))
    return err('The plan must have a list of resource_changes')
  // Parsed from JSON, so all values are JSON values.
  return ok(value as JsonObject)
}

/**
 * Validates an uploaded plan, including its resource changes, which are counted. Stored plans are
 * not validated again.
 */
function validateNewPlan(value: unknown): Result<JsonObject, string> {
  const plan = validatePlan(value)
  if (!plan.ok) return plan
  const problem = resourceChangesProblem(asList(plan.value['resource_changes']))
  return problem === undefined ? plan : err(problem)
}

function resourceChangesProblem(entries: readonly unknown[]): string | undefined {
  for (const [i, entry] of entries.entries()) {
    const pointer = `resource_changes[${i}]`
    if (!isObject(entry)) return `The plan must have an object at ${pointer}`
    const { change = {} } = entry
    if (!isObject(change)) return `The plan must have an object at ${pointer}.change`
    const { actions = [] } = change
    if (!Array.isArray(actions) || actions.some((action) => typeof action !== 'string'))
      return `The plan must have a list of texts at ${pointer}.change.actions`
  }
  return undefined
}

/** Counts the changes of a new plan, or returns why it is invalid. */
export function summarizePlan(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => string,
): Result<PlanSummary, string> {
  const read = parsePlan(bytes, decode)
  const plan = read.ok ? validateNewPlan(read.value) : read
  if (!plan.ok) return plan
  const counts = countChanges(plan.value)
  return ok({ counts, hasChanges: planHasChanges(plan.value, counts) })
}

/** Counts the actions of the resource changes. */
function countChanges(plan: JsonObject): PlanCounts {
  const counts = { additions: 0, changes: 0, destructions: 0, imports: 0 }
  for (const change of iterateChanges(plan)) {
    const actions = asList(change['actions'])
    if (actions.includes('create')) counts.additions++
    if (actions.includes('update')) counts.changes++
    if (actions.includes('delete')) counts.destructions++
    if (isObject(change['importing'])) counts.imports++
  }
  return { ...counts, resources: countPlannedResources(plan) }
}

/**
 * Reports whether an apply would do anything. Changed outputs count, and so does drift in a
 * refresh-only plan, which the tool marks as applicable.
 */
function planHasChanges(plan: JsonObject, counts: PlanCounts): boolean {
  const { additions, changes, destructions, imports } = counts
  if (additions + changes + destructions + imports > 0) return true
  if (plan['applyable'] === true) return true
  return Object.values(asObject(plan['output_changes'])).some((change) =>
    asList(asObject(change)['actions']).some((action) => action !== 'no-op' && action !== 'read'),
  )
}

function* iterateChanges(plan: JsonObject): Generator<Readonly<Record<string, unknown>>> {
  for (const entry of asList(plan['resource_changes'])) yield asObject(asObject(entry)['change'])
}

function countPlannedResources(plan: JsonObject): number {
  let found = 0
  const modules = [asObject(asObject(plan['planned_values'])['root_module'])]
  for (let module = modules.pop(); module !== undefined; module = modules.pop()) {
    found += asList(module['resources']).filter(
      (resource) => asObject(resource)['mode'] !== 'data',
    ).length
    modules.push(...asList(module['child_modules']).map(asObject))
  }
  return found
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

const NEITHER =
  'Input must have a plan or a job: {"plan": …}, {"job": …}, a plan exported as JSON, or the JSON of a job'

/**
 * Returns the document that policies of kind `opa` are evaluated against: a job or a plan by itself
 * is wrapped in the member that policies read. Anything else is rejected, because most policies
 * pass when they find nothing to object to. The input was read from JSON.
 */
export function policyDocument(input: unknown): Result<JsonObject, string> {
  if (!isObject(input)) return err(NEITHER)
  if (isObject(input['plan']) || isObject(input['job'])) return ok(asJsonObject(input))
  if (Array.isArray(input['resource_changes']) && typeof input['format_version'] === 'string')
    return ok({ plan: asJsonObject(input), run: {} })
  if (isObject(input['Job'])) return ok(documentOfJob(input['Job']))
  if (Array.isArray(input['TaskGroups'])) return ok(documentOfJob(input))
  return err(NEITHER)
}

function documentOfJob(job: Readonly<Record<string, unknown>>): JsonObject {
  return { job: asJsonObject(job), namespace: jobNamespace(job) }
}

/** The subject of a trial. The input was read from JSON. */
export function toPolicyInput(input: unknown): Result<PolicyInput, InputProblem> {
  if (isObject(input) && input['plan'] !== undefined && !isObject(input['plan']))
    return err({ member: 'plan', message: 'The plan must be a JSON object' })
  const read = policyDocument(input)
  if (!read.ok) return err({ member: '', message: read.error })
  const { job, plan, run, namespace, token, existing_job: existing } = read.value
  if (plan !== undefined) {
    const document = validateNewPlan(plan)
    if (!document.ok) return err({ member: 'plan', message: document.error })
    return ok({ kind: 'plan', plan: document.value, run: isObject(run) ? asJsonObject(run) : {} })
  }
  if (!isObject(job)) return err({ member: '', message: NEITHER })
  return ok({
    kind: 'job',
    job: asJsonObject(job),
    existingJob: isObject(existing) ? asJsonObject(existing) : undefined,
    namespace: typeof namespace === 'string' ? namespace : jobNamespace(job),
    token: isObject(token) ? asJsonObject(token) : undefined,
    variables: new Map(),
  })
}

function jobNamespace(job: Readonly<Record<string, unknown>>): string {
  return typeof job['Namespace'] === 'string' ? job['Namespace'] : 'default'
}

function asJsonObject(data: Readonly<Record<string, unknown>>): JsonObject {
  // Parsed from JSON, so all values are JSON values.
  return data as JsonObject
}
