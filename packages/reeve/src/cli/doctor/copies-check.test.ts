import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replicationFindings } from './server-checks.ts'

const cases = [
  { name: 'without other regions there is nothing to say', stats: undefined, states: [] },
  {
    name: 'a server that does not lead does not know',
    stats: { authoritative_region: 'us', role: 'the leader of this region copies' },
    states: [],
  },
  {
    name: 'fresh copies are well',
    stats: { authoritative_region: 'us', lag_ms: '4000', tokens_index: '7' },
    states: ['ok'],
  },
  {
    name: 'old copies are not',
    stats: { authoritative_region: 'us', lag_ms: '60000', tokens_index: '7' },
    states: ['warning'],
  },
  {
    name: 'nor are copies that this leader has not compared yet',
    stats: { authoritative_region: 'us', tokens_index: '0' },
    states: ['warning'],
  },
  {
    name: 'nor are copies that cannot be kept',
    stats: { authoritative_region: 'us', lag_ms: '900', tokens_error: 'it answered 403' },
    states: ['warning'],
  },
]
for (const { name, stats, states } of cases)
  test(`doctor: ${name}`, () => {
    const found = replicationFindings(stats)
    assert.deepEqual(
      found.map(({ state }) => state),
      states,
    )
  })
