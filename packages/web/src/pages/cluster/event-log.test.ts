import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Event } from '@reeve/contract'
import { addEvents, EVENTS_MAX, matchesEvent, type LoggedEvent } from './event-log.ts'

// The page looks at an event's name only; what it carries is shown as it came.
const EVENT = {
  Topic: 'Allocation',
  Type: 'AllocationUpdated',
  Key: 'a-1',
  Namespace: 'prod',
  FilterKeys: ['web'],
  Index: 1,
  Payload: {},
} as unknown as Event

test('the newest event comes first and each has a key of its own', () => {
  const first = addEvents(
    [],
    [
      { ...EVENT, Index: 1 },
      { ...EVENT, Index: 2 },
    ],
  )
  const both = addEvents(first, [{ ...EVENT, Index: 3 }])
  assert.deepEqual(
    both.map(({ key, event }) => [key, event.Index]),
    [
      [3, 3],
      [2, 2],
      [1, 1],
    ],
  )
})

test('only the latest are kept', () => {
  let all: readonly LoggedEvent[] = []
  for (let round = 0; round < 3; round++)
    all = addEvents(
      all,
      Array.from({ length: 1_000 }, () => EVENT),
    )
  assert.equal(all.length, EVENTS_MAX)
  assert.equal(all[0]?.key, 3_000)
})

const CASES = [
  { name: 'everything', filter: {}, fits: true },
  { name: 'its topic', filter: { topic: 'Allocation' as const }, fits: true },
  { name: 'another topic', filter: { topic: 'Job' as const }, fits: false },
  { name: 'its namespace', filter: { namespace: 'prod' }, fits: true },
  { name: 'another namespace', filter: { namespace: 'dev' }, fits: false },
  { name: 'its job', filter: { text: 'WEB' }, fits: true },
  { name: 'another word', filter: { text: 'api' }, fits: false },
]
for (const { name, filter, fits } of CASES)
  test(`an event is ${fits ? '' : 'not '}shown for ${name}`, () =>
    assert.equal(
      matchesEvent(EVENT, { namespace: '*', topic: undefined, text: '', ...filter }),
      fits,
    ))

test('what has no namespace is shown in every one', () => {
  const event = { ...EVENT, Namespace: '' }
  assert.ok(matchesEvent(event, { namespace: 'dev', topic: undefined, text: '' }))
})
