import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { text as readText } from 'node:stream/consumers'
import test from 'node:test'
import { PROGRAM } from '../../test/build/program.ts'

test('host: output that cannot be written is one sentence', async (t) => {
  const full = await open('/dev/full', 'w')
  t.after(() => full.close())
  const args = [PROGRAM, 'job', 'init', '-']
  const child = spawn(process.execPath, args, { stdio: ['ignore', full.fd, 'pipe'] })
  const { stderr } = child
  assert.ok(stderr !== null)
  const [err, [code]] = await Promise.all([readText(stderr), once(child, 'close')])
  assert.deepEqual(
    { code, err },
    { code: 1, err: 'reeve: the output cannot be written: no space left on device.\n' },
  )
})
