import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PROGRAM } from '../../test/build/program.ts'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { memoryFlags } from './small-memory.ts'

test('small memory: the whole heap takes three quarters of it', () => {
  const megabyte = 1024 * 1024
  assert.deepEqual(memoryFlags(600 * megabyte), [
    '--max-old-space-size=402',
    '--max-semi-space-size=16',
  ])
  assert.notEqual(memoryFlags(4095 * megabyte), undefined)
  assert.equal(memoryFlags(4096 * megabyte), undefined)
  assert.equal(memoryFlags(0), undefined)
})

test('small memory: a server in a small container starts with a heap that fits', async (t) => {
  const container = join(await temporaryDirectory(t), 'container.cjs')
  writeFileSync(
    container,
    `process.constrainedMemory = () => 600 * 1024 * 1024
process.on('exit', () => console.log('heap', require('v8').getHeapStatistics().heap_size_limit / 1048576))`,
  )
  const run = (...words: readonly string[]): number => {
    const args = ['--require', container, PROGRAM, ...words]
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    return Number(/heap (\S+)/.exec(stdout)?.[1])
  }
  assert.equal(run('agent', '--help'), 450)
  assert.ok(run('version') > 450, 'a command that serves nothing keeps its flags')
})
