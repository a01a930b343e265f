import assert from 'node:assert/strict'
import { test } from 'node:test'
import { joinPath, isText, pathSegments } from './file-path.ts'

test('a path is a row of steps, each with its own address', () => {
  assert.deepEqual(pathSegments('/alloc/logs'), [
    { name: 'alloc', path: '/alloc' },
    { name: 'logs', path: '/alloc/logs' },
  ])
})

test('the root has no steps', () => assert.deepEqual(pathSegments('/'), []))

test('a child of the root has one slash', () => {
  assert.equal(joinPath('/', 'alloc'), '/alloc')
  assert.equal(joinPath('/alloc', 'logs'), '/alloc/logs')
})

const CASES = [
  { name: 'nothing', bytes: new Uint8Array(), text: true },
  { name: 'lines', bytes: new TextEncoder().encode('a\tb\r\nç\n'), text: true },
  { name: 'colours of a terminal', bytes: new TextEncoder().encode('\u001b[31mred'), text: true },
  { name: 'a zero', bytes: Uint8Array.of(65, 0, 66), text: false },
  { name: 'control characters', bytes: Uint8Array.of(1, 2, 3, 4), text: false },
]
for (const { name, bytes, text } of CASES)
  test(`${name} ${text ? 'reads' : 'does not read'} as text`, () =>
    assert.equal(isText(bytes), text))
