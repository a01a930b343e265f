import assert from 'node:assert/strict'
import test from 'node:test'
import { UsageError } from './failure.ts'
import { Flags } from './flags.ts'

const flags = new Flags({
  follow: true,
  diff: false,
  varFile: ['a.hcl', 'b.hcl'],
  meta: ['name=Ada', 'note=a=b', 'empty='],
  wrongMeta: ['=x'],
  tail: '10',
  many: 'lots',
  level: 'info',
})

test('Flags: are found by their names, and read as what they are meant to be', () => {
  assert.equal(flags.has('follow'), true)
  assert.equal(flags.has('detach'), false)
  assert.equal(flags.isOff('diff'), true)
  assert.equal(flags.isOff('follow'), false)
  assert.deepEqual(flags.texts('var-file'), ['a.hcl', 'b.hcl'])
  assert.deepEqual(flags.texts('var'), [])
  assert.equal(flags.whole('tail'), 10)
  assert.equal(flags.whole('version'), undefined)
  assert.equal(flags.oneOf('level', ['info', 'warn']), 'info')
  assert.deepEqual(flags.pairs('meta'), { name: 'Ada', note: 'a=b', empty: '' })
})

const refused = [
  {
    name: 'a number',
    read: () => flags.whole('many'),
    says: '--many needs a whole number, not "lots".',
  },
  {
    name: 'a pair',
    read: () => flags.pairs('wrong-meta'),
    says: '--wrong-meta needs KEY=VALUE, not "=x".',
  },
  {
    name: 'one of a few words',
    read: () => flags.oneOf('level', ['warn', 'error']),
    says: '--level is one of warn, error, not "info".',
  },
]

for (const { name, read, says } of refused)
  test(`Flags: what is not ${name} is a mistake of the command line`, () => {
    assert.throws(read, (thrown) => thrown instanceof UsageError && thrown.message === says)
  })
