import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allocationId, anAssignment } from '../../test/build/agent.ts'
import { CoreReservations } from './core-reservations.ts'

function reserving(number: number, ReservedCores: number[] | null) {
  const web = {
    Cpu: { CpuShares: 100, ReservedCores },
    Memory: { MemoryMB: 64, MemoryMaxMB: 0 },
    Networks: null,
    Devices: null,
  }
  const Shared = { Networks: null, DiskMB: 1, Ports: null }
  const AllocatedResources = { Tasks: { web }, TaskLifecycles: {}, Shared }
  return anAssignment({ allocation: { ID: allocationId(number), AllocatedResources } })
}

test('reserved cores: the others have the rest, and all of them when the last one is free', async () => {
  const told: string[] = []
  const cores = new CoreReservations({
    coreCount: () => 4,
    onSharedCoresChanged: (shared) => {
      told.push(shared.join())
      return Promise.resolve()
    },
  })
  await cores.reserve(reserving(1, null))
  assert.deepEqual(cores.sharedCores, [])
  await cores.reserve(reserving(2, [0]))
  await cores.reserve(reserving(3, [2]))
  assert.deepEqual(cores.sharedCores, [1, 3])
  await cores.release(allocationId(2))
  await cores.release(allocationId(1))
  await cores.release(allocationId(3))
  assert.deepEqual(told, ['1,2,3', '1,3', '0,1,3', ''])
})

test('reserved cores: where all are reserved the others may use any', async () => {
  const cores = new CoreReservations({
    coreCount: () => 2,
    onSharedCoresChanged: () => Promise.resolve(),
  })
  await cores.reserve(reserving(1, [0, 1]))
  assert.deepEqual(cores.sharedCores, [])
})
