import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  compilePolicies,
  formatValue,
  parseModule,
  Source,
  type CompiledPolicies,
  type EvaluateOptions,
  type TraceEvent,
} from '@reeve/rego'
import type { Coverage } from './coverage.ts'
import type { TextFile } from './files.ts'
import { SHOWN_MAX, STEPS_MAX } from './limits.ts'
import { fileProblem, fromRego, type ToolProblem } from './problem.ts'
import { errored, type TestChoice, type TestResult } from './test-result.ts'

export interface RegoTesting {
  readonly options: Pick<EvaluateOptions, 'nowNs' | 'offsetAt' | 'random' | 'crypto'>
  readonly coverage: Coverage | undefined
  readonly isWanted: TestChoice
}

/** Runs the rules `test_…` of all modules, which are compiled together. */
export function testRego(
  modules: readonly TextFile[],
  { options, coverage, isWanted }: RegoTesting,
): Result<readonly TestResult[], readonly ToolProblem[]> {
  const texts = new Map(modules.map(({ file, text }) => [file, text]))
  const compiled = compilePolicies({ modules, version: 'detect' })
  if (!compiled.ok) return err(compiled.error.map((problem) => fromRego(problem, texts)))
  const { versions } = compiled.value
  for (const module of modules) coverage?.addRego(module, versions.get(module.file) ?? 1)
  const tests = modules.flatMap((module) => testsIn(module, versions.get(module.file) ?? 1))
  const running = { policies: compiled.value, texts, options, coverage }
  return ok(
    tests
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

/** Rules of one name are one test. */
function testsIn({ file, text }: TextFile, version: 0 | 1): readonly RegoTest[] {
  const module = parseModule(new Source(file, text), version)
  if (!module.ok) return []
  const policy = `data.${module.value.package.join('.')}`
  const names = module.value.rules.flatMap(({ path: [head] }) =>
    head?.type === 'scalar' && typeof head.value === 'string' ? [head.value] : [],
  )
  const tests = names.filter((name) => /^(?:todo_)?test_/.test(name))
  return [...new Set(tests)].map((name) => ({ policy, name, isSkipped: name.startsWith('todo_') }))
}

interface Running extends Omit<RegoTesting, 'isWanted'> {
  readonly policies: CompiledPolicies
  readonly texts: ReadonlyMap<string, string>
}

function runTest(test: RegoTest, { policies, texts, options, coverage }: Running): TestResult {
  const { policy, name } = test
  const query = policies.query(`answer = ${policy}.${name}`, { explains: true })
  if (!query.ok) return errored({ policy, name }, [fromRego(query.error, texts)])
  const lines: string[] = []
  const failed: ToolProblem[] = []
  const trace = (event: TraceEvent): void => {
    coverage?.traced(event)
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
  if (value === true) return { policy, name, status: 'passed', reasons: [], problems: [], printed }
  const shown = value === undefined ? 'undefined' : formatValue(value).slice(0, SHOWN_MAX)
  const reasons = [`"${name}" is ${shown}, not true`]
  return { policy, name, status: 'failed', reasons, problems: failed.slice(-1), printed }
}
