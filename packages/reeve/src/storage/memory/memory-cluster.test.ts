import { leaseStoreSuite } from '../../../test/suites/lease-store.ts'
import { MemoryLease } from './memory-engine.ts'

leaseStoreSuite('memory', () => {
  let nowMs = 1
  return { store: new MemoryLease(() => nowMs), pass: (ms) => void (nowMs += ms) }
})
