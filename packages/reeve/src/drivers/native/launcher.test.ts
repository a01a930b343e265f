import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { systemClock } from '../../../test/build/agent.ts'
import { temporaryDirectory } from '../../../test/build/temporary-directory.ts'
import { Launcher } from './launcher.ts'

const READY = `echo '{"v":1,"event":"ready","pid":'$$'}'`

interface Scripted {
  readonly launcher: Launcher
  readonly ended: string[]
  readonly begun: number[]
}

/** A launcher that is a shell script. */
async function scripted(t: TestContext, script: string): Promise<Scripted> {
  const program = join(await temporaryDirectory(t), 'launcher')
  await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const ended: string[] = []
  const begun: number[] = []
  const launcher = new Launcher({
    program,
    clock: systemClock,
    onStarted: (pid) => Promise.resolve(void begun.push(pid)),
    onTaskEnded: (id) => ended.push(id),
  })
  t.after(() => launcher.close())
  return { launcher, ended, begun }
}

test('launcher: answers find their questions in any order, other lines are no harm', async (t) => {
  const { launcher, ended } = await scripted(
    t,
    `${READY}; read a; read b; echo nonsense; echo '{"event":"ended","task":"x"}'
     echo '{"id":2,"ok":true,"n":"two"}'; echo '{"id":1,"ok":true,"n":"one"}'; read c`,
  )
  const answers = await Promise.all([launcher.request('first'), launcher.request('second')])
  assert.deepEqual(
    answers.map((answer) => answer['n']),
    ['one', 'two'],
  )
  assert.deepEqual(ended, ['x'])
})

const refusals = ['config', 'unstartable', 'start', 'gone', 'unkillable']
for (const kind of refusals) {
  test(`launcher: a refusal of the kind ${kind} is a fault of that kind`, async (t) => {
    const answer = `{"id":1,"ok":false,"kind":"${kind}","message":"why"}`
    const { launcher } = await scripted(t, `${READY}; read a; echo '${answer}'; read b`)
    await assert.rejects(launcher.request('run'), { kind: `helper-${kind}`, message: 'why' })
  })
}

test('launcher: one that dies fails what was asked, and the next question starts another', async (t) => {
  const { launcher, begun } = await scripted(
    t,
    `${READY}; read a; case $a in *die*) exit 3;; esac; echo '{"id":1,"ok":true}'; read b`,
  )
  await assert.rejects(launcher.request('die'), { kind: 'launcher', message: /ended with 3/ })
  assert.equal((await launcher.request('live'))['ok'], true)
  assert.equal(new Set(begun).size, 2)
})

test('launcher: a silent launcher is killed and reported', async (t) => {
  const { launcher } = await scripted(t, `${READY}; while :; do read a || exit 0; done`)
  await assert.rejects(launcher.request('sleep', {}, 50), {
    kind: 'launcher',
    message: /the helper's sleep took longer than 50 ms/,
  })
})

test('launcher: an invalid program fails every request', async (t) => {
  const dir = await temporaryDirectory(t)
  const launcher = new Launcher({ program: join(dir, 'missing'), clock: systemClock })
  for (let n = 0; n < 2; n += 1) {
    await assert.rejects(launcher.request('run'), { kind: 'launcher', message: /does not run/ })
  }
  await launcher.close()
  await assert.rejects(launcher.request('run'), { kind: 'launcher', message: /was closed/ })
})
