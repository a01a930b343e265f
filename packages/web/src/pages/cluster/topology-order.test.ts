import assert from 'node:assert/strict'
import type { ClientStatus } from '@reeve/contract'
import { test } from 'node:test'
import { inDrawingOrder } from './topology-model.ts'

test('allocations come as their bars are drawn: namespace, status, memory, CPU', () => {
  const one = (ID: string, ClientStatus: ClientStatus, [MemoryMB = 0, CPU = 1]: number[]) => ({
    ID,
    Namespace: 'default',
    ClientStatus,
    Resources: { CPU, MemoryMB, DiskMB: 0, Networks: null },
  })
  const all = [
    one('f', 'unknown', [9]),
    one('e', 'pending', [9]),
    one('d', 'running', [1, 1]),
    one('c', 'running', [1, 2]),
    { ...one('a', 'pending', [1]), Namespace: 'apps' },
    one('b', 'running', [5]),
  ]
  assert.equal(
    inDrawingOrder(all)
      .map(({ ID }) => ID)
      .join(''),
    'abcdef',
  )
})
