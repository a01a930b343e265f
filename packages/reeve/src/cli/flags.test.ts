import assert from 'node:assert/strict'
import test from 'node:test'
import { UsageError } from './errors.ts'
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
  assert.equal(flags.isNegated('diff'), true)
  assert.equal(flags.isNegated('follow'), false)
  assert.deepEqual(flags.strings('var-file'), ['a.hcl', 'b.hcl'])
  assert.deepEqual(flags.strings('var'), [])
  assert.equal(flags.integer('tail'), 10)
  assert.equal(flags.integer('version'), undefined)
  assert.equal(flags.oneOf('level', ['info', 'warn']), 'info')
  assert.deepEqual(flags.keyValues('meta'), { name: 'Ada', note: 'a=b', empty: '' })
})

const refused = [
  {
    name: 'a number',
    read: () => flags.integer('many'),
    says: '--many needs a whole number, not "lots".',
  },
  {
    name: 'a pair',
    read: () => flags.keyValues('wrong-meta'),
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
