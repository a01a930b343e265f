import assert from 'node:assert/strict'
import test from 'node:test'
import { withGlobalFlags } from './global-flags.ts'
import { COMMANDS, GROUPS } from './commands.ts'

const paths = COMMANDS.map(({ path }) => path)

test('COMMANDS: every command is there once, and none is also a group', () => {
  assert.deepEqual(
    paths.filter((path, at) => paths.indexOf(path) !== at),
    [],
  )
  const groups = paths.filter((path) => paths.some((other) => other.startsWith(`${path} `)))
  assert.deepEqual(groups, [])
})

test('COMMANDS: every group has a summary', () => {
  const groups = new Set(
    paths.flatMap((path) => {
      const words = path.split(' ').slice(0, -1)
      return words.map((_, at) => words.slice(0, at + 1).join(' '))
    }),
  )
  const silent = [...groups].filter((path) => GROUPS[path] === undefined)
  assert.deepEqual(silent, [])
})

for (const spec of COMMANDS)
  test(`COMMANDS: ${spec.path} explains itself with examples of itself`, () => {
    assert.match(spec.summary, /^[A-Z].*\.$/)
    assert.ok(spec.examples.length > 0)
    for (const { line, says } of spec.examples) {
      assert.ok(line.includes(`reeve ${spec.path}`), line)
      assert.notEqual(says, '')
    }
    const letters = withGlobalFlags(spec).flatMap(
      ({ usage }) => usage.match(/--?[a-z][a-z0-9-]*/g) ?? [],
    )
    assert.deepEqual(
      letters.filter((flag, at) => letters.indexOf(flag) !== at),
      [],
      'no flag is there twice',
    )
  })
