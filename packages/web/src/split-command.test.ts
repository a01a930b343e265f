import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitCommand } from './commands.ts'

const CASES: readonly (readonly [string, readonly string[]])[] = [
  ['', []],
  ['  /bin/sh  ', ['/bin/sh']],
  ['ls -l /tmp', ['ls', '-l', '/tmp']],
  [`sh -c "echo a  b"`, ['sh', '-c', 'echo a  b']],
  [`sh -c 'echo "x"'`, ['sh', '-c', 'echo "x"']],
  [`--name="a b"`, ['--name=a b']],
]

for (const [line, words] of CASES)
  test(`${JSON.stringify(line)} has ${words.length} words`, () =>
    assert.deepEqual(splitCommand(line), words))
