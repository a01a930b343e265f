import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExecError } from '@reeve/sdk'
import { EXIT_CODES } from '../errors.ts'
import { describeExecError } from './attach.ts'

const cases = [
  {
    name: 'a connection that is lost is no failure of the command',
    error: new ExecError(1006, ''),
    says: /^The connection was lost before the command ended\.$/,
    code: EXIT_CODES.unreachable,
  },
  {
    name: 'the reason of a close is the refusal',
    error: new ExecError(1008, 'task "x" is not running'),
    says: /^task "x" is not running$/,
    code: EXIT_CODES.failed,
  },
  {
    name: 'a missing permission is recognized by its code',
    error: new ExecError(1008, 'Permission denied'),
    says: /^Permission denied$/,
    code: EXIT_CODES.denied,
  },
]
for (const { name, error, says, code } of cases)
  test(`session: ${name}`, () => {
    const failure = describeExecError(error)
    assert.match(failure.message, says)
    assert.equal(failure.code, code)
    assert.ok(failure.hint !== undefined)
  })
