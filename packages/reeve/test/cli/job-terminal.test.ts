import assert from 'node:assert/strict'
import test from 'node:test'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine } from '../build/cli.ts'
import { runShellJob } from '../build/cli-jobs.ts'
import { aJobText } from '../build/job-text.ts'
import { PROGRAM_COMMAND } from '../build/program.ts'
import { ScreenBuffer } from '../build/screen-buffer.ts'
import { aTerminal, noTerminal } from '../build/terminal.ts'

test('job commands in a terminal', { skip: noTerminal }, async (t) => {
  const reeve = await aCommandLine(t)
  // The shell of the terminal outlives a Ctrl-C, so that it can tell the exit code.
  const begin = (command: string) =>
    aTerminal(t, `trap : INT; ${PROGRAM_COMMAND} ${command}`, {
      rows: 30,
      columns: 90,
      directory: reeve.directory,
      environment: {
        PATH: process.env['PATH'] ?? '',
        HOME: reeve.directory,
        REEVE_ADDR: reeve.address,
      },
    })

  await t.test('job run: is one picture until Ctrl-C, which gives the cursor back', async () => {
    const update = 'min_healthy_time = "10m"\nhealthy_deadline = "20m"\nprogress_deadline = "30m"'
    await reeve.file('web.hcl', aJobText({ id: 'web', update }))
    const terminal = await begin('job run web.hcl')
    await terminal.shows(/app +\S+ +0 +\S*(?:running|healthy)/)
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

  await t.test('job run --wait-for-capacity: the picture says what it waits for', async () => {
    await reeve.file('large.hcl', aJobText({ id: 'large', memoryMB: 9_000_000 }))
    const terminal = await begin('job run --wait-for-capacity large.hcl')
    await terminal.shows('Waiting for capacity.')
    assert.match(terminal.screen(), /Group "app": 1 allocation could not be placed\./)
    terminal.type('\u0003')
    assert.equal(await terminal.ended, EXIT_CODES.interrupted)
    await reeve.ok('job stop --purge large')
  })

  await t.test('job restart --batch-wait ask: a person says when it goes on', async () => {
    await runShellJob(t, reeve.client, { id: 'pair', script: 'exec sleep 1000', count: 2 })
    const terminal = await begin('job restart --batch-wait ask pair')
    await terminal.shows('Continue with the next batch? [y/N] ')
    assert.match(terminal.screen(), /1 of 2 allocations restarted\./)
    terminal.type('y\r')
    assert.equal(await terminal.ended, EXIT_CODES.ok)
    assert.match(terminal.screen(), /2 of 2 allocations restarted\./)
    const left = await begin('job restart --batch-wait ask pair')
    await left.shows('Continue with the next batch? [y/N] ')
    left.type('\r')
    assert.equal(await left.ended, EXIT_CODES.failed)
    assert.match(left.screen(), /The other allocations were not restarted\./)
  })

  await t.test('org delete: does nothing unless a person says yes', async () => {
    await reeve.ok('org create acme --email ops@acme.example')
    const refused = await begin('org delete acme')
    await refused.shows('Delete organization "acme" with everything in it? [y/N] ')
    refused.type('n\r')
    assert.equal(await refused.ended, EXIT_CODES.failed)
    assert.match(refused.screen(), /Aborted; nothing was changed\./)
    const agreed = await begin('org delete acme')
    await agreed.shows('[y/N] ')
    agreed.type('yes\r')
    assert.equal(await agreed.ended, EXIT_CODES.ok)
    assert.match(agreed.screen(), /Organization "acme" is deleted\./)
  })
})

function drawn(written: string): ScreenBuffer {
  return new ScreenBuffer().write(written)
}
