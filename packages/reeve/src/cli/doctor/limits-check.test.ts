import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limitsFindings } from './server-checks.ts'

const limit = (used: number, rejected: number) => [
  { Name: 'service_limit', Value: 10, Labels: { limit: 'connections' } },
  { Name: 'service_limit_used', Value: used, Labels: { limit: 'connections' } },
  { Name: 'service_requests_rejected_total', Value: rejected, Labels: { reason: 'connections' } },
]

const cases = [
  { name: 'a server that tells no limits', gauges: [], states: [] },
  { name: 'a limit that is far', gauges: limit(7, 0), states: ['ok'] },
  { name: 'a limit that is near', gauges: limit(8, 0), states: ['ok', 'warning'] },
  { name: 'a limit that rejected requests', gauges: limit(0, 3), states: ['ok', 'warning'] },
]
for (const { name, gauges, states } of cases)
  test(`doctor: ${name}`, () => {
    const found = limitsFindings(gauges)
    assert.deepEqual(
      found.map(({ state }) => state),
      states,
    )
  })

test('doctor: a limit is shown with its use and what it rejected', () => {
  const [all, near] = limitsFindings(limit(9, 1))
  assert.match(all?.what ?? '', /connections 9 of 10/)
  assert.match(near?.what ?? '', /^Limit connections: 9 of 10 in use; 1 request was rejected/)
})

test('doctor: file descriptors that run short are raised by the system', () => {
  const files = { limit: 'open_files' }
  const [, near] = limitsFindings([
    { Name: 'service_limit', Value: 1_024, Labels: files },
    { Name: 'service_limit_used', Value: 1_000, Labels: files },
  ])
  assert.match(near?.what ?? '', /^Limit open_files: 1000 of 1024 in use/)
  assert.match(near?.next ?? '', /LimitNOFILE=.*ulimit -n/)
})
