import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteBudget } from './budget.ts'
import { GO_FUNCTIONS } from './go-functions.ts'
import { HELPER_FUNCTIONS, timeFunctions } from './library-functions.ts'
import { TEMPLATE_LIMITS } from './limits.ts'
import { parseTemplate } from './parse.ts'
import { renderTemplate } from './render.ts'
import type { Value } from './value.ts'

const functions = new Map([...GO_FUNCTIONS, ...HELPER_FUNCTIONS, ...timeFunctions(0)])

function render(source: string, budget = new ByteBudget()): string {
  const tree = parseTemplate(source, { left: '{{', right: '}}', functions })
  return renderTemplate(tree, { data: new Map(), functions, budget })
}

const EXCEEDED = new RegExp(`template processing exceeds ${TEMPLATE_LIMITS.bytesMax} bytes`)

function names(text: string, prefix = ''): readonly string[] {
  return text.split(' ').map((name) => `${prefix}${name}`)
}

/** These take the same time whatever the size of their arguments; only their result is charged. */
const CONSTANT = new Set([
  ...names('and or not index slice loop add subtract multiply divide modulo minimum maximum'),
  ...names('default empty coalesce ternary list first last dict hasKey get', 'sprig_'),
])
/** These take maps and lists, which they do not look into. */
const SHALLOW = new Set(['mergeMap', 'sprig_keys', 'sprig_values'])
/** These go through a list or map to its last element. */
const DEEP = [
  ...names('print println printf html js urlquery join contains in explodeMap'),
  ...names('containsAll containsAny containsNone containsNotAll'),
  ...names('toJSON toJSONPretty toUnescapedJSON toUnescapedJSONPretty toYAML'),
  ...names('quote squote join has uniq toString', 'sprig_'),
]

function spentOn(name: string, ...args: readonly Value[]): number {
  const budget = new ByteBudget()
  functions.get(name)?.cost(args, budget)
  return budget.spent
}

const TEXT = 'a'.repeat(10_000)

test('byte budget: every function charges the texts that it is given', () => {
  for (const name of functions.keys()) {
    if (CONSTANT.has(name) || SHALLOW.has(name)) continue
    assert.ok(
      spentOn(name, TEXT, TEXT, TEXT) >= TEXT.length,
      `${name} charges nothing for its text`,
    )
  }
})

test('byte budget: functions that go through lists and maps charge their elements', () => {
  const list = [TEXT, TEXT]
  const map = new Map<string, Value>([['k', list]])
  for (const name of DEEP) {
    assert.ok(spentOn(name, list, list) >= 2 * TEXT.length, name)
    assert.ok(spentOn(name, map, map) >= 2 * TEXT.length, name)
  }
  for (const name of SHALLOW) assert.ok(spentOn(name, new Map([[TEXT, 1n]])) >= TEXT.length, name)
})

test('byte budget: every function charges its result', () => {
  const budget = new ByteBudget()
  render('{{ $a := sprig_repeat 1000 "a" }}', budget)
  assert.ok(budget.spent >= 1_000)
  const afterText = budget.spent
  render('{{ $a := loop 1000 }}', budget)
  assert.ok(budget.spent - afterText >= 16_000)
})

test('byte budget: at the limit a rendering succeeds, one byte past it fails', () => {
  const source = '{{ sprig_repeat 10 "ab" }}'
  const needed = new ByteBudget()
  assert.equal(render(source, needed).length, 20)
  const exact = new ByteBudget()
  exact.charge(TEMPLATE_LIMITS.bytesMax - needed.spent)
  assert.equal(render(source, exact).length, 20)
  const short = new ByteBudget()
  short.charge(TEMPLATE_LIMITS.bytesMax - needed.spent + 1)
  assert.throws(() => render(source, short), EXCEEDED)
})

const BIG = '{{ $a := sprig_repeat 4000000 "a" }}'
const costly = [
  { name: 'toUpper', source: `${BIG}{{ range loop 3000 }}{{ $a | toUpper | len }}{{ end }}` },
  {
    name: 'replaceAll',
    source: `{{ $a := sprig_repeat 1000000 "a" }}{{ range loop 50 }}{{ $a | replaceAll "a" "b" | len }}{{ end }}`,
  },
  {
    name: 'sha256Hex',
    source: '{{ $a := sprig_repeat 10000000 "a" }}{{ range loop 400 }}{{ sha256Hex $a }}{{ end }}',
  },
  { name: 'comparisons', source: `${BIG}{{ range loop 3000 }}{{ eq $a $a }}{{ end }}` },
  { name: 'length', source: `${BIG}{{ range loop 3000 }}{{ len $a }}{{ end }}` },
  { name: 'regexMatch', source: `${BIG}{{ regexMatch "(a?){100}b" $a }}` },
  {
    name: 'a list that holds itself twice, again and again',
    source: `{{ $l := sprig_list "a" }}{{ range loop 60 }}{{ $l = sprig_list $l $l }}{{ end }}{{ $l }}`,
  },
  {
    name: 'searches for many items',
    source: `${BIG}{{ containsAll (split "" (sprig_repeat 1000 "a")) $a }}`,
  },
  { name: 'escapes', source: `${BIG}{{ range loop 3 }}{{ toJSON $a | len }}{{ end }}` },
  { name: 'JSON of many maps', source: '{{ sprig_repeat 1000000 "{}," | parseJSON }}' },
  { name: 'many lists', source: '{{ range loop 5000 }}{{ $l := loop 1000 }}{{ end }}' },
]
for (const { name, source } of costly) {
  test(`byte budget: bounds ${name}`, () => assert.throws(() => render(source), EXCEEDED))
}

const refused = [
  {
    name: 'a list of too many parts',
    source: `${BIG}{{ split "" $a | len }}`,
    message: /the list becomes too long/,
  },
  {
    name: 'a replacement that grows',
    source: '{{ $a := sprig_repeat 9000 "a" }}{{ regexReplaceAll "a" $a $a | len }}',
    message: /the text becomes longer than 16777216 characters/,
  },
  {
    name: 'a wide format for each element',
    source: '{{ printf "%10000d" (loop 10000) | len }}',
    message: /the text becomes longer than 16777216 characters/,
  },
  {
    name: 'a value inside itself too often',
    source:
      '{{ $l := sprig_list 1 }}{{ range loop 1001 }}{{ $l = sprig_list $l }}{{ end }}{{ $l }}',
    message: /a value is nested too deeply/,
  },
  {
    name: 'a pattern that stands for too many instructions',
    source: '{{ regexMatch "((a{100}){100}){100}" "a" }}',
    message: /the pattern is too large/,
  },
  {
    name: 'a number beyond the runtime',
    source: '{{ parseFloat "Infinity" | sprig_int }}',
    message: /error calling sprig_int/,
  },
]
for (const { name, source, message } of refused) {
  test(`template is bounded: ${name}`, () => assert.throws(() => render(source), message))
}

test('limits: a list and a nesting of exactly the limit are rendered', () => {
  const { listItemsMax, valueDepthMax } = TEMPLATE_LIMITS
  assert.equal(render(`{{ loop ${listItemsMax} | len }}`), String(listItemsMax))
  const text = `{{ sprig_repeat ${listItemsMax - 1} "," | split "," | len }}`
  assert.equal(render(text), String(listItemsMax))
  const deep = `{{ $l := sprig_list 1 }}{{ range loop ${valueDepthMax - 1} }}{{ $l = sprig_list $l }}{{ end }}{{ $l }}`
  assert.equal(render(deep).length, 2 * valueDepthMax + 1)
})

test('a replacement is taken as it is written', () => {
  assert.equal(render('{{ "a.b" | replaceAll "." "$&$$1" }}'), 'a$&$$1b')
})

test('trimming cuts whole characters on both sides', () => {
  assert.equal(render('{{ trim "😀-" "-😀a-😀b😀-" }}'), 'a-😀b')
  assert.equal(render('{{ trim "a" "aaa" }}|{{ trim "" "abc" }}|{{ trim "x" "" }}'), '|abc|')
})
