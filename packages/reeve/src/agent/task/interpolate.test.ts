import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Interpolator } from './interpolate.ts'

const values = new Map([
  ['node.datacenter', 'dc1'],
  ['attr.kernel.name', 'linux'],
  ['meta.rack-1', 'r1'],
  ['REEVE_ALLOC_ID', 'abc'],
  ['HOME', '/root'],
  ['long', 'x'.repeat(1_000)],
  ['tricky', '${HOME}'],
])
const lookup = (name: string): string | undefined => values.get(name)

const cases = [
  { name: 'plain text stays', text: 'a $b {c} $${', want: 'a $b {c} $${' },
  { name: 'a node value', text: 'in-${node.datacenter}', want: 'in-dc1' },
  { name: 'an attribute', text: '${attr.kernel.name}', want: 'linux' },
  { name: 'a key with a hyphen', text: '${meta.rack-1}', want: 'r1' },
  { name: 'a variable', text: '/x/${REEVE_ALLOC_ID}/y', want: '/x/abc/y' },
  { name: 'several, side by side', text: '${HOME}${HOME}', want: '/root/root' },
  { name: 'unknown is left as it is', text: '${nope} ${HOME}', want: '${nope} /root' },
  { name: 'inner blanks', text: '${ HOME }', want: '/root' },
  { name: 'the quoted form', text: '${env["HOME"]}', want: '/root' },
  { name: 'the dotted form', text: '${env.HOME}', want: '/root' },
  { name: 'an expression is not a reference', text: '${1 + 2}', want: '${1 + 2}' },
  { name: 'an open brace', text: '${HOME', want: '${HOME' },
  { name: 'what comes out is not looked at again', text: '${tricky}', want: '${HOME}' },
  {
    name: 'names of built-in objects are no values',
    text: '${constructor}',
    want: '${constructor}',
  },
]
for (const c of cases) {
  test(`interpolate: ${c.name}`, () => {
    assert.equal(new Interpolator(lookup).resolve(c.text, 'field'), c.want)
  })
}

test('interpolate: all texts of a configuration, its keys not', () => {
  const config = { '${HOME}': ['${HOME}', 1, true, null, { dir: '${HOME}/x' }] }
  assert.deepEqual(new Interpolator(lookup).resolveDeep(config, 'Config'), {
    '${HOME}': ['/root', 1, true, null, { dir: '/root/x' }],
  })
})

test('interpolate: a key named __proto__ stays data', () => {
  const config: unknown = JSON.parse('{"__proto__":{"polluted":"${HOME}"}}')
  const result = new Interpolator(lookup).resolveDeep(config, 'Config')
  assert.equal(Reflect.get({}, 'polluted'), undefined)
  assert.equal(JSON.stringify(result), '{"__proto__":{"polluted":"/root"}}')
})

test('interpolate: a result too long for a process is rejected early', () => {
  const interpolator = new Interpolator(lookup)
  assert.throws(() => interpolator.resolve('${long}'.repeat(1_000_000), 'args[0]'), {
    kind: 'task-invalid',
    message: 'args[0] is longer than a process can be given',
  })
  const many = Array.from({ length: 100 }, () => '${long}'.repeat(100))
  assert.throws(() => interpolator.resolveDeep(many, 'args'), { kind: 'task-invalid' })
})

test('interpolate: a configuration nested without end is refused', () => {
  let config: unknown = 'x'
  for (let depth = 0; depth < 100; depth += 1) config = [config]
  assert.throws(() => new Interpolator(lookup).resolveDeep(config, 'Config'), {
    kind: 'task-invalid',
  })
})

test('interpolate: a hostile text takes no longer than its length', () => {
  const text = `\${${' '.repeat(100_000)}`
  assert.equal(new Interpolator(lookup).resolve(text, 'field'), text)
})
