import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { findMount, HostUsageReader, parseCpuTimes, parseMemoryInfo } from './usage.ts'

test('host usage: the lines of each processor are read, and not their sum', () => {
  const text = 'cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 1\n'
  assert.deepEqual(
    [...parseCpuTimes(text)],
    [['cpu0', { user: 3, system: 16, idle: 9, total: 36 }]],
  )
})

test('host usage: memory is reported in bytes', () => {
  const text = 'MemTotal:       100 kB\nMemFree:        20 kB\nMemAvailable:   50 kB\n'
  assert.deepEqual(parseMemoryInfo(text), {
    Total: 102_400,
    Available: 51_200,
    Used: 51_200,
    Free: 20_480,
  })
})

const MOUNTS = '/dev/a / ext4 rw\n/dev/b /var/lib ext4 rw\n/dev/c /var/lib/x ext4 rw\n'
const cases = [
  ['/etc', '/dev/a', '/'],
  ['/var/library', '/dev/a', '/'],
  ['/var/lib/y', '/dev/b', '/var/lib'],
  ['/var/lib/x', '/dev/c', '/var/lib/x'],
] as const
for (const [path, device, mountpoint] of cases)
  test(`host usage: ${path} is on ${device}`, () => {
    assert.deepEqual(findMount(MOUNTS, path), { device, mountpoint })
  })

test('host usage: this machine can tell, twice', async () => {
  const reader = new HostUsageReader(new SimulatedClock(), '/', () => 1_000)
  await reader.read()
  const usage = await reader.read()
  assert.ok(usage.CPU.length > 0)
  for (const { TotalPercent } of usage.CPU) assert.ok(TotalPercent >= 0 && TotalPercent <= 100)
})

test('host usage: a directory that is not there yet has the disk of the one above it', async (t) => {
  const directory = await temporaryDirectory(t)
  const clock = new SimulatedClock()
  const above = await new HostUsageReader(clock, directory, () => 1_000).read()
  const path = join(directory, 'client', 'alloc')
  const usage = await new HostUsageReader(clock, path, () => 1_000).read()
  assert.deepEqual(
    [usage.AllocDirStats.Mountpoint, usage.AllocDirStats.Size],
    [above.AllocDirStats.Mountpoint, above.AllocDirStats.Size],
  )
})
