import type { JsonValue } from '@reeve/native-policy'
import {
  compileRego,
  formatValue,
  fromJson,
  objectOf,
  ObjectValue,
  SetValue,
  toJson,
  type RegoProgram,
  type Value,
} from '@reeve/rego'
import { resolveQuery, qualifyQuery } from '../policy/index.ts'
import { textsOf } from './check-command.ts'
import type { EvaluationReport } from './answer.ts'
import { SHOWN_MAX, STEPS_MAX } from './limits.ts'
import { fileProblem, fromRego } from './problem.ts'
import type { RegoTestOptions } from './rego-tests.ts'
import type { Targets } from './targets.ts'

export interface RegoEvaluationRequest {
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
  return { ...empty, ...toOutcome(evaluated.value), printed }
}

/** Converts the value of a query: a nonempty result fails; a boolean is the verdict itself. */
function toOutcome(
  value: Value | undefined,
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
  return { outcome: 'error', lines: [`${displayed}: an array or a set is needed`], trace }
}

function resultItems(value: Value): readonly Value[] | undefined {
  if (value instanceof SetValue) return value.sorted()
  if (value instanceof ObjectValue) return value.size === 0 ? [] : [value]
  return Array.isArray(value) ? value : undefined
}
