import assert from 'node:assert/strict'
import test from 'node:test'
import { aCommandLine } from '../build/cli.ts'

test('job status', async (t) => {
  const reeve = await aCommandLine(t)

  await t.test('says how to begin when there is no job', async () => {
    const said = await reeve.ok('job status')
    assert.equal(said, 'There are no jobs. "reeve job init" writes a first one.\n')
    assert.equal(await reeve.ok('job status --json'), '[]\n')
  })
  await t.test('answers the same as a process of its own', async () => {
    const ended = await reeve.spawn('job status --json')
    assert.deepEqual(ended, { code: 0, out: '[]\n', err: '' })
  })
})
