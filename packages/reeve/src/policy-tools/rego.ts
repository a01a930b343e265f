import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { JsonValue } from '@reeve/native-policy'
import {
  compileRego,
  formatValue,
  ObjectValue,
  type RegoProgram,
  type EvaluateOptions,
  type NamedRule,
  type TraceEvent,
  type Value,
  fromJson,
  objectOf,
  SetValue,
  toJson,
} from '@reeve/rego'
import { resolveQuery, qualifyQuery } from '../policy/index.ts'
import { textsOf } from './check-command.ts'
import type { Coverage } from './coverage.ts'
import { SHOWN_MAX, STEPS_MAX, type TextFile } from './files.ts'
import {
  errored,
  type EvaluationReport,
  fileProblem,
  fromRego,
  type TestCase,
  type TestFilter,
  type TestResult,
  type ToolDiagnostic,
} from './report.ts'
import type { Targets } from './targets.ts'

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

interface RegoEvaluationRequest {
  /** Defaults to the query of the set, otherwise to `deny` of the first package. */
  readonly query: string | undefined
  readonly input: JsonValue
  /** Sets `data.parameters`, like the parameters of a set on the server. */
  readonly params: ReadonlyMap<string, JsonValue>
  readonly options: RegoTestOptions['options']
}

export function evaluateRego(
  targets: Targets,
  request: RegoEvaluationRequest,
): readonly EvaluationReport[] {
  const textByFile = textsOf(targets.rego)
  const compiled = compileRego({ modules: targets.rego, version: 'detect' })
  if (!compiled.ok) {
    const problems = compiled.error.map((problem) => fromRego(problem, textByFile))
    const policy = problems[0]?.file ?? 'rego'
    return [{ policy, outcome: 'refused', lines: [], problems, printed: '', trace: {} }]
  }
  return selectQueries(targets, request.query).map((query) =>
    evaluateQuery(query, { program: compiled.value, texts: textByFile, request }),
  )
}

function selectQueries(
  { rego, queries }: Targets,
  requested: string | undefined,
): readonly string[] {
  if (requested === undefined && queries.length > 0)
    return queries.map(({ query }) => qualifyQuery(query))
  const first = rego.find(({ file }) => !file.endsWith('_test.rego')) ?? rego[0]
  return [resolveQuery(requested, first?.text ?? '')]
}

interface QueryContext {
  readonly program: RegoProgram
  readonly texts: ReadonlyMap<string, string>
  readonly request: RegoEvaluationRequest
}

function evaluateQuery(
  query: string,
  { program, texts: textByFile, request }: QueryContext,
): EvaluationReport {
  const empty = { policy: query, lines: [], problems: [], printed: '', trace: {} }
  const prepared = program.prepareDocument(query)
  if (!prepared.ok)
    return { ...empty, outcome: 'refused', problems: [fileProblem(query, prepared.error.message)] }
  const lines: string[] = []
  const evaluated = prepared.value.evaluate({
    ...request.options,
    input: request.input === undefined ? undefined : fromJson(request.input),
    data: objectOf([['parameters', fromJson(Object.fromEntries(request.params))]]),
    limits: { stepsMax: STEPS_MAX },
    print: (line) => lines.push(`${line}\n`),
  })
  const printed = lines.join('')
  if (!evaluated.ok) {
    const { message, location } = evaluated.error
    const problem =
      location === undefined
        ? fileProblem(query, message)
        : fromRego({ message, location }, textByFile)
    return { ...empty, outcome: 'error', problems: [problem], printed }
  }
  return { ...empty, ...toOutcome(evaluated.value, isReference(query)), printed }
}

/** Whether the query names a document, such as `data.jobs.deny`, and is no other expression. */
function isReference(query: string): boolean {
  return /^data(?:\.\w+|\[(?:"[^"]*"|\d+)\])*$/.test(query.trim())
}

/**
 * Converts the value of a query: a nonempty result fails; a boolean is the verdict itself. A
 * document of another type is an error, because it would never reject anything; the value of
 * another expression, such as `count(data.jobs.deny)`, is only shown.
 */
function toOutcome(
  value: Value | undefined,
  isDocument: boolean,
): Pick<EvaluationReport, 'outcome' | 'lines' | 'trace'> {
  if (value === undefined)
    return { outcome: 'undefined', lines: ['nothing defines it'], trace: { value: null } }
  const trace = { value: toJson(value) }
  if (typeof value === 'boolean') return { outcome: value ? 'pass' : 'fail', lines: [], trace }
  const items = resultItems(value)
  if (items !== undefined)
    return {
      outcome: items.length === 0 ? 'pass' : 'fail',
      lines: items.map((item) => formatValue(item).slice(0, SHOWN_MAX)),
      trace,
    }
  const displayed = formatValue(value).slice(0, SHOWN_MAX)
  if (!isDocument) return { outcome: 'value', lines: [displayed], trace }
  return { outcome: 'error', lines: [`${displayed}: an array or a set is needed`], trace }
}

function resultItems(value: Value): readonly Value[] | undefined {
  if (value instanceof SetValue) return value.sorted()
  if (value instanceof ObjectValue) return value.size === 0 ? [] : [value]
  return Array.isArray(value) ? value : undefined
}
