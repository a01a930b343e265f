import {
  formatValue,
  type CompiledPolicy,
  type Evaluation,
  type JsonValue,
  type SourceFile,
  type RuleReport,
  type StandardImportOptions,
} from '@reeve/native-policy'
import {
  concernOf,
  NativeData,
  skipReason,
  type PlainObject,
  type Subject,
} from '../policy/index.ts'
import type { Answer } from './answer.ts'
import { SHOWN_MAX } from './limits.ts'
import { toPlain } from './plain-value.ts'
import { fromNative } from './problem.ts'
import { compileIn, evaluationOptions, type Surroundings } from './surroundings.ts'

export interface NativeAsking {
  readonly surroundings: Surroundings
  readonly input: JsonValue
  readonly settings: StandardImportOptions
}

export function evaluateNative(policy: SourceFile, asking: NativeAsking): Answer {
  const { surroundings, input } = asking
  const compiled = compileIn(policy, surroundings)
  if (!compiled.ok)
    return {
      policy: policy.file,
      outcome: 'refused',
      lines: [],
      problems: compiled.error.map((problem) => fromNative(problem)),
      printed: '',
      trace: {},
    }
  const skipped = skippedFor(compiled.value, input)
  if (skipped !== undefined)
    return {
      policy: policy.file,
      outcome: 'pass',
      lines: [`skipped: ${skipped}`],
      problems: [],
      printed: '',
      trace: { description: compiled.value.description, result: true, skipped },
    }
  const options = optionsOf(policy, asking)
  const evaluation = compiled.value.evaluate({ ...options, explain: true })
  return answerOf(policy.file, compiled.value.description, evaluation)
}

/**
 * Returns why a policy is skipped. As on the server, a policy for plans does not apply to a job,
 * nor the reverse.
 */
function skippedFor(compiled: CompiledPolicy, input: JsonValue): string | undefined {
  const subject = subjectOf(input)
  return subject === undefined ? undefined : skipReason(concernOf(compiled), subject)
}

/** Returns the subject if the document is in the input form of `opa` policies. */
function subjectOf(input: JsonValue): Subject | undefined {
  if (!isObject(input)) return undefined
  const { plan, run, job, existing_job: existing, namespace, token } = input
  if (isObject(plan)) return { kind: 'plan', plan, run: isObject(run) ? run : {} }
  if (!isObject(job)) return undefined
  return {
    kind: 'job',
    job,
    existingJob: isObject(existing) ? existing : undefined,
    namespace: typeof namespace === 'string' ? namespace : 'default',
    token: isObject(token) ? token : undefined,
    variables: new Map(),
  }
}

function optionsOf(policy: SourceFile, { surroundings, input, settings }: NativeAsking) {
  const subject = subjectOf(input)
  if (subject === undefined) return evaluationOptions(surroundings, settings)
  const data = new NativeData(subject, settings)
  const options = evaluationOptions(surroundings, settings, (path) => data.importValue(path))
  const globals = new Map([...data.globals(policy.text), ...(options.globals ?? [])])
  return { ...options, globals }
}

function isObject(value: JsonValue): value is PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function answerOf(policy: string, description: string, evaluation: Evaluation): Answer {
  const { result, value, undefinedAt, error, rules, printed, steps } = evaluation
  const shown = value === undefined ? [] : [`main is ${formatValue(value, SHOWN_MAX)}`]
  const place =
    undefinedAt === undefined
      ? []
      : [`undefined came up at ${undefinedAt.line}:${undefinedAt.column}`]
  return {
    policy,
    outcome: result,
    lines: [...shown, ...place, ...rules.flatMap(ruleLines)],
    problems: error === undefined ? [] : [fromNative(error)],
    printed,
    trace: {
      description,
      error: error?.message ?? null,
      print: printed,
      result: result === 'pass',
      value: value === undefined ? null : toPlain(value),
      steps,
      rules: Object.fromEntries(rules.map((rule) => [rule.name, ruleTrace(rule)])),
    },
  }
}

function ruleLines({ name, position, value, failures }: RuleReport): readonly string[] {
  const head = `rule ${name} at ${position.line}:${position.column} is ${formatValue(value, SHOWN_MAX)}`
  return [
    head,
    ...failures.map((failure) => {
      const { line, column } = failure.position
      const because = failure.operands.map(({ text, value: found }) => `${text} is ${found}`)
      const more = because.length === 0 ? '' : ` (${because.join(', ')})`
      return `  ${line}:${column} ${failure.text} is ${failure.value}${more}`
    }),
  ]
}

function ruleTrace({ name, description, position, value }: RuleReport): object {
  const { file: filename, offset, line, column } = position
  return {
    desc: description,
    ident: name,
    position: { filename, offset, line, column },
    value: toPlain(value),
  }
}
