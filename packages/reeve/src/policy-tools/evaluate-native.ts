import {
  formatValue,
  type CompiledPolicy,
  type Evaluation,
  type JsonValue,
  type SourceFile,
  type RuleResult,
  type StandardImportOptions,
} from '@reeve/native-policy'
import {
  inputKindOf,
  NativeInput,
  skipReason,
  type JsonObject,
  type PolicyInput,
} from '../policy/index.ts'
import type { EvaluationReport } from './answer.ts'
import { SHOWN_MAX } from './limits.ts'
import { toJsonValue } from './plain-value.ts'
import { fromNative } from './problem.ts'
import { compileInEnvironment, evaluationOptions, type PolicyEnvironment } from './surroundings.ts'

export interface NativeEvaluationRequest {
  readonly environment: PolicyEnvironment
  readonly input: JsonValue
  readonly settings: StandardImportOptions
}

export function evaluateNative(
  policy: SourceFile,
  request: NativeEvaluationRequest,
): EvaluationReport {
  const { environment, input } = request
  const compiled = compileInEnvironment(policy, environment)
  if (!compiled.ok)
    return {
      policy: policy.file,
      outcome: 'refused',
      lines: [],
      problems: compiled.error.map((problem) => fromNative(problem)),
      printed: '',
      trace: {},
    }
  const skipped = skipReasonFor(compiled.value, input)
  if (skipped !== undefined)
    return {
      policy: policy.file,
      outcome: 'pass',
      lines: [`skipped: ${skipped}`],
      problems: [],
      printed: '',
      trace: { description: compiled.value.description, result: true, skipped },
    }
  const options = toEvaluateOptions(policy, request)
  const evaluation = compiled.value.evaluate({ ...options, explain: true })
  return toReport(policy.file, compiled.value.description, evaluation)
}

/**
 * Returns why a policy is skipped. As on the server, a policy for plans does not apply to a job,
 * nor the reverse.
 */
function skipReasonFor(compiled: CompiledPolicy, input: JsonValue): string | undefined {
  const policyInput = toPolicyInput(input)
  return policyInput === undefined ? undefined : skipReason(inputKindOf(compiled), policyInput)
}

/** Returns the subject if the document is in the input form of `opa` policies. */
function toPolicyInput(input: JsonValue): PolicyInput | undefined {
  if (!isJsonObject(input)) return undefined
  const { plan, run, job, existing_job: existing, namespace, token } = input
  if (isJsonObject(plan)) return { kind: 'plan', plan, run: isJsonObject(run) ? run : {} }
  if (!isJsonObject(job)) return undefined
  return {
    kind: 'job',
    job,
    existingJob: isJsonObject(existing) ? existing : undefined,
    namespace: typeof namespace === 'string' ? namespace : 'default',
    token: isJsonObject(token) ? token : undefined,
    variables: new Map(),
  }
}

function toEvaluateOptions(
  policy: SourceFile,
  { environment, input, settings }: NativeEvaluationRequest,
) {
  const policyInput = toPolicyInput(input)
  if (policyInput === undefined) return evaluationOptions(environment, settings)
  const nativeInput = new NativeInput(policyInput, settings)
  const options = evaluationOptions(environment, settings, (path) => nativeInput.importValue(path))
  const globals = new Map([...nativeInput.globals(policy.text), ...(options.globals ?? [])])
  return { ...options, globals }
}

function isJsonObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toReport(policy: string, description: string, evaluation: Evaluation): EvaluationReport {
  const { result, value, undefinedAt, error, rules, printed, steps } = evaluation
  const mainLine = value === undefined ? [] : [`main is ${formatValue(value, SHOWN_MAX)}`]
  const undefinedLine =
    undefinedAt === undefined
      ? []
      : [`undefined came up at ${undefinedAt.line}:${undefinedAt.column}`]
  return {
    policy,
    outcome: result,
    lines: [...mainLine, ...undefinedLine, ...rules.flatMap(formatRule)],
    problems: error === undefined ? [] : [fromNative(error)],
    printed,
    trace: {
      description,
      error: error?.message ?? null,
      print: printed,
      result: result === 'pass',
      value: value === undefined ? null : toJsonValue(value),
      steps,
      rules: Object.fromEntries(rules.map((rule) => [rule.name, ruleTrace(rule)])),
    },
  }
}

function formatRule({ name, position, value, failures }: RuleResult): readonly string[] {
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

function ruleTrace({ name, description, position, value }: RuleResult): object {
  const { file: filename, offset, line, column } = position
  return {
    desc: description,
    ident: name,
    position: { filename, offset, line, column },
    value: toJsonValue(value),
  }
}
