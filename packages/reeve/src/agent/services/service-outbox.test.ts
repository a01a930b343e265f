import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OfferedService } from '@reeve/contract'
import { allocationId } from '../../../test/build/agent.ts'
import { ServiceOutbox } from './service-outbox.ts'

const [A, B] = [allocationId(1), allocationId(2)]

function offered(name: string, tag = ''): readonly OfferedService[] {
  return [{ ID: `_${A}-${name}`, ServiceName: name, Tags: [tag], Address: '127.0.0.1', Port: 80 }]
}

test('outbox: one message at a time, the latest of each allocation', () => {
  const outbox = new ServiceOutbox()
  outbox.offer(A, offered('one'))
  assert.deepEqual(outbox.next(), {
    kind: 'services',
    seq: 1,
    sets: [{ allocation: A, services: offered('one') }],
  })
  outbox.offer(A, offered('two'))
  outbox.offer(A, [])
  assert.equal(outbox.next(), undefined)
  assert.equal(outbox.acknowledge(7), false)
  assert.equal(outbox.acknowledge(1), true)
  assert.deepEqual(outbox.next()?.sets, [{ allocation: A, services: [] }])
})

test('outbox: a new channel is told everything, and who there is', () => {
  const outbox = new ServiceOutbox()
  outbox.offer(A, offered('one'))
  outbox.next()
  outbox.restart()
  assert.deepEqual(outbox.next(), {
    kind: 'services',
    seq: 1,
    sets: [{ allocation: A, services: offered('one') }],
    all: [A],
  })
  outbox.offer(A, [])
  outbox.restart()
  assert.deepEqual(outbox.next()?.all, [])
})

test('outbox: an allocation whose tasks are not found again yet is named, and nothing else', () => {
  const outbox = new ServiceOutbox()
  outbox.hold(A)
  outbox.offer(A, offered('of the group'))
  outbox.restart()
  assert.deepEqual(outbox.next(), { kind: 'services', seq: 1, sets: [], all: [A] })
  outbox.acknowledge(1)
  assert.equal(outbox.next(), undefined)
  outbox.settle(A)
  assert.equal(outbox.next()?.sets.length, 1)
})

test('outbox: what is too long for one message goes in several; who there is comes with the last', () => {
  const outbox = new ServiceOutbox()
  outbox.offer(A, offered('one', 'x'.repeat(900_000)))
  outbox.offer(B, offered('two', 'x'.repeat(900_000)))
  outbox.restart()
  const first = outbox.next()
  assert.deepEqual([first?.sets.length, first?.all], [1, undefined])
  outbox.acknowledge(1)
  const second = outbox.next()
  assert.deepEqual([second?.sets.length, second?.all], [1, [A, B]])
})
