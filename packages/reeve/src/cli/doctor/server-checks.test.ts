import assert from 'node:assert/strict'
import { test } from 'node:test'
import { certificateFindings, connectionFindings, diskFindings } from './server-checks.ts'

const gauge = (name: string, value: number) => [{ Name: `service_${name}`, Value: value }]
const NOW_MS = Date.parse('2026-11-19T12:00:00Z')
const DAY_S = 24 * 3_600

test('doctor: nodes that are ready and not connected are counted', () => {
  for (const [connected, ready, states] of [
    [2, 2, ['ok']],
    [1, 2, ['warning']],
    [0, 2, ['bad']],
    [0, 0, []],
    [0, undefined, []],
  ] as const) {
    const found = connectionFindings(gauge('nodes_connected', connected), ready)
    assert.deepEqual(
      found.map(({ state }) => state),
      states,
    )
  }
  const [some] = connectionFindings(gauge('nodes_connected', 1), 2)
  assert.equal(some?.what, '1 of 2 ready nodes are connected to the leader.')
})

test('doctor: a certificate that ends soon is named with its end', () => {
  const inDays = (days: number) =>
    certificateFindings(
      gauge('certificate_expiry_timestamp_seconds', NOW_MS / 1_000 + days * DAY_S),
      NOW_MS,
    )
  assert.deepEqual(certificateFindings([], NOW_MS), [], 'no certificate')
  assert.equal(inDays(14.5)[0]?.what, 'The certificate of the server is valid for 14 more days.')
  assert.equal(inDays(13.5)[0]?.state, 'warning')
  assert.deepEqual(
    [inDays(-1)[0]?.state, inDays(-1)[0]?.what],
    ['bad', 'The certificate of the server was valid until 2026-11-18T12:00:00.000Z.'],
  )
})

test('doctor: reports a disk that is nearly full', () => {
  assert.deepEqual(diskFindings([]), [], 'the state is in a database')
  assert.equal(diskFindings(gauge('storage_free_ratio', 0.5))[0]?.state, 'ok')
  const [full] = diskFindings(gauge('storage_free_ratio', 0.099))
  assert.deepEqual(
    [full?.state, full?.what],
    ['warning', 'The disk of the server has only 9 % free.'],
  )
})
