import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorAt, createCollector, report, toDiagnostics, warningAt } from './diagnostic.ts'
import { formatDiagnostic, formatDiagnostics } from './format.ts'
import { didYouMean, findNearestName, quoteText } from './suggest.ts'
import { makeSource, rangeOf } from './source.ts'

function at(text: string, marked: string) {
  const source = makeSource('job.hcl', text)
  const start = text.indexOf(marked)
  return { source, start, end: start + marked.length }
}

const excerpts = [
  {
    name: 'the range is marked under its line',
    text: 'a = 1\n  foo = bar\nb = 2\n',
    marked: 'bar',
    lines: ['job.hcl:2,9-12: Summary; Detail.', '  2 |   foo = bar', '    |         ^~~'],
  },
  {
    name: 'tabs stay tabs',
    text: '\t\tfoo = bar\n',
    marked: 'foo',
    lines: ['job.hcl:1,3-6: Summary; Detail.', '  1 | \t\tfoo = bar', '    | \t\t^~~'],
  },
  {
    name: 'wide characters count once',
    text: 'a = "é😀" ]\n',
    marked: ']',
    lines: ['job.hcl:1,10-11: Summary; Detail.', '  1 | a = "é😀" ]', '    |          ^'],
  },
  {
    name: 'a range over lines is marked on the first',
    text: 'a = [\n  1\n]\n',
    marked: '[\n  1\n]',
    lines: ['job.hcl:1,5-3,2: Summary; Detail.', '  1 | a = [', '    |     ^'],
  },
  {
    name: 'CRLF is not shown',
    text: 'a = x\r\nb = 1\r\n',
    marked: 'x',
    lines: ['job.hcl:1,5-6: Summary; Detail.', '  1 | a = x', '    |     ^'],
  },
  {
    name: 'an empty range is a place',
    text: 'abc',
    marked: '',
    lines: ['job.hcl:1,1-1: Summary; Detail.', '  1 | abc', '    | ^'],
  },
]

for (const c of excerpts)
  test(`formatDiagnostics: ${c.name}`, () => {
    const shown = formatDiagnostics(c.text, [errorAt(at(c.text, c.marked), 'Summary', 'Detail.')])
    assert.deepEqual(shown.split('\n'), c.lines)
  })

test('formatDiagnostics: a long line is cut around the range', () => {
  const text = `${'x'.repeat(500)}HERE${'y'.repeat(500)}`
  const shown = formatDiagnostics(text, [errorAt(at(text, 'HERE'), 'Summary', '')])
  const [, line = '', mark = ''] = shown.split('\n')
  assert.ok(line.length < 140)
  assert.equal(line.indexOf('HERE'), mark.indexOf('^~~~'))
  assert.ok(line.includes('…x') && line.endsWith('y…'))
})

test('formatDiagnostics: each file has its own text', () => {
  const texts = new Map([['job.hcl', 'a = b']])
  const known = errorAt(at('a = b', 'b'), 'One', '')
  const unknown = { ...known, range: { ...known.range, file: 'other.hcl' } }
  assert.equal(
    formatDiagnostics(texts, [known, unknown]),
    'job.hcl:1,5-6: One\n  1 | a = b\n    |     ^\n\nother.hcl:1,5-6: One',
  )
})

test('a warning says so', () => {
  assert.equal(
    formatDiagnostic(warningAt(at('a', 'a'), 'Old', 'Use b.')),
    'job.hcl:1,1-2: warning: Old; Use b.',
  )
})

test('positions inside a nested source are those of the outer one', () => {
  const outer = makeSource('f', '{"a": "x"}')
  const inner = makeSource('f', 'x', { source: outer, offsetOf: (offset) => offset + 7 })
  assert.equal(rangeOf({ source: inner, start: 0, end: 1 }).start.column, 8)
})

test('too many problems are counted, not kept', () => {
  const problems = createCollector()
  for (let count = 0; count < 1000; count++)
    report(problems, { span: at('a', 'a'), summary: 'Same', detail: () => 'written late' })
  const list = toDiagnostics(problems)
  assert.equal(list.length, 51)
  assert.equal(list.at(-1)?.summary, 'Too many problems')
  assert.equal(list[0]?.detail, 'written late')
})

const nearest = [
  { name: 'datacentres', names: ['datacenters', 'name'], found: 'datacenters' },
  { name: 'nmae', names: ['name', 'node'], found: 'name' },
  { name: 'cout', names: ['config', 'count'], found: 'count' },
  { name: 'x', names: ['y', 'xy'], found: undefined },
  { name: 'completely', names: ['different'], found: undefined },
  { name: 'y'.repeat(1000), names: ['y'.repeat(999)], found: undefined },
]

for (const c of nearest)
  test(`findNearestName of ${c.name.slice(0, 20)}`, () =>
    assert.equal(findNearestName(c.name, c.names), c.found))

test('hints and quotes', () => {
  assert.equal(didYouMean('nmae', ['name']), ' Did you mean "name"?')
  assert.equal(didYouMean('zzz', ['name']), '')
  assert.equal(quoteText('a"b'), '"a\\"b"')
  assert.equal(quoteText('x'.repeat(100)).length, 67)
})
