import type { v2 } from '@reeve/contract'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  compileRego,
  formatValue,
  fromJson,
  LimitExceeded,
  objectOf,
  ObjectValue,
  SetValue,
  toJsonString,
  toJson,
  type EvaluateOptions,
  type Location,
  type PreparedDocument,
  type RegoDiagnostic,
  type RegoProgram,
  type TraceEvent,
  type Value,
} from '@reeve/rego'
import { readBundle } from './set-archive.ts'
import {
  type Diagnostic,
  erroredResult,
  type EvaluationContext,
  omittedFindingsWarning,
  type PolicyDefinition,
  type PolicyInvocation,
  type PolicyResult,
} from './engine.ts'
import { FINDINGS_MAX, MESSAGE_LENGTH_MAX, POLICY_STEPS_MAX, RESULT_VALUES_MAX } from './limits.ts'
import type { PolicyInput } from './policy-input.ts'

export interface CompiledRegoPolicy {
  readonly compiled: RegoProgram
  readonly query: string
  readonly prepared: PreparedDocument
  readonly warnings: readonly Diagnostic[]
}

export function compileRegoPolicy(
  policy: PolicyDefinition,
): Result<CompiledRegoPolicy, readonly Diagnostic[]> {
  const ownFile = policyFile(policy)
  const { code, libraries } = readBundle(policy.code)
  // A set may have all its rules in files with other names than its policies.
  const main = code === '' && libraries.length > 0 ? [] : [{ file: ownFile, text: code }]
  const others = libraries.map(([file, text]) => ({ file, text }))
  const compiled = compileRego({ modules: [...main, ...others], version: 'detect' })
  if (!compiled.ok) return err(compiled.error.map((problem) => toDiagnostic(problem, ownFile)))
  const query = resolveQuery(policy.query, code)
  const prepared = compiled.value.prepareDocument(query)
  if (!prepared.ok)
    return err([
      { severity: 'error', line: 1, column: 1, message: `query: ${prepared.error.message}` },
    ])
  return ok({ compiled: compiled.value, query, prepared: prepared.value, warnings: [] })
}

function policyFile({ name }: PolicyDefinition): string {
  return `${name}.rego`
}

function toDiagnostic({ message, location }: RegoDiagnostic, ownFile: string): Diagnostic {
  return {
    severity: 'error',
    message: location.file === ownFile ? message : `${location.file}: ${message}`,
    line: Math.max(1, location.row),
    column: Math.max(1, location.column),
  }
}

/** Evaluates a policy. The parameters of the set are available as `data.parameters`. */
export function evaluateRegoPolicy(
  policy: CompiledRegoPolicy,
  { policy: definition, params }: PolicyInvocation,
  evaluation: EvaluationContext,
): PolicyResult {
  const printed: string[] = []
  const input = fromJson(toRegoInput(evaluation.input))
  const options = {
    input,
    data: objectOf([['parameters', fromJson(params)]]),
    limits: { stepsMax: POLICY_STEPS_MAX },
    nowNs: evaluation.options.time.nowNs,
    random: evaluation.options.random,
    zoneOffset: evaluation.options.offsetAt,
    crypto: evaluation.options.crypto,
    isCancelled: evaluation.options.isCancelled,
    print: (line: string) => printed.push(line),
  } satisfies EvaluateOptions
  const evaluated = policy.prepared.evaluate(options)
  if (!evaluated.ok) {
    const { message, location } = evaluated.error
    const position =
      location === undefined ? NO_LOCATION : locationOf(location, policyFile(definition))
    return { status: 'errored', output: [], findings: [{ rule: null, ...position, message }] }
  }
  const outcome = resultWithinLimits(evaluated.value, policy.query)
  if (outcome.status !== 'failed')
    return { ...outcome, output: [...outcome.output, ...printOutput(printed)] }
  const locations = traceRuleLocations(policy, policyFile(definition), options)
  const findings = outcome.output
    .slice(0, FINDINGS_MAX)
    .map((item) => toFinding(item, { locations, query: policy.query, name: definition.name }))
  return {
    ...outcome,
    output: outcome.output.map(toStorableJson),
    findings,
    ...omittedFindingsWarning(outcome.output.length),
  }
}

const NO_LOCATION = { line: null, column: null }

/** The file name is included only if it is not the policy's own file. */
function locationOf({ file, row, column }: Location, ownFile: string) {
  return { line: row, column, ...(file === ownFile ? {} : { file }) }
}

function printOutput(printed: readonly string[]): readonly unknown[] {
  return printed.length === 0 ? [] : [{ print: printed.join('\n') }]
}

function toRegoInput(input: PolicyInput): Parameters<typeof fromJson>[0] {
  if (input.kind === 'plan') return { plan: input.plan, run: input.run }
  const { job, existingJob, namespace, token } = input
  return {
    job,
    existing_job: existingJob ?? null,
    namespace,
    token: token ?? null,
  }
}

/** A result over the limits is an error of the policy; it must not terminate the worker. */
function resultWithinLimits(value: Value | undefined, query: string): PolicyResult {
  try {
    return toPolicyResult(value, query)
  } catch (thrown) {
    if (!(thrown instanceof LimitExceeded)) throw thrown
    return erroredResult(
      `the result of ${query} is too large: at most ${RESULT_VALUES_MAX} values and ` +
        'a limited depth are allowed. Return messages, or only the parts that matter',
    )
  }
}

function toPolicyResult(value: Value | undefined, query: string): PolicyResult {
  if (value === undefined)
    return erroredResult(`${query} is undefined: nothing in the policy defines it`)
  if (typeof value === 'boolean')
    return value
      ? PASSED
      : { status: 'failed', output: [false], findings: [], warning: falseWarning(query) }
  const found = resultItems(value)
  if (found === undefined)
    return erroredResult(
      `${query} is ${formatValue(value).slice(0, 100)}: an array or a set is needed`,
    )
  return found.length === 0 ? PASSED : { status: 'failed', output: found, findings: [] }
}

function falseWarning(query: string): string {
  return `${query} is false: an array or a set of messages is expected`
}

const PASSED: PolicyResult = { status: 'passed', output: [], findings: [] }

function resultItems(value: Value): readonly unknown[] | undefined {
  if (Array.isArray(value) || value instanceof SetValue)
    return asList(toJson(value, RESULT_VALUES_MAX))
  if (!(value instanceof ObjectValue)) return undefined
  const json = toJson(value, RESULT_VALUES_MAX)
  return typeof json === 'object' && json !== null && Object.keys(json).length === 0 ? [] : [json]
}

function asList(json: unknown): readonly unknown[] {
  return Array.isArray(json) ? json : [json]
}

interface RuleLocation {
  readonly rule: string
  readonly line: number
  readonly column: number
  readonly file?: string
}

type RuleLocations = ReadonlyMap<string, RuleLocation>

/**
 * Returns the location of the rule that produced each message, found by a second evaluation with a
 * trace.
 */
function traceRuleLocations(
  policy: CompiledRegoPolicy,
  ownFile: string,
  options: Parameters<PreparedDocument['evaluate']>[0],
): RuleLocations {
  const locations = new Map<string, RuleLocation>()
  const prepared = policy.compiled.prepareDocument(policy.query, { explain: true })
  if (!prepared.ok) return locations
  const path = policy.query.replace(/^data\./, '')
  const trace = (event: TraceEvent) => {
    if (event.type !== 'value' || event.rule.group.path.join('.') !== path) return
    const location = event.rule.source.locate(event.rule.rule.at)
    const rule = event.rule.group.path.at(-1) ?? ''
    locations.set(formatValue(event.value), { rule, ...locationOf(location, ownFile) })
  }
  prepared.value.evaluate({ ...options, trace })
  return locations
}

function toFinding(
  item: unknown,
  { locations, query, name }: { locations: RuleLocations; query: string; name: string },
): v2.PolicyFinding {
  const location = locations.get(formatValue(fromJson(asJsonValue(item)))) ?? onlyEntry(locations)
  const message = typeof item === 'string' ? item : toJsonString(fromJson(asJsonValue(item)))
  return {
    rule: location?.rule ?? /\.(\w+)$/.exec(query)?.[1] ?? name,
    line: location?.line ?? null,
    column: location?.column ?? null,
    ...(location?.file === undefined ? {} : { file: location.file }),
    message: truncateText(message, MESSAGE_LENGTH_MAX),
    ...(typeof item === 'string' ? {} : { value: toStorableJson(item) }),
  }
}

/**
 * Converts integers beyond the range of doubles, because results are stored as JSON; messages keep
 * all digits.
 */
function toStorableJson(item: unknown): unknown {
  if (typeof item === 'bigint') return Number(item)
  if (Array.isArray(item)) return item.map(toStorableJson)
  if (typeof item !== 'object' || item === null) return item
  const members = Object.entries(item).map(([name, part]): [string, unknown] => [
    name,
    toStorableJson(part),
  ])
  return Object.fromEntries(members)
}

/** Returns the location of the only rule: a complete rule produces all messages at once. */
function onlyEntry(locations: RuleLocations) {
  return locations.size === 1 ? [...locations.values()][0] : undefined
}

function asJsonValue(item: unknown): Parameters<typeof fromJson>[0] {
  // The value was returned by `toJson`, so it is a JSON value.
  return item as Parameters<typeof fromJson>[0]
}

/** Returns the query of a policy; the default is `deny` of its package. */
export function resolveQuery(query: string | null | undefined, code: string): string {
  if (query !== null && query !== undefined && query.trim() !== '') return qualifyQuery(query)
  const name = /^\s*package\s+([^\s;]+)/m.exec(code)?.[1] ?? ''
  return `data.${name}.deny`
}

/** Adds the prefix `data.` to a bare reference. Other terms are unchanged. */
export function qualifyQuery(query: string): string {
  const text = query.trim()
  return BARE_REFERENCE.test(text) ? `data.${text}` : text
}

/**
 * Matches a reference that is not called: a query declares no variables, so it must refer to a
 * document.
 */
const BARE_REFERENCE =
  /^(?!(?:data|input|true|false|null|not|some|every)\b)[a-z_]\w*(?:\.\w+|\[[^[\]]*\])*(?![\w.[(])/i
