import { rollStoreSuite } from '../../../test/suites/roll-store.ts'
import { MemoryRoll } from './memory-roll.ts'

rollStoreSuite('memory', () => {
  let nowMs = 1
  return { store: new MemoryRoll(() => nowMs), pass: (ms) => void (nowMs += ms) }
})
