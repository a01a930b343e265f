import assert from 'node:assert/strict'
import test from 'node:test'
import { COMMANDS } from './commands.ts'
import { suggestCommands } from './command-line.ts'

/** The words that may follow a path. */
function namesBelow(path: string): readonly string[] {
  const paths = COMMANDS.map((spec) => spec.path)
  const start = path === '' ? '' : `${path} `
  const below = paths.filter((one) => one.startsWith(start)).map((one) => one.slice(start.length))
  return [...new Set(below.map((one) => one.split(' ')[0] ?? ''))]
}

const cases = [
  { path: 'job', typed: 'show', first: 'status' },
  { path: 'job', typed: 'ls', first: 'status' },
  { path: 'job', typed: 'statu', first: 'status' },
  { path: 'job', typed: 'stauts', first: 'status' },
  { path: 'job', typed: 'stpo', first: 'stop' },
  { path: 'job', typed: 'rm', first: 'stop' },
  { path: 'job', typed: 'rollback', first: 'revert' },
  { path: 'alloc', typed: 'ssh', first: 'exec' },
  { path: 'node', typed: 'describe', first: 'status' },
  { path: '', typed: 'jobb', first: 'job' },
  { path: '', typed: 'nodes', first: 'node' },
  { path: '', typed: 'pods', first: 'alloc' },
]
for (const { path, typed, first } of cases)
  test(`suggestionsFor: "${`${path} ${typed}`.trim()}" suggests ${first}`, () => {
    assert.equal(suggestCommands(typed, namesBelow(path))[0], first)
  })

test('suggestionsFor: a harmless word never suggests a destructive command', () => {
  const harmless = ['show', 'get', 'describe', 'view', 'info', 'list', 'ls', 'start', 'status']
  const groups = COMMANDS.map(({ path }) => path.split(' ').slice(0, -1).join(' '))
  for (const path of new Set(groups))
    for (const typed of harmless) {
      const found = suggestCommands(typed, namesBelow(path))
      assert.deepEqual(
        found.filter((name) => /^(stop|delete|purge|fail|drain|revoke)$/.test(name)),
        [],
        `${path} ${typed}`,
      )
    }
})

test('suggestionsFor: a word that resembles nothing suggests nothing', () => {
  assert.deepEqual(suggestCommands('xyzzy', namesBelow('job')), [])
})
