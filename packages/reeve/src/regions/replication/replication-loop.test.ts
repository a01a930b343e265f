import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { ReplicationStatus } from './replication-loop.ts'

test('replication: the lag is infinite until every table was compared', () => {
  const clock = new SimulatedClock()
  const status = new ReplicationStatus(clock, 'us')
  assert.equal(status.lagMs, 0, 'another server leads')
  status.begin(['policies', 'tokens'])
  clock.advance(1_000)
  status.recordSuccess('policies', 7)
  status.recordFailure('tokens', 'it is away')
  assert.equal(status.lagMs, Number.POSITIVE_INFINITY)
  assert.deepEqual(status.stats(), {
    authoritative_region: 'us',
    policies_index: '7',
    tokens_index: '0',
    tokens_error: 'it is away',
  })
  status.recordSuccess('tokens', 9)
  clock.advance(3_000)
  assert.equal(status.lagMs, 3_000)
  assert.equal(status.stats()['lag_ms'], '3000')
})
