import assert from 'node:assert/strict'
import test from 'node:test'
import type { Input, ParameterizedJobConfig } from '@reeve/contract'
import { aJob } from '../../../test/build/job.ts'
import {
  dispatchedChild,
  dispatchedChildId,
  dispatchRefusal,
  type DispatchInput,
} from './dispatch.ts'

const NOTHING: DispatchInput = { payload: '', payloadBytes: 0, meta: {}, priority: 0 }

function parent(ParameterizedJob: Input<ParameterizedJobConfig> = {}, fields = {}) {
  return aJob({ ID: 'mail', Type: 'batch', ParameterizedJob, ...fields })
}

const cases: readonly {
  rules?: Input<ParameterizedJobConfig>
  parts?: Partial<DispatchInput>
  want: string | undefined
}[] = [
  { want: undefined },
  { parts: { payloadBytes: 16_384 }, want: undefined },
  { parts: { payloadBytes: 16_385 }, want: 'Payload exceeds maximum size; 16385 > 16384' },
  { rules: { Payload: 'required' }, parts: { payloadBytes: 1 }, want: undefined },
  {
    rules: { Payload: 'required' },
    want: 'Payload is not provided but required by parameterized job',
  },
  { rules: { Payload: 'forbidden' }, want: undefined },
  {
    rules: { Payload: 'forbidden' },
    parts: { payloadBytes: 1 },
    want: 'Payload provided but forbidden by parameterized job',
  },
  {
    rules: { MetaRequired: ['a'], MetaOptional: ['b'] },
    parts: { meta: { a: '', b: '' } },
    want: undefined,
  },
  {
    rules: { MetaRequired: ['c', 'b', 'a'] },
    parts: { meta: { b: '1' } },
    want: 'Dispatch did not provide required meta keys: [a c]',
  },
  {
    rules: { MetaOptional: ['b'] },
    parts: { meta: { z: '', b: '', x: '' } },
    want: 'Dispatch request included unpermitted metadata keys: [x z]',
  },
  { parts: { priority: 1 }, want: undefined },
  { parts: { priority: 100 }, want: undefined },
  { parts: { priority: 101 }, want: 'dispatch job priority must be between [1, 100]' },
  { parts: { priority: -1 }, want: 'dispatch job priority must be between [1, 100]' },
]
for (const { rules, parts, want } of cases)
  test(`dispatch: ${JSON.stringify({ ...rules, ...parts })} is ${want ?? 'in order'}`, () =>
    assert.equal(dispatchRefusal(parent(rules), { ...NOTHING, ...parts })?.message, want))

test('dispatch: requires a parameterized job that is not stopped', () => {
  assert.equal(
    dispatchRefusal(aJob({ ID: 'mail' }), NOTHING)?.message,
    'Specified job "mail" is not a parameterized job',
  )
  assert.equal(
    dispatchRefusal(parent({}, { Dispatched: true }), NOTHING)?.message,
    'Specified job "mail" is not a parameterized job',
  )
  assert.equal(
    dispatchRefusal(parent({}, { Stop: true }), NOTHING)?.message,
    'Specified job "mail" is stopped',
  )
})

test('dispatch: ID contains parent, prefix, time and suffix', () => {
  const name = { parentId: 'mail', timeMs: 1_767_268_800_999, suffix: '0a1b2c3d' }
  assert.equal(dispatchedChildId({ ...name, prefix: '' }), 'mail/dispatch-1767268800-0a1b2c3d')
  assert.equal(dispatchedChildId({ ...name, prefix: 'eu' }), 'mail/dispatch-eu-1767268800-0a1b2c3d')
})

test('dispatch: child payload, merged metadata and priority', () => {
  const job = parent({ MetaOptional: ['to'] }, { Meta: { to: 'all', from: 'us' }, Priority: 30 })
  const parts = { ...NOTHING, payload: 'YQ==', payloadBytes: 1, meta: { to: 'me' } }
  const child = dispatchedChild(job, parts, { id: 'mail/dispatch-1', idempotencyToken: 't' })
  assert.deepEqual(
    [child.ID, child.ParentID, child.Dispatched, child.DispatchIdempotencyToken, child.Payload],
    ['mail/dispatch-1', 'mail', true, 't', 'YQ=='],
  )
  assert.deepEqual([child.Meta, child.Priority], [{ to: 'me', from: 'us' }, 30])
  const urgent = dispatchedChild(
    parent(),
    { ...NOTHING, priority: 90 },
    { id: 'x', idempotencyToken: '' },
  )
  assert.deepEqual([urgent.Meta, urgent.Payload, urgent.Priority], [null, null, 90])
})
