import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Clock } from '@reeve/kit/clock.ts'
import { LIMITS } from '../../model/index.ts'
import { JobFileReader } from './job-file-reader.ts'
import type { JobFileTask } from './job-file-task.ts'

const patient: Clock = { nowMs: () => 0, monotonicMs: () => 0, after: () => () => undefined }

function task(text: string): JobFileTask {
  return { text, variables: '', isLegacy: false, defaults: undefined, nowMs: 0 }
}

/** The name of the job that was read, or the text of the refusal. */
async function read(reader: JobFileReader, text: string, tenant = 'a'): Promise<string> {
  const outcome = await reader.read(task(text), { tenant })
  if (!outcome.ok) return outcome.error.code
  if (outcome.value.kind === 'refused') return outcome.value.message
  const job: unknown = JSON.parse(outcome.value.json)
  assert.ok(typeof job === 'object' && job !== null && 'ID' in job)
  return String(job.ID)
}

const ORIGIN = { tenant: 'a' }
const SLOW = 'job "slow" {\n meta = { a = length([for x in range(1000) : range(500)]) }\n}'

test('JobFileReader: files are parsed sequentially by the same thread', async () => {
  const reader = new JobFileReader({ clock: patient })
  const names = ['a', 'b', 'c']
  const found = await Promise.all(names.map((name) => read(reader, `job "${name}" {}`)))
  assert.deepEqual(found, names)
  await reader.stop()
})

test('JobFileReader: a file that times out is abandoned and the next one is parsed', async () => {
  let isImpatient = true
  const clock: Clock = {
    nowMs: () => 0,
    monotonicMs: () => 0,
    after(delayMs, wake) {
      assert.equal(delayMs, LIMITS.jobFileTimeoutMs)
      // Before the thread can have answered: nothing is heard while this turn lasts.
      if (isImpatient) queueMicrotask(wake)
      isImpatient = false
      return () => undefined
    },
  }
  const reader = new JobFileReader({ clock })
  const [slow, next] = await Promise.all([read(reader, SLOW), read(reader, 'job "next" {}')])
  assert.equal(slow, `Reading the file takes longer than ${LIMITS.jobFileTimeoutMs} ms.`)
  assert.equal(next, 'next')
  await reader.stop()
})

test('JobFileReader: running out of memory rejects the file and keeps the process alive', async () => {
  const reader = new JobFileReader({ clock: patient, megabytesMax: 40 })
  const groups = Array.from({ length: 25_000 }, (_, index) => `group "g${index}" {}`)
  const outcome = await read(reader, `job "large" {\n${groups.join('\n')}\n}`)
  assert.equal(outcome, 'Reading the file takes more than 40 MB of memory.')
  assert.equal(await read(reader, 'job "small" {}'), 'small')
  await reader.stop()
})

test('JobFileReader: the queue is limited per tenant', async () => {
  const reader = new JobFileReader({ clock: patient })
  const count = LIMITS.jobFilesWaitingPerTenantMax
  const all = Array.from({ length: count + 1 }, (_, index) => read(reader, `job "j${index}" {}`))
  const other = read(reader, 'job "other" {}', 'b')
  const found = await Promise.all(all)
  // The thread is not loaded yet when all are handed in, so that the first one waits too.
  assert.deepEqual([found[0], found[count - 1]], ['j0', `j${count - 1}`])
  assert.equal(found[count], 'too-many-job-files')
  assert.equal(await other, 'other')
  assert.equal(await read(reader, 'job "later" {}'), 'later')
  await reader.stop()
})

test('JobFileReader: the refusal names the limit and what to do', async () => {
  const reader = new JobFileReader({ clock: patient })
  const count = LIMITS.jobFilesWaitingPerTenantMax + 1
  const outcomes = Array.from({ length: count }, () => reader.read(task('job "a" {}'), ORIGIN))
  const all = await Promise.all(outcomes)
  const last = all.at(-1)
  assert.ok(last?.ok === false)
  assert.equal(
    last.error.message,
    'Too many job files of this caller are waiting (limit 32 per tenant); retry when some of them are done',
  )
  await reader.stop()
})

test('JobFileReader: pending files fail on stop', async () => {
  const reader = new JobFileReader({ clock: patient })
  const readings = [reader.read(task(SLOW), ORIGIN), reader.read(task('job "a" {}'), ORIGIN)]
  const settled = Promise.allSettled(readings)
  await reader.stop()
  for (const one of await settled) {
    assert.ok(one.status === 'rejected')
    assert.match(String(one.reason), /The server is stopping/)
  }
})
