import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '@reeve/kit/fault.ts'
import { ConfigReader, nearestName } from './config-reader.ts'

const known = ['command', 'args', 'work_dir', 'labels', 'auth', 'count', 'on', 'wait', 'mode']
const read = (values: Readonly<Record<string, unknown>>): ConfigReader =>
  new ConfigReader(values, { owner: 'demo', known })

const nearest = [
  { name: 'comand', near: 'command' },
  { name: 'workDir', near: 'work_dir' },
  { name: 'work-dir', near: 'work_dir' },
  { name: 'arg', near: 'args' },
  { name: 'entirely_else', near: undefined },
  { name: 'x'.repeat(1_000), near: undefined },
]
for (const c of nearest) {
  test(`task settings: ${c.name.slice(0, 20)} is near ${c.near ?? 'nothing'}`, () => {
    assert.equal(nearestName(c.name, known), c.near)
  })
}

const refused = [
  { config: { comand: 'x' }, message: '"comand" is not a setting of demo; did you mean command?' },
  { config: { zzzzzzz: 1 }, message: '"zzzzzzz" is not a setting of demo' },
  { config: { auth: { user: 1 } }, message: '"user" is not a setting of auth of demo' },
]
for (const c of refused) {
  test(`task settings: ${c.message}`, () => {
    const bad = (): unknown => read(c.config).block('auth', ['username'])
    assert.throws(bad, {
      kind: 'task-config',
      message: new RegExp(`^${c.message.replace('?', '.')}`),
    })
  })
}

test('task settings: a block is one map or a list of them', () => {
  assert.deepEqual(read({ labels: { a: 1 } }).map('labels'), { a: '1' })
  assert.deepEqual(read({ labels: [{ a: 'x' }, { b: true }] }).map('labels'), { a: 'x', b: 'true' })
  assert.deepEqual(read({}).map('labels'), {})
  assert.throws(() => read({ auth: [{}, {}] }).block('auth', []), {
    message: 'auth may be there only once',
  })
  assert.throws(() => read({ labels: ['x'] }).map('labels'), { message: 'labels must be a block' })
})

test('task settings: absent and null are the same', () => {
  for (const config of [{}, { args: null, count: null, on: null, wait: null, mode: null }]) {
    const settings = read(config)
    assert.equal(settings.strings('args'), undefined)
    assert.equal(settings.integer('count', { min: 0, max: 9 }), undefined)
    assert.equal(settings.bool('on'), undefined)
    assert.equal(settings.durationMs('wait'), undefined)
    assert.equal(settings.oneOf('mode', ['host']), undefined)
  }
})

const values = [
  { name: 'count', value: 10, message: 'count must be from 0 to 9' },
  { name: 'count', value: 1.5, message: 'count must be a whole number' },
  { name: 'on', value: 'yes', message: 'on must be true or false' },
  { name: 'wait', value: 5, message: 'wait must be a duration' },
  { name: 'mode', value: 'guest', message: 'mode must be one of host, private' },
  { name: 'args', value: [{}], message: 'args[0] must be a text' },
  { name: 'args', value: Array(2_000).fill('x'), message: 'args has more than 1024 entries' },
]
for (const c of values) {
  test(`task settings: ${c.message}`, () => {
    const settings = read({ [c.name]: c.value })
    const all = (): void => {
      settings.integer('count', { min: 0, max: 9 })
      settings.bool('on')
      settings.durationMs('wait')
      settings.oneOf('mode', ['host', 'private'])
      settings.strings('args')
    }
    assert.throws(all, { kind: 'task-config', message: c.message })
  })
}

test('task settings: whatever is written, the answer is a value or a task-config fault', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...known, '__proto__'), fc.jsonValue()), (config) => {
      try {
        const settings = read(config)
        settings.requiredString('command')
        settings.strings('args')
        settings.map('labels')
        settings.blocks('auth', ['username'])
      } catch (thrown) {
        assert.ok(thrown instanceof Fault && thrown.kind === 'task-config')
      }
    }),
  )
})
