import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAssignment, pass } from '../../../test/build/agent.ts'
import { aRunner } from '../../../test/build/runner.ts'
import { NoopWorkspace } from './workspace.ts'

test('exceeding the disk size is reported once each time', async () => {
  let megabytes = 0
  const workspace = new NoopWorkspace()
  workspace.allocationSize = () => Promise.resolve(megabytes * 1024 * 1024)
  const disk = { Sticky: false, Migrate: false, SizeMB: 300 }
  const bench = await aRunner(anAssignment({ group: { EphemeralDisk: disk } }), { workspace })
  const told = (): number =>
    bench.events('web').filter((type) => type === 'Disk Resources Exceeded').length
  await pass(bench.clock, 61_000)
  assert.equal(told(), 0)
  megabytes = 301
  await pass(bench.clock, 180_000)
  assert.equal(told(), 1)
  const event = bench.runner.task('web').state.Events.at(-1)
  assert.equal(event?.DiskLimit, 300)
  assert.match(event?.DisplayMessage ?? '', /takes 301 MB/)
  megabytes = 10
  await pass(bench.clock, 60_000)
  megabytes = 400
  await pass(bench.clock, 60_000)
  assert.equal(told(), 2)
  assert.equal(bench.runner.task('web').state.State, 'running')
  await bench.runner.destroy()
})
