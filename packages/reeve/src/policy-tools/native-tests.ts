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
import { importSpellings } from '../policy/index.ts'
import type { Coverage } from './coverage.ts'
import { namesIn } from './files.ts'
import { SHOWN_MAX } from './limits.ts'
import { fromNative, type ToolProblem } from './problem.ts'
import {
  compileIn,
  evaluationOptions,
  loadManifest,
  surroundingsOf,
  type Surroundings,
} from './surroundings.ts'
import { errored, type TestChoice, type TestResult } from './test-result.ts'

export interface NativeTesting {
  readonly settings: StandardImportOptions
  readonly coverage: Coverage | undefined
  readonly isWanted: TestChoice
  /** Settings of the set's manifest. */
  readonly base: Surroundings
}

/** Runs `test/<policy>/*.hcl|json` beside a policy. */
export async function testNative(
  policy: SourceFile,
  testing: NativeTesting,
): Promise<readonly TestResult[]> {
  const name = basename(policy.file, extname(policy.file))
  const folder = join(dirname(policy.file), 'test', name)
  const files = (await namesIn(folder)).filter((file) => /\.(?:hcl|json)$/.test(file))
  const results: TestResult[] = []
  for (const file of files) {
    const test = { policy: name, name: file, path: join(folder, file) }
    if (testing.isWanted(test)) results.push(await runCase(policy, test, testing))
  }
  return results
}

interface Case {
  readonly policy: string
  readonly name: string
  readonly path: string
}

async function runCase(
  policy: SourceFile,
  { path, ...test }: Case,
  { settings, coverage, base }: NativeTesting,
): Promise<TestResult> {
  const loaded = await loadManifest(path)
  if (!loaded.ok) return errored(test, loaded.error)
  const surroundings = await surroundingsOf(loaded.value, base)
  if (!surroundings.ok) return errored(test, surroundings.error)
  const compiled = compileIn(policy, surroundings.value)
  if (!compiled.ok)
    return errored(
      test,
      compiled.error.map((problem) => fromNative(problem)),
    )
  coverage?.addNative(policy)
  for (const name of compiled.value.imports) {
    const module = surroundings.value.modules.get(name)
    const isMocked = importSpellings(name).some((one) => loaded.value.manifest.mocks.has(one))
    if (module !== undefined && !isMocked) coverage?.addNative(module)
  }
  const options = evaluationOptions(surroundings.value, settings)
  const evaluation = compiled.value.evaluate({ ...options, explain: true })
  coverage?.evaluated(evaluation)
  return judged(test, evaluation, loaded.value.manifest.expected)
}

function judged(
  test: Pick<TestResult, 'policy' | 'name'>,
  evaluation: Evaluation,
  expected: ReadonlyMap<string, JsonValue> | undefined,
): TestResult {
  const { error, printed } = evaluation
  if (error !== undefined) return { ...errored(test, [fromNative(error)]), printed }
  const wanted = expected ?? new Map<string, JsonValue>([['main', true]])
  const reasons = [...wanted].flatMap(([name, value]) => complaint(evaluation, name, value))
  const isPassed = reasons.length === 0
  const problems = isPassed ? [] : failures(evaluation)
  return { ...test, status: isPassed ? 'passed' : 'failed', reasons, problems, printed }
}

/** Compares only the listed rules; a listed rule that was not evaluated is a failure. */
function complaint(evaluation: Evaluation, name: string, wanted: JsonValue): readonly string[] {
  const found = name === 'main' ? mainOf(evaluation, wanted) : ruleOf(evaluation, name)
  if (found === undefined) return [`the rule "${name}" was not evaluated`]
  const value = toLazyValue(wanted)
  if (areEqual(found, value, () => undefined) === true) return []
  return [`"${name}" is ${formatValue(found, SHOWN_MAX)}, not ${formatValue(value, SHOWN_MAX)}`]
}

/**
 * Returns the main value as a boolean if the test expects one, because any value counts as pass or
 * fail.
 */
function mainOf({ value, result }: Evaluation, wanted: JsonValue): Value | undefined {
  const isVerdict = typeof wanted === 'boolean' && typeof value !== 'boolean'
  return isVerdict && result !== 'undefined' ? result === 'pass' : value
}

function ruleOf({ rules }: Evaluation, wanted: string): Value | undefined {
  return rules.find(({ name }) => name === wanted)?.value
}

function failures({ rules }: Evaluation): readonly ToolProblem[] {
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
