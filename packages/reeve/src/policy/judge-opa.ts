import type { v2 } from '@reeve/contract'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  compileRego,
  formatValue,
  fromJson,
  LimitReached,
  objectOf,
  ObjectValue,
  SetValue,
  toJsonText,
  toJson,
  type EvaluateOptions,
  type Location,
  type PreparedDocument,
  type RegoDiagnostic,
  type RegoProgram,
  type TraceEvent,
  type Value,
} from '@reeve/rego'
import { readBundle } from './bundle.ts'
import type { AskedPolicy, Asking, Diagnostic, Judgement, PolicyText } from './judgement.ts'
import { FINDINGS_MAX, MESSAGE_LENGTH_MAX, POLICY_STEPS_MAX, RESULT_VALUES_MAX } from './limits.ts'
import { opaQuery } from './opa-query.ts'
import type { Subject } from './subject.ts'

export interface OpaPolicy {
  readonly compiled: RegoProgram
  readonly query: string
  readonly asked: PreparedDocument
  readonly warnings: readonly Diagnostic[]
}

export function compileOpa(policy: PolicyText): Result<OpaPolicy, readonly Diagnostic[]> {
  const own = fileOf(policy)
  const { code, libraries } = readBundle(policy.code)
  // A set may have its rules in files that no policy is called like.
  const main = code === '' && libraries.length > 0 ? [] : [{ file: own, text: code }]
  const others = libraries.map(([file, text]) => ({ file, text }))
  const compiled = compileRego({ modules: [...main, ...others], version: 'detect' })
  if (!compiled.ok) return err(compiled.error.map((problem) => problemDiagnostic(problem, own)))
  const query = opaQuery(policy.query, code)
  const asked = compiled.value.prepareDocument(query)
  if (!asked.ok)
    return err([
      { severity: 'error', line: 1, column: 1, message: `query: ${asked.error.message}` },
    ])
  return ok({ compiled: compiled.value, query, asked: asked.value, warnings: [] })
}

function fileOf({ name }: PolicyText): string {
  return `${name}.rego`
}

function problemDiagnostic({ message, location }: RegoDiagnostic, own: string): Diagnostic {
  return {
    severity: 'error',
    message: location.file === own ? message : `${location.file}: ${message}`,
    line: Math.max(1, location.row),
    column: Math.max(1, location.column),
  }
}

/** The parameters of the set are data. */
export function judgeOpa(
  policy: OpaPolicy,
  { policy: text, params }: AskedPolicy,
  asking: Asking,
): Judgement {
  const printed: string[] = []
  const input = fromJson(inputOf(asking.subject))
  const options = {
    input,
    data: objectOf([['parameters', fromJson(params)]]),
    limits: { stepsMax: POLICY_STEPS_MAX },
    nowNs: asking.options.time.nowNs,
    random: asking.options.random,
    zoneOffset: asking.options.offsetAt,
    crypto: asking.options.crypto,
    isCancelled: asking.options.isCancelled,
    print: (line: string) => printed.push(line),
  } satisfies EvaluateOptions
  const answer = policy.asked.evaluate(options)
  if (!answer.ok) {
    const { message, location } = answer.error
    const place = location === undefined ? NOWHERE : placeOf(location, fileOf(text))
    return { status: 'errored', output: [], findings: [{ rule: null, ...place, message }] }
  }
  const outcome = boundedOutcome(answer.value, policy.query)
  if (outcome.status !== 'failed')
    return { ...outcome, output: [...outcome.output, ...lines(printed)] }
  const places = placesOf(policy, fileOf(text), options)
  const findings = outcome.output
    .slice(0, FINDINGS_MAX)
    .map((item) => findingOf(item, { places, query: policy.query, name: text.name }))
  return { ...outcome, output: outcome.output.map(storable), findings }
}

const NOWHERE = { line: null, column: null }

/** A file is named when it is not the policy's own. */
function placeOf({ file, row, column }: Location, own: string) {
  return { line: row, column, ...(file === own ? {} : { file }) }
}

function lines(printed: readonly string[]): readonly unknown[] {
  return printed.length === 0 ? [] : [{ print: printed.join('\n') }]
}

function inputOf(subject: Subject): Parameters<typeof fromJson>[0] {
  if (subject.kind === 'plan') return { plan: subject.plan, run: subject.run }
  const { job, existingJob, namespace, token } = subject
  return {
    job,
    existing_job: existingJob ?? null,
    namespace,
    token: token ?? null,
  }
}

/** A result past the limits is an error of the policy, not of the thread that asks it. */
function boundedOutcome(value: Value | undefined, query: string): Judgement {
  try {
    return outcomeOf(value, query)
  } catch (thrown) {
    if (!(thrown instanceof LimitReached)) throw thrown
    return errored(
      `the result of ${query} is too large: at most ${RESULT_VALUES_MAX} values and ` +
        'a limited depth are allowed. Return messages, or only the parts that matter',
    )
  }
}

function outcomeOf(value: Value | undefined, query: string): Judgement {
  if (value === undefined) return errored(`${query} is undefined: nothing in the policy defines it`)
  if (typeof value === 'boolean')
    return value
      ? PASSED
      : { status: 'failed', output: [false], findings: [], warning: falseOf(query) }
  const found = collected(value)
  if (found === undefined)
    return errored(`${query} is ${formatValue(value).slice(0, 100)}: an array or a set is needed`)
  return found.length === 0 ? PASSED : { status: 'failed', output: found, findings: [] }
}

function falseOf(query: string): string {
  return `${query} is false: an array or a set of messages is expected`
}

const PASSED: Judgement = { status: 'passed', output: [], findings: [] }

function errored(message: string): Judgement {
  return { status: 'errored', output: [], findings: [{ rule: null, ...NOWHERE, message }] }
}

function collected(value: Value): readonly unknown[] | undefined {
  if (Array.isArray(value) || value instanceof SetValue)
    return plainList(toJson(value, RESULT_VALUES_MAX))
  if (!(value instanceof ObjectValue)) return undefined
  const plain = toJson(value, RESULT_VALUES_MAX)
  return typeof plain === 'object' && plain !== null && Object.keys(plain).length === 0
    ? []
    : [plain]
}

function plainList(plain: unknown): readonly unknown[] {
  return Array.isArray(plain) ? plain : [plain]
}

interface Place {
  readonly rule: string
  readonly line: number
  readonly column: number
  readonly file?: string
}

type Places = ReadonlyMap<string, Place>

/** Which rule gave each message: found by asking again, with a trace. */
function placesOf(
  policy: OpaPolicy,
  own: string,
  options: Parameters<PreparedDocument['evaluate']>[0],
): Places {
  const places = new Map<string, Place>()
  const asked = policy.compiled.prepareDocument(policy.query, { explain: true })
  if (!asked.ok) return places
  const path = policy.query.replace(/^data\./, '')
  const trace = (event: TraceEvent) => {
    if (event.type !== 'value' || event.rule.group.path.join('.') !== path) return
    const location = event.rule.source.locate(event.rule.rule.at)
    const rule = event.rule.group.path.at(-1) ?? ''
    places.set(formatValue(event.value), { rule, ...placeOf(location, own) })
  }
  asked.value.evaluate({ ...options, trace })
  return places
}

function findingOf(
  item: unknown,
  { places, query, name }: { places: Places; query: string; name: string },
): v2.PolicyFinding {
  const known = places.get(formatValue(fromJson(plainOf(item)))) ?? soleOf(places)
  const message = typeof item === 'string' ? item : toJsonText(fromJson(plainOf(item)))
  return {
    rule: known?.rule ?? /\.(\w+)$/.exec(query)?.[1] ?? name,
    line: known?.line ?? null,
    column: known?.column ?? null,
    ...(known?.file === undefined ? {} : { file: known.file }),
    message: truncateText(message, MESSAGE_LENGTH_MAX),
    ...(typeof item === 'string' ? {} : { value: storable(item) }),
  }
}

/** Judgements are stored as JSON, which has no long whole numbers; messages keep the digits. */
function storable(item: unknown): unknown {
  if (typeof item === 'bigint') return Number(item)
  if (Array.isArray(item)) return item.map(storable)
  if (typeof item !== 'object' || item === null) return item
  const members = Object.entries(item).map(([name, part]): [string, unknown] => [
    name,
    storable(part),
  ])
  return Object.fromEntries(members)
}

/** A complete rule gives all messages at once. */
function soleOf(places: Places) {
  return places.size === 1 ? [...places.values()][0] : undefined
}

function plainOf(item: unknown): Parameters<typeof fromJson>[0] {
  // It came out of `toPlain`, which gives nothing else.
  return item as Parameters<typeof fromJson>[0]
}
