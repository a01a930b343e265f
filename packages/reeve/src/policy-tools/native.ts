import { basename, dirname, extname, join } from 'node:path'
import {
  areEqual,
  formatValue,
  toLazyValue,
  type Evaluation,
  type JsonValue,
  type SourceFile,
  type StandardImportOptions,
  type Value,
  type CompiledPolicy,
  type RuleResult,
  isMapValue,
  ListValue,
  Undefined,
} from '@reeve/native-policy'
import {
  importAliases,
  inputKindOf,
  type JsonObject,
  NativeInput,
  type PolicyInput,
  skipReason,
} from '../policy/index.ts'
import type { Coverage } from './coverage.ts'
import { listDirectory, SHOWN_MAX } from './files.ts'
import {
  errored,
  type EvaluationReport,
  fromNative,
  type TestFilter,
  type TestResult,
  type ToolDiagnostic,
} from './report.ts'
import {
  compileInEnvironment,
  evaluationOptions,
  loadManifest,
  loadEnvironment,
  type PolicyEnvironment,
} from './environment.ts'

interface NativeTestOptions {
  readonly settings: StandardImportOptions
  readonly coverage: Coverage | undefined
  readonly isWanted: TestFilter
  /** Settings of the set's manifest. */
  readonly environment: PolicyEnvironment
}

/** Runs `test/<policy>/*.hcl|json` beside a policy. */
export async function runNativeTests(
  policy: SourceFile,
  options: NativeTestOptions,
): Promise<readonly TestResult[]> {
  const name = basename(policy.file, extname(policy.file))
  const folder = join(dirname(policy.file), 'test', name)
  const files = (await listDirectory(folder)).filter((file) => /\.(?:hcl|json)$/.test(file))
  const results: TestResult[] = []
  for (const file of files) {
    const test = { policy: name, name: file, path: join(folder, file) }
    if (options.isWanted(test)) results.push(await runTestCase(policy, test, options))
  }
  return results
}

interface NativeTestCase {
  readonly policy: string
  readonly name: string
  readonly path: string
}

async function runTestCase(
  policy: SourceFile,
  { path, ...test }: NativeTestCase,
  { settings, coverage, environment }: NativeTestOptions,
): Promise<TestResult> {
  const loaded = await loadManifest(path)
  if (!loaded.ok) return errored(test, loaded.error)
  const testEnvironment = await loadEnvironment(loaded.value, environment)
  if (!testEnvironment.ok) return errored(test, testEnvironment.error)
  const compiled = compileInEnvironment(policy, testEnvironment.value)
  if (!compiled.ok)
    return errored(
      test,
      compiled.error.map((problem) => fromNative(problem)),
    )
  coverage?.addNative(policy)
  for (const name of compiled.value.imports) {
    const module = testEnvironment.value.modules.get(name)
    const isMocked = importAliases(name).some((one) => loaded.value.manifest.mocks.has(one))
    if (module !== undefined && !isMocked) coverage?.addNative(module)
  }
  const options = evaluationOptions(testEnvironment.value, settings)
  const evaluation = compiled.value.evaluate({ ...options, explain: true })
  coverage?.addEvaluation(evaluation)
  return toTestResult(test, evaluation, loaded.value.manifest.expectedRules)
}

function toTestResult(
  test: Pick<TestResult, 'policy' | 'name'>,
  evaluation: Evaluation,
  expected: ReadonlyMap<string, JsonValue> | undefined,
): TestResult {
  const { error, printed } = evaluation
  if (error !== undefined) return { ...errored(test, [fromNative(error)]), printed }
  const expectedRules = expected ?? new Map<string, JsonValue>([['main', true]])
  const reasons = [...expectedRules].flatMap(([name, value]) =>
    expectationFailures(evaluation, name, value),
  )
  const isPassed = reasons.length === 0
  const problems = isPassed ? [] : failureNotes(evaluation)
  return { ...test, status: isPassed ? 'passed' : 'failed', reasons, problems, printed }
}

/** Compares only the listed rules; a listed rule that was not evaluated is a failure. */
function expectationFailures(
  evaluation: Evaluation,
  name: string,
  expected: JsonValue,
): readonly string[] {
  const actual =
    name === 'main' ? comparableMain(evaluation, expected) : ruleValue(evaluation, name)
  if (actual === undefined) return [`the rule "${name}" was not evaluated`]
  const value = toLazyValue(expected)
  if (areEqual(actual, value, () => undefined) === true) return []
  return [`"${name}" is ${formatValue(actual, SHOWN_MAX)}, not ${formatValue(value, SHOWN_MAX)}`]
}

/**
 * Returns the main value as a boolean if the test expects one, because any value counts as pass or
 * fail.
 */
function comparableMain({ value, result }: Evaluation, expected: JsonValue): Value | undefined {
  const isVerdict = typeof expected === 'boolean' && typeof value !== 'boolean'
  return isVerdict && result !== 'undefined' ? result === 'pass' : value
}

function ruleValue({ rules }: Evaluation, ruleName: string): Value | undefined {
  return rules.find(({ name }) => name === ruleName)?.value
}

function failureNotes({ rules }: Evaluation): readonly ToolDiagnostic[] {
  return rules.flatMap(({ name, failures: found }) =>
    found.map(({ position, text, value }) => ({
      file: position.file,
      line: position.line,
      column: position.column,
      severity: 'note' as const,
      message: `in "${name}", ${text} is ${value}`,
      sourceLine: undefined,
    })),
  )
}

interface NativeEvaluationRequest {
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

const DEPTH_MAX = 100

/**
 * Converts the value of a native policy to JSON; values that JSON cannot represent become strings.
 */
function toJsonValue(value: Value, depth = 0): JsonValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return value
  if (depth > DEPTH_MAX) return '…'
  if (value instanceof ListValue) return value.items.map((item) => toJsonValue(item, depth + 1))
  if (value instanceof Undefined) return undefined
  if (isMapValue(value))
    return Object.fromEntries(
      value.keys().map((key) => [String(key), toJsonValue(value.get(key) ?? null, depth + 1)]),
    )
  const text = formatValue(value, SHOWN_MAX)
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : text
}
