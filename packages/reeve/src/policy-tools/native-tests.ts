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
} from '@reeve/native-policy'
import { importAliases } from '../policy/index.ts'
import type { Coverage } from './coverage.ts'
import { listDirectory } from './files.ts'
import { SHOWN_MAX } from './limits.ts'
import { fromNative, type ToolDiagnostic } from './problem.ts'
import {
  compileInEnvironment,
  evaluationOptions,
  loadManifest,
  loadEnvironment,
  type PolicyEnvironment,
} from './surroundings.ts'
import { errored, type TestFilter, type TestResult } from './test-result.ts'

export interface NativeTestOptions {
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
