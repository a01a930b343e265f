import { serverRegistrySuite } from '../../../test/suites/server-registry.ts'
import { MemoryServerRegistry } from './memory-engine.ts'

serverRegistrySuite('memory', () => {
  let nowMs = 1
  return { store: new MemoryServerRegistry(() => nowMs), pass: (ms) => void (nowMs += ms) }
})
