import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../src/main/system.ts'
import { Store } from '../../src/state/index.ts'
import { openEmbeddedEngine } from '../../src/storage/index.ts'
import { Experiment } from '../build/experiment.ts'
import { seededRandom } from '../build/ids.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

const CHILD = fileURLToPath(new URL('./kill-store-child.ts', import.meta.url))
const KILLS = 12
const MONEY = 100
const ACKNOWLEDGEMENTS = { min: 20, max: 420 } as const
const experiment = Experiment.fromArguments()

/** Lets the child write until it has acknowledged `count` more commits, then kills it at once. */
async function writeAndKill(
  directory: string,
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<number> {
  const child = spawn(process.execPath, [CHILD, directory, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let acknowledged = 0
  let left = count
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged = Math.max(acknowledged, Number(line))
    if (--left === 0) child.kill('SIGKILL')
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  assert.equal(child.signalCode, 'SIGKILL')
  return acknowledged
}

test('a store that is killed at any moment keeps every acknowledged commit and no half of one', async (t) => {
  const directory = `${await temporaryDirectory(t)}/storage`
  const random = seededRandom(experiment.seed)
  const draw = (min: number, max: number): number =>
    min + Math.floor(random.next() * (max - min + 1))
  let lastIndex = 0
  for (let kill = 1; experiment.hasTime(kill - 1, KILLS); kill++) {
    const count = draw(ACKNOWLEDGEMENTS.min, ACKNOWLEDGEMENTS.max)
    const acknowledged = await writeAndKill(directory, { count, seed: draw(1, 1_000_000) })
    const engine = await openEmbeddedEngine(directory)
    const store = await Store.open({ engine, clock: systemClock })
    assert.ok(store.index >= acknowledged, 'every acknowledged commit is there')
    assert.ok(store.index >= lastIndex, 'the index never decreases')
    lastIndex = store.index
    const rows = [...store.tables.namespaces.rows()]
    const sum = rows.reduce((total, row) => total + Number(row.Description), 0)
    assert.equal(sum, MONEY * rows.length, 'no commit is half there')
    assert.equal(Math.max(...rows.map((row) => row.ModifyIndex)), lastIndex)
    assert.equal(store.tables.namespaces.lastIndex, lastIndex)
    let next = store.log.firstIndex
    for await (const commit of store.log.read(next)) assert.equal(commit.index, next++)
    assert.equal(next, lastIndex + 1, 'the log has no gap')
    await store.close()
    experiment.count('kills')
    experiment.count('acknowledged commits', count)
  }
})
