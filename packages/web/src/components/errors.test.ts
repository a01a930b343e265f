import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '@reeve/sdk'
import { describeError } from './errors.ts'

function notFound(code: string): ApiError {
  return new ApiError({
    route: { method: 'GET', path: '/v1/client/fs/logs/:alloc_id' },
    status: 404,
    code,
    text: '',
    errors: [],
    requestId: undefined,
    index: undefined,
    retryAfterMs: undefined,
  })
}

test('files that a node has removed are no matter of another token', () => {
  const { title, canSignIn } = describeError(notFound('allocation-not-on-node'))
  assert.equal(title, 'The node has no files of this allocation.')
  assert.equal(canSignIn, undefined)
})

test('what is not there may be there for another token', () => {
  assert.equal(describeError(notFound('job-not-found')).canSignIn, true)
})
