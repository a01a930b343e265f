import assert from 'node:assert/strict'
import * as fs from 'node:fs/promises'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  changeByte,
  collectWarnings,
  everythingIn,
  filesUnder,
  fillDataDirectory,
  fingerprint,
  levelFile,
  logFile,
  neededOf,
} from '../../../test/build/data-directory.ts'
import { Experiment } from '../../../test/build/experiment.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { readManifest } from './leveldb/record-log.ts'

const RUNS = 150
/** More than fit into any time that is given. */
const RUNS_MAX = 10_000_000
/** Most damages are noticed; the others are in parts of a file that hold no data. */
const REJECTED_SHARE_MIN = 0.5
const HOW = { flip: 'flipped bytes', truncate: 'truncated files', zero: 'zeroed blocks' } as const
const experiment = Experiment.fromArguments(7)

test('no single damage to any file goes unnoticed', async (t) => {
  const directory = await fillDataDirectory(await temporaryDirectory(t))
  const copy = join(await temporaryDirectory(t), 'copy')
  const wanted = await everythingIn(directory)
  const files = (await filesUnder(directory)).filter((file) => !isRunningText(file))
  const isReadLate = await filesReadLate(directory)
  const damages = fc.record({
    file: fc.constantFrom(...files),
    at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
    how: fc.constantFrom('flip', 'truncate', 'zero'),
  })
  let [runs, rejected] = [0, 0]
  const property = fc.asyncProperty(damages, async ({ file, at, how }) => {
    await fs.cp(directory, copy, { recursive: true })
    try {
      await damageFile(join(copy, file), at, how)
      const before = await fingerprint(copy)
      const { warnings, log } = collectWarnings()
      runs += 1
      experiment.count(HOW[how])
      const found = await everythingIn(copy, { storageLog: log }).catch(rejectionOf)
      if (found === 'rejected') {
        rejected += 1
        experiment.count('rejected storages')
        // What the checkpoint contains, and blobs, are read when they are asked for.
        if (!isReadLate.has(file)) assert.deepEqual(await fingerprint(copy), before)
      } else if (warnings.length === 0) {
        assert.deepEqual(found, wanted)
        experiment.count('storages opened with all data')
      } else {
        assert.deepEqual(neededOf(found), neededOf(wanted))
        experiment.count('storages opened with a warning and all state')
      }
    } finally {
      await fs.rm(copy, { recursive: true })
    }
  })
  await fc.assert(property, {
    seed: experiment.seed,
    endOnFailure: true,
    ...(experiment.isLong
      ? { numRuns: RUNS_MAX, plugins: [fc.interruptAfterTimeLimit(experiment.durationMs(0))] }
      : { numRuns: RUNS }),
  })
  assert.ok(rejected > runs * REJECTED_SHARE_MIN, `${rejected} of ${runs} were rejected`)
})

/** Every rejection is a fault of the storage, never a bug. */
function rejectionOf(thrown: unknown): 'rejected' {
  assert.match(String(thrown), /^Fault: /)
  return 'rejected'
}

async function filesReadLate(directory: string): Promise<ReadonlySet<string>> {
  const newest = relative(directory, await logFile(directory, -1))
  const logs = (await filesUnder(directory)).filter(
    (file) => file.startsWith('log') && file !== newest,
  )
  const { tables } = readManifest(await fs.readFile(await levelFile(directory, 'MANIFEST-')))
  const blobs = [...tables.values()].filter(
    ({ firstKey, lastKey }) => firstKey >= 'b' && lastKey < 'c',
  )
  return new Set([
    ...logs,
    ...blobs.map(({ number }) => `level/${String(number).padStart(6, '0')}.ldb`),
  ])
}

/** The database's running commentary and its empty lock file hold no data. */
function isRunningText(file: string): boolean {
  return /(LOG|LOG\.old|LOCK)$/.test(file)
}

async function damageFile(file: string, where: number, how: keyof typeof HOW): Promise<void> {
  const { size } = await fs.stat(file)
  const at = Math.floor(where * size)
  if (how === 'truncate') return await fs.truncate(file, at)
  if (how === 'flip') return await changeByte(file, at)
  const bytes = await fs.readFile(file)
  bytes.subarray(at - (at % 512), at - (at % 512) + 512).fill(0)
  await fs.writeFile(file, bytes)
}
