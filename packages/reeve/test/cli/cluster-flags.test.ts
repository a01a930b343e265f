import assert from 'node:assert/strict'
import { chmod, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import test from 'node:test'
import type { SchedulerConfiguration } from '@reeve/contract'
import { EXIT_CODES } from '../../src/cli/index.ts'
import { aCommandLine, commandLineAt } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'
import { until } from '../build/until.ts'
import { startProgram } from '../e2e/program-process.ts'

const SETTINGS: readonly (readonly [
  flag: string,
  read: (now: SchedulerConfiguration) => unknown,
])[] = [
  ['--memory-oversubscription', (now) => now.MemoryOversubscriptionEnabled],
  ['--reject-job-registration', (now) => now.RejectJobRegistration],
  ['--pause-eval-broker', (now) => now.PauseEvalBroker],
  ['--preempt-system', (now) => now.PreemptionConfig.SystemSchedulerEnabled],
  ['--preempt-sysbatch', (now) => now.PreemptionConfig.SysBatchSchedulerEnabled],
  ['--preempt-batch', (now) => now.PreemptionConfig.BatchSchedulerEnabled],
  ['--preempt-service', (now) => now.PreemptionConfig.ServiceSchedulerEnabled],
]

test('flags of commands about the whole cluster', { timeout: 300_000 }, async (t) => {
  const reeve = await aCommandLine(t, ['--server'])

  for (const [flag, read] of SETTINGS)
    await t.test(
      `operator scheduler set-config ${flag}: changes this and nothing else`,
      async () => {
        const settings = async () => (await reeve.client.v1.readSchedulerConfiguration()).data
        for (const value of [true, false]) {
          const before = (await settings()).SchedulerConfig
          await reeve.ok(`operator scheduler set-config ${flag} ${value}`)
          const after = (await settings()).SchedulerConfig
          assert.equal(read(after), value)
          for (const [other, readOther] of SETTINGS)
            if (other !== flag) assert.equal(readOther(after), readOther(before), other)
        }
        const wrong = await reeve.run(`operator scheduler set-config ${flag} maybe`)
        assert.equal(wrong.code, EXIT_CODES.usage)
      },
    )

  await t.test('--region: the one that is asked', async () => {
    assert.match(await reeve.ok('node pool list --region global'), /\ndefault /)
    const { code, err } = await reeve.run('node pool list --region mars')
    assert.equal(code, EXIT_CODES.missing, err)
    assert.match(
      err,
      /^reeve node pool list: No path to region\nRegion "\w+" was set by --region; /,
    )
  })

  await t.test('event stream --heartbeats: lines that say only that it goes on', async () => {
    const line = 'event stream --topic NodePool --count 1'
    assert.equal(await reeve.ok(`${line} --heartbeats`), '{}\n')
    const following = reeve.ok(line)
    await reeve.ok('node pool apply gpu')
    assert.match(await following, /"Key":"gpu"/)
  })

  await t.test('ui --open: starts the browser with the address', async () => {
    await reeve.file('xdg-open', `#!/bin/sh\nprintf %s "$1" > "${reeve.directory}/opened"\n`)
    await chmod(join(reeve.directory, 'xdg-open'), 0o755)
    const environment = { PATH: `${reeve.directory}:/usr/bin:/bin` }
    const { code, out } = await reeve.spawn('ui --open', { environment })
    assert.equal(code, EXIT_CODES.ok)
    assert.ok(out.startsWith(`${reeve.address}/ui/`), out)
    const opened = await until('the browser', async () => {
      const text = await readFile(join(reeve.directory, 'opened'), 'utf8').catch(() => '')
      return text === '' ? undefined : text
    })
    assert.equal(`${opened}\n`, out)
  })

  await t.test('ui --open: without a browser the address is enough', async () => {
    const { code, err } = await reeve.spawn('ui --open', { environment: { PATH: '/nowhere' } })
    assert.equal(code, EXIT_CODES.ok)
    assert.match(err, /No browser could be started with "xdg-open": open the address yourself\.\n/)
  })
})

test('event stream --no-reconnect: ends with the connection', { timeout: 300_000 }, async (t) => {
  const directory = await temporaryDirectory(t)
  const server = await startProgram(t, join(directory, 'data'), ['--server'])
  const reeve = commandLineAt({ ...server, directory })
  let written = ''
  const following = reeve.run('event stream --no-reconnect --topic NodePool', {
    onWritten: (text) => (written += text),
  })
  await reeve.ok('node pool apply early')
  await until('the first event', () => written.includes('"Key":"early"') || undefined)
  await server.kill('SIGKILL')
  const { code, err } = await following
  assert.equal(code, EXIT_CODES.unreachable, err)
  assert.doesNotMatch(err, /Trying again/)
})
