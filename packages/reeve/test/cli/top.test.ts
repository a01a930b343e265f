import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { runCommandLine } from '../../src/main/commands.ts'
import { aCommandLine } from '../build/cli.ts'
import { endJob, runShellJob } from '../build/cli-jobs.ts'
import { PROGRAM_COMMAND } from '../build/program.ts'
import { aScreen } from '../build/screen-host.ts'
import { aTerminal, noTerminal } from '../build/terminal.ts'
import { startProgram } from '../e2e/program-process.ts'

const CLEAR = '\u001b[2J'
/** The cursor is there again, and the screen as it was. */
const GIVEN_BACK = '\u001b[?25h\u001b[?1049l'

test('top', async (t) => {
  const reeve = await aCommandLine(t, ['--node-name', 'laptop'])
  const { directory } = reeve
  const environment = { HOME: directory, REEVE_ADDR: reeve.address }
  const [id = ''] = await runShellJob(t, reeve.client, { id: 'web', script: 'exec sleep 1000' })
  const short = id.slice(0, 8)

  await t.test('prints one picture into a pipe, and with --once', async () => {
    for (const out of [await reeve.ok('top'), await reeve.ok('top --once', { columns: 200 })]) {
      const plain = stripVTControlCharacters(out)
      assert.match(plain, /^Reeve {2}http/)
      assert.match(plain, /Nodes 1 ready {3}Jobs 1 running {3}Allocations 1 running\n/)
      assert.match(plain, /CPU █░+ 20 of \d+ MHz allocated/)
      assert.match(plain, /laptop +ready +1 +█░{9} +\d+ % +\d+ % +█░{9}/)
      assert.match(
        plain,
        new RegExp(`${short} +web +group +laptop +(?:running|healthy) +\\d+ of 20 +\\d+ of 20`),
      )
      assert.match(
        plain,
        new RegExp(`Allocation ${short} \\(web.group\\[0\\] on laptop\\) is running`),
      )
      assert.match(plain, /Job web has version 0\n/)
      assert.doesNotMatch(out, /1049/)
    }
  })

  await t.test('gives machines a snapshot', async () => {
    const shot = JSON.parse(await reeve.ok('top --json'))
    assert.deepEqual(shot.Totals.Allocations, { running: 1 })
    assert.deepEqual([shot.Nodes.length, shot.Nodes[0].Name], [1, 'laptop'])
    assert.deepEqual(shot.Allocations[0].ID, id)
    assert.equal(shot.Totals.Memory.Allocated, 20)
    assert.equal(await reeve.ok(['top', '-t', '{{ .Totals.CPU.Allocated }}']), '20\n')
  })

  await t.test('shows only the namespace that is named', async () => {
    const out = await reeve.ok('top --namespace other')
    assert.match(out, /Jobs none {3}Allocations none\n/)
    assert.match(out, /Nothing runs\. "reeve job init" writes an example job file\.\n/)
  })

  await t.test('says what is wrong before it takes the screen', async () => {
    const terminal = aScreen({ rows: 24, columns: 80, directory, environment })
    const code = await runCommandLine(['top', '--address', 'http://127.0.0.1:9'], terminal.host)
    assert.equal(code, 4)
    assert.match(
      terminal.screen.text(),
      /^reeve top: Cannot connect to the server at http:\/\/127\.0\.0\.1:9 /,
    )
    assert.equal(terminal.isRaw, false)
  })

  await t.test('is live: follows events, opens what is chosen, and leaves no trace', async () => {
    const terminal = aScreen({ rows: 24, columns: 100, directory, environment })
    terminal.host.out('$ reeve top\n')
    const ended = runCommandLine(['top'], terminal.host)
    await terminal.shows('Allocations 1 running')
    assert.deepEqual(
      [terminal.screen.isAlternate, terminal.screen.isCursorShown, terminal.isRaw],
      [true, false, true],
    )
    assert.equal(terminal.screen.lines().length, 24)

    const [second = ''] = await runShellJob(t, reeve.client, { id: 'api', script: 'sleep 1000' })
    await terminal.shows('Allocations 2 running')
    await terminal.shows(new RegExp(`Allocation ${second.slice(0, 8)} .* is running`))

    terminal.type('?')
    await terminal.shows('Keys\n\n')
    terminal.type('\u001b')
    await terminal.shows('Allocations 2 running')
    terminal.type('\u001b[B')
    await terminal.shows('> laptop')
    terminal.type('\r')
    await terminal.shows(/^ID +=.*\nName +=.*laptop\n/)
    terminal.type('\u001b[D')
    terminal.type('\u001b[B')
    await terminal.shows(/^> [0-9a-f]{8} +(web|api) /m)
    terminal.type('\u001b[F\u001b[C')
    await terminal.shows(/^Namespace += default\nJob += (web|api), version 0\n/m)
    terminal.type('\u001b')

    await endJob(reeve.client, 'api')
    await terminal.shows('Allocations 1 running')
    await terminal.shows('Job api is stopped')

    terminal.resize(12, 40)
    const small = await terminal.shows('↑↓ select')
    assert.equal(small.trimEnd().split('\n').length, 12)
    assert.ok(small.split('\n').every((line) => Array.from(line).length <= 40))

    terminal.type('q')
    assert.equal(await ended, 0)
    assert.deepEqual(
      [terminal.screen.isAlternate, terminal.screen.isCursorShown, terminal.isRaw],
      [false, true, false],
    )
    assert.equal(terminal.screen.text(), '$ reeve top\n')
  })

  await t.test('goes on while the server is away', async () => {
    const server = await startProgram(t, join(directory, 'second'))
    const there = { ...environment, REEVE_ADDR: server.address }
    const terminal = aScreen({ rows: 24, columns: 100, directory, environment: there })
    const ended = runCommandLine(['top'], terminal.host)
    await terminal.shows('Nothing runs.')
    await server.kill('SIGKILL')
    await terminal.shows(/\nTrying again: .*\n$/)
    terminal.type('q')
    assert.equal(await ended, 0)
  })

  await t.test('gives the terminal back when it fails', async () => {
    let isBroken = false
    const terminal = aScreen({
      rows: 24,
      columns: 100,
      directory,
      environment,
      onWrite(text) {
        if (isBroken && !text.includes('1049l')) throw new Error('the terminal is broken')
      },
    })
    const ended = runCommandLine(['top'], terminal.host)
    await terminal.shows('Allocations 1 running')
    isBroken = true
    terminal.type('?')
    await assert.rejects(ended, /the terminal is broken/)
    assert.deepEqual([terminal.screen.isAlternate, terminal.isRaw], [false, false])
  })

  await t.test('in a real terminal', { skip: noTerminal }, async () => {
    const begin = (command: string) =>
      aTerminal(t, command, {
        rows: 30,
        columns: 100,
        directory,
        environment: {
          ...environment,
          PATH: process.env['PATH'] ?? '',
        },
      })
    const terminal = await begin(`${PROGRAM_COMMAND} top`)
    await terminal.shows('laptop')
    assert.equal(terminal.isCooked(), false)
    const before = terminal.screen().split(CLEAR).length
    terminal.resize(20, 90)
    await terminal.shows(new RegExp(`(?:${CLEAR.replace('[', '\\[')}[^]*){${before}}`))
    terminal.type('\u0003')
    assert.equal(await terminal.ended, 0)
    assert.ok(terminal.screen().includes(GIVEN_BACK))
    assert.equal(terminal.isCooked(), true)

    const killed = await begin(
      `${PROGRAM_COMMAND} top & program=$!; read -r _; kill $program; wait $program`,
    )
    await killed.shows('laptop')
    killed.type('\n')
    assert.equal(await killed.ended, 143)
    assert.ok(killed.screen().includes(GIVEN_BACK))
  })
})
