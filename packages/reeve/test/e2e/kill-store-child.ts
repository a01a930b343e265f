import { writeSync } from 'node:fs'
import { put, Store } from '../../src/state/index.ts'
import { openEmbeddedEngine } from '../../src/storage/index.ts'
import { systemClock } from '../../src/main/system.ts'
import { aNamespace } from '../build/store.ts'

/**
 * Moves money between accounts until it is killed: each commit writes two rows, and their sum never
 * changes. Says each acknowledged index on its standard output.
 */
const [directory = '', seed = '1'] = process.argv.slice(2)
const ACCOUNTS = ['a', 'b', 'c', 'd', 'e']
const CHECKPOINT_EVERY = 40
const KEPT_COMMITS = 100

let drawn = Number(seed)
function draw(below: number): number {
  drawn = (drawn * 48_271) % 2_147_483_647
  return drawn % below
}

const engine = await openEmbeddedEngine(directory, { writeBufferBytes: 128 * 1024 })
const store = await Store.open({ engine, clock: systemClock })
const balanceOf = (name: string): number =>
  Number(store.tables.namespaces.find(name)?.Description ?? 100)

function transfer(): Promise<void> {
  const from = ACCOUNTS[draw(ACCOUNTS.length)] ?? 'a'
  const to = ACCOUNTS.find((name) => name !== from) ?? 'b'
  const amount = draw(10)
  const { index, durable } = store.commit({
    by: 'system',
    cause: undefined,
    changes: () => [
      put('namespaces', aNamespace(from, String(balanceOf(from) - amount))),
      put('namespaces', aNamespace(to, String(balanceOf(to) + amount))),
    ],
  })
  return durable.then(() => void writeSync(1, `${index}\n`))
}

for (let round = 1; ; round++) {
  await Promise.all(Array.from({ length: 1 + draw(8) }, transfer))
  if (round % CHECKPOINT_EVERY === 0)
    void store.checkpoint().then(() => store.log.trim(store.durableIndex - KEPT_COMMITS))
}
