import { DatabaseLink } from '../../sim/cluster/database-link.ts'
import { SharedDatabase } from '../../sim/cluster/shared-database.ts'
import { SimProcess } from '../../sim/cluster/sim-process.ts'
import { RandomStream } from '../../sim/random-stream.ts'
import { VirtualClock } from '../../sim/virtual-clock.ts'
import { leaseStoreSuite } from '../suites/lease-store.ts'
import { storageEngineSuite } from '../suites/storage-engine.ts'

const TROUBLE = {
  delayMsMax: 0,
  lossChance: 0,
  responseLossChance: 0,
  lateChance: 0,
  isDown: false,
  interruptWrite: undefined,
}
const NOTHING = (): undefined => undefined

/** What the simulated database does with the engine's statements is what PostgreSQL does. */
storageEngineSuite('simulated PostgreSQL', (t) => {
  const { link, end } = aDatabase()
  t.after(end)
  return {
    open: async () => {
      const engine = await link.openEngine()
      const held = await link.lease.acquire({ holder: 'suite', address: '', ttlMs: 0 })
      await engine.beginTerm(held?.term ?? 0)
      return engine
    },
  }
})

leaseStoreSuite('simulated PostgreSQL', (t) => {
  const { link, pass, end } = aDatabase()
  t.after(end)
  return { store: link.lease, pass }
})

/** One whose time goes on by itself, turn by turn, without passing: everything comes at once. */
function aDatabase() {
  const clock = new VirtualClock()
  let aheadMs = 0
  const database = new SharedDatabase({
    nowMs: () => clock.nowMs + aheadMs,
    onAppended: NOTHING,
    onLeaseChanged: NOTHING,
  })
  const link = new DatabaseLink({
    virtualClock: clock,
    process: new SimProcess({ virtualClock: clock, rate: 1, skew: { ms: 0 } }),
    name: 'suite',
    database,
    random: new RandomStream(1, 'database'),
    conditions: TROUBLE,
    isPartitioned: () => false,
  })
  const state = { isOver: false }
  const run = async (): Promise<void> => {
    while (!state.isOver) await clock.advance(0, () => state.isOver)
  }
  void run()
  return {
    link,
    pass: (ms: number) => void (aheadMs += ms),
    end: () => {
      state.isOver = true
    },
  }
}
