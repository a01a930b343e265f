import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '@reeve/sdk'
import { commandLineAt } from '../build/cli.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

const LOOSE = 'job "web" { # ours\n type="batch"\n}\n'
const NEAT = 'job "web" { # ours\n  type = "batch"\n}\n'

test('job fmt', async (t) => {
  const address = 'http://127.0.0.1:1'
  const directory = await temporaryDirectory(t)
  const reeve = commandLineAt({ address, client: createClient({ address }), directory })
  await mkdir(join(directory, 'more'))
  const read = (name: string) => readFile(join(directory, name), 'utf8')

  await t.test('--check and --no-write change nothing', async () => {
    await reeve.file('loose.hcl', LOOSE)
    assert.deepEqual(await reeve.run('job fmt --check'), { code: 1, out: 'loose.hcl\n', err: '' })
    assert.equal((await reeve.run('job fmt --check --no-list loose.hcl')).out, '')
    assert.equal(await reeve.ok('job fmt --no-write'), 'loose.hcl\n')
    assert.equal(await read('loose.hcl'), LOOSE)
  })

  await t.test('formats named files, and with --recursive those of directories below', async () => {
    await reeve.file('more/deep.reeve', LOOSE)
    await reeve.file('more/notes.txt', LOOSE)
    assert.equal(await reeve.ok('job fmt .'), 'loose.hcl\n')
    assert.equal(await reeve.ok('fmt --recursive .'), 'more/deep.reeve\n')
    assert.equal(await reeve.ok('job fmt more/notes.txt'), 'more/notes.txt\n')
    for (const name of ['loose.hcl', 'more/deep.reeve', 'more/notes.txt'])
      assert.equal(await read(name), NEAT)
    assert.equal(await reeve.ok('job fmt --recursive .'), '')
  })

  await t.test('formats standard input', async () => {
    assert.equal(await reeve.ok('job fmt -', { input: LOOSE }), NEAT)
    assert.equal((await reeve.run('job fmt --check -', { input: LOOSE })).code, 1)
    assert.equal((await reeve.run('job fmt - loose.hcl', { input: LOOSE })).code, 2)
  })

  await t.test('says what cannot be formatted, and leaves it', async () => {
    await reeve.file('broken.hcl', 'a = \n')
    const { code, err } = await reeve.run('job fmt broken.hcl')
    assert.equal(code, 1)
    assert.match(err, /^reeve job fmt: broken\.hcl cannot be formatted:\n\nbroken\.hcl:1,/)
    assert.match((await reeve.run('job fmt -', { input: '{"job": {}}' })).err, /is JSON/)
    assert.match((await reeve.run('job fmt none.hcl')).err, /There is no file none\.hcl here/)
  })
})
