import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { until } from '../../../test/build/until.ts'

const GUARD = fileURLToPath(new URL('./watchdog.ts', import.meta.url))

/**
 * Guards a database that notes how it was ended, a server that is stopped (SIGSTOP), and a node
 * that has ended already. Says their process numbers, and ends in good order at SIGTERM.
 */
const OWNER = `
  import { spawn } from 'node:child_process'
  import { once } from 'node:events'
  const { Watchdog } = await import(process.env.GUARD)
  const guard = new Watchdog()
  const start = async (trap, guarded) => {
    const args = ['-c', trap + 'echo; while :; do sleep 0.05; done']
    const child = spawn('/bin/sh', args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] })
    await once(child.stdout, 'data')
    guard.add(child, guarded)
    return child
  }
  const noted = "trap 'touch $DIRECTORY/interrupted; exit' INT; "
  const database = await start(noted, { stage: 'database', signal: 'INT' })
  const server = await start('', { stage: 'server', signal: 'TERM' })
  const node = await start('', { stage: 'node', signal: 'TERM' })
  guard.removeOnExit(process.env.DIRECTORY + '/to be removed')
  server.kill('SIGSTOP')
  node.kill('SIGKILL')
  await once(node, 'exit')
  process.on('SIGTERM', () => {
    guard.stop()
    setImmediate(() => process.exit())
  })
  setInterval(() => undefined, 1_000)
  console.log([guard.pid, database.pid, server.pid].join(' '))
`

async function anOwner(t: TestContext) {
  const directory = await temporaryDirectory(t)
  const removed = join(directory, 'to be removed')
  await mkdir(join(removed, 'below'), { recursive: true })
  const child = spawn(process.execPath, ['--input-type=module', '-e', OWNER], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, DIRECTORY: directory, GUARD },
  })
  t.after(() => child.kill('SIGKILL'))
  const [said] = await once(child.stdout, 'data')
  const [guard = 0, database = 0, server = 0] = String(said).trim().split(' ').map(Number)
  t.after(() => {
    for (const pid of [database, server].filter(isThere)) process.kill(pid, 'SIGKILL')
  })
  return { child, guard, database, server, removed, interrupted: join(directory, 'interrupted') }
}

test('guard: when its owner is killed it ends what it guards and removes its directories', async (t) => {
  const { child, guard, database, server, removed, interrupted } = await anOwner(t)
  child.kill('SIGKILL')
  await until('the guard to end', () => !isThere(guard) || undefined)
  assert.deepEqual([database, server].filter(isThere), [])
  assert.ok(existsSync(interrupted), 'each with its own signal')
  assert.ok(!existsSync(removed))
})

test('guard: when its owner ends in good order it does nothing', async (t) => {
  const { child, guard, database, server, removed } = await anOwner(t)
  child.kill('SIGTERM')
  await until('the guard to end', () => !isThere(guard) || undefined)
  assert.deepEqual([database, server].filter(isThere), [database, server])
  assert.ok(existsSync(removed))
})

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false // no such process
  }
}
