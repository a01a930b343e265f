import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { OpenFilesMonitor } from './host-watch.ts'

/** A watch of a process with 100 descriptors, of which a test says how many are in use. */
function aWatch() {
  const clock = new SimulatedClock()
  const lines: string[] = []
  const say = (level: string) => (_fields: object, message: string) =>
    void lines.push(`${level} ${message}`)
  const files = { inUse: 20 }
  const probe = async (): Promise<number> => {
    if (files.inUse < 100) return files.inUse
    throw Object.assign(new Error('EMFILE: too many open files'), { code: 'EMFILE' })
  }
  const log = { info: say('info'), warn: say('warn'), error: say('error') }
  const watch = new OpenFilesMonitor({ log, clock, probe, max: 100 })
  watch.start()
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 5_000) {
      clock.advance(5_000)
      await setImmediate()
    }
  }
  return { files, lines, pass, watch }
}

test('open files: a process that runs out of them logs a remedy', async () => {
  const { files, lines, pass, watch } = aWatch()
  await pass(30_000)
  assert.deepEqual(lines, [])
  files.inUse = 100
  await pass(5_000)
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /^error no file descriptor is left \(EMFILE, limit 100\)/)
  assert.match(lines[0] ?? '', /LimitNOFILE= .* limits\.connections/)
  // Once a minute while it lasts.
  await pass(55_000)
  assert.equal(lines.length, 1)
  await pass(5_000)
  assert.equal(lines.length, 2)
  files.inUse = 20
  await pass(10_000)
  assert.deepEqual(lines.slice(2), ['info enough file descriptors are free again'])
  await watch.stop()
})

for (const { inUse, isWarned } of [
  { inUse: 89, isWarned: false },
  { inUse: 90, isWarned: true },
])
  test(`open files: ${inUse} of 100 in use is ${isWarned ? '' : 'not '}worth a warning`, async () => {
    const { files, lines, pass, watch } = aWatch()
    files.inUse = inUse
    await pass(5_000)
    assert.equal(lines.length, isWarned ? 1 : 0)
    if (isWarned) assert.match(lines[0] ?? '', /^warn over 90 % of the 100 file descriptors/)
    await watch.stop()
  })
