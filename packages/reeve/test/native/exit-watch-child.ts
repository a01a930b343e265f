import { closeSync, openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { argv, stdout } from 'node:process'
import { systemClock } from '../build/agent.ts'
import { ExitWatcher } from '../../src/drivers/native/exit-watcher.ts'

/** More than a look at one record takes. */
const READS = 50

/**
 * Waits for the exits of a supervisor that lives and of one that is gone while it may open no
 * further file, and then while it may again. Says each time what it was told.
 */
const [dir = '', pid, startTime] = argv.slice(2)
const exits = new ExitWatcher(dir, systemClock)
const shim = { pid: Number(pid), startTime: Number(startTime) }
const told: string[] = []
const { signal } = new AbortController()
// Before anything is scarce: what it needs is loaded.
void exits.wait('living', shim, signal).then(() => told.push('living'))
await othersRead()
const taken = takeAll()
exits.check('living')
const gone = exits
  .wait('gone', { pid: shim.pid, startTime: 1 }, signal)
  .then((record) => told.push(`gone with ${record?.code}`))
await othersRead()
const whileScarce = [...told]
for (const file of taken) closeSync(file)
exits.check('gone')
await gone
stdout.write(JSON.stringify({ whileScarce, later: told }), () => process.exit())

/** Reads of our own, one after the other: what was asked for before them is answered by then. */
async function othersRead(): Promise<void> {
  for (let i = 0; i < READS; i++) await readFile('/dev/null').catch(() => undefined)
}

function takeAll(): readonly number[] {
  const files: number[] = []
  try {
    for (;;) files.push(openSync('/dev/null', 'r'))
  } catch {
    return files
  }
}
