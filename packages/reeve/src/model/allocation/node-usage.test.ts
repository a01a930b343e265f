import assert from 'node:assert/strict'
import test from 'node:test'
import type { TaskLifecycle } from '@reeve/contract'
import { anAllocation } from '../../../test/build/allocation.ts'
import { addToUsage, chargeOf, NO_USAGE, peakDemand, removeFromUsage } from './node-usage.ts'

function demand(lifecycle: TaskLifecycle | null, cpuShares: number, pinned = false) {
  return { lifecycle, cpuShares, memoryMB: cpuShares, hasReservedCores: pinned }
}
const before = { Hook: 'prestart', Sidecar: false }
const beside = { Hook: 'prestart', Sidecar: true }
const afterStart = { Hook: 'poststart', Sidecar: false }
const afterEnd = { Hook: 'poststop', Sidecar: false }

const cases = [
  { name: 'main tasks add up', tasks: [demand(null, 1), demand(null, 2)], want: 3 },
  { name: 'a task before them does not', tasks: [demand(null, 3), demand(before, 2)], want: 3 },
  { name: 'unless it needs more', tasks: [demand(null, 3), demand(before, 5)], want: 5 },
  { name: 'a sidecar runs with both', tasks: [demand(null, 3), demand(beside, 2)], want: 5 },
  {
    name: 'one after the start runs beside',
    tasks: [demand(null, 3), demand(afterStart, 2)],
    want: 5,
  },
  { name: 'one after the end runs alone', tasks: [demand(null, 3), demand(afterEnd, 9)], want: 9 },
  {
    name: 'cores of its own are held all the time',
    tasks: [demand(null, 3), demand(afterEnd, 9, true)],
    want: 12,
  },
  { name: 'nothing needs nothing', tasks: [], want: 0 },
]
for (const { name, tasks, want } of cases)
  test(`peak demand: ${name}`, () => {
    assert.deepEqual(peakDemand(tasks), { cpuShares: want, memoryMB: want })
  })

test('usage: adding and removing a charge is neutral', () => {
  const allocated = anAllocation().AllocatedResources
  const charge = chargeOf({
    ...allocated,
    Tasks: {
      main: {
        Cpu: { CpuShares: 500, ReservedCores: [2, 3] },
        Memory: { MemoryMB: 64, MemoryMaxMB: 0 },
        Networks: null,
        Devices: [{ Vendor: 'acme', Type: 'gpu', Name: 'x', DeviceIDs: ['0', '1'] }],
      },
    },
    Shared: {
      ...allocated.Shared,
      Ports: [{ Label: 'http', Value: 8080, To: 0, HostIP: '10.0.0.1' }],
    },
  })
  const once = addToUsage(NO_USAGE, charge)
  assert.deepEqual([...once.cores.keys()], [2, 3])
  assert.deepEqual([...once.devices.keys()], ['acme/gpu/x/0', 'acme/gpu/x/1'])
  assert.deepEqual([...once.ports], [['10.0.0.1:8080', 1]])
  assert.deepEqual([once.cpuShares, once.memoryMB, once.diskMB], [500, 64, 300])
  const twice = addToUsage(once, charge)
  assert.deepEqual(removeFromUsage(twice, charge), once, 'what two hold, one still holds')
  assert.deepEqual(removeFromUsage(once, charge), NO_USAGE)
})
