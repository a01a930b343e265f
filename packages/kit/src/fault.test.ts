import assert from 'node:assert/strict'
import { test } from 'node:test'
import { redactPaths } from './fault.ts'

const cases = [
  [
    "ENOENT: no such file or directory, statfs '/var/lib/reeve/client/alloc'",
    'ENOENT: no such file or directory',
  ],
  [
    "\"a\" is in the way: EISDIR: illegal operation on a directory, rename '/x/it's' -> '/x/b'",
    '"a" is in the way: EISDIR: illegal operation on a directory',
  ],
  [
    'the command cannot be started: spawn /data/x ENOENT',
    'the command cannot be started: spawn ENOENT',
  ],
  [
    "fatal: unable to access 'http://127.0.0.1:1/x.git/': Failed to connect",
    "fatal: unable to access 'http://127.0.0.1:1/x.git/': Failed to connect",
  ],
  ['connect ECONNREFUSED 127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1'],
] as const
for (const [text, wanted] of cases)
  test(`redactPaths: ${text} becomes ${wanted}`, () => assert.equal(redactPaths(text), wanted))
