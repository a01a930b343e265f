import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { PlanCounts } from '../model/index.ts'
import { parseExactJson } from '@reeve/native-policy'
import type { PlanFacts } from './asker.ts'
import type { PlainObject } from './subject.ts'

/** Deeper plans do not come from a planning tool, and walking them would not end well. */
const DEPTH_MAX = 200

/** Objects and lists in a plan: about what fifty megabytes of a real one hold. */
const CONTAINERS_MAX = 3_000_000

/** Where a number may have more digits than it keeps. Texts with many digits are in every plan. */
const LONG_NUMBER = /[[:,]\s*-?\d{16}/

/**
 * The plan that a text is; else why it is none. The host decodes UTF-8, throws where it is none,
 * and takes a byte order mark away.
 */
export function readPlan(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => string,
): Result<PlainObject, string> {
  const problem = sizeProblem(bytes)
  if (problem !== undefined) return err(problem)
  try {
    const text = decode(bytes)
    // Whole numbers of 64 bits keep their digits.
    return planOf(LONG_NUMBER.test(text) ? parseExactJson(text) : JSON.parse(text))
  } catch (thrown) {
    const isText = thrown instanceof SyntaxError
    return err(isText ? `The plan is not JSON: ${thrown.message}` : 'The plan is not UTF-8 text')
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** `[` and `{` differ in this bit only, and so do `]` and `}`; the other bytes are no brackets. */
const BRACE_BIT = 0x20
const OPEN = 0x7b
const CLOSE = 0x7d

/** Goes over the text once and makes nothing of it. */
function sizeProblem(bytes: Uint8Array): string | undefined {
  let depth = 0
  let containers = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const code = bytes[at] ?? 0
    if (isText) {
      if (code === BACKSLASH) at++
      else if (code === QUOTE) isText = false
    } else if (code === QUOTE) isText = true
    else if ((code | BRACE_BIT) === OPEN) {
      depth++
      containers++
      if (depth > DEPTH_MAX) return `The plan is nested more than ${DEPTH_MAX} levels deep`
      if (containers > CONTAINERS_MAX)
        return `The plan has more than ${CONTAINERS_MAX} objects and lists`
    } else if ((code | BRACE_BIT) === CLOSE) depth--
  }
  return undefined
}

/** An object with `format_version` and `resource_changes`; the format is version 1. */
export function planOf(value: unknown): Result<PlainObject, string> {
  if (!isObject(value)) return err('The plan must be a JSON object')
  const version = value['format_version']
  if (typeof version !== 'string') return err('The plan must have a format_version')
  if (!/^[01]\./.test(version))
    return err(`The plan has the format_version ${JSON.stringify(version)}; 1.x is known`)
  if (!Array.isArray(value['resource_changes']))
    return err('The plan must have a list of resource_changes')
  // JSON holds nothing but plain data.
  return ok(value as PlainObject)
}

/**
 * A plan that somebody brings: its resource changes must be such, or what it does would be counted
 * wrongly. What is stored is taken as it was taken then.
 */
export function newPlanOf(value: unknown): Result<PlainObject, string> {
  const plan = planOf(value)
  if (!plan.ok) return plan
  const problem = changesProblem(listOf(plan.value['resource_changes']))
  return problem === undefined ? plan : err(problem)
}

function changesProblem(entries: readonly unknown[]): string | undefined {
  for (const [i, entry] of entries.entries()) {
    const at = `resource_changes[${i}]`
    if (!isObject(entry)) return `The plan must have an object at ${at}`
    const { change = {} } = entry
    if (!isObject(change)) return `The plan must have an object at ${at}.change`
    const { actions = [] } = change
    if (!Array.isArray(actions) || actions.some((action) => typeof action !== 'string'))
      return `The plan must have a list of texts at ${at}.change.actions`
  }
  return undefined
}

/** What a new plan does, or why it is none. */
export function inspectPlan(
  bytes: Uint8Array,
  decode: (bytes: Uint8Array) => string,
): Result<PlanFacts, string> {
  const read = readPlan(bytes, decode)
  const plan = read.ok ? newPlanOf(read.value) : read
  if (!plan.ok) return plan
  const counts = planCounts(plan.value)
  return ok({ counts, hasChanges: planHasChanges(plan.value, counts) })
}

/** What the plan does, from the actions of its resource changes. */
function planCounts(plan: PlainObject): PlanCounts {
  const counts = { additions: 0, changes: 0, destructions: 0, imports: 0 }
  for (const change of changesIn(plan)) {
    const actions = listOf(change['actions'])
    if (actions.includes('create')) counts.additions++
    if (actions.includes('update')) counts.changes++
    if (actions.includes('delete')) counts.destructions++
    if (isObject(change['importing'])) counts.imports++
  }
  return { ...counts, resources: plannedResources(plan) }
}

/**
 * Whether carrying it out would do anything; outputs count too, and so does what has changed
 * outside, in a plan that only refreshes: the tool calls such a plan applicable.
 */
function planHasChanges(plan: PlainObject, counts: PlanCounts): boolean {
  const { additions, changes, destructions, imports } = counts
  if (additions + changes + destructions + imports > 0) return true
  if (plan['applyable'] === true) return true
  return Object.values(objectOf(plan['output_changes'])).some((change) =>
    listOf(objectOf(change)['actions']).some((action) => action !== 'no-op' && action !== 'read'),
  )
}

function* changesIn(plan: PlainObject): Generator<Readonly<Record<string, unknown>>> {
  for (const entry of listOf(plan['resource_changes'])) yield objectOf(objectOf(entry)['change'])
}

function plannedResources(plan: PlainObject): number {
  let found = 0
  const modules = [objectOf(objectOf(plan['planned_values'])['root_module'])]
  for (let module = modules.pop(); module !== undefined; module = modules.pop()) {
    found += listOf(module['resources']).filter(
      (resource) => objectOf(resource)['mode'] !== 'data',
    ).length
    modules.push(...listOf(module['child_modules']).map(objectOf))
  }
  return found
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
