import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'
import { WorkerEngine } from '../../src/judging/index.ts'
import { ofJob } from './cluster.ts'
import { aGuardedServer } from './guarded.ts'

const LOOP =
  'l = range(1000000)\nfor range(1000) as a { if l contains -1 { break } }\nmain = rule { true }'

/** Hostile code; whatever an engine says of it, it is `errored` or does not pass. */
const HOSTILE: readonly { readonly what: string; readonly code: string; readonly opa?: true }[] = [
  {
    what: 'a text that doubles',
    code: 's = "x"\nfor range(60) as i { s = s + s }\nmain = s is ""',
  },
  {
    what: 'a list that doubles',
    code: 'l = [1]\nfor range(60) as i { l = l + l }\nmain = length(l) is 0',
  },
  {
    what: 'a function that calls itself',
    code: 'f = func(n) { return f(n + 1) }\nmain = f(0) is 0',
  },
  { what: 'brackets without end', code: `main = ${'('.repeat(50_000)}` },
  {
    what: 'a pattern that explodes',
    code: 'main = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab" matches "(a+)+$"',
  },
  { what: 'no code', code: ' ' },
  { what: 'control characters', code: '\u0001\u0002main = \u0007' },
  {
    what: 'a rule of itself',
    opa: true,
    code: 'package jobs\ndeny contains x if { x := deny[_] }',
  },
  {
    what: 'a text of many',
    opa: true,
    code: 'package jobs\ndeny contains concat("", [s | some _ in numbers.range(1, 9000000); s := "aaaaaaaaaa"])',
  },
]

for (const { what, code, opa } of HOSTILE)
  test(`a policy with ${what} fails closed, and the next one is asked`, async () => {
    const { it, server, register, guard } = await aGuardedServer()
    const { set } = await guard(opa ? { kind: 'opa', code } : { code })
    const [status, text] = await server.refusal('registerJob', register())
    assert.equal(status, 403, text)
    assert.ok(text.length < 20_000)
    await it.done('deletePolicySet', { params: { policy_set_id: set } })
    await guard({ code: 'main = rule { job.id is "web" }' })
    await server.ok('registerJob', register())
    await server.close()
  })

test('a policy that loops ends by its steps, and others are answered meanwhile', async () => {
  const { server, register, as, guard } = await aGuardedServer()
  await guard({ code: LOOP })
  await server.ok(
    'writeNamespace',
    as({ params: { namespace_name: 'free' }, body: { Name: 'free' } }),
  )
  const done: string[] = []
  const slow = server
    .call('registerJob', register())
    .then(({ status, text }) => done.push(`slow ${status}`, text))
  await server.ok('registerJob', register({ Namespace: 'free' }))
  done.push('free')
  await server.ok('listJobs', as({}))
  done.push('read')
  await slow
  assert.deepEqual(done.slice(0, 3), ['free', 'read', 'slow 403'])
  assert.match(done[3] ?? '', /errored: [^]*steps/)
  await server.close()
})

test('a policy that is over its time denies and says so', async () => {
  // Time is over at once, for the first question and for the policy alone.
  let turns = 2
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    after(_delayMs, wake) {
      if (turns-- > 0) queueMicrotask(wake)
      return () => undefined
    },
  }
  const thread = new WorkerEngine({ clock, version: '' })
  const { server, register, policy, set } = await aGuardedServer({
    policyAsker: { evaluate: (...asked) => thread.evaluate(...asked), diagnose: async () => [] },
  })
  await set(
    [
      await policy({ name: 'slow', code: 'main = true' }),
      await policy({ name: 'tidy', code: 'main = true' }),
    ],
    { name: 'limits' },
  )
  assert.deepEqual(await server.refusal('registerJob', register()), [
    403,
    'job "web" is denied by a policy:\n\t* policy "slow" (hard-mandatory) of set "limits" errored: ' +
      'the policy takes longer than 10000 ms',
  ])
  await thread.stop()
  await server.close()
})

test('a policy that takes too much memory denies, and others of its set are asked', async () => {
  const thread = new WorkerEngine({
    clock: { nowMs: () => 0, monotonicMs: () => 0, after: () => () => undefined },
    version: '',
    limits: {
      timeoutMs: 10_000,
      megabytesMax: 24,
      waitingMax: 16,
      waitingPerTenantMax: 16,
      waitMsMax: 60_000,
    },
  })
  const { server, register, policy, set } = await aGuardedServer({
    policyAsker: { evaluate: (...asked) => thread.evaluate(...asked), diagnose: async () => [] },
  })
  const bomb = `package jobs
deny contains x if {
  some a in numbers.range(1, 3000)
  some b in numbers.range(1, 3000)
  x := {"a": a, "b": b, "list": [a, b, a, b]}
}`
  await set([await policy({ kind: 'opa', name: 'bomb', code: bomb })], {
    kind: 'opa',
    name: 'limits',
  })
  await set([await policy({ name: 'tidy', code: 'main = false' })], { name: 'other' })
  const [status, text] = await server.refusal('registerJob', register())
  assert.equal(status, 403)
  const lines = text.split('\n')
  assert.equal(lines[0], 'job "web" is denied by 2 policies:')
  assert.match(
    lines[1] ?? '',
    /policy "bomb" \(mandatory\) of set "limits" errored: the policy takes more than 24 MB/,
  )
  assert.match(lines[2] ?? '', /policy "tidy" \(hard-mandatory\) of set "other" failed/)
  assert.equal((await server.call('readJob', { ...ofJob(), token: register().token })).status, 404)
  await thread.stop()
  await server.close()
})

test('where too many ask policies at once the caller is told to come back', async () => {
  const overloaded = new Fault(OVERLOADED, 'too many questions wait for policies; try again')
  const { server, register, policy, set, as } = await aGuardedServer({
    policyAsker: { evaluate: () => Promise.reject(overloaded), diagnose: async () => [] },
  })
  await set([await policy({ name: 'tidy', code: 'main = false' })], { name: 'limits' })
  assert.deepEqual(await server.refusal('registerJob', register()), [429, overloaded.message])
  assert.deepEqual(await server.ok('listPolicyVerdicts', as({})), [])
  await server.close()
})
