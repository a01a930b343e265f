import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  compileRego,
  formatValue,
  ObjectValue,
  type RegoProgram,
  type EvaluateOptions,
  type NamedRule,
  type TraceEvent,
  type Value,
} from '@reeve/rego'
import type { Coverage } from './coverage.ts'
import type { TextFile } from './files.ts'
import { SHOWN_MAX, STEPS_MAX } from './limits.ts'
import { fileProblem, fromRego, type ToolDiagnostic } from './problem.ts'
import { errored, type TestCase, type TestFilter, type TestResult } from './test-result.ts'

export interface RegoTestOptions {
  readonly options: Pick<EvaluateOptions, 'nowNs' | 'zoneOffset' | 'random' | 'crypto'>
  readonly coverage: Coverage | undefined
  readonly isWanted: TestFilter
}

/** Runs the rules `test_…` of all modules, which are compiled together. */
export function runRegoTests(
  modules: readonly TextFile[],
  { options, coverage, isWanted }: RegoTestOptions,
): Result<readonly TestResult[], readonly ToolDiagnostic[]> {
  const texts = new Map(modules.map(({ file, text }) => [file, text]))
  const collector = new TestCollector()
  const { ruleName } = collector
  const tellsCases = ({ name }: NamedRule): boolean => isTest(name)
  const compiled = compileRego({ modules, version: 'detect', ruleName, tellsCases })
  if (!compiled.ok) return err(compiled.error.map((problem) => fromRego(problem, texts)))
  const { versions } = compiled.value
  for (const module of modules) coverage?.addRego(module, versions.get(module.file) ?? 1)
  const run = { program: compiled.value, texts, options, coverage }
  return ok(
    collector.tests
      .filter(isWanted)
      .map((test) =>
        test.isSkipped ? { policy: test.policy, name: test.name, ...SKIPPED } : runTest(test, run),
      ),
  )
}

const SKIPPED = { status: 'skipped', reasons: [], problems: [], printed: '' } as const

interface RegoTest {
  readonly policy: string
  readonly name: string
  readonly isSkipped: boolean
}

/**
 * Collects the tests of the modules during compilation. Rules of the same name would be combined
 * with "or", which hides failures: each becomes a separate test, the second one `test_x#01`. Parts
 * of a set or object are one test.
 */
class TestCollector {
  readonly tests: RegoTest[] = []
  readonly #counts = new Map<string, number>()

  readonly ruleName = ({ package: path, name, isPartial }: NamedRule): string => {
    if (!isTest(name)) return name
    const policy = `data.${path.join('.')}`
    const key = `${policy} ${name}`
    const count = this.#counts.get(key) ?? 0
    this.#counts.set(key, count + 1)
    const given = count === 0 || isPartial ? name : `${name}#${String(count).padStart(2, '0')}`
    if (count === 0 || !isPartial)
      this.tests.push({ policy, name: given, isSkipped: name.startsWith('todo_') })
    return given
  }
}

function isTest(name: string): boolean {
  return /^(?:todo_)?test_/.test(name)
}

interface TestRun extends Omit<RegoTestOptions, 'isWanted'> {
  readonly program: RegoProgram
  readonly texts: ReadonlyMap<string, string>
}

function runTest(test: RegoTest, { program, texts, options, coverage }: TestRun): TestResult {
  const { policy, name } = test
  const query = program.prepareQuery(`answer = ${policy}[${JSON.stringify(name)}]`, {
    explain: true,
  })
  if (!query.ok) return errored({ policy, name }, [fromRego(query.error, texts)])
  const lines: string[] = []
  const failed: ToolDiagnostic[] = []
  const paths: (readonly Value[])[] = []
  const trace = (event: TraceEvent): void => {
    coverage?.addTraceEvent(event)
    if (event.type === 'test-case') paths.push(event.path)
    if (event.type !== 'failed-goal' || !texts.has(event.place.source.file)) return
    const location = event.place.source.locate(event.place.at)
    failed.push({
      ...fromRego({ message: 'this was not true', location }, texts),
      severity: 'note',
    })
  }
  const evaluated = query.value.evaluate({
    ...options,
    limits: { stepsMax: STEPS_MAX },
    print: (line) => lines.push(line),
    trace,
  })
  const printed = lines.map((line) => `${line}\n`).join('')
  if (!evaluated.ok) {
    const { message, location } = evaluated.error
    const problem =
      location === undefined ? fileProblem(policy, message) : fromRego({ message, location }, texts)
    return { ...errored({ policy, name }, [problem]), printed }
  }
  const value = evaluated.value[0]?.get('answer')
  const cases = readCases(value, paths)
  const result = { policy, name, printed, ...(cases.length === 0 ? {} : { cases }) }
  const isPassed = cases.length === 0 ? value === true : cases.every(({ passed }) => passed)
  if (isPassed) return { ...result, status: 'passed', reasons: [], problems: [] }
  const reasons = cases.length === 0 ? [valueReason(name, value)] : caseReasons(cases)
  return { ...result, status: 'failed', reasons, problems: failed.slice(-1) }
}

/** Returns the cases of a test: failed ones have no entry in its object. */
function readCases(
  value: Value | undefined,
  paths: readonly (readonly Value[])[],
): readonly TestCase[] {
  const cases = new Map<string, boolean>()
  for (const path of paths) {
    let found: Value | undefined = value
    for (const key of path) found = found instanceof ObjectValue ? found.get(key) : undefined
    cases.set(path.map(caseName).join('/'), found === true)
  }
  return [...cases].map(([name, passed]) => ({ name, passed }))
}

function caseName(key: Value): string {
  return (typeof key === 'string' ? key : formatValue(key)).slice(0, SHOWN_MAX)
}

function caseReasons(cases: readonly TestCase[]): readonly string[] {
  const failed = cases.filter(({ passed }) => !passed)
  const lines = cases.map(({ name, passed }) => `${passed ? 'PASS' : 'FAIL'}  ${name}`)
  return [...lines, `${failed.length} of ${cases.length} cases failed`]
}

function valueReason(name: string, value: Value | undefined): string {
  const displayed = value === undefined ? 'undefined' : formatValue(value).slice(0, SHOWN_MAX)
  return `"${name}" is ${displayed}, not true`
}
