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
import { fileProblem, fromRego, type ToolProblem } from './problem.ts'
import { errored, type TestCase, type TestChoice, type TestResult } from './test-result.ts'

export interface RegoTesting {
  readonly options: Pick<EvaluateOptions, 'nowNs' | 'zoneOffset' | 'random' | 'crypto'>
  readonly coverage: Coverage | undefined
  readonly isWanted: TestChoice
}

/** Runs the rules `test_…` of all modules, which are compiled together. */
export function testRego(
  modules: readonly TextFile[],
  { options, coverage, isWanted }: RegoTesting,
): Result<readonly TestResult[], readonly ToolProblem[]> {
  const texts = new Map(modules.map(({ file, text }) => [file, text]))
  const names = new TestNames()
  const { ruleName } = names
  const tellsCases = ({ name }: NamedRule): boolean => isTest(name)
  const compiled = compileRego({ modules, version: 'detect', ruleName, tellsCases })
  if (!compiled.ok) return err(compiled.error.map((problem) => fromRego(problem, texts)))
  const { versions } = compiled.value
  for (const module of modules) coverage?.addRego(module, versions.get(module.file) ?? 1)
  const running = { policies: compiled.value, texts, options, coverage }
  return ok(
    names.tests
      .filter(isWanted)
      .map((test) =>
        test.isSkipped
          ? { policy: test.policy, name: test.name, ...SKIPPED }
          : runTest(test, running),
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
class TestNames {
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

interface Running extends Omit<RegoTesting, 'isWanted'> {
  readonly policies: RegoProgram
  readonly texts: ReadonlyMap<string, string>
}

function runTest(test: RegoTest, { policies, texts, options, coverage }: Running): TestResult {
  const { policy, name } = test
  const query = policies.prepareQuery(`answer = ${policy}[${JSON.stringify(name)}]`, {
    explain: true,
  })
  if (!query.ok) return errored({ policy, name }, [fromRego(query.error, texts)])
  const lines: string[] = []
  const failed: ToolProblem[] = []
  const paths: (readonly Value[])[] = []
  const trace = (event: TraceEvent): void => {
    coverage?.traced(event)
    if (event.type === 'test-case') paths.push(event.path)
    if (event.type !== 'failed-goal' || !texts.has(event.place.source.file)) return
    const location = event.place.source.locate(event.place.at)
    failed.push({
      ...fromRego({ message: 'this was not true', location }, texts),
      severity: 'note',
    })
  }
  const answer = query.value.evaluate({
    ...options,
    limits: { stepsMax: STEPS_MAX },
    print: (line) => lines.push(line),
    trace,
  })
  const printed = lines.map((line) => `${line}\n`).join('')
  if (!answer.ok) {
    const { message, location } = answer.error
    const problem =
      location === undefined ? fileProblem(policy, message) : fromRego({ message, location }, texts)
    return { ...errored({ policy, name }, [problem]), printed }
  }
  const value = answer.value[0]?.get('answer')
  const cases = casesOf(value, paths)
  const result = { policy, name, printed, ...(cases.length === 0 ? {} : { cases }) }
  const isPassed = cases.length === 0 ? value === true : cases.every(({ passed }) => passed)
  if (isPassed) return { ...result, status: 'passed', reasons: [], problems: [] }
  const reasons = cases.length === 0 ? [valueReason(name, value)] : caseReasons(cases)
  return { ...result, status: 'failed', reasons, problems: failed.slice(-1) }
}

/** Returns the cases of a test: failed ones have no entry in its object. */
function casesOf(
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
  const shown = value === undefined ? 'undefined' : formatValue(value).slice(0, SHOWN_MAX)
  return `"${name}" is ${shown}, not true`
}
