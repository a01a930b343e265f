import assert from 'node:assert/strict'
import { it } from 'node:test'
import { InProcessEngine } from './in-process-engine.ts'
import type { PolicyResult } from './engine.ts'

function judge(code: string, query: string): PolicyResult {
  const policy = { name: 'p', kind: 'opa', code, query } as const
  const subject = {
    kind: 'job',
    namespace: 'default',
    token: undefined,
    existingJob: undefined,
    variables: new Map(),
    job: { ID: 'web' },
  } as const
  const [judgement] = new InProcessEngine().evaluate(subject, [{ policy, params: {} }], {
    version: '0.1.0',
    time: { nowNs: 0n, zone: 'UTC', offsetSeconds: () => 0 },
    isCancelled: () => false,
    random: () => 0.5,
    offsetAt: () => 3_600_000,
  })
  return judgement ?? assert.fail('a policy has a judgement')
}

it('reports how many findings are not kept', () => {
  const { findings, warning } = judge(
    'package q\n\ndeny contains sprintf("%d", [i]) if some i in numbers.range(1, 60)\n',
    'data.q.deny',
  )
  assert.equal(findings.length, 50)
  assert.equal(warning, '10 more findings are not kept')
})

/** A value of 2^levels parts that takes little memory, because each level is shared. */
function doubled(levels: number): string {
  const lines = Array.from({ length: levels }, (_, i) => `a${i + 1} := [a${i}, a${i}]`)
  return `package q\n\na0 := [1, 1]\n${lines.join('\n')}\nv := a${levels}\n`
}

for (const [levels, status] of [
  [14, 'failed'],
  [15, 'errored'],
  [40, 'errored'],
] as const)
  it(`an opa result of 2^${levels} lists is ${status}`, () => {
    const { status: got, findings } = judge(doubled(levels), 'data.q.v')
    assert.equal(got, status)
    if (status === 'errored')
      assert.match(findings[0]?.message ?? '', /result of data\.q\.v is too large: at most 100000/)
  })

it('an opa result whose text would be too large is errored too', () => {
  const code = `${doubled(40)}w := {"a": v}\n`
  for (const query of ['data.q.w', 'count(data.q.v)'])
    assert.equal(judge(code, query).status, 'errored')
})

it('opa policies can use the time zones of the host', () => {
  const code = 'package q\n\ndeny contains "one" if time.clock([0, "Europe/Berlin"])[0] == 1\n'
  assert.equal(judge(code, 'data.q.deny').status, 'failed')
})
