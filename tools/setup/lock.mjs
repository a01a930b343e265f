import { mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { SetUpFailure } from './failure.mjs'

/** Outside node_modules, which an installation removes. */
const LOCK = '.reeve/setup.lock'
const BEAT_MS = 2_000
/** A holder that has not touched its lock for this long is gone, whatever its process id says. */
const STALE_MS = 30_000
const POLL_MS = 200
/** Longer than any installation that still makes progress. */
const WAIT_MS_MAX = 20 * 60_000

/** Runs `work` while no other process of this checkout does; waits for one that is at it. */
export async function withLock(root, work) {
  const folder = path.join(root, LOCK)
  await take(folder)
  const beat = setInterval(() => {
    const now = new Date()
    // Lost only when somebody removed the lock by hand; the work itself is not harmed by that.
    utimes(folder, now, now).catch(() => {})
  }, BEAT_MS)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    await rm(folder, { recursive: true, force: true })
  }
}

async function take(folder) {
  await makeFolder(path.dirname(folder), { recursive: true })
  const giveUpAt = Date.now() + WAIT_MS_MAX
  for (let told = false; !(await tryTake(folder));) {
    const holder = await readHolder(folder)
    if (holder !== undefined && isGone(holder)) await breakLock(folder, holder)
    else {
      if (!told) process.stderr.write('Waiting for another set-up of this checkout to finish…\n')
      told = true
      if (Date.now() > giveUpAt)
        throw new SetUpFailure(`Gave up waiting. If no other set-up runs, remove ${folder}`)
      await pause(POLL_MS)
    }
  }
}

async function makeFolder(folder, options) {
  try {
    await mkdir(folder, options)
  } catch (error) {
    if (error.code === 'EEXIST') throw error
    throw new SetUpFailure(`The set-up cannot write to this checkout: ${error.message}`)
  }
}

/** Creating a folder is atomic: one of several processes succeeds. */
async function tryTake(folder) {
  try {
    await makeFolder(folder)
  } catch (error) {
    if (error.code === 'EEXIST') return false
    throw error
  }
  await writeFile(path.join(folder, 'holder'), `${process.pid} ${hostname()}`)
  return true
}

/** Who holds the lock and when it last showed a sign of life; undefined when just released. */
async function readHolder(folder) {
  try {
    const { mtimeMs } = await stat(folder)
    // A holder that has not written its name yet, or died before it could.
    const name = await readFile(path.join(folder, 'holder'), 'utf8').catch(() => '')
    return { name, mtimeMs }
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

function isGone(holder) {
  if (Date.now() - holder.mtimeMs > STALE_MS) return true
  const [pid = '', host] = holder.name.split(' ')
  if (host !== hostname()) return false
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    // EPERM: the process lives and belongs to somebody else.
    return error.code === 'ESRCH'
  }
}

/**
 * Moves the dead holder's lock aside before removing it. Of two processes that saw it dead the
 * second might move the first one's new lock; it notices that this is another and puts it back.
 */
async function breakLock(folder, holder) {
  const aside = `${folder}.${process.pid}`
  try {
    await rename(folder, aside)
    const moved = await readHolder(aside)
    if (moved?.name === holder.name && moved.mtimeMs === holder.mtimeMs)
      await rm(aside, { recursive: true, force: true })
    else await rename(aside, folder)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}
