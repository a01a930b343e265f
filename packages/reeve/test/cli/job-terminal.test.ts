import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine } from '../build/cli.ts'
import { aJobText } from '../build/job-text.ts'
import { ScreenBuffer } from '../build/screen-buffer.ts'
import { aTerminal, noTerminal } from '../build/terminal.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const REEVE = `'${process.execPath}' '${join(ROOT, 'packages/reeve/src/main/reeve.ts')}'`

test('job commands in a terminal', { skip: noTerminal }, async (t) => {
  const reeve = await aCommandLine(t)
  // The shell of the terminal outlives a Ctrl-C, so that it can tell the exit code.
  const begin = (command: string) =>
    aTerminal(t, `trap : INT; ${REEVE} ${command}`, {
      rows: 30,
      columns: 90,
      directory: reeve.directory,
      environment: {
        PATH: process.env['PATH'] ?? '',
        HOME: reeve.directory,
        REEVE_ADDR: reeve.address,
        NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/reeve'),
      },
    })

  await t.test('job run: is one picture until Ctrl-C, which gives the cursor back', async () => {
    const update = 'min_healthy_time = "10m"\nhealthy_deadline = "20m"\nprogress_deadline = "30m"'
    await reeve.file('web.hcl', aJobText({ id: 'web', update }))
    const terminal = await begin('job run web.hcl')
    await terminal.shows(/app +\S+ +0 +\S*running/)
    assert.equal(drawn(terminal.screen()).isCursorShown, false)
    terminal.type('\u0003')
    assert.equal(await terminal.ended, EXIT_CODES.interrupted)
    const buffer = drawn(terminal.screen())
    assert.equal(buffer.isCursorShown, true)
    const text = buffer.text()
    assert.equal(text.match(/^Deployment [0-9a-f]{8} {2}running/gm)?.length, 1, text)
    assert.match(text, /^ {2}reeve job status --watch web$/m)
  })

  await t.test('job stop: asks about the job that was meant, and stops it', async () => {
    const terminal = await begin('job stop we')
    await terminal.shows('Stop job "web" of namespace "default"? [y/N] ')
    terminal.type('y\r')
    assert.equal(await terminal.ended, EXIT_CODES.ok)
    assert.match(terminal.screen(), /Job "web" is stopped/)
  })
})

function drawn(written: string): ScreenBuffer {
  return new ScreenBuffer().write(written)
}
