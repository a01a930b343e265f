import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '@reeve/sdk'
import { isShownAtFields } from './errors.ts'

/** A refusal of the governance API with an error for each pointer. */
function refusal(...pointers: readonly (string | undefined)[]): ApiError {
  const errors = pointers.map((pointer) => ({
    status: '422',
    title: 'Invalid Attribute',
    detail: 'It has already been taken',
    ...(pointer === undefined ? {} : { source: { pointer } }),
  }))
  const none = { requestId: undefined, index: undefined, retryAfterMs: undefined }
  return new ApiError({
    route: { method: 'POST', path: '/' },
    status: 422,
    text: '',
    errors,
    ...none,
  })
}

const FIELDS = new Set(['name', 'email'])

test('what names only attributes that have a field is said at the fields', () => {
  assert.ok(isShownAtFields(FIELDS, refusal('/data/attributes/name')))
  assert.ok(isShownAtFields(FIELDS, refusal('/data/attributes/name', '/data/attributes/email')))
})

test('what names anything else is said of the whole form', () => {
  for (const pointer of ['/data/attributes/kind', '/data/attributes/name/0', '/data', undefined]) {
    assert.equal(isShownAtFields(FIELDS, refusal(pointer)), false, pointer)
    assert.equal(isShownAtFields(FIELDS, refusal('/data/attributes/name', pointer)), false, pointer)
  }
})

test('what names nothing, as the workload API and a lost connection do, is too', () => {
  assert.equal(isShownAtFields(FIELDS, refusal()), false)
  assert.equal(isShownAtFields(FIELDS, new Error('no answer')), false)
})
