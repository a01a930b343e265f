import assert from 'node:assert/strict'
import test from 'node:test'
import { UsageError } from '../errors.ts'
import { choosePaint, ansiPaint, truncateToWidth, noPaint, displayWidth } from './color.ts'
import {
  renderFields,
  shortenId,
  renderTable,
  agoFromIso,
  agoFromNs,
  formatAge,
  relativeFromIso,
} from './format.ts'
import { createTemplateRenderer } from './template.ts'

test('table: columns are as wide as their widest cell, colours do not count', () => {
  const green = ansiPaint('good', 'ok')
  assert.equal(
    renderTable(
      ['ID', 'Status', 'Says'],
      [
        ['web', green, ''],
        ['a-long-one', 'failed', 'why'],
      ],
    ),
    `ID          Status  Says\nweb         ${green}\na-long-one  failed  why\n`,
  )
  assert.equal(renderTable(['ID'], []), '')
})

test('fields: names are aligned', () => {
  assert.equal(
    renderFields([
      ['ID', 'web'],
      ['Namespace', 'default'],
    ]),
    'ID        = web\nNamespace = default\n',
  )
})

test('shortId: only identifiers are cut', () => {
  assert.equal(shortenId('6ba7b810-9dad-11d1-80b4-00c04fd430c8'), '6ba7b810')
  assert.equal(shortenId('web'), 'web')
})

const ages = [
  { ms: 12, text: '12ms' },
  { ms: 59_999, text: '59s' },
  { ms: 60_000, text: '1m' },
  { ms: 192_000, text: '3m12s' },
  { ms: 7_260_000, text: '2h1m' },
  { ms: 90_000_000, text: '1d1h' },
  { ms: -5, text: '0ms' },
]

for (const { ms, text } of ages)
  test(`formatAge: ${ms} milliseconds are ${text}`, () => {
    assert.equal(formatAge(ms), text)
  })

test('agoFromNs and agoFromIso: the zero time is never', () => {
  assert.equal(agoFromNs(0, 5), 'never')
  assert.equal(agoFromIso('0001-01-01T00:00:00Z', 5), 'never')
  assert.equal(agoFromNs(1_000e6, 3_000), '2s ago')
  assert.equal(agoFromIso('1970-01-01T00:00:01Z', 3_000), '2s ago')
})

test('relativeFromIso: future times and ages', () => {
  assert.equal(relativeFromIso('1970-01-01T00:03:15Z', 3_000), 'in 3m12s')
  assert.equal(relativeFromIso('1970-01-01T00:00:01Z', 3_000), '2s ago')
  assert.equal(relativeFromIso('0001-01-01T00:00:00Z', 5), 'never')
})

const paints = [
  { name: 'a terminal', environment: {}, isTerminal: true, paint: ansiPaint },
  { name: 'a pipe', environment: {}, isTerminal: false, paint: noPaint },
  { name: 'NO_COLOR', environment: { NO_COLOR: '1' }, isTerminal: true, paint: noPaint },
  {
    name: 'an empty NO_COLOR',
    environment: { NO_COLOR: '' },
    isTerminal: true,
    paint: ansiPaint,
  },
  {
    name: 'FORCE_COLOR in a pipe',
    environment: { FORCE_COLOR: '1' },
    isTerminal: false,
    paint: ansiPaint,
  },
  { name: 'a dumb terminal', environment: { TERM: 'dumb' }, isTerminal: true, paint: noPaint },
]

for (const { name, environment, isTerminal, paint } of paints)
  test(`choosePaint: ${name} gets ${paint === noPaint ? 'no colours' : 'colours'}`, () => {
    assert.equal(choosePaint(environment, isTerminal), paint)
  })

test('cutTo: a line keeps its colours and ends them', () => {
  assert.equal(truncateToWidth('short', 10), 'short')
  assert.equal(truncateToWidth('much too long', 6), 'much …')
  const cut = truncateToWidth(`a ${ansiPaint('bad', 'red text')}`, 5)
  assert.equal(displayWidth(cut), 5)
  assert.ok(cut.endsWith('\u001b[0m'))
})

test('templateRender: data goes through the template, whole numbers stay whole', () => {
  assert.equal(createTemplateRenderer('{{ .ID }} {{ .Count }}')({ ID: 'web', Count: 3 }), 'web 3')
  assert.throws(() => createTemplateRenderer('{{ .ID'), UsageError)
  assert.throws(() => createTemplateRenderer('{{ index .List 9 }}')({ List: [1] }), UsageError)
})
