import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ReportedService, ServicesMessage } from '@reeve/contract'
import { allocationId } from '../../../test/build/agent.ts'
import { ServiceOutbox } from './outbox.ts'

const [A, B] = [allocationId(1), allocationId(2)]

function offered(name: string, tag = ''): readonly ReportedService[] {
  return [{ ID: `_${A}-${name}`, ServiceName: name, Tags: [tag], Address: '127.0.0.1', Port: 80 }]
}

test('outbox: one message at a time, the latest of each allocation', () => {
  const outbox = new ServiceOutbox()
  outbox.setServices(A, offered('one'))
  assert.deepEqual(outbox.next(), {
    kind: 'services',
    seq: 1,
    sets: [{ allocation: A, services: offered('one') }],
  })
  outbox.setServices(A, offered('two'))
  outbox.setServices(A, [])
  assert.equal(outbox.next(), undefined)
  assert.equal(outbox.acknowledge(7), false)
  assert.equal(outbox.acknowledge(1), true)
  assert.deepEqual(outbox.next()?.sets, [{ allocation: A, services: [] }])
})

test('outbox: a new channel gets all services and the full list', () => {
  const outbox = new ServiceOutbox()
  outbox.setServices(A, offered('one'))
  outbox.next()
  outbox.reset()
  assert.deepEqual(outbox.next(), {
    kind: 'services',
    seq: 1,
    sets: [{ allocation: A, services: offered('one') }],
    all: [A],
  })
  outbox.setServices(A, [])
  outbox.reset()
  assert.deepEqual(outbox.next()?.all, [])
})

test('outbox: an allocation whose tasks are not found again yet is named, and nothing else', () => {
  const outbox = new ServiceOutbox()
  outbox.defer(A)
  outbox.setServices(A, offered('of the group'))
  outbox.reset()
  assert.deepEqual(outbox.next(), { kind: 'services', seq: 1, sets: [], all: [A] })
  outbox.acknowledge(1)
  assert.equal(outbox.next(), undefined)
  outbox.release(A)
  assert.equal(outbox.next()?.sets.length, 1)
})

test('outbox: long updates are split; the full list comes with the last message', () => {
  const outbox = new ServiceOutbox()
  outbox.setServices(A, offered('one', 'x'.repeat(900_000)))
  outbox.setServices(B, offered('two', 'x'.repeat(900_000)))
  outbox.reset()
  const first = outbox.next()
  assert.deepEqual([first?.sets.length, first?.all], [1, undefined])
  outbox.acknowledge(1)
  const second = outbox.next()
  assert.deepEqual([second?.sets.length, second?.all], [1, [A, B]])
})

/** What happens between a node and its servers. Numbers name allocations and services. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('offer'), of: fc.nat(3), port: fc.nat(2) }),
  fc.record({ kind: fc.constantFrom('withdraw', 'hold', 'settle'), of: fc.nat(3) }),
  fc.record({ kind: fc.constantFrom('deliver', 'acknowledge', 'break', 'forget'), of: fc.nat(3) }),
)

/** A catalogue that takes messages as the servers do. */
function take(catalogue: Map<string, string>, message: ServicesMessage): void {
  for (const { allocation, services } of message.sets)
    if (services.length === 0) catalogue.delete(allocation)
    else catalogue.set(allocation, JSON.stringify(services))
  for (const id of catalogue.keys())
    if (message.all !== undefined && !message.all.includes(id)) catalogue.delete(id)
}

test('outbox: whatever was lost on the way, after the next channel both know the same', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (run) => {
      const outbox = new ServiceOutbox()
      const truth = new Map<string, string>()
      const catalogue = new Map<string, string>()
      let inFlight: ServicesMessage | undefined
      for (const one of run) {
        const id = allocationId(one.of)
        switch (one.kind) {
          case 'offer': {
            const services = offered(`s${'port' in one ? one.port : 0}`)
            truth.set(id, JSON.stringify(services))
            outbox.setServices(id, services)
            break
          }
          case 'withdraw':
            truth.delete(id)
            outbox.setServices(id, [])
            break
          case 'hold':
            outbox.defer(id)
            break
          case 'settle':
            outbox.release(id)
            break
          case 'deliver':
            inFlight ??= outbox.next()
            if (inFlight !== undefined) take(catalogue, inFlight)
            break
          case 'acknowledge':
            if (inFlight !== undefined) outbox.acknowledge(inFlight.seq)
            inFlight = undefined
            break
          case 'break':
            outbox.reset()
            inFlight = undefined
            break
          case 'forget':
            catalogue.delete(id)
            break
        }
      }
      for (let n = 0; n <= 3; n++) outbox.release(allocationId(n))
      outbox.reset()
      for (let message = outbox.next(); message !== undefined; message = outbox.next()) {
        take(catalogue, message)
        assert.ok(outbox.acknowledge(message.seq))
      }
      assert.deepEqual(catalogue, truth)
    }),
  )
})
