import { writeSync } from 'node:fs'
import type { CheckpointRow, StorageEngine } from '../../src/state/index.ts'
// Not by the door: every start would load the engines beside this one, and the whole state.
import { openEmbeddedEngine } from '../../src/storage/embedded/open-embedded-engine.ts'
import * as model from './kill-writer-model.ts'

/**
 * This program writes until it is killed. It says on its standard output, one line each, when it
 * begins to open the storage (`opening`), where that stood (`opened 41`) and what was acknowledged
 * (`durable 57`).
 */
export type WriterWord = 'opening' | 'opened' | 'durable'

const [directory = '', seed = '1'] = process.argv.slice(2)
const GROUP_MAX = 24

let state = model.modelAtStart()
const dirty = new Set<string>()
let drawState = Number(seed)

/** Its own stream of numbers, so that a seed gives the same sizes of groups and trims. */
function draw(below: number): number {
  drawState = (drawState * 48_271) % 2_147_483_647
  return drawState % below
}

function say(word: WriterWord, index = 0): void {
  // Not buffered: what was said is in the pipe, also when the next instruction is never reached.
  writeSync(1, `${word} ${index}\n`)
}

say('opening')
// Small, so that kills also strike while tables are merged, and log files begun and removed.
const engine = await openEmbeddedEngine(directory, {
  writeBufferBytes: 128 * 1024,
  segmentBytesMax: 1024 * 1024,
})
state = {
  index: engine.initialPosition.lastIndex,
  balances: await model.restoredBalances(engine),
  blobs: new Map(),
}
for (const account of state.balances.keys()) dirty.add(account)
say('opened', engine.initialPosition.lastIndex)
await Promise.all([appendForever(engine), keepForever(engine)])

async function appendForever(into: StorageEngine): Promise<never> {
  for (;;) {
    const group: model.Transfer[] = []
    let last = state
    for (let size = 1 + draw(GROUP_MAX); size > 0; size--) {
      const transfer = model.nextTransfer(last)
      group.push(transfer)
      last = transfer.after
    }
    await into.append(group.map(({ entry }) => entry))
    state = last
    for (const { rows } of group) for (const { account } of rows) dirty.add(account)
    say('durable', state.index)
  }
}

/** Checkpoints the rows while more are written, then forgets most of the log before it. */
async function keepForever(into: StorageEngine): Promise<never> {
  for (;;) {
    const upTo = state.index
    await into.checkpoint(dirtyRows(), { upTo, tableIndexes: { accounts: upTo } })
    await into.trim(upTo - draw(200))
  }
}

function* dirtyRows(): Generator<CheckpointRow> {
  const accounts = [...dirty]
  dirty.clear()
  for (const account of accounts) {
    // The balance of this moment: it may be later than the mark, never earlier, and is durable.
    const row = { account, balance: state.balances.get(account) ?? 0 }
    yield { table: 'accounts', key: account, text: model.rowText(row) }
  }
}
