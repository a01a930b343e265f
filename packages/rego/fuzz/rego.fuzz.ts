/**
 * Rego that is nearly right, and random modules that are. Each must be evaluated or refused in time
 * and with a place, and nothing may be thrown; the order of rules and of literals must not matter.
 * `node packages/rego/fuzz/rego.fuzz.ts [--seconds N] [--seed S]`. The conformance cases beside
 * the repository are changed too, where they are.
 */
import { compileRego, formatValue, fromJson } from '../src/index.ts'
import { haveCases, readCases } from '../test/cases.ts'
import { makeModule, shuffledModule } from './rego-modules.ts'
import { mutate, type RandomSource } from '@reeve/kit/fuzz/mutate.ts'
import { runFuzzTargets } from '@reeve/kit/fuzz/rounds.ts'

const LENGTH_MAX = 32 * 1024
const STEPS_MAX = 200_000

const SAMPLES = [
  `package a

import data.lib as l

default allow := false

allow if {
	some user in input.users
	user.age >= 18
	not denied[user.name]
}

denied contains name if some name in input.blocked

f(x) := y if y := x + 1
p[k] := v if some k, v in input.map
q := {x | x := input.list[_]; x > 1}
e if every x in input.list { x < 100 }
s := sprintf("%s-%d", ["a", count(input.list)]) with input.list as [1, 2]
`,
  'package a\np = x { x = input.list[i]; i > 0 }\nq[x] { x := p } else = 1 { true }\n',
]
const TEXTS = [
  ...SAMPLES,
  ...(haveCases() ? readCases(1).flatMap(({ modules }) => modules) : []).filter(
    (text) => text.length < 4_000,
  ),
]

const INPUT = fromJson({
  users: [
    { name: 'ann', age: 20 },
    { name: 'bob', age: 10 },
  ],
  blocked: ['bob'],
  list: [1, 2, 3, 'a', null],
  map: { a: 1, b: [2] },
})

function answerTo(text: string): { readonly outcome: string; readonly answer: string } {
  const compiled = compileRego({ modules: [{ file: 'a.rego', text }], version: 'detect' })
  if (!compiled.ok) {
    if (compiled.error.length === 0) throw new Error('refused without a problem')
    if (compiled.error.some(({ location }) => location.row < 1))
      throw new Error('a problem has no place')
    return { outcome: 'refused', answer: '' }
  }
  const query = compiled.value.prepareQuery('answer = data')
  if (!query.ok) return { outcome: 'query refused', answer: '' }
  const answer = query.value.evaluate({ input: INPUT, limits: { stepsMax: STEPS_MAX }, nowNs: 0n })
  if (!answer.ok) return { outcome: answer.error.code, answer: '' }
  const value = answer.value[0]?.get('answer')
  return { outcome: 'answered', answer: value === undefined ? '' : formatValue(value) }
}

const read = (text: string): string => answerTo(text).outcome

runFuzzTargets('rego', [
  {
    name: 'changed modules',
    generate: (draw: RandomSource) => mutate(TEXTS, draw, LENGTH_MAX),
    run: read,
  },
  {
    name: 'changed random modules',
    generate: (draw: RandomSource) => mutate([makeModule(draw), ...SAMPLES], draw, LENGTH_MAX),
    run: read,
  },
  {
    name: 'shuffled modules',
    generate: makeModule,
    run: (text, draw) => {
      const [first, second] = [answerTo(text), answerTo(shuffledModule(text, draw))]
      const isDecided = first.outcome === 'answered' && second.outcome === 'answered'
      if (isDecided && first.answer !== second.answer)
        throw new Error(`the order matters: ${first.answer} and ${second.answer}`)
      return first.outcome
    },
  },
])
