import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { aTar } from '../../test/build/archive.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import type { PolicyDefinition, PolicyInput } from '../policy/index.ts'
import { WORKER_LIMITS, WorkerEngine } from './worker-engine.ts'

const patient: Clock = { nowMs: () => 0, monotonicMs: () => 0, after: () => () => undefined }

const ORIGIN = { tenant: 'a' }

const JOB: PolicyInput = {
  kind: 'job',
  namespace: 'default',
  token: undefined,
  existingJob: undefined,
  variables: new Map([['default@service/native/x', { a: '1' }]]),
  job: { ID: 'web', TaskGroups: [{ Count: 3 }] },
}

function native(code: string): PolicyDefinition {
  return { name: 'p', kind: 'native', query: null, code }
}

describe('PolicyThread', () => {
  const thread = new WorkerEngine({ clock: patient, version: '1.2.3' })
  after(() => thread.stop())
  const ask = async (...codes: readonly string[]) => {
    const policies = codes.map((code) => ({ policy: native(code), params: { max: 2 } }))
    return await thread.evaluate(JOB, policies, ORIGIN)
  }

  it('returns one result for each policy, in order', async () => {
    const found = await ask('main = true', 'main = false', 'main = (')
    assert.deepEqual(
      found.map(({ status }) => status),
      ['passed', 'failed', 'errored'],
    )
  })

  it('passes parameters, variables and the version', async () => {
    const code = [
      'import "runtime"',
      'import "service_var"',
      'param max',
      'main = max is 2 and runtime.version is "1.2.3" and service_var.get("service/native/x").a is "1"',
    ].join('\n')
    assert.deepEqual(await ask(code), [{ status: 'passed', output: [], findings: [] }])
  })

  it('does not start the thread without policies', async () => {
    const idle = new WorkerEngine({ clock: patient, version: '' })
    assert.deepEqual(await idle.evaluate(JOB, [], ORIGIN), [])
  })

  it('returns diagnostics', async () => {
    const [first] = await thread.diagnose(native('main = )'), ORIGIN)
    assert.deepEqual([first?.line, first?.column], [1, 8])
    assert.deepEqual(await thread.diagnose(native('main = true'), ORIGIN), [])
  })

  it('a policy may take fifty million steps', async () => {
    // Steps are counted in units of a million.
    const loop = (times: number) =>
      `l = range(1000000)\nfor range(${times}) as a { if l contains -1 { break } }\nmain = true`
    const [within, beyond] = await ask(loop(45), loop(55))
    assert.equal(within?.status, 'passed')
    assert.equal(beyond?.status, 'errored')
    assert.match(beyond?.findings[0]?.message ?? '', /more than 50000000 steps/)
  })
})

it('one policy that takes too long does not affect the others', async () => {
  // The clock exceeds the limit of each task at its first tick, before the thread can respond.
  let isOver = true
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    after(_delayMs, wake) {
      if (isOver) queueMicrotask(wake)
      isOver = false
      return () => undefined
    },
  }
  const thread = new WorkerEngine({ clock, version: '' })
  const policies = ['main = true', 'main = false'].map((code) => ({
    policy: native(code),
    params: {},
  }))
  const found = await thread.evaluate(JOB, policies, ORIGIN)
  assert.deepEqual(
    found.map(({ status }) => status),
    ['passed', 'failed'],
  )
  await thread.stop()
})

it('limits the time of all policies of one evaluation to a minute', async () => {
  let nowMs = 0
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    after(delayMs, wake) {
      queueMicrotask(() => {
        nowMs += delayMs
        wake()
      })
      return () => undefined
    },
  }
  const limits = { ...WORKER_LIMITS, timeoutMs: 30_000, megabytesMax: 64, waitingPerTenantMax: 1 }
  const thread = new WorkerEngine({ clock, version: '', limits })
  const policies = Array.from({ length: 4 }, () => ({ policy: native('main = true'), params: {} }))
  const found = await thread.evaluate(JOB, policies, ORIGIN)
  const late = 'all policies together take longer than 60000 ms'
  assert.deepEqual(
    found.map(({ findings }) => findings[0]?.message),
    ['the policy takes longer than 30000 ms', late, late, late],
  )
  await thread.stop()
})

it('too many pending evaluations are a transient fault without a result', async () => {
  const limits = { ...WORKER_LIMITS, timeoutMs: 10_000, megabytesMax: 64, waitingPerTenantMax: 1 }
  const thread = new WorkerEngine({ clock: patient, version: '', limits })
  const asked = [{ policy: native('main = true'), params: {} }]
  const first = thread.evaluate(JOB, asked, ORIGIN)
  await assert.rejects(thread.evaluate(JOB, asked, ORIGIN), { kind: 'overloaded' })
  await assert.rejects(thread.diagnose(native('main = true'), ORIGIN), { kind: 'overloaded' })
  assert.deepEqual(await first, [{ status: 'passed', output: [], findings: [] }])
  await thread.stop()
})

describe('stored plans', () => {
  const thread = new WorkerEngine({ clock: patient, version: '' })
  after(() => thread.stop())
  const bytes = (plan: string) => new TextEncoder().encode(plan)
  const PLAN = bytes(
    '{"format_version": "1.2", "resource_changes": [{"address": "a", "change": {"actions": ["create"], ' +
      '"after": {"id": 9007199254740993, "password": "hunter2"}, "after_sensitive": {"password": true}}}]}',
  )

  it('are parsed by the thread; numbers keep their digits and secrets are redacted', async () => {
    const code = 'package a\n\ndeny contains c.after if some c in input.plan.resource_changes[_]\n'
    const policy: PolicyDefinition = { name: 'p', kind: 'opa', query: 'data.a.deny', code }
    const subject = { kind: 'stored-plan', bytes: PLAN, run: {} } as const
    const [judgement] = await thread.evaluate(subject, [{ policy, params: {} }], ORIGIN)
    assert.equal(
      judgement?.findings[0]?.message,
      '{"id":9007199254740993,"password":"(sensitive value)"}',
    )
  })

  it('are counted, or rejected with the reason', async () => {
    const counts = { additions: 1, changes: 0, destructions: 0, imports: 0, resources: 0 }
    assert.deepEqual(await thread.inspectPlan(PLAN, ORIGIN), {
      ok: true,
      value: { counts, hasChanges: true, bytes: PLAN },
    })
    const error = 'The plan must have a format_version'
    assert.deepEqual(await thread.inspectPlan(bytes('{}'), ORIGIN), { ok: false, error })
    assert.equal((await thread.inspectPlan(Uint8Array.of(0xff), ORIGIN)).ok, false)
  })
})

describe('the memory of the thread', () => {
  it('is not filled by long code', async () => {
    const small = { ...WORKER_LIMITS, timeoutMs: 60_000, megabytesMax: 64, waitingPerTenantMax: 10 }
    const narrow = new WorkerEngine({ clock: patient, version: '', limits: small })
    const comment = '#'.repeat(4 * 1024 * 1024)
    for (let i = 0; i < 20; i++) {
      const code = `${comment}\nmain = ${i} is ${i}`
      assert.deepEqual(await narrow.diagnose(native(code), ORIGIN), [], `policy ${i}`)
    }
    await narrow.stop()
  })
})

describe('uploads', () => {
  const thread = new WorkerEngine({ clock: patient, version: '' })
  after(() => thread.stop())
  const SET = { kind: 'opa', policiesPath: null } as const

  /** CPU time of this thread while the promise is pending. */
  async function ownCpuMs(work: () => Promise<unknown>): Promise<number> {
    const before = process.threadCpuUsage()
    await work()
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1000
  }

  it('an archive with 9,000 policies does not block the event loop', async () => {
    const text = Array.from({ length: 9_000 }, (_, i) => `policy "p${i}" { query = "data.a" }`)
    const manifest = { path: 'policies.hcl', text: text.join('\n') }
    const archive = gzipSync(aTar([manifest]))
    let message = ''
    const spentMs = await ownCpuMs(async () => {
      const read = await thread.readSetArchive(archive, SET, ORIGIN)
      message = read.ok ? '' : read.error.message
    })
    assert.match(message, /^The manifest is larger than 262144 bytes/)
    assert.ok(spentMs < 200, `${spentMs} ms`)
  })

  it('an archive is read by the thread, with code and hash of each policy', async () => {
    const code = 'package a\n\ndeny contains "x" if true\n'
    const archive = gzipSync(
      aTar([
        { path: 'policies.hcl', text: 'policy "a" { query = "data.a.deny" }' },
        { path: 'a.rego', text: code },
      ]),
    )
    const read = await thread.readSetArchive(archive, SET, ORIGIN)
    assert.ok(read.ok)
    const [policy] = read.value.policies
    assert.equal(new TextDecoder().decode(policy?.code), code)
    assert.equal(policy?.sha256, createHash('sha256').update(code).digest('hex'))
    const broken = await thread.readSetArchive(Buffer.from('no archive'), SET, ORIGIN)
    assert.deepEqual(broken, {
      ok: false,
      error: { kind: 'unreadable', message: 'The archive is not gzipped' },
    })
  })

  it('a large plan is transferred to the thread and back, and redacted there', async () => {
    const change = {
      actions: ['create'],
      after: { password: 'hunter2', filler: 'x'.repeat(100_000) },
      after_sensitive: { password: true },
    }
    const text = JSON.stringify({ format_version: '1.2', resource_changes: [{ change }] })
    const plan = new TextEncoder().encode(text)
    const read = await thread.inspectPlan(plan, ORIGIN)
    assert.ok(read.ok)
    assert.equal(plan.byteLength, 0, 'nothing was copied')
    assert.equal(new TextDecoder().decode(read.value.bytes), text)
    const redacted = await thread.redactPlan(read.value.bytes, ORIGIN)
    assert.ok(redacted.ok)
    const shown = new TextDecoder().decode(redacted.value)
    assert.ok(shown.includes('x'.repeat(100_000)) && !shown.includes('hunter2'))
    assert.ok(read.value.bytes.byteLength > 0, 'a stored plan is copied')
  })
})
