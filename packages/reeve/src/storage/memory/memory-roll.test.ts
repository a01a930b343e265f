import { rollStoreSuite } from '../../../test/suites/roll-store.ts'
import { MemoryServerRegistry } from './memory-cluster.ts'

rollStoreSuite('memory', () => {
  let nowMs = 1
  return { store: new MemoryServerRegistry(() => nowMs), pass: (ms) => void (nowMs += ms) }
})
