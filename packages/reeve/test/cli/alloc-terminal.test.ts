import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { aCommandLine } from '../build/cli.ts'
import { runShellJob } from '../build/cli-jobs.ts'
import { PROGRAM_COMMAND } from '../build/program.ts'
import { aTerminal, noTerminal } from '../build/terminal.ts'

/** Only the native helper can give a task's command a terminal. */
const HELPER = join(import.meta.dirname, '../../../../node_modules/.cache/reeve/reeve-task')
const skip = noTerminal || (existsSync(HELPER) ? false : 'the native helper was not built')

test('alloc exec in a terminal', { skip }, async (t) => {
  const reeve = await aCommandLine(t)
  const [id = ''] = await runShellJob(t, reeve.client, { id: 'web', script: 'exec sleep 1000' })
  const begin = (command: string) =>
    aTerminal(t, `${PROGRAM_COMMAND} ${command}`, {
      rows: 33,
      columns: 101,
      directory: reeve.directory,
      environment: {
        PATH: process.env['PATH'] ?? '',
        HOME: reeve.directory,
        REEVE_ADDR: reeve.address,
      },
    })

  await t.test('it is raw, has its size and signals, and ends as the shell does', async () => {
    const terminal = await begin(`alloc exec -it ${id} /bin/sh`)
    await terminal.shows(/[#$] $/)
    assert.equal(terminal.isCooked(), false)
    terminal.type("PS1=; printf 're%s\\n' ady\r")
    await terminal.shows('\nready\r\n')
    terminal.type('stty size\r')
    await terminal.shows('\n33 101\r\n')
    terminal.resize(40, 120)
    terminal.type(`while [ "$(stty size)" != '40 120' ]; do sleep 0.05; done; stty size\r`)
    await terminal.shows('\n40 120\r\n')
    terminal.type(`sh -c "printf 'be%s\\n' gun; exec sleep 1000"\r`)
    await terminal.shows('\nbegun\r\n')
    terminal.type('\u0003')
    terminal.type("printf 'st%s\\n' ill\r")
    await terminal.shows('\nstill\r\n')
    // Programs that draw go down a line without going to its beginning.
    terminal.type("stty -onlcr; printf 'a\\nb\\n'; stty onlcr\r")
    await terminal.shows('a\nb\n')
    terminal.type('exit 9\r')
    assert.equal(await terminal.ended, 9)
    assert.equal(terminal.isCooked(), true)
  })

  await t.test('it is one without being asked for, and can be left', async () => {
    const terminal = await begin(`alloc exec ${id} /bin/sh`)
    await terminal.shows(/[#$] $/)
    terminal.type('trap "" INT TERM HUP; sleep 1000\r~.')
    assert.equal(await terminal.ended, 130)
    await terminal.shows('reeve alloc exec: Left the session.')
    assert.equal(terminal.isCooked(), true)
  })

  await t.test('it is none with -i alone', async () => {
    const terminal = await begin(`alloc exec -i ${id} /bin/sh -c 'tty; cat'`)
    await terminal.shows('not a tty\r\n')
    terminal.type('typed\n\u0004')
    await terminal.shows('typed\r\ntyped\r\n')
    assert.equal(await terminal.ended, 0)
  })

  await t.test('colours are for the terminal and not for pipes', async () => {
    const coloured = await begin('alloc status')
    await coloured.shows('\u001b[32mrunning\u001b[0m')
    assert.equal(await coloured.ended, 0)
    const plain = await begin('alloc status | cat')
    await plain.ended
    assert.ok(!plain.screen().includes('\u001b[32m'))
  })

  await t.test('names and output of a task do not act on the terminal', async () => {
    const script =
      "printf 'log\\033[2Jged\\n'; cd local; : > \"$(printf 'esc\\033[31m')\"; " +
      ": > \"$(printf 'new\\nline')\"; printf 'file\\033]0;x\\007\\n' > plain; exec sleep 1000"
    const [hostile = ''] = await runShellJob(t, reeve.client, { id: 'hostile', script })
    const listed = await begin(`alloc fs ${hostile} main/local`)
    assert.equal(await listed.ended, 0)
    assert.ok(listed.screen().includes('esc\\x1b[31m'), listed.screen())
    assert.ok(listed.screen().includes('new\\nline'), listed.screen())
    const file = await begin(`alloc fs ${hostile} main/local/plain`)
    assert.equal(await file.ended, 0)
    assert.ok(file.screen().includes('file\\x1b]0;x\\x07\r\n'), file.screen())
    const log = await begin(`alloc logs ${hostile}`)
    assert.equal(await log.ended, 0)
    assert.ok(log.screen().includes('log\\x1b[2Jged\r\n'), log.screen())
    const piped = await begin(`alloc logs ${hostile} | od -c | head -1`)
    await piped.shows('033   [   2   J')
    await piped.ended
  })
})
