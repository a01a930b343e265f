import assert from 'node:assert/strict'
import test from 'node:test'
import { CommandError, EXIT_CODES } from './errors.ts'
import { resolveOne } from './resolve.ts'

function choose(given: string, found: readonly string[]): string {
  return resolveOne({
    noun: 'job',
    input: given,
    matches: found,
    idOf: (id) => id,
    describe: (id) => id,
    scope: 'in namespace "default"',
    listCommand: 'reeve job status',
  })
}

test('chooseOne: the exact id wins over others that begin with it', () => {
  assert.equal(choose('web', ['web', 'web-two']), 'web')
})

test('chooseOne: the only one that begins so is meant', () => {
  assert.equal(choose('we', ['web']), 'web')
})

const names = Array.from({ length: 12 }, (_, at) => `web-${at}`)

const failing = [
  {
    name: 'nothing begins so',
    given: 'x',
    found: [],
    message: 'There is no job "x" in namespace "default".',
    hint: 'For a list, run "reeve job status".',
  },
  {
    name: 'two are called the same',
    given: 'web',
    found: ['web', 'web'],
    message: 'There are several jobs "web":',
    hint: '  web\n  web\nType a longer prefix.',
  },
  {
    name: 'many begin so, of which ten are named',
    given: 'web-',
    found: names,
    message: 'Several jobs begin with "web-":',
    hint: [
      ...names.slice(0, 10).map((name) => `  ${name}`),
      '  … and 2 more',
      'Type a longer prefix.',
    ].join('\n'),
  },
]

for (const { name, given, found, message, hint } of failing)
  test(`chooseOne: ${name}`, () => {
    assert.throws(
      () => choose(given, found),
      (thrown) => {
        assert.ok(thrown instanceof CommandError)
        assert.deepEqual(
          [thrown.message, thrown.hint, thrown.code],
          [message, hint, EXIT_CODES.missing],
        )
        return true
      },
    )
  })
