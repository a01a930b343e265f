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
import { opaQuery, withData } from '../policy/index.ts'
import { textsOf } from './check-command.ts'
import type { Answer } from './answer.ts'
import { SHOWN_MAX, STEPS_MAX } from './limits.ts'
import { fileProblem, fromRego } from './problem.ts'
import type { RegoTesting } from './rego-tests.ts'
import type { Targets } from './targets.ts'

export interface RegoAsking {
  /** Defaults to the query of the set, otherwise to `deny` of the first package. */
  readonly query: string | undefined
  readonly input: JsonValue
  /** Sets `data.parameters`, like the parameters of a set on the server. */
  readonly params: ReadonlyMap<string, JsonValue>
  readonly options: RegoTesting['options']
}

export function evaluateRego(targets: Targets, asking: RegoAsking): readonly Answer[] {
  const texts = textsOf(targets.rego)
  const compiled = compileRego({ modules: targets.rego, version: 'detect' })
  if (!compiled.ok) {
    const problems = compiled.error.map((problem) => fromRego(problem, texts))
    const policy = problems[0]?.file ?? 'rego'
    return [{ policy, outcome: 'refused', lines: [], problems, printed: '', trace: {} }]
  }
  return queriesOf(targets, asking.query).map((query) =>
    ask(query, { policies: compiled.value, texts, asking }),
  )
}

function queriesOf({ rego, queries }: Targets, given: string | undefined): readonly string[] {
  if (given === undefined && queries.length > 0) return queries.map(({ query }) => withData(query))
  const first = rego.find(({ file }) => !file.endsWith('_test.rego')) ?? rego[0]
  return [opaQuery(given, first?.text ?? '')]
}

interface Asked {
  readonly policies: RegoProgram
  readonly texts: ReadonlyMap<string, string>
  readonly asking: RegoAsking
}

function ask(query: string, { policies, texts, asking }: Asked): Answer {
  const empty = { policy: query, lines: [], problems: [], printed: '', trace: {} }
  const asked = policies.prepareDocument(query)
  if (!asked.ok)
    return { ...empty, outcome: 'refused', problems: [fileProblem(query, asked.error.message)] }
  const lines: string[] = []
  const answer = asked.value.evaluate({
    ...asking.options,
    input: asking.input === undefined ? undefined : fromJson(asking.input),
    data: objectOf([['parameters', fromJson(Object.fromEntries(asking.params))]]),
    limits: { stepsMax: STEPS_MAX },
    print: (line) => lines.push(`${line}\n`),
  })
  const printed = lines.join('')
  if (!answer.ok) {
    const { message, location } = answer.error
    const problem =
      location === undefined ? fileProblem(query, message) : fromRego({ message, location }, texts)
    return { ...empty, outcome: 'error', problems: [problem], printed }
  }
  return { ...empty, ...judged(answer.value), printed }
}

/** Converts the value of a query: a nonempty result fails; a boolean is the verdict itself. */
function judged(value: Value | undefined): Pick<Answer, 'outcome' | 'lines' | 'trace'> {
  if (value === undefined)
    return { outcome: 'undefined', lines: ['nothing defines it'], trace: { value: null } }
  const trace = { value: toJson(value) }
  if (typeof value === 'boolean') return { outcome: value ? 'pass' : 'fail', lines: [], trace }
  const items = itemsOf(value)
  if (items !== undefined)
    return {
      outcome: items.length === 0 ? 'pass' : 'fail',
      lines: items.map((item) => formatValue(item).slice(0, SHOWN_MAX)),
      trace,
    }
  const shown = formatValue(value).slice(0, SHOWN_MAX)
  return { outcome: 'error', lines: [`${shown}: an array or a set is needed`], trace }
}

function itemsOf(value: Value): readonly Value[] | undefined {
  if (value instanceof SetValue) return value.sorted()
  if (value instanceof ObjectValue) return value.size === 0 ? [] : [value]
  return Array.isArray(value) ? value : undefined
}
