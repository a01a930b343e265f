import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { LogEntry } from '../../src/state/index.ts'
import { openEmbeddedEngine } from '../../src/storage/embedded/open-embedded-engine.ts'
import { Experiment } from '../build/experiment.ts'
import { seededRandom } from '../build/ids.ts'
import type { WriterWord } from './kill-writer-child.ts'
import * as model from './kill-writer-model.ts'

const KILLS = 30
/** One kill in eight strikes while the storage is being opened. */
const KILL_WHILE_OPENING_EVERY = 8
const ACKNOWLEDGEMENTS_MAX = 60
const experiment = Experiment.fromArguments(20_260_101)

test('a writer that is killed again and again loses nothing and leaves nothing half done', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'reeve-kill-'))
  t.after(() => rm(directory, { recursive: true }))
  const random = seededRandom(experiment.seed)
  const draw = (below: number): number => Math.floor(random.next() * below)
  let acknowledged = 0
  let found = 0
  let expected = model.modelAtStart()
  const written = new Map<number, LogEntry>()
  let kill = 1
  for (; experiment.hasTime(kill - 1, KILLS); kill++) {
    const opening = kill % KILL_WHILE_OPENING_EVERY === 0
    const told = await writeAndKill(directory, {
      seed: draw(1_000_000) + 1,
      lines: opening ? 1 : 2 + draw(ACKNOWLEDGEMENTS_MAX),
    })
    if (told.opened !== undefined) {
      assert.equal(told.opened, found, 'the writer found what the reader had found')
    }
    acknowledged = Math.max(acknowledged, told.durable)
    const lastIndex = await lookAtCopy(directory, async (engine) => {
      assert.ok(
        engine.initialPosition.lastIndex >= acknowledged,
        `kill ${kill}: acknowledged and lost`,
      )
      assert.ok(engine.initialPosition.lastIndex >= found, `kill ${kill}: the index went back`)
      while (expected.index < engine.initialPosition.lastIndex) {
        const transfer = model.nextTransfer(expected)
        written.set(transfer.entry.index, transfer.entry)
        expected = transfer.after
      }
      await assertEqualsModel(engine, expected)
      await assertLogEquals(engine, written)
      return engine.initialPosition.lastIndex
    })
    found = lastIndex
    experiment.count('kills')
    if (opening) experiment.count('kills while opening')
    experiment.count(
      'acknowledged commits',
      Math.max(0, told.durable - (told.opened ?? told.durable)),
    )
  }
  assert.ok(acknowledged > kill, `only ${acknowledged} commits were acknowledged`)
  t.diagnostic(`${acknowledged} commits acknowledged over ${kill - 1} kills`)
})

interface Told {
  readonly opened: number | undefined
  readonly durable: number
}

/** Runs the writer until it has said so many lines, kills it, and returns what it had said. */
async function writeAndKill(
  directory: string,
  { seed, lines }: { readonly seed: number; readonly lines: number },
): Promise<Told> {
  const script = fileURLToPath(new URL('kill-writer-child.ts', import.meta.url))
  const child = spawn(process.execPath, [script, directory, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let opened: number | undefined
  let durable = 0
  let heard = 0
  // What was still in the pipe when it died was said too, and counts.
  for await (const line of createInterface({ input: child.stdout })) {
    const said = readLine(line)
    if (said.word === 'opened') opened = said.index
    if (said.word === 'durable') durable = said.index
    heard++
    if (heard === lines) child.kill('SIGKILL')
  }
  const [, signal] = await exited
  assert.equal(signal, 'SIGKILL', 'the writer ended by itself')
  return { opened, durable }
}

function readLine(line: string): { readonly word: WriterWord | undefined; readonly index: number } {
  const [first, index] = line.split(' ')
  const words: readonly WriterWord[] = ['opening', 'opened', 'durable']
  return { word: words.find((word) => word === first), index: Number(index) }
}

type Engine = Awaited<ReturnType<typeof openEmbeddedEngine>>

/** Looks at a copy, so that the next writer meets the directory as the killed one left it. */
async function lookAtCopy<T>(directory: string, look: (engine: Engine) => Promise<T>): Promise<T> {
  const copy = `${directory}-copy`
  await cp(directory, copy, { recursive: true })
  try {
    const engine = await openEmbeddedEngine(copy)
    try {
      return await look(engine)
    } finally {
      await engine.close()
    }
  } finally {
    await rm(copy, { recursive: true })
  }
}

async function assertEqualsModel(engine: Engine, expected: model.Model): Promise<void> {
  const balances = await model.restoredBalances(engine)
  const sum = [...balances.values()].reduce((total, balance) => total + balance, 0)
  assert.equal(sum, model.TOTAL, 'half of a transfer is missing')
  assert.deepEqual(balances, expected.balances)
  for (const name of model.blobNames()) {
    const index = expected.blobs.get(name)
    const wanted = index === undefined ? undefined : model.blobBytes(index)
    const found = await engine.readBlob(name)
    assert.ok(
      found === undefined || wanted === undefined
        ? found === wanted
        : Buffer.compare(found, wanted) === 0,
      `${name} is not as commit ${index} left it`,
    )
  }
}

/** Every entry still kept says exactly what was appended, and none is missing. */
async function assertLogEquals(engine: Engine, written: Map<number, LogEntry>): Promise<void> {
  let index = engine.initialPosition.firstIndex
  for await (const entry of engine.read(1)) {
    assert.deepEqual(entry, { ...written.get(index), blobs: [] })
    index++
  }
  // Entries that were trimmed stay so.
  for (const past of written.keys())
    if (past < engine.initialPosition.firstIndex) written.delete(past)
  assert.equal(index, engine.initialPosition.lastIndex + 1)
}
