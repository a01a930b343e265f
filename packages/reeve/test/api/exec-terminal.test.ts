import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { RawExecDriver } from '../../src/drivers/index.ts'
import { NativeSupervisor } from '../../src/drivers/native/native-supervisor.ts'
import { systemClock } from '../build/agent.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { execClient, execPath, type ExecClient } from './exec-client.ts'
import { aNodeWorld, shell } from './node-world.ts'

/** Only the native helper can make a terminal. */
const program = join(import.meta.dirname, '../../../../node_modules/.cache/reeve/reeve-task')
const skip = existsSync(program) ? false : 'the native helper was not built'

/** A command in a terminal inside a task. */
async function execInTerminal(t: TestContext, command: readonly string[]): Promise<ExecClient> {
  const stateDir = await temporaryDirectory(t)
  const helper = new NativeSupervisor({ program, stateDir, clock: systemClock })
  const { run, webSocket } = await aNodeWorld(t, {
    rawExec: new RawExecDriver({ clock: systemClock, helper }),
  })
  t.after(() => helper.close())
  const { id } = await run([shell('exec sleep 300')])
  return execClient(webSocket(execPath(id, { task: 'web', command, tty: 'true' })))
}

/** A shell in one, ready for what is typed. */
async function aTerminal(t: TestContext): Promise<ExecClient> {
  const client = await execInTerminal(t, ['/bin/sh'])
  client.type("PS1=; printf 're%s\\n' ady\n")
  await client.says('ready\r\n')
  return client
}

test(
  'terminal: it has the size that it begins with, and the one it is given',
  { skip },
  async (t) => {
    const client = await aTerminal(t)
    client.type('stty size\n')
    await client.says('24 80\r\n')
    client.send({ tty_size: { height: 40, width: 132 } })
    await until('the new size', () => {
      client.type('stty size\n')
      return client.stdout().includes('40 132\r\n') || undefined
    })
    client.type('exit 5\n')
    assert.deepEqual(await client.closed, [1000, ''])
    assert.deepEqual(client.frames.at(-1), { exited: true, result: { exit_code: 5 } })
    assert.equal(client.stderr(), '')
  },
)

test('terminal: what runs in it finds the size that its caller said', { skip }, async (t) => {
  const client = await execInTerminal(t, ['stty', 'size'])
  client.send({ tty_size: { height: 41, width: 99 } })
  assert.deepEqual(await client.closed, [1000, ''])
  assert.equal(client.stdout(), '41 99\r\n')
})

test('terminal: Ctrl-C ends what runs in it, and Ctrl-D the shell', { skip }, async (t) => {
  const client = await aTerminal(t)
  client.type(`sh -c "printf 'be%s\\n' gun; exec sleep 300"\n`)
  await client.says('begun\r\n')
  client.type('\u0003')
  client.type("printf 'st%s\\n' ill\n")
  await client.says('still\r\n')
  client.type('\u0004')
  assert.deepEqual(await client.closed, [1000, ''])
  assert.equal(client.frames.at(-1)?.exited, true)
})

test('terminal: the end of the input is the end of the shell', { skip }, async (t) => {
  const client = await aTerminal(t)
  client.send({ stdin: { close: true } })
  assert.deepEqual(await client.closed, [1000, ''])
  assert.deepEqual(client.frames.at(-1), { exited: true, result: { exit_code: 0 } })
})

test('terminal: who leaves hangs up', { skip }, async (t) => {
  const client = await aTerminal(t)
  client.type('echo pid=$$; sleep 300\n')
  const pid = await until('its process id', () => {
    const found = /pid=(\d+)\r\n/.exec(client.stdout())?.[1]
    return found === undefined ? undefined : Number(found)
  })
  client.socket.terminate()
  await until('the shell to end', () => {
    try {
      process.kill(pid, 0)
      return undefined
    } catch {
      return true
    }
  })
})
